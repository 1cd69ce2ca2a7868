"""The odds of each box by itself, exactly: over all 7,776 ways that five dice can fall, and over a turn of best play for it.

Public names: :func:`box_odds`, :class:`BoxOdds`, :func:`odds_table`, :func:`odds_page`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yacht_env.dice import mean_over_rolls
from yacht_env.game import Game, get_game
from yacht_env.rules import Ruleset

__all__ = ["BoxOdds", "box_odds", "odds_page", "odds_table"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BoxOdds:
    """What can be expected of one box, on an otherwise empty card.

    Attributes:
        name: Name of the box.
        one_roll: Chance that a single roll scores in it.
        turn: Chance to score in it by the end of a turn that is played for this chance alone.
        turn_points: Expected points of a turn that is played for the points of this box alone, with the upper bonus where
            this box alone can earn it.
        points_when_hit: Average of those points in the turns that score: ``turn_points`` divided by their share.
    """

    name: str
    one_roll: float
    turn: float
    turn_points: float
    points_when_hit: float


def box_odds(ruleset: str | Ruleset = "yacht") -> tuple[BoxOdds, ...]:
    """The odds of every box, in the order of the card.

    Raises:
        ValueError: for an unknown ruleset.
    """
    game = get_game(ruleset)
    return tuple(_odds(game, box) for box in range(game.n_boxes))


def _odds(game: Game, box: int) -> BoxOdds:
    points = game.reward[0, :, game.n_holds + box].astype(np.float64)
    hits = (points > 0).astype(np.float64)
    start = game.dice.probability
    chance, _ = _chase(game, hits, hits)
    expected, share = _chase(game, points, hits)
    turn_points, hit_share = float(start @ expected), float(start @ share)
    return BoxOdds(
        name=game.ruleset.box_names[box],
        one_roll=float(start @ hits),
        turn=float(start @ chance),
        turn_points=turn_points,
        points_when_hit=turn_points / hit_share if hit_share else 0.0,
    )


def _chase(game: Game, worth: FloatArray, also: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A turn played for the most ``worth`` (of equal ways for the most ``also``): both expectations after the first roll.

    Args:
        game: The game.
        worth: What each roll is worth at the end of the turn, shape ``(R,)``.
        also: Something else about each roll that goes along, shape ``(R,)``.

    Returns:
        Both by first roll, shape ``(R,)``.
    """
    dice, rolls = game.dice, np.arange(game.dice.n_rolls)
    now = np.column_stack([worth, also])
    for _ in range(game.rolls_per_turn - 1):
        after = mean_over_rolls(dice, now)[dice.hold_keep]  # (R, H, 2); the last mask holds all dice
        best = np.lexsort((after[..., 1], after[..., 0].round(9)), axis=1)[:, -1]
        now = after[rolls, best]
    return now[:, 0], now[:, 1]


_HEADINGS = ("box", "one roll", "a turn", "points", "when hit")


def _cells(box: BoxOdds) -> tuple[str, ...]:
    chances = (f"{chance:.3%}".replace("%", " %") for chance in (box.one_roll, box.turn))
    return (box.name, *chances, f"{box.turn_points:.3f}", f"{box.points_when_hit:.2f}")


def odds_table(ruleset: str | Ruleset = "yacht") -> str:
    """The odds of every box as a table to read."""
    rows = [_HEADINGS, *map(_cells, box_odds(ruleset))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def odds_page(rulesets: Iterable[str | Ruleset]) -> str:
    """The odds of every box of some rulesets as a page in Markdown."""
    lines = ["# The odds of each box", "", *_INTRODUCTION]
    for ruleset in rulesets:
        name = get_game(ruleset).ruleset.name
        rows = [_HEADINGS, ("---", *["--:"] * (len(_HEADINGS) - 1)), *map(_cells, box_odds(ruleset))]
        lines += ["", f"## `{name}`", "", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join([*lines, "", "Made by `make docs`; `yacht-env odds --ruleset NAME` prints one of these tables."])


_INTRODUCTION = (
    "Exact, for five fair dice and up to three rolls. For each box:",
    "",
    "- **one roll**: the chance that a single roll of all dice scores in it;",
    "- **a turn**: the chance to score in it by the end of a turn that is played for this alone;",
    "- **points**: what a turn brings on average that is played for the points of this box alone, zeros included;",
    "- **when hit**: the average of these points over the turns that score.",
)
