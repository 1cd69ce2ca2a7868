"""The dice: rolls, keeps, chances, and the running means and maxima along the lattice."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations, product
from math import factorial, prod
from typing import Any

import numpy as np
import pytest

from yacht_env.dice import DiceTables, dice_tables, max_over_keeps, mean_over_rolls, spread_over_rolls

FIVE_DICE, THREE_DICE = dice_tables(), dice_tables(3, 6)
BOTH = pytest.mark.parametrize("dice", [FIVE_DICE, THREE_DICE], ids=["five dice", "three dice"])
Faces = tuple[int, ...]


def rolls_of(dice: DiceTables) -> list[Faces]:
    return [tuple(row) for row in dice.faces.tolist()]


def keeps_of(dice: DiceTables) -> list[Faces]:
    """The faces of every keep, read from the holds that leave it."""
    faces: dict[int, Faces] = {}
    for roll, holds in zip(rolls_of(dice), dice.hold_keep.tolist(), strict=True):
        for mask, keep in enumerate(holds):
            kept = tuple(face for i, face in enumerate(roll) if mask >> i & 1)
            assert faces.setdefault(keep, kept) == kept
    return [faces[keep] for keep in range(dice.n_keeps)]


def rolls_after(dice: DiceTables, kept: Faces) -> Counter[int]:
    """In how many ways each roll can come when the other dice are rolled."""
    index = {roll: i for i, roll in enumerate(rolls_of(dice))}
    rolled = product(range(1, dice.n_faces + 1), repeat=dice.n_dice - len(kept))
    return Counter(index[tuple(sorted(kept + more))] for more in rolled)


def test_five_dice_have_252_rolls_462_keeps_and_23112_outcomes() -> None:
    assert (FIVE_DICE.n_rolls, FIVE_DICE.n_keeps, FIVE_DICE.n_holds) == (252, 462, 32)
    assert len(FIVE_DICE.next_roll) == FIVE_DICE.n_outcomes.sum() == 23_112


def test_three_dice_have_56_rolls_84_keeps_and_614_outcomes() -> None:
    assert (THREE_DICE.n_rolls, THREE_DICE.n_keeps, THREE_DICE.n_holds) == (56, 84, 8)
    assert len(THREE_DICE.next_roll) == THREE_DICE.n_outcomes.sum() == 614


@BOTH
def test_rolls_are_distinct_and_ascending(dice: DiceTables) -> None:
    assert len(set(rolls_of(dice))) == dice.n_rolls
    assert np.all(np.diff(dice.faces, axis=1) >= 0)
    for roll, counts in zip(rolls_of(dice), dice.counts.tolist(), strict=True):
        assert counts == [roll.count(face) for face in range(1, dice.n_faces + 1)]


@BOTH
def test_keeps_are_distinct_and_ordered_by_size_with_the_rolls_last(dice: DiceTables) -> None:
    keeps = keeps_of(dice)
    assert len(set(keeps)) == dice.n_keeps
    assert [len(kept) for kept in keeps] == sorted(dice.keep_size.tolist()) == dice.keep_size.tolist()
    assert keeps[0] == ()
    assert keeps[dice.first_roll_keep :] == rolls_of(dice)


@BOTH
def test_chances_of_the_rolls_are_multinomial(dice: DiceTables) -> None:
    ways = [factorial(dice.n_dice) / prod(map(factorial, counts)) for counts in dice.counts.tolist()]
    np.testing.assert_allclose(dice.probability, np.array(ways) / dice.n_faces**dice.n_dice, rtol=1e-15)
    assert dice.probability.sum() == pytest.approx(1, abs=1e-14)


@BOTH
def test_every_way_the_other_dice_fall_is_one_outcome_of_a_keep(dice: DiceTables) -> None:
    for keep, kept in enumerate(keeps_of(dice)):
        start, n = dice.outcome_start[keep], dice.n_outcomes[keep]
        assert Counter(dice.next_roll[start : start + n].tolist()) == rolls_after(dice, kept)


@BOTH
def test_the_canonical_hold_is_the_lowest_that_keeps_the_same_dice(dice: DiceTables) -> None:
    for holds, canonical in zip(dice.hold_keep.tolist(), dice.canonical_hold.tolist(), strict=True):
        for mask, lowest in enumerate(canonical):
            assert next(other for other in range(dice.n_holds) if holds[other] == holds[mask]) == lowest


def test_two_equal_dice_are_one_keep() -> None:
    roll = FIVE_DICE.roll_index([1, 1, 2, 3, 4])
    assert FIVE_DICE.hold_keep[roll, 0b00001] == FIVE_DICE.hold_keep[roll, 0b00010]
    assert FIVE_DICE.canonical_hold[roll, 0b00010] == 0b00001
    assert FIVE_DICE.canonical_hold[roll, 0b00110] == 0b00101


@BOTH
def test_mean_over_rolls_is_the_mean_over_every_way_the_dice_fall(dice: DiceTables) -> None:
    values = np.random.default_rng(1).normal(size=(dice.n_rolls, 3))
    means = mean_over_rolls(dice, values)
    assert means.shape == (dice.n_keeps, 3)
    for keep, kept in enumerate(keeps_of(dice)):
        ways = rolls_after(dice, kept)
        direct = sum(n * values[roll] for roll, n in ways.items()) / ways.total()
        np.testing.assert_allclose(means[keep], direct, atol=1e-13)


def test_mean_over_rolls_can_write_into_a_given_array() -> None:
    values, out = np.random.default_rng(2).normal(size=(252, 2)), np.full((462, 2), np.nan)
    assert mean_over_rolls(FIVE_DICE, values, out) is out
    np.testing.assert_array_equal(out, mean_over_rolls(FIVE_DICE, values))


@BOTH
def test_max_over_keeps_is_the_best_of_all_the_keeps_of_a_roll(dice: DiceTables) -> None:
    values = np.random.default_rng(3).normal(size=(dice.n_keeps, 3))
    before = values.copy()
    best = max_over_keeps(dice, values)
    np.testing.assert_array_equal(values, before)
    index = {kept: i for i, kept in enumerate(keeps_of(dice))}
    for roll, faces in enumerate(rolls_of(dice)):
        own = [index[kept] for n in range(dice.n_dice + 1) for kept in combinations(faces, n)]
        np.testing.assert_array_equal(best[roll], values[own].max(axis=0))


@BOTH
def test_spread_over_rolls_gives_every_roll_its_chance(dice: DiceTables) -> None:
    mass = np.random.default_rng(4).random((dice.n_keeps, 2))
    direct = np.zeros((dice.n_rolls, 2))
    for keep, kept in enumerate(keeps_of(dice)):
        ways = rolls_after(dice, kept)
        for roll, n in ways.items():
            direct[roll] += mass[keep] * n / ways.total()
    np.testing.assert_allclose(spread_over_rolls(dice, mass.copy()), direct, atol=1e-13)


def test_rolling_all_the_dice_spreads_as_the_first_roll() -> None:
    everything = np.zeros((462, 1))
    everything[0] = 1
    np.testing.assert_allclose(spread_over_rolls(FIVE_DICE, everything)[:, 0], FIVE_DICE.probability, atol=1e-16)


def test_a_roll_is_found_in_any_order_and_in_batches() -> None:
    found = FIVE_DICE.roll_index(list(permutations([5, 1, 6, 1, 3])))
    assert found.shape == (120,)
    assert set(found.tolist()) == {rolls_of(FIVE_DICE).index((1, 1, 3, 5, 6))}
    np.testing.assert_array_equal(FIVE_DICE.roll_index(FIVE_DICE.faces), np.arange(252))
    assert FIVE_DICE.roll_index(np.full((2, 3, 5), 6)).tolist() == [[251] * 3] * 2


@pytest.mark.parametrize(
    ("dice", "message"),
    [
        ([1, 2, 3, 4], "5 whole numbers"),
        ([1, 2, 3, 4, 5, 6], "5 whole numbers"),
        (3, "5 whole numbers, got 3"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], "5 whole numbers"),
        ([0, 1, 2, 3, 4], r"show 1 to 6, got \[0, 1, 2, 3, 4\]"),
        ([[1, 2, 3, 4, 5], [1, 2, 3, 4, 7]], "show 1 to 6"),
    ],
)
def test_dice_that_do_not_exist_are_refused(dice: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FIVE_DICE.roll_index(dice)


def test_tables_are_shared_and_cannot_be_changed() -> None:
    assert dice_tables() is FIVE_DICE
    with pytest.raises(ValueError, match="read-only"):
        FIVE_DICE.probability[0] = 1
