"""The lattice of keeps in an order that makes sums and maxima of whole rows short, for :mod:`yacht_env.induction`.

Everything here has one column a card; rows are keeps, or rolls.

Public names: :class:`Lattice`, :func:`get_lattice`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from yacht_env.dice import DiceTables

__all__ = ["Lattice", "get_lattice"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Lattice:
    """The lattice of keeps, with the keeps of equally many dice sorted by how many faces differ, the most first.

    A keep can be reached by removing a die in as many ways as it has different faces, and in this order the keeps that still
    have another way are a slice.

    Args:
        dice: The tables of the dice.

    Attributes:
        n_keeps: Number of keeps, ``K``.
        n_rolls: Number of rolls, ``R``.
        first_roll: The rolls are the keeps from this one on.
        rolls: The rolls in the order of the lattice, shape ``(R,)``.
        probability: Of each roll of all the dice, in that order.
        share: One by the ways that the other dice can fall, for each keep that leaves a die, ``(K - R, 1)``.
        levels: By size: the first keep, the one after the last, where a further die leads, and where a die fewer does.
    """

    def __init__(self, dice: DiceTables) -> None:
        self.n_keeps, self.n_rolls, self.first_roll = dice.n_keeps, dice.n_rolls, dice.first_roll_keep
        self.share = 1.0 / dice.n_outcomes[: self.first_roll, None]  # the order keeps the sizes apart
        ways = np.array([len(set(row[:size])) for row, size in zip(dice.remove.tolist(), dice.keep_size, strict=True)])
        order = np.lexsort((np.arange(dice.n_keeps), -ways, dice.keep_size))
        position = np.argsort(order)
        self.rolls = order[self.first_roll :] - self.first_roll  # the rolls in this order
        self.probability = dice.probability[self.rolls]
        self.levels: list[tuple[int, int, IntArray, list[IntArray]]] = []
        for size in range(dice.n_dice + 1):
            start, stop = int(dice.size_start[size]), int(dice.size_start[size + 1])
            keeps = order[start:stop]
            add = position[dice.add[keeps]].T.copy() if size < dice.n_dice else np.zeros((0, 0), dtype=np.int64)
            fewer = [sorted(set(row[:size])) for row in dice.remove[keeps].tolist()]
            removed = [
                position[[row[j] for row in fewer if len(row) > j]] for j in range(max(map(len, fewer), default=0))
            ]
            if size == dice.n_dice - 1:
                add -= self.first_roll
            self.levels.append((start, stop, add, removed))

    def mean(self, rolls: FloatArray, keeps: FloatArray, spare: FloatArray) -> None:
        """Fill in what each keep is worth, given the rolls, times the ways that its other dice can fall.

        1,260 rows are fetched for five dice, and all but one a keep are added: 27 rows read or written a keep.

        Args:
            rolls: What each roll is worth.
            keeps: Where to write, one row a keep; not the last rows, those of the rolls.
            spare: Room for as many rows as there are rolls.
        """
        source = rolls
        for start, stop, add, _ in self.levels[-2::-1]:
            level, room = keeps[start:stop], spare[: stop - start]
            source.take(add[0], axis=0, out=level, mode="clip")
            for further in add[1:]:
                source.take(further, axis=0, out=room, mode="clip")
                level += room
            source = keeps

    def best(self, keeps: FloatArray, fill: FloatArray, spare: FloatArray) -> None:
        """The best of each keep and all that hold fewer of its dice; for the rolls, of ``fill`` too.

        1,260 rows are fetched for five dice, and compared with another: five rows read or written for each.

        Args:
            keeps: As :meth:`mean` left it; the rolls are the last rows.
            fill: What it is worth to fill a box, for each roll.
            spare: Room for as many rows as there are rolls.
        """
        keeps[: self.first_roll] *= self.share
        for start, _, _, removed in self.levels[1:]:
            before = fill if start == self.first_roll else keeps[start:]
            for fewer in removed:
                level, room = keeps[start : start + len(fewer)], spare[: len(fewer)]
                keeps.take(fewer, axis=0, out=room, mode="clip")
                np.maximum(before[: len(fewer)], room, out=level)
                before = level


@lru_cache(maxsize=4)
def get_lattice(dice: DiceTables) -> Lattice:
    """The lattice of some dice; built once, then shared."""
    return Lattice(dice)
