"""Positions explained: every choice once, with the value that the solution gives."""

import json

import numpy as np
import pytest

from yacht_env import GreedyPolicy, OptimalPolicy, RandomPolicy, explain, solve
from yacht_env.cli import main


def test_every_choice_has_its_value_and_its_loss():
    position = explain([6, 2, 6, 6, 6], 1, ["Four of a Kind", "Sixes", "Yacht"])
    values = solve("yacht").action_values([2, 6, 6, 6, 6], 1, ["Four of a Kind", "Sixes", "Yacht"])
    assert position.dice == (2, 6, 6, 6, 6)
    assert [choice.value for choice in position.choices] == sorted((c.value for c in position.choices), reverse=True)
    for choice in position.choices:
        assert choice.value == values[choice.action]
        assert choice.loss == pytest.approx(values.max() - choice.value, abs=1e-9)
    best = position.choices[0]
    assert (best.text, best.loss, best.points) == ("hold 6 6 6 6", 0.0, 0)
    texts = [choice.text for choice in position.choices]
    assert len(set(texts)) == len(texts) == 9 + 3  # keeps of 2 6 6 6 6 but the whole, and three boxes
    assert next(choice for choice in position.choices if choice.text == "fill Sixes").points == 24


def test_policies_are_asked_and_equal_holds_are_one():
    def holds_the_last_six(observations, action_masks):
        return np.full(len(action_masks), 0b10000)  # not canonical: any one of the sixes will do

    policies = {
        "greedy": GreedyPolicy(),
        "optimal": OptimalPolicy(),
        "odd": holds_the_last_six,
        "random": RandomPolicy(),
    }
    position = explain([2, 6, 6, 6, 6], 1, ["Four of a Kind", "Sixes", "Yacht"], policies=policies)
    chosen = {choice.text: choice.chosen_by for choice in position.choices}
    assert chosen["hold 6 6 6 6"] == ("greedy", "optimal") and chosen["hold 6"] == ("odd",)
    assert "<- greedy, optimal" in str(position)


def test_the_joker_and_the_upper_total_count():
    forced = explain([4, 4, 4, 4, 4], 0, ["Fours", "Chance"], "classic13", upper_total=51, yacht_box=True)
    assert [choice.text for choice in forced.choices] == ["fill Fours"]
    assert forced.choices[0].points == 20 + 100 + 35


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dice": [1, 2, 3, 4, 7]}, "dice must show 1 to 6"),
        ({"dice": [1, 2, 3]}, "dice must be 5 whole numbers"),
        ({"rolls_left": 3}, "rolls_left must be 0 to 2, got 3"),
        ({"open_boxes": ["Sevens"]}, "Sevens"),
        ({"open_boxes": []}, "game with no open box is over"),
    ],
)
def test_impossible_positions_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        explain(**{"dice": [1, 2, 3, 4, 5], "rolls_left": 0} | arguments)


def test_the_command_line_explains(capsys):
    main(
        [
            "explain",
            "--dice",
            "6",
            "6",
            "6",
            "6",
            "2",
            "--rolls-left",
            "1",
            "--open",
            "7",
            "Sixes",
            "--agents",
            "greedy",
            "--json",
        ]
    )
    position = json.loads(capsys.readouterr().out)
    assert position["open_boxes"] == ["Sixes", "Four of a Kind"]
    assert position["choices"][0]["loss"] == 0
    assert sum("greedy" in choice["chosen_by"] for choice in position["choices"]) == 1
    with pytest.raises(SystemExit) as stop:
        main(["explain", "--dice", "6", "6", "6", "6", "9"])
    assert stop.value.code == 2 and "dice must show 1 to 6" in capsys.readouterr().err


def test_the_command_line_gives_the_odds(capsys):
    main(["odds", "--json"])
    assert len(json.loads(capsys.readouterr().out)) == 12
    main(["odds", "--ruleset", "yatzy"])
    assert "Two Pairs" in capsys.readouterr().out


def test_open_boxes_may_be_any_iterable_and_policies_must_play_the_game():
    assert explain((6, 6, 6, 6, 2), 1, (box for box in ["Sixes", "Yacht"])).open_boxes == ("Sixes", "Yacht")
    with pytest.raises(ValueError, match="plays 'yacht'; it can't be asked about 'yatzy'"):
        explain((6, 6, 6, 6, 2), 1, None, "yatzy", policies={"greedy": GreedyPolicy()})
