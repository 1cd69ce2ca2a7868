"""Exact evaluation: one pass forward through the cards, from the empty card to the full one.

The pass carries the probability that a policy visits each decision state. The policy is asked once for every state that
it can reach. A few cards are played at a time, so the policy's batches stay small, and only two layers of cards (those with
equally many open boxes) are in memory at once.

**The distribution of the total.** What a policy does in a turn depends on the card and the dice, not on the points that
were scored, so a turn moves the whole distribution of the points on a card to the cards that may follow, shifted by the
points of the box. Where that takes too much memory (many cards, each with many upper totals), the same is done with the
first two moments in the place of the distribution.

Public names: :class:`ForwardPass`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from yacht_env.anatomy import Decisions, Tally
from yacht_env.dice import spread_over_rolls
from yacht_env.distribution import ScoreDistribution
from yacht_env.game import Game, State
from yacht_env.player import Player
from yacht_env.progress import Progress
from yacht_env.solver import TIE, Solution, TurnTables

__all__ = ["ForwardPass"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_CARDS = 32  # cards evaluated together; 756 decision states each
_MAX_BYTES = 600_000_000  # of two layers of distributions


class ForwardPass:
    """The exact evaluation of one policy; see the module.

    Args:
        solution: The solved ruleset.
        player: The policy.
        all_states: Whether the policy is also asked in states that it never reaches.
        tally: What counts the decisions; a new one by default.
    """

    def __init__(
        self, solution: Solution, player: Player, all_states: bool = False, tally: Tally | None = None
    ) -> None:
        self.solution = solution
        self.game: Game = solution.game
        self.player = player
        self.all_states = all_states
        self.tally = tally or Tally(solution)
        self.n_states = 0
        self.good_everywhere = 0.0
        self.reachable: npt.NDArray[np.bool_] = np.isfinite(solution.values)
        self.laws = self._choose_laws()
        self.mean = 0.0
        self.standard_deviation = 0.0
        self.distribution: ScoreDistribution | None = None

    def _choose_laws(self) -> _Laws:
        game = self.game
        largest = max(int(self.reachable[game.n_open == n].sum()) for n in range(game.n_boxes + 1))
        n_scores = _highest_total(game) + 1
        return _Distributions(n_scores) if 2 * 8 * largest * n_scores <= _MAX_BYTES else _Moments()

    def run(self, progress: Progress) -> None:
        """Play all turns."""
        game, done, total = self.game, 0, int(self.reachable[1:].sum())
        index, rows = self._layer(game.n_boxes)
        rows[index[game.all_open, 0]] = self.laws.start()
        for layer in range(game.n_boxes, 0, -1):
            next_index, next_rows = self._layer(layer - 1)
            mass = self.laws.mass(rows)
            open_boxes, lane = np.nonzero(index >= 0)
            if not self.all_states:
                met = mass[index[open_boxes, lane]] > 0
                done += int((~met).sum())
                open_boxes, lane = open_boxes[met], lane[met]
            for i in range(0, len(lane), _CARDS):
                cards = (open_boxes[i : i + _CARDS], lane[i : i + _CARDS])
                where = index[cards]
                ends = self._play_turns(*cards, mass[where])
                self._move_on(cards, ends, rows[where], next_index, next_rows)
                done += len(where)
                progress(done, total)
            index, rows = next_index, next_rows
        progress(total, total)  # the last cards may be out of the policy's reach
        law = rows.sum(axis=0)  # of the full cards
        self.mean, self.standard_deviation = self.laws.mean_and_deviation(law)
        self.distribution = (
            ScoreDistribution(np.trim_zeros(law, "b")) if isinstance(self.laws, _Distributions) else None
        )

    def _layer(self, n_open: int) -> tuple[IntArray, FloatArray]:
        """Where the cards with this many open boxes have their rows, -1 for others; and the rows, all 0."""
        in_layer = self.reachable & (self.game.n_open == n_open)[:, None]
        index = np.full(in_layer.shape, -1)
        index[in_layer] = np.arange(in_layer.sum())
        return index, np.zeros((int(in_layer.sum()), self.laws.width))

    def _play_turns(self, open_boxes: IntArray, lane: IntArray, mass: FloatArray) -> _Ends:
        """One turn on each of ``L`` cards, which are met with probability ``mass``; returns how the turns end."""
        game, dice, n_cards = self.game, self.game.dice, len(lane)
        tables = self.solution.model.tables(open_boxes, lane)
        rolls, columns = (grid.ravel() for grid in np.indices((dice.n_rolls, n_cards)))
        # Beside the probability of each roll travels what the turn has lost so far, times it: shape (R, 2 L).
        met = dice.probability[:, None] * np.concatenate([mass, np.zeros(n_cards)])
        ends = []
        for rolls_left in range(game.rolls_per_turn - 1, -1, -1):
            cells = met.reshape(-1, 2, n_cards)
            asked = np.arange(rolls.size) if self.all_states else np.flatnonzero(cells[:, 0].ravel() > 0)
            if not asked.size:
                break  # the turn is over everywhere
            roll, column = rolls[asked], columns[asked]
            state = State(roll, np.full_like(roll, rolls_left), lane[column], open_boxes[column])
            row, action, probability = self.player.choose(state)
            state, column = State(*(field[row] for field in state)), column[row]
            weight = cells[state.roll, 0, column] * probability
            regret, of_kind = self._regrets(tables, state, column, action)
            lost = cells[state.roll, 1, column] * probability + weight * regret
            decisions = Decisions(state, action, probability, weight, regret, of_kind)
            self.tally.add(decisions)
            self.tally.add_costly(decisions)
            self.n_states += len(roll)
            self.good_everywhere += float(probability[regret <= TIE].sum())
            boxes = np.flatnonzero(action >= game.n_holds)
            filled, box = State(*(field[boxes] for field in state)), action[boxes]
            self.tally.add_filled(filled, box, weight[boxes], lost[boxes])
            points = game.reward[filled.lane, filled.roll, box].astype(np.int64)
            after = game.next_lane[filled.lane, filled.roll, box].astype(np.int64)
            ends.append(_Ends(column[boxes], box - game.n_holds, points, after, weight[boxes]))
            met = self._roll_on(state.roll, column, action, np.stack([weight, lost]), n_cards)
        return _Ends(*(np.concatenate(parts) for parts in zip(*ends, strict=True)))

    def _regrets(
        self, tables: TurnTables, state: State, column: IntArray, action: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """What actions lose against the best, and against the best of their kind; all states have the same rolls left."""
        game, model = self.game, self.solution.model
        rolls_left = int(state.rolls_left[0])
        value = model.values_of(tables, rolls_left, state, column, action)
        best = tables.roll_values(game, rolls_left)[state.roll, column]
        best_box = tables.fill[state.roll, column]
        best_of_kind = np.where(action >= game.n_holds, best_box, best)
        # Where filling a box is best, the best hold is not in the tables yet.
        rows = np.flatnonzero((action < game.n_holds) & (best_box >= best))
        if rows.size:
            keeps = game.dice.hold_keep[state.roll[rows], :-1]
            best_of_kind[rows] = tables.keeps[rolls_left - 1][keeps, column[rows, None]].max(axis=1)
        return np.maximum(best - value, 0.0), np.maximum(best_of_kind - value, 0.0)

    def _roll_on(
        self, roll: IntArray, column: IntArray, action: IntArray, carried: FloatArray, n_cards: int
    ) -> FloatArray:
        """Roll the dice of the decisions that hold some; shape ``(R, 2 L)``."""
        dice = self.game.dice
        rows = np.flatnonzero(action < self.game.n_holds)
        keep = dice.hold_keep[roll[rows], action[rows]]
        cell = keep * (2 * n_cards) + column[rows]
        size = dice.n_keeps * 2 * n_cards
        kept = sum(np.bincount(cell + i * n_cards, carried[i, rows], minlength=size) for i in range(2))
        return spread_over_rolls(dice, np.asarray(kept, dtype=np.float64).reshape(dice.n_keeps, 2 * n_cards))

    def _move_on(
        self,
        cards: tuple[IntArray, IntArray],
        ends: _Ends,
        rows: FloatArray,
        next_index: IntArray,
        next_rows: FloatArray,
    ) -> None:
        """Move the laws of the points on to the cards that follow.

        Args:
            cards: Open boxes and lanes of ``L`` cards.
            ends: How their turns end.
            rows: Their laws, shape ``(L, width)``.
            next_index: Where the cards that follow have their rows.
            next_rows: Those rows, which are added to.
        """
        column, box, points, lane, weight = ends.summed(self.game)
        if not len(weight):
            return  # cards that the policy never reaches
        after = next_index[cards[0][column] & ~(1 << box), lane]
        share = weight / self.laws.mass(rows)[column]
        bounds = np.flatnonzero(np.diff(points, prepend=-1) | np.diff(box, prepend=-1))
        for first, stop in zip(bounds, [*bounds[1:], len(points)], strict=True):
            part = slice(first, stop)
            moved = self.laws.shifted(rows[column[part]], int(points[first])) * share[part, None]
            if stop - first == 1 or len(np.unique(after[part])) == stop - first:
                next_rows[after[part]] += moved
            else:  # two lanes have become one
                np.add.at(next_rows, after[part], moved)


class _Ends(NamedTuple):
    """How turns end: one row for each card and roll that a box is filled with; each of shape ``(N,)``."""

    column: IntArray  # index of the card
    box: IntArray
    points: IntArray
    lane: IntArray  # after the box is filled
    weight: FloatArray  # how often it is met

    def summed(self, game: Game) -> _Ends:
        """Rows that differ in their weight alone as one; sorted by box and points."""
        shape = (game.n_boxes, int(game.reward.max()) + 1, game.n_lanes, int(self.column.max(initial=0)) + 1)
        kinds, which = np.unique(
            np.ravel_multi_index((self.box, self.points, self.lane, self.column), shape), return_inverse=True
        )
        weight: FloatArray = np.bincount(which.reshape(-1), self.weight, minlength=len(kinds)).astype(np.float64)
        met = np.flatnonzero(weight)
        box, points, lane, column = np.unravel_index(kinds[met], shape)
        return _Ends(column, box, points, lane, weight[met])


class _Laws:
    """What is kept of the points so far on each card: rows of numbers that add up over the ways to get there."""

    width: int

    def start(self) -> FloatArray:
        """No points yet, for sure."""
        row = np.zeros(self.width)
        row[0] = 1.0
        return row

    def mass(self, rows: FloatArray) -> FloatArray:
        """Probability of each row."""
        raise NotImplementedError

    def shifted(self, rows: FloatArray, points: int) -> FloatArray:
        """The rows after ``points`` more."""
        raise NotImplementedError

    def mean_and_deviation(self, row: FloatArray) -> tuple[float, float]:
        """Mean and standard deviation of the points."""
        raise NotImplementedError


class _Distributions(_Laws):
    """The probability of every number of points."""

    def __init__(self, width: int) -> None:
        self.width = width

    def mass(self, rows: FloatArray) -> FloatArray:
        return rows.sum(axis=1)

    def shifted(self, rows: FloatArray, points: int) -> FloatArray:
        moved = np.zeros_like(rows)
        moved[:, points:] = rows[:, : self.width - points]
        return moved

    def mean_and_deviation(self, row: FloatArray) -> tuple[float, float]:
        law = ScoreDistribution(row)
        return law.mean, law.standard_deviation


class _Moments(_Laws):
    """The probability, and that times the points and times their square."""

    width = 3

    def mass(self, rows: FloatArray) -> FloatArray:
        return rows[:, 0]

    def shifted(self, rows: FloatArray, points: int) -> FloatArray:
        mass, mean, square = rows.T
        return np.column_stack([mass, mean + points * mass, square + 2 * points * mean + points**2 * mass])

    def mean_and_deviation(self, row: FloatArray) -> tuple[float, float]:
        _, mean, square = row.tolist()
        return mean, max(square - mean**2, 0.0) ** 0.5


def _highest_total(game: Game) -> int:
    """A bound on the total of a game."""
    return int(game.reward[:, :, game.n_holds :].max(axis=(0, 1)).sum())
