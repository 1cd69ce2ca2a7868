"""The points still to come: against brute force, the solver, the forward pass and simulated games."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.brute_force import Card, best_law
from yacht_env import OptimalPolicy, ScoreDistribution, evaluate, remaining_distribution, solve
from yacht_env.backward_pass import BackwardPass
from yacht_env.game import State, get_game
from yacht_env.rules import RULESETS

EVERY_RULESET = pytest.mark.parametrize("ruleset", RULESETS)
HOUSE = RULESETS["yacht"].with_house_rules(straights=(15, 30), five_of_a_kind_is_full_house=True)


@pytest.fixture
def nothing_known(monkeypatch):
    monkeypatch.setattr("yacht_env.remaining._known", {})


def same_law(law: ScoreDistribution, expected: dict[int, float]) -> bool:
    counted = np.zeros(len(law.probability))
    for points, chance in expected.items():
        counted[points] += chance
    return bool(np.abs(law.probability - counted).max() < 1e-12)


BRUTE_FORCE = [
    ("yacht", ("Yacht", "Full House"), 0, None),
    ("yacht", ("Little Straight", "Big Straight"), 0, None),
    ("yacht-sum", ("Four of a Kind", "Ones"), 0, None),
    ("yacht-bonus", ("Sixes", "Small Straight"), 41, None),
    ("yacht-openspiel", ("Full House", "Choice"), 0, None),
    ("yatzy", ("Two Pairs", "Fives"), 50, None),
    ("classic13", ("Sixes", "Yacht"), 45, None),
    ("classic13", ("Aces", "Full House"), 62, 50),
    ("classic13", ("Fours", "Fives"), 40, 0),
]


@pytest.mark.parametrize(("ruleset", "boxes", "upper", "yacht"), BRUTE_FORCE)
def test_cards_of_two_boxes_agree_with_brute_force(ruleset, boxes, upper, yacht):
    law = remaining_distribution(boxes, ruleset, upper_total=upper, yacht_box=yacht == 50)
    assert same_law(law, best_law(ruleset, Card(frozenset(boxes), upper, yacht), RULESETS[ruleset].box_names))


def test_a_short_card_agrees_with_brute_force():
    boxes = ("Threes", "Four of a Kind", "Choice")
    law = remaining_distribution(ruleset=RULESETS["yacht"].with_boxes(boxes))
    assert same_law(law, best_law("yacht", Card(frozenset(boxes)), boxes))


def test_the_last_box_of_a_turn_that_has_begun():
    law = remaining_distribution(["Sixes"], dice=[6, 6, 6, 1, 2], rolls_left=1)
    expected = {18: 25 / 36, 24: 10 / 36, 30: 1 / 36}
    assert same_law(law, expected)


@EVERY_RULESET
def test_means_are_the_values_of_the_solver(ruleset, visited_states):
    solution, game = solve(ruleset), get_game(ruleset)
    states = visited_states(ruleset)
    few = np.flatnonzero((game.n_open[states.open_boxes] <= 5) | (ruleset == "yacht"))
    for row in np.random.default_rng(0).choice(few, 12, replace=False):
        state = State(*(field[row : row + 1] for field in states))
        roll, rolls_left, lane, bits = (int(field[0]) for field in state)
        upper, yacht_box = int(game.upper_total(lane)), bool(game.yacht_box(lane))
        card = {"ruleset": ruleset, "upper_total": upper, "yacht_box": yacht_box}
        boxes, turn = game.open_names(bits), {"dice": game.dice.faces[roll].tolist(), "rolls_left": rolls_left}
        value = solution.state_value(boxes, upper, yacht_box)
        assert remaining_distribution(boxes, **card).mean == pytest.approx(value, abs=1e-9)
        values = solution.state_action_values(state)[0]
        assert remaining_distribution(boxes, **card, **turn).mean == pytest.approx(values.max(), abs=1e-9)
        for action in np.flatnonzero(game.action_mask(state)[0]).tolist():
            law = remaining_distribution(boxes, **card, **turn, action=action)
            assert law.mean == pytest.approx(values[action], abs=1e-9)
            assert law.probability.sum() == pytest.approx(1, abs=1e-12)


def check_start(ruleset):
    law = remaining_distribution(ruleset=ruleset)
    solution = solve(ruleset)
    played = evaluate(OptimalPolicy(solution), ruleset, method="exact", solution=solution).distribution
    np.testing.assert_allclose(law.probability, played.probability, rtol=0, atol=1e-13)


@pytest.mark.parametrize("ruleset", ["yacht", "classic13"])
def test_a_whole_game_on_a_short_card_is_what_the_optimal_policy_plays(ruleset):
    check_start(RULESETS[ruleset].with_boxes([0, 4, 5, 8, 11] if ruleset == "classic13" else [1, 5, 6, 8, 9, 10, 11]))


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", ["yacht", HOUSE], ids=["yacht", "house"])
def test_a_whole_game_is_what_the_optimal_policy_plays(ruleset):
    check_start(ruleset)


def simulated(ruleset, position, n_games):
    """Points that optimal games bring from a position on, shape ``(n_games,)``."""
    game, policy, rng = get_game(ruleset), OptimalPolicy(ruleset), np.random.default_rng(1938)
    start = game.encode_state(**position)
    state = State(*(np.full(n_games, int(field)) for field in start))
    points = np.zeros(n_games, dtype=np.int64)
    while (going := np.flatnonzero(state.open_boxes)).size:
        part = State(*(field[going] for field in state))
        after, reward, _ = game.transition(part, policy.state_actions(part), rng.random(len(going)))
        points[going] += reward
        for field, new in zip(state, after, strict=True):
            field[going] = new
    return points


@pytest.mark.parametrize(
    ("ruleset", "position"),
    [
        ("yacht", {"open_boxes": ["Twos", "Sixes", "Full House", "Yacht"], "dice": [2, 2, 3, 3, 6], "rolls_left": 2}),
        (
            "classic13",
            {
                "open_boxes": ["Aces", "Sixes", "Full House", "Large Straight"],
                "upper_total": 45,
                "yacht_box": True,
                "dice": [6, 6, 6, 6, 1],
                "rolls_left": 1,
            },
        ),
    ],
)
def test_simulated_games_agree_from_the_middle_of_a_turn(ruleset, position):
    n_games = 20_000
    points = simulated(ruleset, position, n_games)
    law = remaining_distribution(ruleset=ruleset, **position)
    for total in (law.quantile(share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)):
        chance = law.at_least(total)
        assert abs((points >= total).mean() - chance) < 4 * (chance * (1 - chance) / n_games) ** 0.5 + 1e-9
    assert abs(points.mean() - law.mean) < 4 * law.standard_deviation / n_games**0.5


def test_a_full_card_brings_nothing_more():
    for ruleset in RULESETS:
        np.testing.assert_array_equal(remaining_distribution([], ruleset).probability, [1.0])


def test_a_bonus_that_is_certain_is_in_every_total():
    law = remaining_distribution(["Ones"], "yacht-bonus", upper_total=63)
    short = remaining_distribution(["Ones"], "yacht-bonus", upper_total=60)
    assert len(law.probability) == 6  # 0 to 5 ones; the bonus was paid before
    np.testing.assert_array_equal(np.flatnonzero(short.probability), [0, 1, 2, 38, 39, 40])


# ------------------------------------------------------------------------------------------------- what is kept


def test_all_positions_of_yacht_come_from_one_pass(nothing_known, monkeypatch):
    remaining_distribution(["Sixes"])
    monkeypatch.setattr(BackwardPass, "run", lambda *_: pytest.fail("a second pass"))
    assert remaining_distribution().mean == pytest.approx(166.95506770457, abs=1e-9)
    assert remaining_distribution(dice=[1, 2, 3, 4, 5], rolls_left=2).mean > 160


def test_later_positions_of_a_game_come_from_an_earlier_pass(nothing_known, monkeypatch):
    remaining_distribution([0, 1, 8, 14], "yatzy", upper_total=40)
    monkeypatch.setattr(BackwardPass, "run", lambda *_: pytest.fail("a second pass"))
    remaining_distribution([0, 8, 14], "yatzy", upper_total=46)
    with pytest.raises(pytest.fail.Exception, match="a second pass"):
        remaining_distribution([0, 8, 14], "yatzy", upper_total=39)


def test_a_pass_that_is_too_large_keeps_what_its_position_needs(nothing_known, monkeypatch):
    boxes, turn = [0, 5, 8, 11, 12], {"dice": [1, 1, 1, 6, 6], "rolls_left": 1}
    whole = [remaining_distribution(boxes, "classic13", action=a, **turn).probability for a in (7, 32, 37)]
    monkeypatch.setattr("yacht_env.remaining._known", {})
    monkeypatch.setattr("yacht_env.backward_pass._MAX_BYTES", 0)
    for action, law in zip((7, 32, 37), whole, strict=True):
        again = remaining_distribution(boxes, "classic13", action=action, **turn).probability
        np.testing.assert_array_equal(again, law)
    with monkeypatch.context() as patch:
        patch.setattr(BackwardPass, "run", lambda *_: pytest.fail("a second pass"))
        with pytest.raises(pytest.fail.Exception, match="a second pass"):
            remaining_distribution([0, 8], "classic13", upper_total=30)


def test_progress_grows_to_the_number_of_cards(nothing_known):
    told = []
    remaining_distribution([0, 5, 8, 11], "yatzy", upper_total=20, progress=lambda *news: told.append(news))
    done, total = zip(*told, strict=True)
    assert len(set(total)) == 1
    assert done[-1] == total[0]
    assert all(before < after for before, after in pairwise(done))


# ------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dice": [1, 2, 3, 4, 5]}, "dice and rolls_left go together"),
        ({"rolls_left": 1}, "dice and rolls_left go together"),
        ({"action": 3}, "an action needs dice"),
        ({"dice": [1, 2, 3, 4, 5], "rolls_left": 0, "action": 3}, "action 3 is not legal .* no roll left"),
        ({"open_boxes": ["Ones"], "dice": [1, 2, 3, 4, 5], "rolls_left": 0, "action": 33}, "action 33 is not legal"),
        ({"open_boxes": [], "dice": [1, 2, 3, 4, 5], "rolls_left": 0}, "open_boxes is empty"),
        ({"open_boxes": "Ones"}, "list of names or positions"),
        ({"open_boxes": ["Eights"]}, "no box 'Eights'"),
        ({"ruleset": "yatzy", "upper_total": 5}, "no game has an upper total of 5"),
        ({"ruleset": "chess"}, "unknown ruleset 'chess'"),
        ({"dice": [1, 2, 3, 4, 7], "rolls_left": 1}, "dice must show 1 to 6"),
    ],
)
def test_positions_that_no_game_has_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        remaining_distribution(**arguments)
