"""What is still to come, as a whole distribution: final totals under optimal play, and with them the chances of winning.

Exact where that takes a moment: for all cards of the games without an upper bonus, and for cards with few open boxes of the
others. Elsewhere optimal games are simulated from the position, and the answer says how many.

Public names: :func:`points_to_come`, :func:`chances_of_winning`, :class:`Chances`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from yacht_env.distribution import Outcome, ScoreDistribution
from yacht_env.game import SingleState
from yacht_env.observation import get_observation
from yacht_env.player import Player
from yacht_env.policies import OptimalPolicy
from yacht_env.progress import Progress
from yacht_env.remaining import RemainingPoints
from yacht_env.solver import Solution
from yacht_env.table.state import TableState

__all__ = ["Chances", "chances_of_winning", "points_to_come"]

_EXACT_CARDS = 40_000  # below a position; so many take about three seconds, once
_GAMES = 2_000  # simulated elsewhere; a chance then has a standard error of 1.1 percent at most


@dataclass(frozen=True)
class Chances:
    """Who is likely to win, if everybody plays on for the most expected points.

    Attributes:
        outcomes: For each seat the chances to win alone, to share the first place, and to lose.
        n_games: Games that were simulated for the seat with the fewest; 0 where everything is exact.
    """

    outcomes: tuple[Outcome, ...]
    n_games: int

    @property
    def is_exact(self) -> bool:
        """Whether nothing was simulated."""
        return self.n_games == 0


def chances_of_winning(table: TableState, solution: Solution, *, progress: Progress | None = None) -> Chances:
    """The chances of every seat; see :mod:`yacht_env.winning` for what they mean.

    Args:
        table: The table.
        solution: The solved ruleset.
        progress: Called as a longer answer is worked out; a bar on the terminal by default.

    Raises:
        ValueError: for a table with one seat.
    """
    if table.n_seats < 2:
        raise ValueError("one seat alone has nobody to win against; expected two seats or more")
    totals = []
    for seat, card in enumerate(table.cards):
        dice = table.dice if seat == table.seat else None
        totals.append(points_to_come(solution, card.open_boxes, card.lane, dice, progress=progress).plus(card.total))
    outcomes = tuple(mine.against(*(other for other in totals if other is not mine)) for mine in totals)
    return Chances(outcomes, min((law.n_games for law in totals if law.n_games), default=0))


def points_to_come(
    solution: Solution, open_boxes: int, lane: int, dice: SingleState | None = None, *, progress: Progress | None = None
) -> ScoreDistribution:
    """The distribution of the points still to come on a card under optimal play; an estimate where it has ``n_games``.

    Args:
        solution: The solved ruleset.
        open_boxes: The open boxes, as bits.
        lane: Upper total and state of the Yacht box.
        dice: The state of the turn that is going on on this card; ``None`` between turns.
        progress: Called as a longer answer is worked out; a bar on the terminal by default.
    """
    game = solution.game
    if 2 ** open_boxes.bit_count() * game.n_lanes > _EXACT_CARDS:
        return _simulated(solution, open_boxes, lane, dice)
    points = RemainingPoints.of(solution)
    if dice is None:
        return points.at_start(open_boxes, lane, progress)
    return points.in_turn(open_boxes, lane, dice.roll, dice.rolls_left, progress=progress)


@lru_cache(maxsize=64)  # the other seats' cards stay as they are during a turn
def _simulated(solution: Solution, open_boxes: int, lane: int, dice: SingleState | None) -> ScoreDistribution:
    game = solution.game
    random = np.random.default_rng((open_boxes, lane, *(dice or ())))  # the same question has the same answer
    state = game.start(random.random(_GAMES))
    here = dice or SingleState(0, game.rolls_per_turn - 1, lane, open_boxes)
    filled = {"lane": here.lane, "open_boxes": here.open_boxes}
    if dice is not None:
        filled |= {"roll": dice.roll, "rolls_left": dice.rolls_left}
    state = state._replace(**{name: np.full(_GAMES, value) for name, value in filled.items()})
    player = Player(OptimalPolicy(solution), get_observation(solution.ruleset, "flat"))
    return ScoreDistribution.from_scores(player.play_on(state, random))
