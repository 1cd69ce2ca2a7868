"""How a game moves: legal actions, jokers and the bonus, the transition, packing, and games against a referee."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests import brute_force
from tests.brute_force import Card
from yacht_env.game import Game, State, get_game
from yacht_env.rules import RULESETS

EVERY_RULESET = pytest.mark.parametrize("ruleset", RULESETS)
STATE_BITS = {"yacht": 0, "yacht-sum": 0, "yacht-openspiel": 0, "yacht-bonus": 6, "yatzy": 6, "classic13": 8}
FOURS, SIXES, MIXED = [4] * 5, [6] * 5, [1, 2, 3, 4, 4]
LOWER13 = RULESETS["classic13"].box_names[6:]

VisitedStates = Callable[[str], State]
PlayedGames = Callable[[str], list[Any]]


def legal_boxes(game: Game, dice: list[int], open_boxes: Any = None, **card: Any) -> set[str]:
    mask = game.action_mask(game.encode_state([dice], [0], open_boxes, **card))[0]
    return {name for name, legal in zip(game.ruleset.box_names, mask[game.n_holds :], strict=True) if legal}


def fill(game: Game, dice: list[int], box: str, open_boxes: Any = None, **card: Any) -> tuple[int, State]:
    """Points that a box brings, and the state after it."""
    state = game.encode_state([dice], [0], open_boxes, **card)
    action = np.array([game.n_holds + game.ruleset.index(box)])
    after, reward, legal = game.transition(state, action, np.array([0.5]))
    assert legal[0]
    return int(reward[0]), after


def points(game: Game, dice: list[int], box: str, open_boxes: Any = None, **card: Any) -> int:
    return fill(game, dice, box, open_boxes, **card)[0]


def rows(state: State, chosen: Any) -> State:
    return State(*(field[chosen] for field in state))


def assert_same(one: State, other: State) -> None:
    for name, left, right in zip(State._fields, one, other, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name)


# -------------------------------------------------------------------------------------------------------------- joker


@pytest.mark.parametrize("box", ["Full House", "Small Straight", "Large Straight"])
def test_there_is_no_joker_while_the_yacht_box_is_open(box: str) -> None:
    game = get_game("classic13")
    assert legal_boxes(game, FOURS) == set(game.ruleset.box_names)
    assert points(game, FOURS, box) == 0


@pytest.mark.parametrize(("yacht_box", "extra"), [(True, 100), (False, 0)])
@pytest.mark.parametrize(
    ("box", "worth"),
    [
        ("Three of a Kind", 20),
        ("Four of a Kind", 20),
        ("Full House", 25),
        ("Small Straight", 30),
        ("Large Straight", 40),
        ("Chance", 20),
    ],
)
def test_a_joker_is_granted_in_any_lower_box_once_its_number_box_is_filled(
    box: str, worth: int, yacht_box: bool, extra: int
) -> None:
    game = get_game("classic13")
    open_boxes = [*(set(LOWER13) - {"Yacht"}), "Aces"]
    assert legal_boxes(game, FOURS, open_boxes, yacht_box=yacht_box) == set(open_boxes) - {"Aces"}
    assert points(game, FOURS, box, open_boxes, yacht_box=yacht_box) == worth + extra


@pytest.mark.parametrize("yacht_box", [True, False])
def test_five_of_a_kind_must_go_into_its_open_number_box_once_the_yacht_box_is_filled(yacht_box: bool) -> None:
    game = get_game("classic13")
    open_boxes = [box for box in game.ruleset.box_names if box != "Yacht"]
    assert legal_boxes(game, FOURS, open_boxes, yacht_box=yacht_box) == {"Fours"}
    assert legal_boxes(game, MIXED, open_boxes, yacht_box=yacht_box) == set(open_boxes)


@pytest.mark.parametrize(("yacht_box", "brought"), [(True, 100), (False, 0)])
def test_a_joker_without_its_number_box_and_lower_boxes_is_a_zero_in_a_number_box(
    yacht_box: bool, brought: int
) -> None:
    game = get_game("classic13")
    assert legal_boxes(game, FOURS, ["Aces", "Sixes"], yacht_box=yacht_box) == {"Aces", "Sixes"}
    reward, after = fill(game, FOURS, "Sixes", ["Aces", "Sixes"], upper_total=20, yacht_box=yacht_box)
    assert reward == brought
    assert game.upper_total(after.lane)[0] == 20


def test_the_extra_yacht_does_not_count_toward_the_63() -> None:
    game = get_game("classic13")
    reward, after = fill(game, [1] * 5, "Aces", ["Aces", "Chance"], yacht_box=True)
    assert reward == 5 + 100
    assert game.upper_total(after.lane)[0] == 5


def test_a_yacht_box_that_holds_zero_earns_no_extra_yacht_but_forces_the_joker() -> None:
    game = get_game("classic13")
    _, after = fill(game, MIXED, "Yacht")
    assert game.yacht_box(after.lane)[0] == 0
    open_boxes = ["Fours", "Full House"]
    assert legal_boxes(game, FOURS, open_boxes, yacht_box=False) == {"Fours"}
    assert points(game, FOURS, "Fours", open_boxes, yacht_box=False) == 20


def test_the_first_yacht_brings_50_and_no_extra() -> None:
    game = get_game("classic13")
    reward, after = fill(game, FOURS, "Yacht")
    assert reward == 50
    assert game.yacht_box(after.lane)[0] == 1


@pytest.mark.parametrize("ruleset", [name for name in RULESETS if RULESETS[name].joker is None])
def test_other_games_know_no_joker(ruleset: str) -> None:
    game = get_game(ruleset)
    open_boxes = list(game.ruleset.box_names[:-1])
    assert legal_boxes(game, FOURS, open_boxes) == set(open_boxes)
    assert points(game, FOURS, "Fours", open_boxes) == 20


def test_thirteen_yachts_make_the_highest_total_of_classic13() -> None:
    game = get_game("classic13")
    order = [("Yacht", 6), *zip(game.ruleset.box_names[:6], range(1, 7), strict=True)]
    order += [(box, 6) for box in LOWER13 if box != "Yacht"]
    open_boxes, upper, total = list(game.ruleset.box_names), 0, 0
    for box, face in order:
        reward, after = fill(game, [face] * 5, box, open_boxes, upper_total=upper, yacht_box=True)
        total, upper = total + reward, int(game.upper_total(after.lane)[0])
        open_boxes.remove(box)
    assert total == 105 + 35 + 50 + 3 * 30 + 25 + 30 + 40 + 12 * 100


# -------------------------------------------------------------------------------------------------------------- bonus

BONUSES = [("yacht-bonus", 35), ("classic13", 35), ("yatzy", 50)]


@pytest.mark.parametrize(("ruleset", "bonus"), BONUSES)
@pytest.mark.parametrize("last", [1, 2, 3, 4, 5, 6])
def test_three_of_every_face_earn_the_bonus_with_the_last_number_box(ruleset: str, bonus: int, last: int) -> None:
    game = get_game(ruleset)
    dice = [last] * 3 + [last % 6 + 1] * 2
    box = game.ruleset.box_names[last - 1]
    assert points(game, dice, box, [box], upper_total=63 - 3 * last) == 3 * last + bonus
    if last > 1:
        assert points(game, dice, box, [box], upper_total=62 - 3 * last) == 3 * last


@pytest.mark.parametrize(("ruleset", "bonus"), BONUSES)
def test_the_bonus_is_paid_once_and_on_points_not_on_boxes(ruleset: str, bonus: int) -> None:
    game = get_game(ruleset)
    first, sixes, chance = game.ruleset.box_names[0], "Sixes", {"yacht-bonus": "Choice"}.get(ruleset, "Chance")
    open_boxes = [first, "Twos", sixes, chance]
    reward, after = fill(game, SIXES, sixes, open_boxes, upper_total=40)
    assert reward == 30 + bonus
    assert game.upper_total(after.lane)[0] == 63
    assert points(game, [2, 2, 2, 1, 1], "Twos", [first, "Twos", chance], upper_total=70) == 6
    assert points(game, [1, 1, 1, 2, 2], first, [first], upper_total=63) == 3
    assert points(game, [6, 6, 6, 5, 5], chance, [first, chance], upper_total=62) == 28
    assert points(game, [2, 2, 3, 3, 3], first, [first], upper_total=62) == 0


@pytest.mark.parametrize(("ruleset", "bonus"), BONUSES)
def test_the_bonus_does_not_depend_on_the_order_of_the_card(ruleset: str, bonus: int) -> None:
    backwards = dataclasses.replace(RULESETS[ruleset], boxes=RULESETS[ruleset].boxes[::-1])
    game = get_game(backwards)
    assert points(game, SIXES, "Sixes", ["Sixes", "Full House"], upper_total=33) == 30 + bonus
    assert points(game, SIXES, "Sixes", ["Sixes", "Full House"], upper_total=32) == 30


@pytest.mark.parametrize("ruleset", ["yacht", "yacht-sum", "yacht-openspiel"])
def test_games_without_a_bonus_pay_none(ruleset: str) -> None:
    assert points(get_game(ruleset), SIXES, "Sixes", upper_total=62) == 30


# ------------------------------------------------------------------------------------------------------------ legality


@EVERY_RULESET
def test_the_mask_has_one_hold_for_each_distinct_keep(ruleset: str) -> None:
    game = get_game(ruleset)
    every_roll = game.encode_state(game.dice.faces.astype(int), 2)
    for faces, mask in zip(game.dice.faces.tolist(), game.action_mask(every_roll), strict=True):
        holds = np.flatnonzero(mask[: game.n_holds])
        kept = [tuple(face for i, face in enumerate(faces) if hold >> i & 1) for hold in holds]
        assert len(kept) == len(set(kept))
        assert set(kept) == {keep for n in range(5) for keep in combinations(faces, n)}


def test_holding_every_die_is_never_legal() -> None:
    game = get_game("yacht")
    states = game.encode_state([MIXED] * 3, [0, 1, 2])
    assert not game.is_legal(states, np.full(3, 31)).any()
    assert not game.action_mask(states)[:, 31].any()


def test_no_dice_are_held_when_no_roll_is_left() -> None:
    game = get_game("yacht")
    state = game.encode_state([MIXED] * 32, 0)
    assert not game.is_legal(state, np.arange(32)).any()
    assert not game.action_mask(state)[:, :32].any()
    assert game.action_mask(state)[:, 32:].all()


def test_a_turn_may_stop_after_any_roll_and_filled_boxes_stay_filled() -> None:
    game = get_game("yacht")
    mask = game.action_mask(game.encode_state([MIXED] * 3, [0, 1, 2], ["Fours", "Choice"]))[:, 32:]
    assert [np.flatnonzero(row).tolist() for row in mask] == [[3, 10]] * 3


@EVERY_RULESET
def test_the_mask_is_what_is_legal_and_canonical(ruleset: str, visited_states: VisitedStates) -> None:
    game, state = get_game(ruleset), visited_states(ruleset)
    actions = np.arange(game.n_actions)
    legal = game.is_legal(State(*(field[:, None] for field in state)), actions)
    canonical = np.ones_like(legal)
    canonical[:, : game.n_holds] = game.dice.canonical_hold[state.roll] == actions[: game.n_holds]
    mask = game.action_mask(state)
    assert mask.dtype == np.int8
    np.testing.assert_array_equal(mask, legal & canonical)


def test_a_hold_that_is_not_canonical_does_the_same_as_the_canonical_one() -> None:
    game = get_game("yacht")
    roll, hold = (grid.ravel() for grid in np.mgrid[: game.dice.n_rolls, : game.n_holds - 1])
    uniform = np.random.default_rng(0).random(len(roll))
    state = game.encode_state(game.dice.faces[roll].astype(int), 2)
    canonical = game.dice.canonical_hold[roll, hold]
    assert (canonical != hold).any()
    after, reward, legal = game.transition(state, hold, uniform)
    same, same_reward, _ = game.transition(state, canonical, uniform)
    assert legal.all()
    assert_same(after, same)
    assert not reward.any()
    assert not same_reward.any()


@EVERY_RULESET
def test_an_illegal_action_changes_nothing_and_scores_nothing(ruleset: str, visited_states: VisitedStates) -> None:
    game = get_game(ruleset)
    state = rows(visited_states(ruleset), slice(None, None, 7))
    n = len(state.roll)
    for action in (*range(-2, game.n_actions + 2), -(2**60), 2**60):
        actions = np.full(n, action)
        after, reward, legal = game.transition(state, actions, np.full(n, 0.999))
        np.testing.assert_array_equal(legal, game.is_legal(state, actions))
        assert_same(rows(after, ~legal), rows(state, ~legal))
        assert not reward[~legal].any()
        if not 0 <= action < game.n_actions:
            assert not legal.any()


# -------------------------------------------------------------------------------------------------------------- moving


def test_a_hold_keeps_its_dice_and_takes_one_roll() -> None:
    game = get_game("yacht")
    n = 6
    state = game.encode_state([MIXED] * n, 2)
    after, _, _ = game.transition(state, np.full(n, 0b10111), np.arange(n) / n)
    assert sorted(map(tuple, game.dice.faces[after.roll].tolist())) == sorted(
        tuple(sorted([1, 2, 3, 4, face])) for face in range(1, 7)
    )
    assert (after.rolls_left == 1).all()
    assert (after.open_boxes == game.all_open).all()


def test_a_box_ends_the_turn_and_all_the_dice_are_rolled() -> None:
    game = get_game("yacht")
    uniform = (np.arange(7776) + 0.5) / 7776
    state = game.encode_state(np.tile(MIXED, (7776, 1)), 1)
    after, reward, _ = game.transition(state, np.full(7776, 32 + game.ruleset.index("Choice")), uniform)
    assert (reward == 14).all()
    assert (after.rolls_left == 2).all()
    assert (after.open_boxes == game.all_open - 2**10).all()
    np.testing.assert_allclose(np.bincount(after.roll) / 7776, game.dice.probability)


def test_the_greatest_random_number_gives_the_last_outcome() -> None:
    game = get_game("yacht")
    start = game.start(np.array([0.0, np.nextafter(1, 0)]))
    assert game.dice.faces[start.roll].tolist() == [[1] * 5, [6] * 5]
    assert start.rolls_left.tolist() == [2, 2]
    every_keep = np.arange(game.dice.n_keeps)
    last = game.roll(every_keep, np.full(len(every_keep), np.nextafter(1, 0)))
    np.testing.assert_array_equal(last, game.dice.next_roll[game.dice.outcome_start + game.dice.n_outcomes - 1])


@EVERY_RULESET
def test_a_game_is_over_with_the_last_box(ruleset: str) -> None:
    game = get_game(ruleset)
    last = game.ruleset.box_names[-1]
    _, after = fill(game, SIXES, last, [last])
    assert after.open_boxes[0] == 0
    assert not game.action_mask(after).any()
    assert not game.is_legal(after, np.arange(game.n_actions)).any()


@EVERY_RULESET
def test_a_single_move_agrees_with_the_batch(ruleset: str, visited_states: VisitedStates) -> None:
    game = get_game(ruleset)
    state = rows(visited_states(ruleset), slice(None, None, 97))
    rng = np.random.default_rng(3)
    for action in range(-1, game.n_actions + 1):
        uniform = rng.random(len(state.roll))
        after, reward, legal = game.transition(state, np.full(len(state.roll), action), uniform)
        for i, u in enumerate(uniform.tolist()):
            single = game.move(State(*(field[i].item() for field in state)), action, u)
            assert single == (tuple(field[i] for field in after), reward[i], legal[i])


@EVERY_RULESET
def test_every_game_agrees_with_an_independent_referee(ruleset: str, played_games: PlayedGames) -> None:
    game, steps = get_game(ruleset), played_games(ruleset)
    names = game.ruleset.box_names
    n_games = len(steps[0].reward)
    cards = [Card(frozenset(names))] * n_games
    totals, jokers = np.zeros(n_games, dtype=int), 0
    for state, action, reward, legal in steps:
        np.testing.assert_array_equal(legal, state.open_boxes != 0)
        mask = game.action_mask(state)[:, game.n_holds :]
        for i in np.flatnonzero(legal):
            dice = tuple(game.dice.faces[state.roll[i]].tolist())
            allowed = brute_force.legal_boxes(ruleset, cards[i], dice)
            assert allowed == {name for name, may in zip(names, mask[i], strict=True) if may}
            if action[i] < game.n_holds:
                assert reward[i] == 0
                continue
            jokers += brute_force.is_joker(ruleset, cards[i], dice)
            brought, cards[i] = brute_force.fill(ruleset, cards[i], dice, names[action[i] - game.n_holds])
            assert reward[i] == brought
            totals[i] += brought
    assert all(not card.open for card in cards)
    np.testing.assert_array_equal(sum(step.reward for step in steps), totals)
    assert (jokers > 10) == (ruleset == "classic13")
    if ruleset in brute_force.BONUS:
        assert any(card.upper == 63 for card in cards)


# ------------------------------------------------------------------------------------------------------------ spelling


@EVERY_RULESET
def test_packing_is_reversible_and_laid_out_as_documented(ruleset: str, visited_states: VisitedStates) -> None:
    game, state = get_game(ruleset), visited_states(ruleset)
    packed = game.pack(state)
    assert_same(game.unpack(packed), state)
    lane_bits = STATE_BITS[ruleset]
    assert state.lane.max() < 2**lane_bits
    documented = state.roll + 2**8 * state.rolls_left + 2**10 * state.lane + 2 ** (10 + lane_bits) * state.open_boxes
    np.testing.assert_array_equal(packed, documented)


@EVERY_RULESET
def test_visited_cards_are_reachable_and_impossible_ones_are_not(ruleset: str, visited_states: VisitedStates) -> None:
    game, state = get_game(ruleset), visited_states(ruleset)
    reachable = game.reachable_lanes
    assert reachable[state.open_boxes, state.lane].all()
    assert reachable[game.all_open].sum() == 1
    if game.upper_threshold:
        sixes_filled = game.box_bits(game.ruleset.box_names[:5])
        totals = game.upper_total(np.flatnonzero(reachable[sixes_filled]))
        assert set(totals.tolist()) == {0, 6, 12, 18, 24, 30}


def test_raw_numbers_describe_a_state() -> None:
    game = get_game("classic13")
    state = game.encode_state([5, 1, 3, 1, 6], 1, ["Chance", 0], upper_total=20, yacht_box=True)
    assert game.dice.faces[state.roll].tolist() == [1, 1, 3, 5, 6]
    assert (state.rolls_left, state.open_boxes) == (1, 2**12 + 1)
    assert (game.upper_total(state.lane), game.yacht_box(state.lane)) == (20, 1)
    assert game.upper_total(game.encode_state(MIXED, 0, upper_total=90).lane) == 63
    as_array = np.isin(np.arange(13), [0, 12])
    assert game.encode_state([5, 1, 3, 1, 6], 1, as_array, 20, True) == state


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rolls_left": 3}, "rolls_left must be 0 to 2, got 3"),
        ({"rolls_left": -1}, "rolls_left must be 0 to 2, got -1"),
        ({"rolls_left": 1.5}, "rolls_left must be 0 to 2, got 1.5"),
        ({"dice": [1, 2, 3, 4]}, r"5 whole numbers, got \[1, 2, 3, 4\]"),
        ({"dice": [1, 2, 3, 4, 7]}, "dice must show 1 to 6"),
        ({"upper_total": -1}, "upper_total must be a whole number, 0 or more, got -1"),
        ({"upper_total": 0.5}, "got 0.5"),
        ({"open_boxes": []}, "open_boxes is empty"),
        ({"open_boxes": ["Chance"]}, "has no box 'Chance'"),
        ({"open_boxes": [12]}, "has no box 12; expected 0 to 11"),
        ({"open_boxes": "Ones"}, "list of names or positions, got 'Ones'"),
        ({"open_boxes": 3}, "list of names or positions, got 3"),
        ({"open_boxes": np.ones(13, dtype=bool)}, r"shape \(13,\); expected \(..., 12\)"),
        ({"open_boxes": np.zeros((2, 12), dtype=bool)}, "open_boxes is empty"),
    ],
)
def test_a_state_that_no_game_has_is_refused(change: dict[str, Any], message: str) -> None:
    numbers: dict[str, Any] = {"dice": MIXED, "rolls_left": 1, "open_boxes": None, "upper_total": 0}
    with pytest.raises(ValueError, match=message):
        get_game("yacht").encode_state(**(numbers | change))


@EVERY_RULESET
def test_a_game_is_built_once_and_copies_are_the_game_itself(ruleset: str) -> None:
    game = get_game(ruleset)
    assert get_game(RULESETS[ruleset]) is game
    assert copy.copy(game) is copy.deepcopy(game) is pickle.loads(pickle.dumps(game)) is game
    with pytest.raises(ValueError, match="read-only"):
        game.reward[0, 0, 0] = 1


def test_an_unknown_game_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown ruleset 'poker'"):
        get_game("poker")


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_actions_may_be_numbers_of_any_size(dtype: Any) -> None:
    game = get_game("yacht")
    state = game.start(np.array([0.1, 0.9]))
    actions = np.array([32, 0])
    after, points, legal = game.transition(state, actions.astype(dtype), np.array([0.5, 0.5]))
    expected, expected_points, _ = game.transition(state, actions, np.array([0.5, 0.5]))
    for field, other in zip(after, expected, strict=True):
        np.testing.assert_array_equal(field, other)
    np.testing.assert_array_equal(points, expected_points)
    assert legal.all()
    one = State(*(field[0] for field in state))
    assert bool(game.is_legal(one, np.array(35, dtype=dtype)))
    assert not bool(game.is_legal(one, np.array(-1, dtype=dtype)))
