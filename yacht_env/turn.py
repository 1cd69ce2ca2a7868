"""Single turns of a game, given what the cards after them are worth: the means and maxima of :mod:`yacht_env.solver`.

Batches of cards run along the lattice of keeps, a column each; a single card is a :class:`~yacht_env.card_turn.CardTurn`.

Public names: :class:`TurnModel`, :class:`TurnTables`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from yacht_env.card_turn import CardTurn, TurnLayout
from yacht_env.dice import max_over_keeps, mean_over_rolls
from yacht_env.game import Game, SingleState, State

__all__ = ["TurnModel", "TurnTables"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_BLOCK = 128  # lanes solved together: 462 x 128 float64 stay in a second-level cache
_CARDS_KEPT = 1_024  # whose turns are kept for questions about single states; 10 kB each, or less
_ANY_ROLLS_LEFT = np.zeros(1, dtype=np.int64)  # boxes may be filled at any time


class TurnTables(NamedTuple):
    """Values of one turn on each of ``L`` cards: points from here to the end of the game."""

    fill: FloatArray  # (R, L): F0, the best box for each roll
    keeps: tuple[FloatArray, ...]  # E1, E2, ..., each (K, L): every keep with 1, 2, ... rolls to come

    def roll_values(self, game: Game, rolls_left: int) -> FloatArray:
        """F0, F1, ...: value of each roll with that many rolls left, shape ``(R, L)``."""
        if rolls_left < len(self.keeps):
            return self.keeps[rolls_left][game.dice.first_roll_keep :]  # a keep of all the dice is a roll
        return _best_rolls(game, self.keeps[-1], self.fill)


class TurnModel:
    """Solves single turns of a game, given what the cards after them are worth.

    Args:
        game: The game.
        values: Expected points at the start of a turn, by open boxes (bits) and lane, shape ``(2 ** B, L)``. With all
            zeros the turn is played for its own points alone.
    """

    def __init__(self, game: Game, values: FloatArray) -> None:
        self.game = game
        self.values = np.ascontiguousarray(values)
        self.layout = TurnLayout.of(game)
        self._cards: dict[tuple[int, int], CardTurn] = {}

    def card_turn(self, open_boxes: int, lane: int) -> CardTurn:
        """The turn on one card; it is kept, since questions about single states often come back to a card."""
        turn = self._cards.get((open_boxes, lane))
        if turn is None:
            if len(self._cards) >= _CARDS_KEPT:
                self._cards.clear()  # at once, so that threads can't trip over each other
            layout, card = self.layout, (np.array(open_boxes), np.array(lane))
            effects = self._legal_fills(layout.effect_roll, layout.effect_box, *card)
            turn = self._cards[open_boxes, lane] = CardTurn(layout, effects)
        return turn

    def fill_values(self, open_boxes: IntArray, lane: IntArray) -> FloatArray:
        """F0 of the cards with these open boxes and lanes, both of shape ``(L,)``; shape ``(R, L)``."""
        game = self.game
        best = np.full((game.dice.n_rolls, len(lane)), -np.inf)
        for _, value in self.box_values(open_boxes, lane):
            np.maximum(best, value, out=best)
        return best

    def box_values(self, open_boxes: IntArray, lane: IntArray) -> Iterator[tuple[int, FloatArray]]:
        """Each box that some of these cards have open, and what filling it is worth, ``-inf`` where illegal, ``(R, L)``."""
        for box in range(self.game.n_boxes):
            if np.any(open_boxes >> box & 1):
                rolls, effect_of_roll = self.layout.of_box(box)
                yield box, self._legal_fills(rolls[:, None], np.array(box), open_boxes, lane)[effect_of_roll]

    def _fills(self, roll: IntArray, box: IntArray, open_boxes: IntArray, lane: IntArray) -> FloatArray:
        """What filling these boxes is worth, where it is legal; all arguments go together by broadcasting."""
        game = self.game
        move = (lane * game.dice.n_rolls + roll) * game.n_actions + game.n_holds + box
        after = (open_boxes & ~(1 << box)) * game.n_lanes + game.next_lane.ravel().take(move)
        worth: FloatArray = game.reward.ravel().take(move) + self.values.ravel().take(after)
        return worth

    def _legal_fills(self, roll: IntArray, box: IntArray, open_boxes: IntArray, lane: IntArray) -> FloatArray:
        """The same, and ``-inf`` where it is illegal."""
        legal = self.game.legal_boxes(State(roll, _ANY_ROLLS_LEFT, lane, open_boxes)) >> box & 1
        return np.where(legal == 1, self._fills(roll, box, open_boxes, lane), -np.inf)

    def tables(self, open_boxes: IntArray, lane: IntArray) -> TurnTables:
        """The turn tables of these cards; both arguments have shape ``(L,)``."""
        fill = self.fill_values(open_boxes, lane)
        keeps = [mean_over_rolls(self.game.dice, fill)]
        for _ in range(self.game.rolls_per_turn - 2):
            keeps.append(mean_over_rolls(self.game.dice, _best_rolls(self.game, keeps[-1], fill)))
        return TurnTables(fill, tuple(keeps))

    def turn_values(self, open_boxes: IntArray, lane: IntArray) -> FloatArray:
        """V of these cards, shape ``(L,)``."""
        first_rolls = self.tables(open_boxes, lane).roll_values(self.game, self.game.rolls_per_turn - 1)
        return self.game.dice.probability @ first_rolls

    def action_values(self, state: State) -> FloatArray:
        """Q of every action: points from here if it is taken and play goes on optimally for :attr:`values`.

        Args:
            state: The states, shape ``(N,)``.

        Returns:
            Shape ``(N, A)``; ``-inf`` where the rules forbid the action.
        """
        game = self.game
        if len(state.roll) == 1:
            return self.single_action_values(SingleState(*(field.item() for field in state)))[None]
        out = np.full((len(state.roll), game.n_actions), -np.inf)
        cards, which = np.unique(state.open_boxes * game.n_lanes + state.lane, return_inverse=True)
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(0, len(cards) + _BLOCK, _BLOCK))
        for i, start in enumerate(range(0, len(cards), _BLOCK)):
            block = cards[start : start + _BLOCK]
            tables = self.tables(block // game.n_lanes, block % game.n_lanes)
            rows = order[bounds[i] : bounds[i + 1]]
            part = State(*(field[rows] for field in state))
            out[rows] = self.action_values_from(tables, part, which[rows] - start)
        return out

    def single_action_values(self, state: SingleState) -> FloatArray:
        """:meth:`action_values` of one state, shape ``(A,)``."""
        return self.card_turn(state.open_boxes, state.lane).action_values(state.rolls_left, state.roll)

    def best_action(self, state: SingleState) -> int:
        """The best action of one state, of equal ones the lowest."""
        return self.card_turn(state.open_boxes, state.lane).best_action(state.rolls_left, state.roll)

    def values_of(
        self, tables: TurnTables, rolls_left: int, state: State, column: IntArray, action: IntArray
    ) -> FloatArray:
        """Q of one legal action a state, where all states have the same rolls left; the rest as in the next method."""
        game = self.game
        is_box = action >= game.n_holds
        value = np.empty(len(action))
        holds = np.flatnonzero(~is_box)
        value[holds] = tables.keeps[rolls_left - 1][game.keep[state.roll[holds], action[holds]], column[holds]]
        boxes = np.flatnonzero(is_box)
        box = action[boxes] - game.n_holds
        value[boxes] = self._fills(state.roll[boxes], box, state.open_boxes[boxes], state.lane[boxes])
        return value

    def action_values_from(self, tables: TurnTables, state: State, column: IntArray) -> FloatArray:
        """:meth:`action_values` of states whose cards are columns of ``tables``; ``column`` has shape ``(N,)``."""
        game, roll = self.game, state.roll
        out = np.full((len(roll), game.n_actions), -np.inf)
        for rolls_left, keep_values in enumerate(tables.keeps, 1):
            rows = np.flatnonzero(state.rolls_left == rolls_left)
            keeps = game.dice.hold_keep[roll[rows], :-1]  # all masks but the one that holds everything
            out[rows, : game.n_holds - 1] = keep_values[keeps, column[rows, None]]
        box = np.arange(game.n_boxes)
        reward = game.reward[state.lane, roll, game.n_holds :]  # whole rows, which is faster than one box after the other
        lane = game.next_lane[state.lane, roll, game.n_holds :]
        after = state.open_boxes[:, None] & ~(1 << box)
        legal = game.legal_boxes(state)[:, None] >> box & 1 == 1
        out[:, game.n_holds :] = np.where(legal, reward + self.values[after, lane], -np.inf)
        return out


def _best_rolls(game: Game, keep_values: FloatArray, fill: FloatArray) -> FloatArray:
    """The better of filling a box now and the best keep, for each roll; shape ``(R, L)``."""
    values = keep_values.copy()
    values[game.dice.first_roll_keep :] = fill
    return max_over_keeps(game.dice, values)
