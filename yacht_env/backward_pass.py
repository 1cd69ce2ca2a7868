"""The distributions of the points still to come, by one pass backward over the cards below a position.

Write ``D(c)`` for the distribution of the points still to come at the start of a turn on card ``c``. The optimal turn on
``c`` is played forward through its three rolls (:mod:`yacht_env.solver` has the values that decide), which gives the
probability ``w`` of each way to end it: a box, the points that it brings, and the card after it. Then::

    D(c) = sum over the ends of the turn of  w * (D(card after it), moved up by the points)

Cards with fewer open boxes come first; a layer holds the cards with equally many. As in :mod:`yacht_env.induction`, two
upper totals that need the same of the open number boxes share a row, and rows are as long as the points that can still come.

Of equal actions (within 1e-9 points) the one is played that :class:`yacht_env.OptimalPolicy` plays.

Public names: :class:`BackwardPass`, :class:`OptimalTurns`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from yacht_env.dice import spread_over_rolls
from yacht_env.game import Game
from yacht_env.induction import least_that_suffices, roll_classes
from yacht_env.progress import Progress
from yacht_env.solver import TIE, Solution, TurnTables

__all__ = ["BackwardPass", "OptimalTurns"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_CARDS = 128  # whose turns are played together; what all rolls by all holds of them take, 8 MB, stays in a cache
_MAX_BYTES = 64_000_000  # of a pass that is kept whole


class OptimalTurns:
    """How optimal turns end: in a class of rolls that do the same in a box. There are ``O`` such ends.

    Attributes:
        game: The game.
        box: The box of each end, shape ``(O,)``.
        roll: One roll of each end's class, shape ``(O,)``.
    """

    def __init__(self, solution: Solution) -> None:
        self.game: Game = solution.game
        self.model = solution.model
        classes = [roll_classes(self.game, b) for b in range(self.game.n_boxes)]
        sizes = [len(rolls) for rolls, _ in classes]
        self.box = np.repeat(np.arange(self.game.n_boxes), sizes)
        self.roll = np.concatenate([rolls for rolls, _ in classes])
        first = np.cumsum(sizes) - sizes
        self._end = first[:, None] + [class_of_roll for _, class_of_roll in classes]  # by box and roll

    def ends(self, open_boxes: IntArray, lane: IntArray, met: FloatArray, rolls_left: int) -> FloatArray:
        """How turns end on ``L`` cards.

        Args:
            open_boxes: Open boxes of each card (bits), shape ``(L,)``.
            lane: Its lane, shape ``(L,)``.
            met: Probability of each roll, shape ``(R, L)``.
            rolls_left: Rolls left after that roll.

        Returns:
            Probability of each end, shape ``(O, L)``.
        """
        dice, n_cards = self.game.dice, len(lane)
        tables = self.model.tables(open_boxes, lane)
        roll, column = np.arange(dice.n_rolls)[:, None], np.arange(n_cards)
        end = (self._end[self._best_boxes(open_boxes, lane, tables.fill), roll] * n_cards + column).ravel()
        out = np.zeros(len(self.box) * n_cards)
        for left in range(rolls_left, 0, -1):
            hold, rolls_on = self._best_holds(tables, left)
            out += np.bincount(end, np.where(rolls_on, 0.0, met).ravel(), minlength=out.size)
            keep = (dice.hold_keep[roll, hold] * n_cards + column).ravel()
            kept = np.bincount(keep, np.where(rolls_on, met, 0.0).ravel(), minlength=dice.n_keeps * n_cards)
            met = spread_over_rolls(dice, kept.astype(np.float64).reshape(dice.n_keeps, n_cards))
        out += np.bincount(end, met.ravel(), minlength=out.size)
        return out.reshape(-1, n_cards)

    def _best_boxes(self, open_boxes: IntArray, lane: IntArray, best: FloatArray) -> IntArray:
        """The best box for each roll, of equal ones the first; shape ``(R, L)``."""
        out = np.zeros(best.shape, dtype=np.int64)
        for box, value in reversed(list(self.model.box_values(open_boxes, lane))):
            out[value >= best - TIE] = box
        return out

    def _best_holds(self, tables: TurnTables, rolls_left: int) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """The best hold of each roll, of equal ones the lowest, and whether it beats the best box; both ``(R, L)``."""
        values = tables.keeps[rolls_left - 1][self.game.dice.hold_keep[:, :-1]]  # (R, H - 1, L)
        best = values.max(axis=1)
        return (values >= best[:, None] - TIE).argmax(axis=1), best > tables.fill + TIE


class BackwardPass:
    """The distributions of a card and of all that can come of it; see the module.

    Args:
        turns: The optimal turns of the game.
        open_boxes: Open boxes of the first card (bits).
        lane: Its lane.
    """

    def __init__(self, turns: OptimalTurns, open_boxes: int, lane: int) -> None:
        self.turns = turns
        self.game = turns.game
        self.n_open = open_boxes.bit_count()
        self._most_points = self.game.reward[:, :, self.game.n_holds :].max(axis=(0, 1))  # by box
        self.reachable = self.game.lanes_from(open_boxes, lane)
        self._row = np.full(self.reachable.shape, -1, dtype=np.int32)  # of each card, among those of its layer
        self._laws: dict[int, FloatArray] = {}  # by number of open boxes, (N, points); of the layers that are kept

    def knows(self, open_boxes: int, lane: int) -> bool:
        """Whether the distributions of a card and of those right after it are kept."""
        n_open = open_boxes.bit_count()
        return bool(self.reachable[open_boxes, lane]) and {n_open, max(n_open - 1, 0)} <= self._laws.keys()

    def law(self, open_boxes: int, lane: int) -> FloatArray:
        """The distribution of one card, from 0 points up."""
        law: FloatArray = self._laws[open_boxes.bit_count()][self._row[open_boxes, lane]]
        return law

    def run(self, progress: Progress) -> None:
        """Find the distributions; of a pass that is too large to be kept whole, the last two layers stay."""
        cards = [self._cards(n_open) for n_open in range(self.n_open + 1)]
        done, total = 0, sum(len(lane) for _, lane in cards[1:])
        self._laws[0] = np.ones((len(cards[0][1]), 1))
        for n_open in range(1, self.n_open + 1):
            open_boxes, lane = cards[n_open]
            laws = np.zeros((len(lane), self._width(open_boxes)))
            for start in range(0, len(lane), _CARDS):
                part = slice(start, start + _CARDS)
                law = self._whole_turns(open_boxes[part], lane[part])
                laws[part, : law.shape[1]] = law
                done += len(law)
                progress(done, total)
            self._laws[n_open] = laws[:, : np.flatnonzero(laws.any(axis=0))[-1] + 1]
            if sum(kept.nbytes for kept in self._laws.values()) > _MAX_BYTES:
                self._laws = {n: kept for n, kept in self._laws.items() if n >= n_open - 1}

    def _cards(self, n_open: int) -> tuple[IntArray, IntArray]:
        """Open boxes and lanes of the cards of a layer, one for those that are alike; notes the rows of all of them."""
        game = self.game
        open_boxes, lane = np.nonzero(self.reachable & (game.n_open == n_open)[:, None])
        numbers = open_boxes & sum(1 << b for b, box in enumerate(game.ruleset.boxes) if box.is_number)
        sets, which = np.unique(numbers, return_inverse=True)
        least = np.array([least_that_suffices(game, bits) for bits in sets.tolist()])[which, game.upper_total(lane)]
        kind = (open_boxes * (least.max() + 2) + least + 1) * game.n_jokers + lane % game.n_jokers
        _, first, row = np.unique(kind, return_index=True, return_inverse=True)
        self._row[open_boxes, lane] = row
        return open_boxes[first], lane[first]

    def _width(self, open_boxes: IntArray) -> int:
        """A length that the distributions of these cards don't exceed."""
        some_open = self.game.box_rows[np.bitwise_or.reduce(open_boxes)] == 1
        return self._laws[int(open_boxes[0]).bit_count() - 1].shape[1] + int(self._most_points[some_open].max())

    def _whole_turns(self, open_boxes: IntArray, lane: IntArray) -> FloatArray:
        """The distributions at the start of a turn, by those of the layer below; as in the next method."""
        met = np.repeat(self.game.dice.probability[:, None], len(lane), axis=1)
        return self.after(open_boxes, lane, self.turns.ends(open_boxes, lane, met, self.game.rolls_per_turn - 1))

    def after(self, open_boxes: IntArray, lane: IntArray, ends: FloatArray) -> FloatArray:
        """The distributions of the points that turns and all that follows bring.

        Args:
            open_boxes: Open boxes of each of ``L`` cards with equally many, shape ``(L,)``.
            lane: Its lane, shape ``(L,)``.
            ends: How the turns end, shape ``(O, L)``; see :class:`OptimalTurns`.

        Returns:
            Shape ``(L, points)``.
        """
        game, below = self.game, self._laws[int(open_boxes[0]).bit_count() - 1]
        out = np.zeros((len(lane), self._width(open_boxes)))
        for end in np.flatnonzero(ends.any(axis=1)).tolist():
            card = np.flatnonzero(ends[end])
            roll, box = self.turns.roll[end], self.turns.box[end]
            points = game.reward[lane[card], roll, game.n_holds + box]
            after = self._row[open_boxes[card] & ~(1 << box), game.next_lane[lane[card], roll, game.n_holds + box]]
            for moved in np.unique(points).tolist():  # more than one where a bonus is earned on some cards alone
                part = np.flatnonzero(points == moved)
                out[card[part], moved : moved + below.shape[1]] += ends[end, card[part], None] * below[after[part]]
        return out
