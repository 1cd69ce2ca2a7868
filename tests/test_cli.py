"""The command line."""

import json
import shutil
from pathlib import Path

import pytest

from yacht_env.cli import main


def run(capsys, *args):
    main(args)
    return capsys.readouterr().out


def test_solve_prints_the_optimum_and_each_box_alone(capsys):
    facts = json.loads(run(capsys, "solve", "--json"))
    assert facts["expected_score"] == pytest.approx(166.95506770457, abs=1e-9)
    assert facts["one_box_left"]["Sixes"] == pytest.approx(12.638889, abs=1e-6)
    text = run(capsys, "solve", "--ruleset", "yacht-openspiel")
    assert "169.798705499" in text and "Big Straight" in text


def test_evaluate_prints_one_table_with_the_optimum_last(capsys):
    lines = run(capsys, "evaluate", "greedy", "random").splitlines()
    assert lines[0].startswith("yacht")
    assert [line.split()[0] for line in lines[4:]] == ["random", "greedy", "optimum"]
    assert "152.635" in lines[5] and "166.955" in lines[6]


def test_evaluate_gives_json(capsys):
    results = json.loads(run(capsys, "evaluate", "greedy", "--json", "--method", "estimate", "--games", "100"))
    assert results[0]["policy"] == "greedy" and results[0]["n_games"] == 100


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["solve", "--ruleset", "chess"], "unknown ruleset 'chess'"),
        (["evaluate", "nobody"], "no agent 'nobody'"),
        (["evaluate", "greedy", "--ruleset", "chess"], "unknown ruleset 'chess'"),
        (["models", "list", "--source", "/nowhere"], "can't read /nowhere/index.json"),
    ],
)
def test_what_a_user_can_mend_ends_with_one_sentence(capsys, args, words):
    with pytest.raises(SystemExit) as stop:
        main(args)
    error = capsys.readouterr().err
    assert stop.value.code == 2
    assert words in error and error.count("\n") == 1


def test_folders_of_one_name_are_told_apart(capsys, tmp_path):
    names = []
    for parent in ("a", "b"):
        shutil.copytree(next(Path("models").glob("dqn-yacht-bonus")), tmp_path / parent / "run" / "best")
        names.append(str(tmp_path / parent / "run"))
    results = json.loads(run(capsys, "evaluate", *names, "--games", "20", "--json"))
    assert len({result["policy"] for result in results}) == 2


def test_a_run_is_found_from_inside(capsys, tmp_path, monkeypatch):
    shutil.copytree(Path("models/dqn-yacht-bonus").resolve(), tmp_path / "run" / "best")
    monkeypatch.chdir(tmp_path / "run")
    assert json.loads(run(capsys, "evaluate", ".", "--games", "20", "--json"))[0]["policy"] == "run"
