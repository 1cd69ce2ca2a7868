"""The chance of winning from where a match stands, exactly: every player plays on for the most expected points.

Players of this game do not meet: each has a card and dice of their own, so what the others will have is independent of
one's own play. With the distributions of the points still to come (:mod:`yacht_env.remaining`) moved up by the points that
everybody has, the chances follow from comparing totals.

Everybody is taken to go on as an optimal soloist. A player who gambles when behind, or plays safe when ahead, wins a little
more often than that: these are the chances of this way to play, and a lower bound for the best one.

Public names: :func:`chance_of_winning`, :class:`Standing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from yacht_env.distribution import Outcome, ScoreDistribution
from yacht_env.progress import Progress
from yacht_env.remaining import remaining_distribution
from yacht_env.rules import Ruleset

__all__ = ["Standing", "chance_of_winning"]


@dataclass(frozen=True)
class Standing:
    """Where one player of a match stands.

    Attributes:
        points: Total so far, a bonus that was earned included.
        open_boxes: Names or positions of the open boxes; ``None`` is all of them; empty once the player is through.
        upper_total: Points in the number boxes, where the ruleset has an upper bonus.
        yacht_box: Whether the Yacht box holds its points, where the ruleset has a joker.
        dice: Faces on the table, in any order; ``None`` between turns.
        rolls_left: Rolls left in this turn; goes with ``dice``.
        action: An action that is taken now, before play goes on; needs ``dice``.

    Raises:
        ValueError: for points that are no whole number, 0 or more.
    """

    points: int = 0
    open_boxes: Sequence[int | str] | None = None
    upper_total: int = 0
    yacht_box: bool = False
    dice: Sequence[int] | None = None
    rolls_left: int | None = None
    action: int | None = None

    def __post_init__(self) -> None:
        if not np.issubdtype(type(self.points), np.integer) or self.points < 0:
            raise ValueError(f"points must be a whole number, 0 or more, got {self.points!r}")

    def final_total(self, ruleset: str | Ruleset = "yacht", *, progress: Progress | None = None) -> ScoreDistribution:
        """The distribution of the player's total at the end of the game.

        Args:
            ruleset: The game.
            progress: Called with (cards done, cards in all); a bar on the terminal by default.

        Raises:
            ValueError: naming the value that no position has; for an action that the rules forbid.
        """
        return remaining_distribution(
            self.open_boxes,
            ruleset,
            upper_total=self.upper_total,
            yacht_box=self.yacht_box,
            dice=self.dice,
            rolls_left=self.rolls_left,
            action=self.action,
            progress=progress,
        ).plus(self.points)


def chance_of_winning(
    mine: Standing,
    others: Standing | Sequence[Standing],
    ruleset: str | Ruleset = "yacht",
    *,
    progress: Progress | None = None,
) -> Outcome:
    """The chances of a player to win alone, to share the first place, and to lose.

    What each action is worth in a match is found by asking once for each: ``dataclasses.replace(mine, action=action)``.

    Args:
        mine: The player.
        others: The opponent, or all of them.
        ruleset: The game.
        progress: Called with (cards done, cards in all) for each player; a bar on the terminal by default.

    Raises:
        ValueError: for no opponent; naming the value that no position has; for an action that the rules forbid.
    """
    opponents = [others] if isinstance(others, Standing) else list(others)
    if not opponents:
        raise ValueError("others must hold at least one opponent, got none")
    total, *totals = (player.final_total(ruleset, progress=progress) for player in (mine, *opponents))
    return total.against(*totals)
