"""The dice: rolls, keeps, their lattice, and the table (keep, random number) -> roll.

A *roll* is a multiset of all the dice, a *keep* a multiset of some of them: the dice that are held while the rest are
rolled. For five dice of six faces there are 252 rolls and 462 keeps. Keeps are ordered by how many dice they hold, then
by their faces, so that keep 0 is the empty one and the last 252 keeps are the rolls, in the order of the rolls.

Adding one die to a keep leads to another keep, which makes the keeps a lattice. Both sums over rolls and maxima over
keeps are running ones along it: the value of a keep is the mean, over the faces of one further die, of the values of the
keeps that it leads to (1,260 additions in all, where a matrix of probabilities has 4,368 entries), and the best keep of
a roll is the better of the roll itself and the best keeps of the dice with one die fewer.

Public names: :class:`DiceTables`, :func:`dice_tables`, :func:`mean_over_rolls`, :func:`max_over_keeps`,
:func:`spread_over_rolls`, :func:`roll_probabilities`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from yacht_env.rules import N_DICE, N_FACES

__all__ = ["DiceTables", "dice_tables", "max_over_keeps", "mean_over_rolls", "roll_probabilities", "spread_over_rolls"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DiceTables:
    """Everything about a set of dice that does not depend on the rules; made by :func:`dice_tables`.

    ``R`` is the number of rolls, ``K`` the number of keeps, ``H = 2 ** n_dice`` the number of hold masks. All arrays are
    read-only.
    """

    n_dice: int
    n_faces: int
    faces: npt.NDArray[np.int8]  # (R, n_dice): the faces of each roll, ascending
    counts: npt.NDArray[np.int8]  # (R, n_faces): how many dice show each face
    probability: FloatArray  # (R,): of each roll of all the dice
    keep_counts: npt.NDArray[np.int8]  # (K, n_faces): how many dice of each keep show each face
    keep_size: IntArray  # (K,): how many dice each keep holds
    size_start: IntArray  # (n_dice + 2,): the keeps of size s are size_start[s] ... size_start[s + 1] - 1
    add: IntArray  # (K - R, n_faces): the keep with one die of that face more
    remove: IntArray  # (K, n_dice): the keeps with one die fewer, repeated to fill the row; row 0 is unused
    hold_keep: IntArray  # (R, H): the keep that a hold mask leaves of a roll
    canonical_hold: IntArray  # (R, H): the lowest hold mask that leaves the same keep
    outcome_start: IntArray  # (K,): where a keep's part of next_roll starts
    n_outcomes: IntArray  # (K,): n_faces ** (dice to roll), the length of that part
    next_roll: npt.NDArray[np.int16]  # (23112,) for five dice: the roll for each way the dice can fall

    @property
    def n_rolls(self) -> int:
        """Number of distinct rolls (252 for five dice)."""
        return len(self.faces)

    @property
    def n_keeps(self) -> int:
        """Number of distinct keeps (462 for five dice)."""
        return len(self.keep_size)

    @property
    def n_holds(self) -> int:
        """Number of hold masks (32 for five dice)."""
        return self.hold_keep.shape[1]

    @property
    def first_roll_keep(self) -> int:
        """Index of the keep that holds all the dice of roll 0; the others follow in order."""
        return self.n_keeps - self.n_rolls

    def held_faces(self, roll: int, hold: int) -> npt.NDArray[np.int8]:
        """Faces of the dice that a hold mask keeps of a roll, ascending."""
        return self.faces[roll][np.flatnonzero(hold >> np.arange(self.n_dice) & 1)]

    def roll(self, first_outcome: IntArray, n_outcomes: IntArray, uniform: FloatArray) -> IntArray:
        """The rolls that random numbers in [0, 1) pick among the outcomes of keeps, given by their part of ``next_roll``."""
        outcome = (uniform * n_outcomes).astype(np.int64)
        outcome += first_outcome
        return self.next_roll.take(outcome).astype(np.int64)

    def roll_index(self, dice: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Index of the rolls with these faces, in any order.

        Args:
            dice: Faces 1 to ``n_faces``, shape ``(..., n_dice)``.

        Raises:
            ValueError: for another number of dice, or a face that the dice lack.
        """
        faces = np.asarray(dice)
        if faces.ndim == 0 or faces.shape[-1] != self.n_dice or not np.issubdtype(faces.dtype, np.integer):
            raise ValueError(f"dice must be {self.n_dice} whole numbers, got {dice!r}")
        if faces.size and (faces.min() < 1 or faces.max() > self.n_faces):
            raise ValueError(f"dice must show 1 to {self.n_faces}, got {dice!r}")
        place = self.n_faces ** np.arange(self.n_dice - 1, -1, -1)
        # The outcomes of the empty keep are all the ordered rolls, numbered in base n_faces.
        return self.next_roll[(faces.astype(np.int64) - 1) @ place].astype(np.int64)


