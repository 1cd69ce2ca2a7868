"""A total among those of perfect play: better than what share of the games that the optimum would have?

The distribution of the optimum's total is exact for the named rulesets, whose figures come with the package
(``optimal_totals.npz``, made by ``python scripts/write_optimal_totals.py``), and for other rules of up to some thousand
cards, for which it is worked out in a second or two. For larger ones games are simulated
(:mod:`yacht_env.table.outlook`), and the rating says so.

Public names: :func:`rate`, :class:`Rating`, :func:`optimal_totals`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import IO

import numpy as np

from yacht_env.distribution import ScoreDistribution
from yacht_env.progress import Progress
from yacht_env.solver import Solution
from yacht_env.table.outlook import points_to_come

__all__ = ["Rating", "optimal_totals", "rate"]

TOTALS_FILE = "optimal_totals.npz"
"""Beside this module: the chance of every total, by the fingerprint of the rules."""


@dataclass(frozen=True)
class Rating:
    """How a total compares with the totals of perfect play.

    Attributes:
        better_than: Share of optimal games with a lower total.
        equal: Share of optimal games with the same total.
        mean: Points that optimal games average.
        n_games: Games that the shares were counted in; 0 where they are exact.
    """

    better_than: float
    equal: float
    mean: float
    n_games: int

    @property
    def standard_error(self) -> float:
        """Of ``better_than``; 0 where it is exact."""
        return (self.better_than * (1 - self.better_than) / self.n_games) ** 0.5 if self.n_games else 0.0

    def __str__(self) -> str:
        how = f"± {self.standard_error:.1%}, {self.n_games:,} games simulated" if self.n_games else "exact"
        return f"better than {self.better_than:.1%} of perfect games ({how})".replace("%", " %")


def rate(total: int, solution: Solution, *, progress: Progress | None = None) -> Rating:
    """Rate the total of a finished game."""
    law = optimal_totals(solution, progress=progress)
    at_least = law.at_least(total)
    equal = float(law.probability[total]) if 0 <= total < len(law.probability) else 0.0
    return Rating(1.0 - at_least, equal, solution.expected_score, law.n_games)


def optimal_totals(solution: Solution, *, progress: Progress | None = None) -> ScoreDistribution:
    """The distribution of the total of perfect play; an estimate only for large house rules, see the module."""
    key = solution.ruleset.fingerprint
    if key not in _known:
        law = _published().get(key)
        _known[key] = law or points_to_come(solution, solution.game.all_open, 0, progress=progress)
    return _known[key]


_known: dict[str, ScoreDistribution] = {}


@lru_cache(maxsize=1)
def _published() -> dict[str, ScoreDistribution]:
    file = resources.files("yacht_env.table") / TOTALS_FILE
    with file.open("rb") as opened:
        return read_totals(opened)


def read_totals(file: IO[bytes]) -> dict[str, ScoreDistribution]:
    """The distributions in a file like the one of the package, by fingerprint."""
    with np.load(file, allow_pickle=False) as arrays:
        return {key: ScoreDistribution(arrays[key]) for key in arrays.files}
