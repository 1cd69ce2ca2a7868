"""The best scores: kept by ruleset, never lost, and trouble with the file ends in a sentence."""

import errno
import json
import os
from datetime import datetime

import pytest

import yacht_env.files
from yacht_env.rules import RULESETS
from yacht_env.table.scores import BestScores

YACHT = RULESETS["yacht"]
HOUSE = YACHT.with_house_rules(straights=(15, 30))
OTHER_HOUSE = YACHT.with_house_rules(straights=(20, 20))


def test_scores_are_ranked_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("YACHT_ENV_DATA", str(tmp_path / "data"))
    scores = BestScores()
    assert scores.best(YACHT) == () and scores.trouble is None
    assert [scores.add(YACHT, name, total) for name, total in [("Ada", 150), ("Bob", 200), ("Cleo", 150)]] == [1, 1, 3]
    again = BestScores()
    assert [(one.name, one.total) for one in again.best(YACHT)] == [("Bob", 200), ("Ada", 150), ("Cleo", 150)]
    assert datetime.fromisoformat(again.best(YACHT)[0].date).tzinfo is not None


def test_house_rules_have_lists_of_their_own(tmp_path):
    scores = BestScores(tmp_path / "scores.json")
    for total, ruleset in enumerate([YACHT, HOUSE, OTHER_HOUSE]):
        scores.add(ruleset, "Ada", total)
    assert [scores.best(ruleset)[0].total for ruleset in (YACHT, HOUSE, OTHER_HOUSE)] == [0, 1, 2]
    names = list(BestScores(tmp_path / "scores.json").rulesets())
    assert names[:2] == ["yacht", "yacht-house"] and names[2].startswith("yacht-house (") and len(names) == 3


def test_the_list_ends_after_ten(tmp_path):
    scores = BestScores(tmp_path / "scores.json")
    assert [scores.add(YACHT, "Ada", 100 + i) for i in range(10)] == [1] * 10
    assert scores.add(YACHT, "Bob", 100) is None and scores.add(YACHT, "Bob", 101) == 10
    assert len(scores.best(YACHT)) == 10


def test_two_programs_lose_nothing(tmp_path):
    first, second = BestScores(tmp_path / "scores.json"), BestScores(tmp_path / "scores.json")
    first.add(YACHT, "Ada", 100)
    second.add(YACHT, "Bob", 110)
    assert [one.name for one in BestScores(tmp_path / "scores.json").best(YACHT)] == ["Bob", "Ada"]


GOOD = {"version": 1, "rulesets": {YACHT.fingerprint: {"ruleset": "yacht", "scores": []}}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"version": 2}',
        b'{"version": 1, "rulesets": []}',
        json.dumps({"version": 1, "rulesets": {"x": {"ruleset": "yacht", "scores": [{"name": 1}]}}}).encode(),
        json.dumps(GOOD).encode()[:-5],
    ],
)
def test_a_damaged_file_is_set_aside_and_not_lost(tmp_path, content):
    path = tmp_path / "scores.json"
    for n in (1, 2):
        path.write_bytes(content)
        scores = BestScores(path)
        assert "are damaged" in scores.trouble and "the file is kept as" in scores.trouble
        assert scores.trouble.count("\n") == 0
        assert scores.add(YACHT, "Ada", 100) == 1
        assert BestScores(path).best(YACHT)[0].total == 100
        assert sum(other.read_bytes() == content for other in tmp_path.glob("*damaged*")) == n


def test_a_full_disk_gives_a_sentence(tmp_path, monkeypatch):
    scores = BestScores(tmp_path / "scores.json")
    scores.add(YACHT, "Ada", 100)

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(yacht_env.files.os, "fsync", full)
        assert scores.add(YACHT, "Bob", 120) == 1
        assert "can't be saved" in scores.trouble and "No space left on device" in scores.trouble
    assert [one.name for one in BestScores(tmp_path / "scores.json").best(YACHT)] == ["Ada"]


def test_what_can_not_be_read_is_not_overwritten(tmp_path):
    path = tmp_path / "scores.json"
    path.mkdir()
    scores = BestScores(path)
    assert "can't be read" in scores.trouble
    scores.add(YACHT, "Ada", 100)
    assert path.is_dir() and "can't be read" in scores.trouble
