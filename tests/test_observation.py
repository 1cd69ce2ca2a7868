"""Observations: both forms of every ruleset, their spaces, their layout, and the way back."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from yacht_env.game import State, get_game
from yacht_env.observation import get_observation
from yacht_env.rules import RULESETS, Number

EVERY_RULESET = pytest.mark.parametrize("ruleset", RULESETS)
BOTH_FORMS = pytest.mark.parametrize("form", ["flat", "dict"])
WITH_BONUS = [name for name in RULESETS if RULESETS[name].upper_bonus]

VisitedStates = Callable[[str], State]


def some(state: State, step: int) -> State:
    return State(*(field[::step] for field in state))


def row(observations: Any, i: int) -> Any:
    return {key: part[i] for key, part in observations.items()} if isinstance(observations, dict) else observations[i]


@BOTH_FORMS
@EVERY_RULESET
def test_every_observation_is_in_the_space(ruleset: str, form: Any, visited_states: VisitedStates) -> None:
    observation, state = get_observation(ruleset, form), some(visited_states(ruleset), 11)
    batch = observation.encode(state)
    for i in range(len(state.roll)):
        assert observation.space.contains(row(batch, i))


@BOTH_FORMS
@EVERY_RULESET
def test_one_state_is_encoded_like_a_batch(ruleset: str, form: Any, visited_states: VisitedStates) -> None:
    observation, state = get_observation(ruleset, form), some(visited_states(ruleset), 101)
    batch = observation.encode(state)
    for i, fields in enumerate(zip(*(field.tolist() for field in state), strict=True)):
        one = observation.encode_one(State(*fields))
        assert observation.space.contains(one)
        np.testing.assert_equal(one, row(batch, i))


@BOTH_FORMS
@EVERY_RULESET
def test_decoding_gives_the_state_back(ruleset: str, form: Any, visited_states: VisitedStates) -> None:
    observation, state = get_observation(ruleset, form), visited_states(ruleset)
    for name, field, decoded in zip(State._fields, state, observation.decode(observation.encode(state)), strict=True):
        np.testing.assert_array_equal(decoded, field, err_msg=name)


@BOTH_FORMS
@EVERY_RULESET
def test_every_upper_total_and_yacht_box_can_be_told_apart(ruleset: str, form: Any) -> None:
    game, observation = get_game(ruleset), get_observation(ruleset, form)
    card, lane = (grid.ravel() for grid in np.mgrid[1 : 2**game.n_boxes : 37, : game.n_lanes])
    lane = game.lane(card, game.upper_total(lane), game.yacht_box(lane))
    state = State(card % game.dice.n_rolls, lane % game.rolls_per_turn, lane, card)
    for name, field, decoded in zip(State._fields, state, observation.decode(observation.encode(state)), strict=True):
        np.testing.assert_array_equal(decoded, field, err_msg=name)


@BOTH_FORMS
@EVERY_RULESET
def test_the_end_of_a_game_can_be_seen_too(ruleset: str, form: Any) -> None:
    game, observation = get_game(ruleset), get_observation(ruleset, form)
    lanes = np.flatnonzero(game.reachable_lanes[0])
    nothing = np.zeros_like(lanes)
    batch = observation.encode(State(nothing, nothing, lanes, nothing))
    for i in range(len(lanes)):
        assert observation.space.contains(row(batch, i))


@BOTH_FORMS
@EVERY_RULESET
def test_every_encoding_is_a_new_array(ruleset: str, form: Any, visited_states: VisitedStates) -> None:
    observation, state = get_observation(ruleset, form), some(visited_states(ruleset), 50)
    one, other = observation.encode(state), observation.encode(state)
    parts = zip(one.values(), other.values(), strict=True) if isinstance(one, dict) else [(one, other)]
    for left, right in parts:  # type: ignore[union-attr]
        before = right.copy()
        left[:] = 1
        np.testing.assert_array_equal(right, before)
    np.testing.assert_equal(observation.encode(state), other)
    assert all(field.max() > 1 for field in (state.roll, state.open_boxes))


# ---------------------------------------------------------------------------------------------------------------- flat


@EVERY_RULESET
def test_the_layout_covers_the_vector_without_gaps(ruleset: str) -> None:
    observation = get_observation(ruleset)
    assert isinstance(observation.space, spaces.Box)
    stop = 0
    for part in observation.layout.values():
        assert part.start == stop < part.stop
        stop = part.stop
    assert observation.space.shape == (observation.size,) == (stop,)
    rules = RULESETS[ruleset]
    assert ("upper" in observation.layout) == (rules.upper_bonus is not None)
    assert ("yacht_box" in observation.layout) == (rules.joker is not None)
    assert observation.size == 30 + 6 + 3 + 2 * rules.n_boxes + 3 * bool(rules.upper_bonus) + bool(rules.joker)


@EVERY_RULESET
def test_flat_values_lie_between_0_and_1(ruleset: str) -> None:
    game, observation = get_game(ruleset), get_observation(ruleset)
    card, lane = np.nonzero(game.reachable_lanes)
    rng = np.random.default_rng(5)
    chosen = rng.integers(len(card), size=20_000)
    roll = rng.integers(game.dice.n_rolls, size=len(chosen))
    flat = observation.encode(State(roll, chosen % game.rolls_per_turn, lane[chosen], card[chosen]))
    assert isinstance(flat, np.ndarray)
    assert flat.dtype == np.float32
    assert flat.min() >= 0
    assert flat.max() <= 1


@EVERY_RULESET
def test_dice_counts_rolls_and_boxes_mean_what_the_layout_says(ruleset: str) -> None:
    game, observation = get_game(ruleset), get_observation(ruleset)
    state = game.encode_state([[6, 1, 3, 3, 1]], [1], [0, 4])
    flat = row(observation.encode(state), 0)
    parts = {name: flat[part] for name, part in observation.layout.items()}
    assert (parts["dice"].reshape(5, 6).argmax(axis=1) + 1).tolist() == [1, 1, 3, 3, 6]
    assert parts["dice"].sum() == 5
    np.testing.assert_allclose(parts["counts"], np.array([2, 0, 2, 0, 0, 1]) / 5, rtol=1e-6)
    assert parts["rolls_left"].tolist() == [0, 1, 0]
    assert np.flatnonzero(parts["open_boxes"]).tolist() == [0, 4]
    assert parts["open_boxes"].sum() == 2


@EVERY_RULESET
def test_points_are_the_reward_of_every_legal_box(ruleset: str, visited_states: VisitedStates) -> None:
    game, observation, state = get_game(ruleset), get_observation(ruleset), visited_states(ruleset)
    flat = observation.encode(state)
    assert isinstance(flat, np.ndarray)
    shown = flat[:, observation.layout["points"]]
    boxes = np.arange(game.n_holds, game.n_actions)
    for box, action in enumerate(boxes):
        _, reward, _ = game.transition(state, np.full(len(state.roll), action), np.zeros(len(state.roll)))
        np.testing.assert_allclose(shown[:, box], reward / observation.points_scale, rtol=1e-6)


@pytest.mark.parametrize(
    ("ruleset", "most"), [("yacht", 50), ("yacht-bonus", 30 + 35), ("yatzy", 30 + 50), ("classic13", 30 + 35 + 100)]
)
def test_points_are_scaled_by_the_most_that_one_box_can_bring(ruleset: str, most: int) -> None:
    assert get_observation(ruleset).points_scale == most


@pytest.mark.parametrize("ruleset", WITH_BONUS)
def test_upper_part_shows_what_is_missing_and_the_lead_over_the_pace(ruleset: str) -> None:
    game, observation = get_game(ruleset), get_observation(ruleset)
    names = {box.pattern.face: box.name for box in game.ruleset.boxes if isinstance(box.pattern, Number)}

    def upper(filled: list[int], total: int) -> list[float]:
        open_boxes = [name for name in game.ruleset.box_names if name not in {names[face] for face in filled}]
        flat = observation.encode(game.encode_state([[1, 2, 3, 4, 6]], [2], open_boxes, total))
        return row(flat, 0)[observation.layout["upper"]].tolist()

    assert upper([], 0) == pytest.approx([1, 0.5, 0])
    assert upper([6], 18) == pytest.approx([45 / 63, 0.5, 0])
    assert upper([6], 24) == pytest.approx([39 / 63, 0.5 + 6 / 126, 0])
    assert upper([1, 2], 0) == pytest.approx([1, 0.5 - 9 / 126, 0])
    assert upper([3, 4, 5, 6], 63) == pytest.approx([0, 0.5 + 9 / 126, 1])
    assert upper([1, 2, 3, 4, 5, 6], 62) == pytest.approx([1 / 63, 0.5 - 1 / 126, 0])


def test_the_yacht_box_is_shown_where_a_joker_depends_on_it() -> None:
    game, observation = get_game("classic13"), get_observation("classic13")
    for yacht_box in (False, True):
        state = game.encode_state([[1, 2, 3, 4, 6]], [2], ["Chance"], yacht_box=yacht_box)
        assert row(observation.encode(state), 0)[observation.layout["yacht_box"]] == yacht_box


# ---------------------------------------------------------------------------------------------------------------- dict


@EVERY_RULESET
def test_the_dict_form_holds_the_raw_numbers(ruleset: str) -> None:
    game, observation = get_game(ruleset), get_observation(ruleset, "dict")
    joker = game.ruleset.joker is not None
    state = game.encode_state([[6, 1, 3, 3, 1]], [1], [0, 4], upper_total=40, yacht_box=True)
    shown = observation.encode(state)
    assert isinstance(shown, dict)
    expected = {"dice": [[1, 1, 3, 3, 6]], "rolls_left": [1]}
    expected["open_boxes"] = [[int(box in (0, 4)) for box in range(game.n_boxes)]]
    expected |= {"upper_total": [40]} if ruleset in WITH_BONUS else {}
    expected |= {"yacht_box": [1]} if joker else {}
    assert {key: part.tolist() for key, part in shown.items()} == expected
    assert set(observation.space.keys()) == set(expected)  # type: ignore[union-attr]
    assert not observation.layout


# ------------------------------------------------------------------------------------------------------------ spelling


@pytest.mark.parametrize("shape", [(63,), (2, 62), (2, 64), (1, 2, 63)])
def test_a_flat_batch_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    observation = get_observation("yacht")
    assert observation.size == 63
    with pytest.raises(ValueError, match=r"observations have shape .*; expected \(N, 63\)"):
        observation.decode(np.zeros(shape, dtype=np.float32))


def test_a_single_dict_is_refused_as_a_batch() -> None:
    observation = get_observation("yacht", "dict")
    one = row(observation.encode(get_game("yacht").start(np.array([0.5]))), 0)
    with pytest.raises(ValueError, match=r"observations\['dice'\] has shape \(5,\)"):
        observation.decode(one)


def test_a_dict_batch_with_boxes_of_another_card_is_refused() -> None:
    batch = get_observation("classic13", "dict").encode(get_game("classic13").start(np.array([0.5])))
    with pytest.raises(ValueError, match=r"open_boxes has shape \(1, 13\); expected \(..., 12\)"):
        get_observation("yacht", "dict").decode(batch)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="'flat' or 'dict', got 'pixels'"):
        get_observation("yacht", "pixels")  # type: ignore[arg-type]


@BOTH_FORMS
def test_an_observation_is_built_once_and_copies_are_itself(form: Any) -> None:
    observation = get_observation("yatzy", form)
    assert get_observation(RULESETS["yatzy"], form) is observation
    assert copy.deepcopy(observation) is pickle.loads(pickle.dumps(observation)) is observation
