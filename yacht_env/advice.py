"""Usual advice for players, as tests on decision states: where it applies, and which actions follow it.

Public names: :class:`Advice`, :class:`Position`, :data:`ADVICE`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yacht_env.game import Game, State
from yacht_env.rules import Number

__all__ = ["ADVICE", "Advice", "Position"]

BoolArray = npt.NDArray[np.bool_]


class Position:
    """A batch of states, in the words of a player.

    Args:
        game: The game.
        state: The states, shape ``(N,)``.
    """

    def __init__(self, game: Game, state: State) -> None:
        self.game = game
        self.state = state
        self.rolls_left = state.rolls_left
        self.counts = game.dice.counts[state.roll].astype(np.int64)
        self.sum = game.dice.faces[state.roll].sum(axis=1, dtype=np.int64)
        self.points = game.reward[state.lane, state.roll, game.n_holds :].astype(np.int64)
        self.open = game.box_rows[state.open_boxes].astype(bool)
        self.n_open = game.n_open[state.open_boxes]
        self.numbers = np.array([isinstance(box.pattern, Number) for box in game.ruleset.boxes])

    def is_open(self, name: str) -> BoolArray:
        """Whether a box is open, shape ``(N,)``."""
        flags: BoolArray = self.open[:, self.game.ruleset.index(name)]
        return flags

    def scores(self, name: str) -> BoolArray:
        """Whether a box is open and would score, shape ``(N,)``."""
        return self.is_open(name) & (self.points[:, self.game.ruleset.index(name)] > 0)

    def filling(self, *names: str) -> BoolArray:
        """The actions that fill one of these boxes, shape ``(N, A)``."""
        actions = np.zeros((len(self.sum), self.game.n_actions), dtype=bool)
        actions[:, [self.game.n_holds + self.game.ruleset.index(name) for name in names]] = True
        return actions

    def holding(self, counts: npt.NDArray[np.int64]) -> BoolArray:
        """The actions that hold exactly so many dice of each face, ``(N, n_faces)`` or ``(n_faces,)``; shape ``(N, A)``."""
        dice = self.game.dice
        kept = dice.keep_counts[dice.hold_keep[self.state.roll]]  # (N, H, n_faces)
        actions = np.zeros((len(kept), self.game.n_actions), dtype=bool)
        actions[:, : dice.n_holds] = (kept == np.broadcast_to(counts, (len(kept), dice.n_faces))[:, None]).all(axis=2)
        return actions


@dataclass(frozen=True)
class Advice:
    """A piece of advice.

    Attributes:
        title: It in a few words.
        meaning: How it is tested, for a reader.
        boxes: The boxes that it speaks of.
        applies: Where it applies, shape ``(N,)``.
        follows: The actions that follow it, shape ``(N, A)``.
    """

    title: str
    meaning: str
    boxes: tuple[str, ...]
    applies: Callable[[Position], BoolArray]
    follows: Callable[[Position], BoolArray]


_RUN = np.array([0, 1, 1, 1, 1, 0])
_LOW = 3  # faces up to here are low
_EARLY = 7  # open boxes from here on are many
_NUMBER_NAMES = ("Ones", "Twos", "Threes", "Fours", "Fives", "Sixes")


def _is_full_house(at: Position) -> BoolArray:
    return at.scores("Full House") & (at.rolls_left > 0)


def _nothing_but_ones(at: Position) -> BoolArray:
    others = [b for b, name in enumerate(at.game.ruleset.box_names) if name != "Ones"]
    return (
        (at.rolls_left == 0)
        & at.is_open("Ones")
        & ~(at.open & (at.points > 0))[:, others].any(axis=1)
        & (at.n_open > 1)
    )


def _low_four(at: Position) -> BoolArray:
    four = at.counts[:, :_LOW] >= 4
    numbers = np.column_stack([at.is_open(name) for name in _NUMBER_NAMES[:_LOW]])
    return (at.rolls_left == 0) & at.is_open("Four of a Kind") & (four & numbers).any(axis=1)


def _high_four(at: Position) -> BoolArray:
    four = (at.counts[:, _LOW:] == 4).any(axis=1)
    return (at.rolls_left > 0) & at.is_open("Yacht") & four


def _poor_choice(at: Position) -> BoolArray:
    choice = at.game.ruleset.index("Choice")
    patterns = ~at.numbers & (np.arange(at.game.n_boxes) != choice)
    scores = (at.open & (at.points > 0) & patterns).any(axis=1)
    return (at.rolls_left == 0) & at.is_open("Choice") & (at.open & at.numbers).any(axis=1) & (at.sum < 20) & ~scores


ADVICE: tuple[Advice, ...] = (
    Advice(
        "When nothing fits, scratch Ones first",
        "No roll is left, Ones and other boxes are open, and none of the others would score. The advice: fill Ones.",
        ("Ones",),
        _nothing_but_ones,
        lambda at: at.filling("Ones"),
    ),
    Advice(
        "Never break 2-3-4-5 for a pair",
        "The dice are 2-3-4-5 and a second one of these, a roll is left, and both straights are open. "
        "The advice: hold 2-3-4-5, or fill a box, but don't go on with fewer.",
        ("Little Straight", "Big Straight"),
        lambda at: (
            (at.rolls_left > 0)
            & at.is_open("Little Straight")
            & at.is_open("Big Straight")
            & (at.counts >= _RUN).all(axis=1)
            & (at.counts[:, [0, 5]] == 0).all(axis=1)
        ),
        lambda at: at.holding(_RUN) | at.filling(*at.game.ruleset.box_names),
    ),
    Advice(
        "Keep Choice for late",
        f"No roll is left, Choice is open, and so are at least {_EARLY - 1} other boxes. The advice: fill another box.",
        ("Choice",),
        lambda at: (at.rolls_left == 0) & at.is_open("Choice") & (at.n_open >= _EARLY),
        lambda at: at.filling(*(name for name in at.game.ruleset.box_names if name != "Choice")),
    ),
    Advice(
        "Take a Full House of 20 or more",
        "The dice are a full house worth 20 or more, the box is open, and a roll is left. The advice: take it.",
        ("Full House",),
        lambda at: _is_full_house(at) & (at.sum >= 20),
        lambda at: at.filling("Full House"),
    ),
    Advice(
        "With a Full House below 15, look for something better",
        "The dice are a full house worth less than 15, the box is open, and a roll is left. The advice: don't take it yet.",
        ("Full House",),
        lambda at: _is_full_house(at) & (at.sum < 15),
        lambda at: ~at.filling("Full House"),
    ),
    Advice(
        "Four of a Kind is a box for sixes: four sixes go there",
        "No roll is left, the dice show four sixes or five, Sixes and Four of a Kind are open, and Yacht does not score. "
        "The advice: fill Four of a Kind.",
        ("Four of a Kind", "Sixes", "Yacht"),
        lambda at: (
            (at.rolls_left == 0)
            & (at.counts[:, 5] >= 4)
            & at.is_open("Sixes")
            & at.is_open("Four of a Kind")
            & ~at.scores("Yacht")
        ),
        lambda at: at.filling("Four of a Kind"),
    ),
    Advice(
        "Four of a Kind is a box for sixes: low fours go elsewhere",
        "No roll is left, the dice show four ones, twos or threes or more, and both their number box and Four of a Kind are "
        "open. The advice: keep Four of a Kind.",
        ("Four of a Kind", "Ones", "Twos", "Threes"),
        _low_four,
        lambda at: ~at.filling("Four of a Kind"),
    ),
    Advice(
        "From four of a high face, roll for the Yacht",
        "Four of the dice show the same face, four or higher, Yacht is open, and a roll is left. The advice: hold the four.",
        ("Yacht",),
        _high_four,
        lambda at: at.holding(np.where(at.counts >= 4, 4, 0)),
    ),
    Advice(
        "Never throw a bad roll into Choice while a number box is open",
        "No roll is left, Choice and a number box are open, the dice add up to less than 20, and no other pattern scores. "
        "The advice: keep Choice.",
        ("Choice",),
        _poor_choice,
        lambda at: ~at.filling("Choice"),
    ),
    Advice(
        "Score a Big Straight that comes with the first roll",
        "The first roll of a turn is 2-3-4-5-6, and Big Straight is open. The advice: take it.",
        ("Big Straight",),
        lambda at: (at.rolls_left == at.game.rolls_per_turn - 1) & at.scores("Big Straight"),
        lambda at: at.filling("Big Straight"),
    ),
)
"""The advice that docs/strategy.md weighs."""
