"""The points still to come from any position, exactly: their whole distribution under optimal play.

Only the cards that can come of the position are looked at (:mod:`yacht_env.backward_pass`).

**What it costs.** A pass over all 4,096 cards of ``yacht`` takes about a second; it is kept, so every later question about
that game is a look-up. The games with an upper bonus have up to a million cards, and their passes start from the position
that is asked about. In seconds of one core: up to eight open boxes less than 1, ten 3 to 5, twelve 10; all boxes of
``yacht-bonus`` 15, of ``classic13`` 45, of ``yatzy`` 85, in which the last two take 2 GB of memory. A pass that fits into 64
MB is kept whole, and then answers for all cards below it; of a larger one, its first card and those right after it are kept.

Public names: :func:`remaining_distribution`, :class:`RemainingPoints`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from yacht_env.backward_pass import BackwardPass, OptimalTurns
from yacht_env.dice import spread_over_rolls
from yacht_env.distribution import ScoreDistribution
from yacht_env.game import State, rolls_left_text
from yacht_env.progress import Progress, progress_bar
from yacht_env.rules import Ruleset
from yacht_env.solver import Solution, solve

__all__ = ["RemainingPoints", "remaining_distribution"]

_PASSES_KEPT = 8  # of one game: a position for each of so many players
_SMALL = 20_000  # cards of a game that is always passed through from its start


def remaining_distribution(
    open_boxes: Iterable[int | str] | None = None,
    ruleset: str | Ruleset = "yacht",
    *,
    upper_total: int = 0,
    yacht_box: bool = False,
    dice: Sequence[int] | None = None,
    rolls_left: int | None = None,
    action: int | None = None,
    progress: Progress | None = None,
) -> ScoreDistribution:
    """The distribution of the points still to come under optimal play, from any position.

    Args:
        open_boxes: Names or positions of the open boxes; ``None`` is all of them. With none, no points are to come.
        ruleset: The game.
        upper_total: Points in the number boxes, where the ruleset has an upper bonus.
        yacht_box: Whether the Yacht box holds its points, where the ruleset has a joker.
        dice: Faces on the table, in any order; without them a turn is about to start.
        rolls_left: Rolls left in this turn; goes with ``dice``.
        action: An action that is taken now, its points included, before play goes on optimally; needs ``dice``.
        progress: Called with (cards done, cards in all); a bar on the terminal by default.

    Returns:
        The distribution. Its mean is :meth:`~yacht_env.Solution.state_value`; with dice, the best of
        :meth:`~yacht_env.Solution.action_values`; with an action, the value of that.

    Raises:
        ValueError: naming the value that no position has; for an action that the rules forbid.
    """
    solution = solve(ruleset)
    game = solution.game
    if (dice is None) != (rolls_left is None):
        raise ValueError(f"dice and rolls_left go together, got dice={dice!r} and rolls_left={rolls_left!r}")
    if action is not None and dice is None:
        raise ValueError(f"an action needs dice on the table, got action={action!r} and no dice")
    bits = game.box_bits(open_boxes)
    boxes = list(game.open_names(int(bits)))
    solution.state_value(boxes, upper_total, yacht_box)  # refuses cards that no game has
    card = (int(bits), int(game.lane(bits, upper_total, yacht_box)))
    points = RemainingPoints.of(solution)
    if dice is None or rolls_left is None:
        return points.at_start(*card, progress)
    state = game.encode_state(dice, rolls_left, boxes, upper_total, yacht_box)
    return points.in_turn(*card, int(state.roll), int(rolls_left), action, progress)


class RemainingPoints:
    """The distributions of one solved game, found as they are asked for; see the module. Cards are open boxes and lane.

    Args:
        solution: The solved game.
    """

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.turns = OptimalTurns(solution)
        self._passes: deque[BackwardPass] = deque(maxlen=_PASSES_KEPT)

    @classmethod
    def of(cls, solution: Solution) -> RemainingPoints:
        """The one of this game, which all questions of a process share."""
        key = solution.ruleset.fingerprint
        if key not in _known:
            _known[key] = cls(solution)
        return _known[key]

    def at_start(self, open_boxes: int, lane: int, progress: Progress | None = None) -> ScoreDistribution:
        """Before the first roll of a turn; also of the full card."""
        law = self._pass_with(open_boxes, lane, progress).law(open_boxes, lane)
        return ScoreDistribution(np.trim_zeros(law, "b"))

    def in_turn(
        self,
        open_boxes: int,
        lane: int,
        roll: int,
        rolls_left: int,
        action: int | None = None,
        progress: Progress | None = None,
    ) -> ScoreDistribution:
        """With a roll on the table, if ``action`` is taken, or the best one.

        Raises:
            ValueError: for an action that the rules forbid.
        """
        game, dice = self.solution.game, self.solution.game.dice
        card = np.array([open_boxes]), np.array([lane])
        if action is not None:
            self._check_legal(State(np.array([roll]), np.array([rolls_left]), card[1], card[0]), action)
        known = self._pass_with(open_boxes, lane, progress)
        if action is not None and action >= game.n_holds:
            law = known.law(open_boxes & ~(1 << action - game.n_holds), int(game.next_lane[lane, roll, action]))
            return ScoreDistribution(np.trim_zeros(law, "b")).plus(int(game.reward[lane, roll, action]))
        if action is None:
            met = np.zeros((dice.n_rolls, 1))
            met[roll] = 1.0
        else:
            kept = np.zeros((dice.n_keeps, 1))
            kept[game.keep[roll, action]] = 1.0
            met, rolls_left = spread_over_rolls(dice, kept), rolls_left - 1
        law = known.after(*card, self.turns.ends(*card, met, rolls_left))[0]
        return ScoreDistribution(np.trim_zeros(law, "b"))

    def _check_legal(self, state: State, action: int) -> None:
        game = self.solution.game
        if not game.is_legal(state, np.array([action]))[0]:
            faces, rolls = game.dice.faces[int(state.roll[0])].tolist(), rolls_left_text(int(state.rolls_left[0]))
            raise ValueError(f"action {action} is not legal with the dice {faces}, {rolls}")

    def _pass_with(self, open_boxes: int, lane: int, progress: Progress | None) -> BackwardPass:
        """A pass that knows a card and those right after it: one that was kept, or a new one."""
        for known in self._passes:
            if known.knows(open_boxes, lane):
                return known
        game = self.solution.game
        is_small = game.n_lanes * 2**game.n_boxes <= _SMALL
        start = (game.all_open, 0) if is_small else (open_boxes, lane)
        new = BackwardPass(self.turns, *start)
        new.run(progress or progress_bar(f"points to come of {game.ruleset.name}"))
        self._passes.append(new)
        return new


_known: dict[str, RemainingPoints] = {}
