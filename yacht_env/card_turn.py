"""The turn on one card, for questions about single states.

A question needs but a part of a turn: none of the means where no roll is left, one of them with one roll left. So a
:class:`CardTurn` is solved as far as it is asked about, by few calls of NumPy on vectors that lie in one piece: a mean over
rolls is a product with the matrix of probabilities (:func:`yacht_env.dice.roll_probabilities`), which for a single card
takes a tenth of the time of a walk along the lattice of keeps. Both are the same sums in another order; they differ by
about 1e-13, far less than :data:`TIE`.

Public names: :class:`CardTurn`, :class:`TurnLayout`, :data:`TIE`, :func:`best_actions`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yacht_env.dice import roll_probabilities
from yacht_env.game import Game
from yacht_env.induction import roll_classes

__all__ = ["TIE", "CardTurn", "TurnLayout", "best_actions"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

TIE = 1e-9
"""Points; values that differ by less are equal, since sums of rounded numbers differ by about 1e-13."""


@dataclass(frozen=True, eq=False)
class TurnLayout:
    """What the turns on all cards of a game have in common; made by :meth:`of`.

    An *effect* is one of the different things that rolls do in a box; ``E`` is their number in all boxes.
    """

    game: Game
    odds: FloatArray  # (S, R): probability of each roll once the other dice are rolled, for each keep that leaves a die
    hold_keep: IntArray  # (H - 1, R): the keep that a hold leaves of a roll; the hold of all the dice is no action
    effect_box: IntArray  # (E,): the box of each effect
    effect_roll: IntArray  # (E,): one of the rolls that have it
    effect: IntArray  # (B, R): the effect of each roll in each box

    @classmethod
    def of(cls, game: Game) -> TurnLayout:
        """The layout of a game's turns."""
        rolls, effects = zip(*(roll_classes(game, box) for box in range(game.n_boxes)), strict=True)
        sizes = np.array([len(one) for one in rolls])
        return cls(
            game,
            np.ascontiguousarray(roll_probabilities(game.dice)[: game.dice.first_roll_keep]),
            np.ascontiguousarray(game.dice.hold_keep[:, :-1].T),
            np.repeat(np.arange(game.n_boxes), sizes),
            np.concatenate(rolls),
            np.array(effects) + (np.cumsum(sizes) - sizes)[:, None],
        )

    def of_box(self, box: int) -> tuple[IntArray, IntArray]:
        """A roll for each effect in a box, and which of them each roll has, shape ``(R,)``."""
        first, last = np.searchsorted(self.effect_box, (box, box + 1))
        return self.effect_roll[first:last], self.effect[box] - first


class CardTurn:
    """The turn on one card: the letters are those of :mod:`yacht_env.solver`.

    Threads may share it: two that ask at once do the same work, and store the same.

    Args:
        layout: The layout of the game's turns.
        effects: What each effect is worth on this card, ``-inf`` where filling its box is illegal, shape ``(E,)``.
    """

    __slots__ = ("_asked", "_best", "_effects", "_fill", "_keeps", "layout")

    def __init__(self, layout: TurnLayout, effects: FloatArray) -> None:
        self.layout = layout
        self._effects = effects
        self._fill: FloatArray | None = None
        self._keeps: dict[int, FloatArray] = {}  # by rolls left
        self._best: dict[int, npt.NDArray[np.int16]] = {}  # by rolls left, each (R,)
        self._asked: set[int] = set()

    def keep_values(self, rolls_left: int) -> FloatArray:
        """E1, E2, ...: value of each keep that leaves a die to roll, with 1, 2, ... rolls to come, shape ``(S,)``."""
        values = self._keeps.get(rolls_left)
        if values is None:
            values = self._keeps[rolls_left] = self.layout.odds @ self._roll_values(rolls_left - 1)
        return values

    def _roll_values(self, rolls_left: int) -> FloatArray:
        """F0, F1, ...: value of each roll with that many rolls left, shape ``(R,)``."""
        fill = self._fill
        if fill is None:
            fill = self._fill = self._effects.take(self.layout.effect).max(axis=0)
        if not rolls_left:
            return fill
        return np.maximum(fill, self.keep_values(rolls_left).take(self.layout.hold_keep).max(axis=0))

    def action_values(self, rolls_left: int, roll: int | slice = slice(None)) -> FloatArray:
        """Q of every action, shape ``(A,)``, or ``(A, R)`` for all rolls; ``-inf`` where the rules forbid the action."""
        layout, n_holds = self.layout, self.layout.game.n_holds
        effect = layout.effect[:, roll]
        values = np.empty((layout.game.n_actions, *effect.shape[1:]))
        values[:n_holds] = -np.inf
        if rolls_left:
            values[: n_holds - 1] = self.keep_values(rolls_left).take(layout.hold_keep[:, roll])
        values[n_holds:] = self._effects.take(effect)
        return values

    def best_action(self, rolls_left: int, roll: int) -> int:
        """The best action, of equal ones the lowest; those of all rolls are found when it is asked for again."""
        best = self._best.get(rolls_left)
        if best is not None:
            return best.item(roll)
        if rolls_left not in self._asked:
            self._asked.add(rolls_left)
            return int(best_actions(self.action_values(rolls_left, roll)))
        best = self._best[rolls_left] = best_actions(self.action_values(rolls_left).T).astype(np.int16)
        return best.item(roll)


def best_actions(values: FloatArray) -> IntArray:
    """The best action of each row of values ``(..., A)``; of those within :data:`TIE` points the lowest; shape ``(...)``."""
    best: IntArray = (values >= values.max(axis=-1, keepdims=True) - TIE).argmax(axis=-1)
    return best
