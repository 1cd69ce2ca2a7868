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
    """How a player's game ends among games of others; the three add up to 1."""

    win: float  # alone in first place
    draw: float  # shares the first place
    loss: float  # somebody has more


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

    def plus(self, points: int) -> ScoreDistribution:
        """The distribution of the total with so many points more, 0 or more."""
        return ScoreDistribution(np.pad(self.probability, (points, 0)), self.n_games)

    def against(self, *others: ScoreDistribution) -> Outcome:
        """Chances of winning, drawing and losing against one or more other players, each with dice of their own."""
        n = max(len(law.probability) for law in (self, *others))
        mine, *theirs = (np.pad(law.probability, (0, n - len(law.probability))) for law in (self, *others))
        most, less = np.ones(n), np.ones(n)  # chances that all others have at most, and less than, each total
        for law in theirs:
            at_most = np.cumsum(law)
            most, less = most * at_most, less * (at_most - law)
        win = float(mine @ less)
        draw = float(mine @ (most - less))
        return Outcome(win, max(draw, 0.0), max(1.0 - win - draw, 0.0))