@lru_cache(maxsize=None)
def dice_tables(n_dice: int = N_DICE, n_faces: int = N_FACES) -> DiceTables:
    """The tables for ``n_dice`` dice of ``n_faces`` faces; built once, then shared."""
    keeps = [np.array(list(combinations_with_replacement(range(n_faces), size)), dtype=int) for size in range(n_dice + 1)]
    counts = np.vstack([(of_size[:, :, None] == np.arange(n_faces)).sum(axis=1) for of_size in keeps])
    keep_size = counts.sum(axis=1)
    size_start = np.searchsorted(keep_size, np.arange(n_dice + 2))
    first_roll = int(size_start[n_dice])

    # A keep is found by its key: each die adds to it what its face is worth, so that dice are added by adding.
    worth = (n_dice + 1) ** np.arange(n_faces)
    keys = counts @ worth
    in_order = np.argsort(keys)

    def find(wanted: IntArray) -> IntArray:
        return in_order[np.searchsorted(keys[in_order], wanted)]

    rolls = keeps[n_dice]
    hold_keep = find(worth[rolls] @ (np.arange(2**n_dice) >> np.arange(n_dice)[:, None] & 1))
    remove = np.zeros((len(keys), n_dice), dtype=np.int64)
    rolled = np.zeros(1, dtype=np.int64)  # the keys of all the ways that some dice can fall, the last die changing fastest
    next_roll = []
    for size in range(n_dice, -1, -1):
        of_size = slice(size_start[size], size_start[size + 1])
        die = np.arange(n_dice) % max(size, 1)
        if size:
            remove[of_size] = find(keys[of_size, None] - worth[keeps[size][:, die]])
        next_roll.append((find(keys[of_size, None] + rolled) - first_roll).ravel())
        rolled = (rolled[:, None] + worth).ravel()
    n_outcomes = n_faces ** (n_dice - keep_size)
    tables = DiceTables(
        n_dice=n_dice,
        n_faces=n_faces,
        faces=(rolls + 1).astype(np.int8),
        counts=counts[first_roll:].astype(np.int8),
        probability=np.bincount(next_roll[-1], minlength=len(rolls)) / n_faces**n_dice,
        keep_counts=counts.astype(np.int8),
        keep_size=keep_size,
        size_start=size_start,
        add=find(keys[:first_roll, None] + worth),
        remove=remove,
        hold_keep=hold_keep,
        canonical_hold=(hold_keep[:, :, None] == hold_keep[:, None, :]).argmax(axis=2),
        outcome_start=np.concatenate([[0], np.cumsum(n_outcomes)[:-1]]),
        n_outcomes=n_outcomes,
        next_roll=np.concatenate(next_roll[::-1]).astype(np.int16),
    )
    for value in vars(tables).values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return tables


def mean_over_rolls(dice: DiceTables, roll_values: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Expected value of every keep once the other dice are rolled.

    Args:
        dice: The tables.
        roll_values: Value of every roll, shape ``(R, L)``; the ``L`` lanes are independent problems.
        out: Where to write, shape ``(K, L)``.

    Returns:
        Value of every keep, shape ``(K, L)``; its last ``R`` rows are ``roll_values``.
    """
    values = np.empty((dice.n_keeps, roll_values.shape[1])) if out is None else out
    values[dice.first_roll_keep :] = roll_values
    for size in range(dice.n_dice - 1, -1, -1):
        start, stop = dice.size_start[size], dice.size_start[size + 1]
        level = values[start:stop]
        np.take(values, dice.add[start:stop, 0], axis=0, out=level, mode="clip")
        for face in range(1, dice.n_faces):
            level += values[dice.add[start:stop, face]]
        level *= 1.0 / dice.n_faces
    return values


def max_over_keeps(dice: DiceTables, keep_values: FloatArray) -> FloatArray:
    """Value of the best keep of every roll, where holding all the dice is one of them.

    Args:
        dice: The tables.
        keep_values: Value of every keep, shape ``(K, L)``.

    Returns:
        The maxima, shape ``(R, L)``.
    """
    best = keep_values.copy()
    for size in range(1, dice.n_dice + 1):
        start, stop = dice.size_start[size], dice.size_start[size + 1]
        level = best[start:stop]
        for column in range(size):
            np.maximum(level, best[dice.remove[start:stop, column]], out=level)
    return best[dice.first_roll_keep :]


def spread_over_rolls(dice: DiceTables, keep_mass: FloatArray) -> FloatArray:
    """Probability of every roll, given that of every keep: the transpose of :func:`mean_over_rolls`.

    Args:
        dice: The tables.
        keep_mass: Probability (or any additive quantity) of every keep, shape ``(K, L)``; used as scratch space.

    Returns:
        Probability of every roll, shape ``(R, L)``.
    """
    for size in range(dice.n_dice):
        start, stop = dice.size_start[size], dice.size_start[size + 1]
        share = keep_mass[start:stop] * (1.0 / dice.n_faces)
        for face in range(dice.n_faces):
            keep_mass[dice.add[start:stop, face]] += share  # no keep comes twice for one face
    return keep_mass[dice.first_roll_keep :]


def roll_probabilities(dice: DiceTables) -> FloatArray:
    """The odds: probability of each roll once the dice outside each keep are rolled, shape ``(K, R)``."""
    return spread_over_rolls(dice, np.eye(dice.n_keeps)).T
