"""Questions about single states: the same answers, and the same errors, as the code for batches gives."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from yacht_env import turn
from yacht_env.game import Game, SingleState, State, get_game
from yacht_env.rules import RULESETS
from yacht_env.single_states import SingleStateReader
from yacht_env.solver import Solution, solve

EVERY_RULESET = pytest.mark.parametrize("ruleset", RULESETS)
DICE = [3, 1, 5, 3, 6]

solved = cache(solve)


def random_states(solution: Solution, n_states: int, n_cards: int) -> State:
    """States of some cards that a game can have, in random order, with any roll and any rolls left."""
    game, rng = solution.game, np.random.default_rng(1938)
    open_boxes, lane = np.nonzero(np.isfinite(solution.values))
    cards = rng.choice(np.flatnonzero(open_boxes), min(n_cards, np.count_nonzero(open_boxes)), replace=False)
    card = rng.choice(cards, n_states)
    rolls_left = rng.integers(0, game.rolls_per_turn, n_states)
    return State(rng.integers(0, game.dice.n_rolls, n_states), rolls_left, lane[card], open_boxes[card])


def spellings(game: Game, state: SingleState) -> list[tuple[Any, ...]]:
    """The ways to write one state."""
    dice, rolls_left = game.dice.faces[state.roll].tolist()[::-1], state.rolls_left
    flags, upper, yacht = game.box_rows[state.open_boxes], game.upper_total(state.lane), bool(game.yacht_box(state.lane))
    positions, names = np.flatnonzero(flags), game.open_names(state.open_boxes)
    return [
        (dice, rolls_left, list(names), upper, yacht),
        (tuple(dice), np.int64(rolls_left), positions.tolist(), np.int64(upper), np.bool_(yacht)),
        (np.array(dice, dtype=np.int8), np.int8(rolls_left), flags, np.uint8(upper), int(yacht)),
        (np.array(dice), rolls_left, flags.astype(bool), upper, np.int8(yacht)),
        ([np.int8(die) for die in dice], rolls_left, list(positions), upper, yacht),
        (dice, rolls_left, flags.astype(bool).tolist(), upper, yacht),
        (dice, rolls_left, tuple(names), upper, yacht),
        (dice, rolls_left, set(names), upper, yacht),
    ]


@EVERY_RULESET
def test_single_states_have_the_best_actions_of_a_batch(ruleset: str) -> None:
    solution = solve(ruleset)
    game, states = solution.game, random_states(solution, 10_000, n_cards=1_500)  # more than are kept, if there are as many
    batch = (
        game.dice.faces[states.roll].astype(int),
        states.rolls_left,
        game.box_rows[states.open_boxes],
        game.upper_total(states.lane),
        game.yacht_box(states.lane),
    )
    best, values = solution.best_action(*batch), solution.action_values(*batch)
    single = [SingleState(*fields) for fields in zip(*(field.tolist() for field in states), strict=True)]
    written = [spellings(game, state)[i % 8] for i, state in enumerate(single)]
    np.testing.assert_array_equal([solution.best_action(*one) for one in written], best)
    np.testing.assert_array_equal([solution.best_action(*one) for one in written[:1_000]], best[:1_000])  # type: ignore[index]
    each = np.array([solution.action_values(*one) for one in written[:2_000]])
    np.testing.assert_allclose(each, values[:2_000], rtol=0, atol=1e-10)


@EVERY_RULESET
def test_a_state_is_the_same_however_it_is_written(ruleset: str) -> None:
    game, states = get_game(ruleset), random_states(solved(ruleset), 100, n_cards=100)
    read = SingleStateReader(game).read
    for fields in zip(*(field.tolist() for field in states), strict=True):
        state = SingleState(*fields)
        for written in spellings(game, state):
            assert read(*written) == state == tuple(map(int, game.encode_state(*written)))
            assert all(type(field) is int for field in read(*written) or ())


def test_the_whole_card_is_open_if_nothing_is_said() -> None:
    game = get_game("classic13")
    read = SingleStateReader(game).read
    assert read(DICE, 2) == SingleState(int(game.dice.roll_index(DICE)), 2, 0, game.all_open)
    assert read(DICE, 2, None, 100) == read(DICE, 2, None, 63)
    assert read(DICE, 2, yacht_box=True) == read(DICE, 2)  # it is open


ODD_QUESTIONS: list[Callable[[], tuple[Any, ...]]] = [
    lambda: ([1, 2, 3, 4], 1),
    lambda: ([1, 2, 3, 4, 7], 1),
    lambda: ([0, 2, 3, 4, 5], 1),
    lambda: ([1, 2, 3, 4, 5.0], 1),
    lambda: (np.array([1, 2, 3, 4, 5.0]), 1),
    lambda: (np.array(DICE, dtype=object), 1),
    lambda: (np.array(DICE, dtype=np.uint64), 1),
    lambda: ([np.uint64(1), 2, 3, 4, 5], 1),
    lambda: ([True, 2, 3, 4, 5], 1),
    lambda: ([True] * 5, 1),
    lambda: ([1, 2, 3, 4, 10**30], 1),
    lambda: (12345, 1),
    lambda: ("12345", 1),
    lambda: (None, 1),
    lambda: ([], 1),
    lambda: (DICE, 3),
    lambda: (DICE, -1),
    lambda: (DICE, 1.0),
    lambda: (DICE, True),
    lambda: (DICE, np.array(1)),
    lambda: (DICE, [1]),
    lambda: (DICE, None),
    lambda: (DICE, 10**30),
    lambda: (DICE, 1, []),
    lambda: (DICE, 1, ()),
    lambda: (DICE, 1, "Chance"),
    lambda: (DICE, 1, 3),
    lambda: (DICE, 1, ["Choice"]),
    lambda: (DICE, 1, ["Chance", "Choice"]),
    lambda: (DICE, 1, [13]),
    lambda: (DICE, 1, [-1, 3]),
    lambda: (DICE, 1, [1.0]),
    lambda: (DICE, 1, [["Chance"]]),
    lambda: (DICE, 1, ["Chance", "Chance", 12]),
    lambda: (DICE, 1, [True, 5]),
    lambda: (DICE, 1, (True, False)),
    lambda: (DICE, 1, [True] * 13),
    lambda: (DICE, 1, [True] * 12),
    lambda: (DICE, 1, [False] * 13),
    lambda: (DICE, 1, (box for box in ("Chance", "Yacht"))),
    lambda: (DICE, 1, {"Chance": 1, "Yacht": 2}),
    lambda: (DICE, 1, range(6, 13)),
    lambda: (DICE, 1, np.ones(12, dtype=bool)),
    lambda: (DICE, 1, np.zeros(13, dtype=bool)),
    lambda: (DICE, 1, np.full(13, 2)),
    lambda: (DICE, 1, np.full(13, -1)),
    lambda: (DICE, 1, np.full(13, 0.5)),
    lambda: (DICE, 1, np.ones(13)),
    lambda: (DICE, 1, np.ones((1, 13), dtype=bool)),
    lambda: (DICE, 1, np.array(1)),
    lambda: (DICE, 1, np.array(["Chance"])),
    lambda: (DICE, 1, ["Chance"], -1),
    lambda: (DICE, 1, ["Chance"], 10.0),
    lambda: (DICE, 1, ["Chance"], True),
    lambda: (DICE, 1, ["Chance"], None),
    lambda: (DICE, 1, ["Chance"], 10**30),
    lambda: (DICE, 1, ["Chance"], 2**63),
    lambda: (DICE, 1, ["Chance"], np.array(10)),
    lambda: (DICE, 1, ["Chance"], 10, "yes"),
    lambda: (DICE, 1, ["Chance"], 10, None),
    lambda: (DICE, 1, ["Chance"], 10, [True]),
    lambda: (DICE, 1, ["Chance"], 10, 7),
    lambda: (DICE, 1, None, 5),
    lambda: (DICE, 1, range(1, 13), 6),
    lambda: (DICE, 1, list(range(1, 13)), 6),
    lambda: (DICE, 1, list(range(1, 13)), np.int64(6)),
]


def outcome(ask: Callable[..., Any], question: tuple[Any, ...]) -> tuple[Any, ...]:
    """The answer, or the error in words."""
    try:
        return "answer", np.shape(answer := ask(*question)), np.round(answer, 9).tolist()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("what", ["action_values", "best_action"])
@pytest.mark.parametrize("ruleset", ["yacht", "classic13"])
def test_odd_questions_are_answered_or_refused_as_ever(
    ruleset: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = getattr(solved(ruleset), what)
    now = [outcome(ask, question()) for question in ODD_QUESTIONS]
    monkeypatch.setattr(SingleStateReader, "read", lambda *_: None)  # so that all go the way of batches
    for question, answer in zip(ODD_QUESTIONS, now, strict=True):
        ever = outcome(ask, question())
        memory = str(ever[1]).partition(" at 0x")[0]  # a generator's address is another each time
        assert answer[0] == ever[0] and str(answer[1]).startswith(memory), question()
        assert answer[2:] == ever[2:], question()


def test_cards_are_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "_CARDS_KEPT", 3)
    model = turn.TurnModel(get_game("yacht"), solved("yacht").values)
    first = model.card_turn(1, 0)
    assert model.card_turn(1, 0) is first
    for open_boxes in range(1, 20):
        model.card_turn(open_boxes, 0)
        assert len(model._cards) <= 3
    assert model.card_turn(1, 0) is not first


def test_action_values_belong_to_the_one_who_asks() -> None:
    solution = solved("yacht")
    values = solution.action_values(DICE, 2)
    expected = values.copy()
    values[:] = 0
    np.testing.assert_array_equal(solution.action_values(DICE, 2), expected)


def test_a_solution_that_was_asked_can_be_pickled() -> None:
    solution = Solution(get_game("yacht"), solved("yacht").values)
    best = solution.best_action(DICE, 2)
    assert pickle.loads(pickle.dumps(solution)).best_action(DICE, 2) == best
