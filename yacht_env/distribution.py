"""The distribution of a game's total, and what follows from it.

Public names: :class:`ScoreDistribution`, :class:`Outcome`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Outcome", "ScoreDistribution"]

FloatArray = npt.NDArray[np.float64]


class Outcome(NamedTuple):
    """How separate games of two players compare; the three add up to 1."""

    win: float
    draw: float
    loss: float


@dataclass(frozen=True, eq=False)
class ScoreDistribution:
    """Chance of every total.

    Attributes:
        probability: Chance of each total from 0 up, shape ``(highest total + 1,)``; adds up to 1.
        n_games: Games that it was counted in; 0 where it is exact.
    """

    probability: FloatArray
    n_games: int = 0

    @classmethod
    def from_scores(cls, scores: npt.NDArray[np.int64]) -> ScoreDistribution:
        """The distribution of the totals of simulated games, shape ``(N,)``."""
        return cls(np.bincount(scores) / len(scores), len(scores))

    @cached_property
    def mean(self) -> float:
        """Expected total."""
        return float(np.arange(len(self.probability)) @ self.probability)

    @cached_property
    def standard_deviation(self) -> float:
        """Of the total of one game."""
        away = np.arange(len(self.probability)) - self.mean
        return float(np.sqrt(away**2 @ self.probability))

    def at_least(self, score: float) -> float:
        """Chance of this total or more."""
        return float(self.probability[max(int(np.ceil(score)), 0) :].sum())

    def quantile(self, share: float) -> int:
        """The lowest total that is not exceeded with at least this chance.

        Raises:
            ValueError: for a share outside 0 to 1.
        """
        if not 0 <= share <= 1:
            raise ValueError(f"share must be 0 to 1, got {share}")
        at_most = np.cumsum(self.probability)
        reached = int(np.searchsorted(at_most, share - 1e-12))  # sums of rounded numbers may fall short by a trace
        possible = np.flatnonzero(self.probability)
        return int(possible[min(int(np.searchsorted(possible, reached)), len(possible) - 1)])

    def against(self, other: ScoreDistribution) -> Outcome:
        """Chances of winning, drawing and losing against another player, each with dice of their own."""
        n = max(len(self.probability), len(other.probability))
        mine, theirs = (np.pad(d.probability, (0, n - len(d.probability))) for d in (self, other))
        less = np.cumsum(theirs) - theirs  # chance that the other has less
        win, draw = float(mine @ less), float(mine @ theirs)
        return Outcome(win, draw, max(1.0 - win - draw, 0.0))
