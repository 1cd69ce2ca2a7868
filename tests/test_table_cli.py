"""The commands around the table."""

import json
import re
from html.parser import HTMLParser

import pytest

from tests.table_games import random_game
from yacht_env.cli import main
from yacht_env.rule_words import bonus_words, box_words
from yacht_env.rules import RULESETS, Anything, Box, FullHouse, Number, OfAKind, Pairs, Run
from yacht_env.table.sheet import sheet_page


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "game.json"
    return path, random_game("yacht", ("Ada", "Bob"), path=path)


def run(capsys, *args):
    main([str(arg) for arg in args])
    return capsys.readouterr().out


def test_verify_says_yes_or_where_it_differs(capsys, saved):
    path, game = saved
    assert run(capsys, "verify", path).startswith("verified: all ")
    assert json.loads(run(capsys, "verify", path, "--json", "--commitment", game.commitment))["verified"] is True
    path.write_text(path.read_text(encoding="utf-8").replace('"word": "word"', '"word": "ward"'), encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["verify", str(path)])
    out = capsys.readouterr().out
    assert stop.value.code == 1 and out.startswith("NOT verified:\n")
    assert "turn 1 of Ada, roll 1: the seed gives " in out


def test_review_judges_a_saved_game(capsys, saved):
    path, game = saved
    assert f"Ada: {game.total(0)} points" in run(capsys, "review", path)
    content = json.loads(run(capsys, "review", path, "--json"))
    for seat in content["seats"]:
        assert seat["luck"] - seat["lost"] == pytest.approx(seat["total"] - content["optimum"], abs=1e-9)


def test_replay_shows_every_step(capsys, saved):
    path, game = saved
    steps = json.loads(run(capsys, "replay", path, "--json"))
    text = run(capsys, "replay", path)
    assert text.count("\nstep ") + 1 == len(steps) == game.table.n_rolls + 24
    assert all(step["text"] in text for step in steps)
    assert f"Game over: {game.total(1)} points" in text


@pytest.mark.parametrize("command", ["verify", "review", "replay"])
def test_a_file_that_is_missing_or_no_game_ends_with_one_sentence(capsys, tmp_path, command):
    for path in (tmp_path / "nothing.json", tmp_path):
        with pytest.raises(SystemExit) as stop:
            main([command, str(path)])
        assert stop.value.code == 2 and capsys.readouterr().err.count("\n") == 1
    (tmp_path / "typed.json").write_text('{"ruleset": "yacht", "turns": [{"rolls": [[1, 2, 3]]}]}', encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main([command, str(tmp_path / "typed.json")])
    told = "".join(capsys.readouterr())
    assert stop.value.code == (1 if command == "verify" else 2) and "turn 1 of player: dice must be 5" in told


@pytest.mark.parametrize("ansi", [True, False])
def test_an_agent_is_watched_in_the_terminal_and_in_a_window(capsys, monkeypatch, ansi):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    if not ansi:
        pytest.importorskip("pygame")
    args = ["watch", "dqn-yacht", "--fps", "5000", "--games", "2", "--seed", "7", *(["--ansi"] if ansi else [])]
    out = run(capsys, *args)
    totals = re.findall(r"^game \d: (\d+) points$", out, re.MULTILINE)
    assert len(totals) == 2
    if ansi:
        assert re.findall(r"Game over: (\d+) points", out) == totals


def test_watch_plays_the_same_game_for_the_same_seed(capsys):
    args = ("watch", "greedy", "--ruleset", "yacht-bonus", "--ansi", "--fps", "1e6", "--seed", "3")
    assert run(capsys, *args) == run(capsys, *args)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["watch", "nobody"], "no agent 'nobody'"),
        (["watch", "dqn-yacht", "--ruleset", "yatzy"], "the policy plays 'yacht'"),
        (["watch", "--games", "0", "--ansi"], "games must be 1 or more"),
        (["watch", "--fps", "nan", "--ansi"], "fps more than 0"),
        (["sheet", "--ruleset", "chess"], "unknown ruleset 'chess'"),
        (["sheet", "--players", "0"], "players must be 1 to 12, got 0"),
    ],
)
def test_what_a_user_can_mend_ends_with_one_sentence(capsys, args, words):
    with pytest.raises(SystemExit) as stop:
        main(args)
    error = capsys.readouterr().err
    assert stop.value.code == 2 and words in error and error.count("\n") == 1


class Table(HTMLParser):
    """Reads the text of each cell, and refuses what needs another file."""

    def __init__(self):
        super().__init__()
        self.rows, self.links = [], []

    def handle_starttag(self, tag, attributes):
        self.links += [value for key, value in attributes if key in ("src", "href")]
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


@pytest.mark.parametrize("ruleset", RULESETS)
def test_the_sheet_has_a_row_for_each_box_and_a_column_for_each_player(capsys, ruleset):
    page = run(capsys, "sheet", "--ruleset", ruleset, "--players", "3")
    assert page == sheet_page(ruleset, 3)
    table = Table()
    table.feed(page)
    assert not table.links and "@page" in page
    rows = {row[0]: row for row in table.rows}
    for box in RULESETS[ruleset].boxes:
        assert rows[box.name][1] == box_words(box) and len(rows[box.name]) == 2 + 3
    assert ("Bonus" in rows) == (RULESETS[ruleset].upper_bonus is not None)
    assert "Total" in rows


def test_names_on_the_sheet_are_escaped():
    rules = RULESETS["yacht"].with_boxes([0])
    from dataclasses import replace

    assert "<b>" not in sheet_page(replace(rules, name="<b>", boxes=(Box("<b>", Number(1), "matched"),)))


def test_rules_in_words():
    words = {
        Box("Sixes", Number(6), "matched"): "the sum of the sixes",
        Box("Four of a Kind", OfAKind(4), "matched"): "four dice of one face: the sum of these four",
        Box("Four of a Kind", OfAKind(4), "sum"): "four or more dice of one face: the sum of all dice",
        Box("Yacht", OfAKind(5), 50): "five dice of one face: 50 points",
        Box("Two Pairs", Pairs(2), "matched"): "two pairs of different faces: the sum of these four dice",
        Box("Full House", FullHouse(), "sum"): "three dice of one face and two of another: the sum of all dice",
        Box(
            "House", FullHouse(True), 25
        ): "three dice of one face and two of another, or all dice of one face: 25 points",
        Box("Little Straight", Run(5, start=1), 30): "1-2-3-4-5: 30 points",
        Box("Small Straight", Run(4), 15): "four faces in a row: 15 points",
        Box("Choice", Anything(), "sum"): "any dice: the sum of all dice",
    }
    for box, expected in words.items():
        assert box_words(box) == expected
    assert bonus_words(RULESETS["yacht"]) == ()
    assert "63 points or more" in bonus_words(RULESETS["yatzy"])[0]
    assert "100 extra points" in bonus_words(RULESETS["classic13"])[1]
