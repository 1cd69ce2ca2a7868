"""Advice weighed: the pages are up to date, and each piece applies where it should."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from yacht_env.advice import ADVICE, Position
from yacht_env.game import get_game
from yacht_env.strategy import strategy_page, weigh_advice

ROOT = Path(__file__).resolve().parent.parent
TITLES = {advice.title: advice for advice in ADVICE}


def at(dice, rolls_left, open_boxes=None):
    game = get_game("yacht")
    state = game.encode_state(np.array([dice]), np.array([rolls_left]), open_boxes)
    return game, Position(game, type(state)(*(np.atleast_1d(field) for field in state)))


@pytest.mark.parametrize(
    ("title", "dice", "rolls_left", "open_boxes", "applies"),
    [
        ("When nothing fits, scratch Ones first", [2, 3, 4, 6, 6], 0, ["Ones", "Yacht"], True),
        ("When nothing fits, scratch Ones first", [2, 3, 4, 6, 6], 0, ["Ones", "Sixes"], False),
        ("When nothing fits, scratch Ones first", [2, 3, 4, 6, 6], 1, ["Ones", "Yacht"], False),
        ("When nothing fits, scratch Ones first", [2, 3, 4, 6, 6], 0, ["Ones"], False),
        ("Never break 2-3-4-5 for a pair", [2, 3, 4, 5, 5], 1, None, True),
        ("Never break 2-3-4-5 for a pair", [2, 3, 4, 5, 6], 1, None, False),
        ("Never break 2-3-4-5 for a pair", [2, 3, 4, 5, 5], 1, ["Little Straight", "Fives"], False),
        ("Keep Choice for late", [1, 2, 3, 4, 6], 0, None, True),
        ("Keep Choice for late", [1, 2, 3, 4, 6], 0, ["Choice", "Ones"], False),
        ("Take a Full House of 20 or more", [4, 4, 4, 5, 5], 1, None, True),
        ("Take a Full House of 20 or more", [4, 4, 4, 3, 3], 1, None, False),
        ("With a Full House below 15, look for something better", [4, 4, 2, 2, 2], 2, None, True),
        ("With a Full House below 15, look for something better", [4, 4, 4, 2, 2], 2, None, False),
        ("Four of a Kind is a box for sixes: four sixes go there", [6, 6, 6, 6, 1], 0, None, True),
        ("Four of a Kind is a box for sixes: four sixes go there", [6, 6, 6, 6, 6], 0, None, False),
        ("Four of a Kind is a box for sixes: low fours go elsewhere", [3, 3, 3, 3, 6], 0, None, True),
        ("Four of a Kind is a box for sixes: low fours go elsewhere", [4, 4, 4, 4, 6], 0, None, False),
        ("From four of a high face, roll for the Yacht", [4, 4, 4, 4, 6], 1, None, True),
        ("From four of a high face, roll for the Yacht", [3, 3, 3, 3, 6], 1, None, False),
        ("From four of a high face, roll for the Yacht", [4, 4, 4, 4, 4], 1, None, False),
        ("Never throw a bad roll into Choice while a number box is open", [1, 2, 3, 5, 6], 0, None, True),
        ("Never throw a bad roll into Choice while a number box is open", [3, 5, 5, 5, 6], 0, None, False),
        ("Never throw a bad roll into Choice while a number box is open", [1, 2, 3, 4, 5], 0, None, False),
        ("Score a Big Straight that comes with the first roll", [2, 3, 4, 5, 6], 2, None, True),
        ("Score a Big Straight that comes with the first roll", [2, 3, 4, 5, 6], 1, None, False),
    ],
)
def test_advice_applies_where_it_should(title, dice, rolls_left, open_boxes, applies):
    _, position = at(dice, rolls_left, open_boxes)
    assert TITLES[title].applies(position).tolist() == [applies]


@pytest.mark.parametrize(
    ("title", "dice", "rolls_left", "followed"),
    [
        ("Never break 2-3-4-5 for a pair", [2, 3, 4, 5, 5], 1, {"hold 2 3 4 5"}),
        ("From four of a high face, roll for the Yacht", [1, 4, 4, 4, 4], 1, {"hold 4 4 4 4"}),
        ("Take a Full House of 20 or more", [4, 4, 4, 5, 5], 1, {"fill Full House"}),
    ],
)
def test_advice_names_the_actions_that_follow_it(title, dice, rolls_left, followed):
    game, position = at(dice, rolls_left)
    actions = np.flatnonzero(TITLES[title].follows(position)[0])
    texts = {game.action_text(int(position.state.roll[0]), action) for action in actions.tolist()}
    assert {text for text in texts if text.startswith("hold") or len(texts) == 1} == followed


@pytest.mark.slow
def test_the_pages_are_up_to_date():
    spec = importlib.util.spec_from_file_location("write_docs", ROOT / "scripts" / "write_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in module.pages().items():
        assert (ROOT / "docs" / name).read_text() == text, f"{name}: run `make docs`"


@pytest.mark.slow
def test_verdicts_are_weighed_by_the_visits_of_optimal_play():
    verdicts = {verdict.advice.title: verdict for verdict in weigh_advice()}
    for verdict in verdicts.values():
        assert 0 < verdict.right <= verdict.visits + 1e-12 and verdict.n_states > 0
        assert (verdict.cost == 0) == (verdict.worst == -1)
    # A first roll of 2-3-4-5-6 comes with probability 120/7776; with twelve turns, and the box open in part of them.
    straight = verdicts["Score a Big Straight that comes with the first roll"]
    assert 120 / 7776 < straight.visits < 12 * 120 / 7776
    assert straight.share_right == 1.0
    assert "loses" in strategy_page(list(verdicts.values()))


def test_advice_about_boxes_that_a_ruleset_lacks_is_left_out():
    names = set(get_game("yacht-bonus").ruleset.box_names)
    left = [advice.title for advice in ADVICE if set(advice.boxes) <= names]
    assert "Score a Big Straight that comes with the first roll" not in left and left
