"""Backward induction over all cards of a game, with NumPy alone.

What a turn on a card is worth is found as :mod:`yacht_env.solver` says. Here the cards are put in an order that keeps the
arrays large and the work small.

**Blocks.** The boxes are split into number boxes and pattern boxes. A block holds all cards with the same open pattern
boxes and *k* open number boxes, each with all its lanes: one column a card and lane. Where a column's values come from
depends on *k* alone (and on the joker), so the tables of indices are made once for each *k* and serve all sets of pattern
boxes. A block of cards with ``n`` open boxes reads blocks with ``n - 1``, so all blocks of one ``n`` can be cut and put
together as it suits.

**Columns that need no work.** Two upper totals are alike where the open number boxes need to bring the same for the bonus:
with only Sixes open and 63 to reach, 40 and 44 both need four sixes, and below 33 nothing helps. Alike cards share one
column, which leaves three columns of five.

**Arithmetic.** For each column, the best box of the 252 rolls takes about 1,000 maxima (boxes are compared by the classes
of rolls that they tell apart, before the rolls themselves); then, twice, 1,260 additions along the lattice of keeps (the
mean over the dice) and 1,260 maxima (the best keep): about 6,000 operations on float64. All work on whole rows of 192
columns: enough for the calls to cost little, few enough for the 462 rows, 0.7 MB, to stay in a second-level cache. The limit
is the bandwidth of that cache, at about four rows read or written for each operation. Threads do not help: each call is so
short that they wait for the interpreter's lock. SciPy's sparse products take as long as the takes and additions here.

Public names: :func:`backward_induction`, :func:`roll_classes`, :func:`least_that_suffices`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from yacht_env.dice import DiceTables
from yacht_env.game import Game
from yacht_env.progress import Progress

__all__ = ["backward_induction", "least_that_suffices", "roll_classes"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_WIDTH = 192  # columns solved together
_COMBINATIONS = 64  # of the classes of boxes that are looked at together


def backward_induction(game: Game, progress: Progress | None = None) -> FloatArray:
    """V of every card of a game.

    Args:
        game: The game.
        progress: Called with (lanes solved, lanes in all) after each block.

    Returns:
        Expected points from the start of a turn, by open boxes (bits) and lane, shape ``(2 ** B, L)``, float64; NaN
        where no game can come.
    """
    return _Induction(game).run(progress)


def roll_classes(game: Game, box: int) -> tuple[IntArray, IntArray]:
    """Rolls that do the same in a box: one of each class, shape ``(O,)``, and the class of each roll, ``(R,)``."""
    action = game.n_holds + box
    effect = np.hstack([game.reward[:, :, action].T, game.next_lane[:, :, action].T, game.roll_kind[:, None]])
    return _distinct(effect)


def least_that_suffices(game: Game, numbers: int) -> list[int]:
    """By upper total, the least that the open number boxes can bring together and that earns the bonus; -1 for none.

    Cards that differ in their upper total alone are alike where this is the same.

    Args:
        game: The game.
        numbers: The open number boxes, as bits.
    """
    sums = {0}
    for box in range(game.n_boxes):
        if numbers >> box & 1:
            gains = set((game.next_lane[0, :, game.n_holds + box] // game.n_jokers).tolist())
            sums = {total + gain for total in sums for gain in gains}
    needed = [game.upper_threshold - upper for upper in range(game.upper_threshold + 1)]
    return [min((total for total in sums if total >= need), default=-1) for need in needed]


class _Columns(NamedTuple):
    """The columns of the blocks that differ in their open pattern boxes alone; ``C`` of them."""

    sources: list[IntArray]  # by box: where each class of rolls leads, (O, C), flat in the values of a set of pattern boxes
    points: list[FloatArray]  # by box: what it scores, (O, C)
    is_open: npt.NDArray[np.bool_]  # whether each number box is open, (B, C)
    cells: IntArray  # what the block fills, (M,), flat in the values of its pattern boxes; sorted by column
    bounds: IntArray  # where the cells of each column start in it, (C + 1,)

    @property
    def n_columns(self) -> int:
        return len(self.bounds) - 1


class _Piece(NamedTuple):
    """Some columns of one block."""

    patterns: int  # the block's open pattern boxes
    columns: _Columns
    start: int
    stop: int

    @property
    def n_cells(self) -> int:
        return int(self.columns.bounds[self.stop] - self.columns.bounds[self.start])

    def write(self, out: FloatArray, values: FloatArray) -> None:
        """Write the values of the columns into all their cells."""
        bounds = self.columns.bounds[self.start : self.stop + 1]
        out[self.columns.cells[bounds[0] : bounds[-1]]] = np.repeat(values, np.diff(bounds))


class _Group(NamedTuple):
    """Boxes that are looked at together; ``J`` combinations of their classes occur."""

    boxes: list[int]
    classes: list[IntArray]  # by box of the group: its class in each combination, (J,)
    of_roll: IntArray  # the combination of each roll, (R,)


class _Induction:
    """One run; :attr:`values` holds, for each set of pattern boxes, the number sets by lanes, flat.

    One more cell at the end is -inf: where a closed box leads.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.lattice = _lattice(game.dice)
        boxes = game.ruleset.boxes
        self.numbers = [b for b, box in enumerate(boxes) if box.is_number]
        self.number_sets = _subsets(self.numbers)
        self.pattern_sets = _subsets([b for b, box in enumerate(boxes) if not box.is_number])
        self.place = np.zeros(2**game.n_boxes, dtype=np.int64)
        self.place[self.number_sets] = np.arange(len(self.number_sets))
        self.closed = len(self.number_sets) * game.n_lanes
        self.values = {patterns: np.append(np.zeros(self.closed), -np.inf) for patterns in self.pattern_sets}
        classes = [roll_classes(game, b) for b in range(game.n_boxes)]
        self.classes = [(rolls, class_of_roll[self.lattice.rolls]) for rolls, class_of_roll in classes]
        self.groups = self._groups()
        self.columns: dict[tuple[int, bool, bool], _Columns] = {}

    def run(self, progress: Progress | None) -> FloatArray:
        game = self.game
        layers: list[list[tuple[int, int]]] = [[] for _ in range(game.n_boxes + 1)]
        for patterns in self.pattern_sets:
            for n_numbers in range(len(self.numbers) + 1):
                layers[patterns.bit_count() + n_numbers].append((patterns, n_numbers))
        solved, total = 0, int(game.reachable_lanes[1:].sum())
        for layer in layers[1:]:
            for part in self._parts(layer):
                self._solve(part)
                solved += sum(piece.n_cells for piece in part)
                if progress:
                    progress(solved, total)
        out = np.full((2**game.n_boxes, game.n_lanes), np.nan)
        for patterns, values in self.values.items():
            rows = [patterns | numbers for numbers in self.number_sets]
            out[rows] = values[:-1].reshape(len(rows), game.n_lanes)
        out[~game.reachable_lanes] = np.nan
        return out

    def _parts(self, layer: Sequence[tuple[int, int]]) -> Iterator[list[_Piece]]:
        """The columns of a layer's blocks in parts of about equal width: large blocks are cut, small ones put together."""
        part: list[_Piece] = []
        width = 0
        for patterns, n_numbers in layer:
            columns = self._columns_of(patterns, n_numbers)
            start = 0
            while start < columns.n_columns:
                stop = min(start + _WIDTH - width, columns.n_columns)
                part.append(_Piece(patterns, columns, start, stop))
                width, start = width + stop - start, stop
                if width == _WIDTH:
                    yield part
                    part, width = [], 0
        if part:
            yield part

    # ------------------------------------------------------------------------------------------------------- tables

    def _groups(self) -> list[_Group]:
        """Boxes whose classes have few combinations, together: the best of them is found for a combination, not a roll."""
        boxes_of: list[list[int]] = []
        for box in sorted(range(self.game.n_boxes), key=lambda b: len(self.classes[b][0])):
            for boxes in boxes_of:
                if len(self._combinations([*boxes, box])[0]) <= _COMBINATIONS:
                    boxes.append(box)
                    break
            else:
                boxes_of.append([box])
        groups = []
        for boxes in boxes_of:
            first, of_roll = self._combinations(boxes)
            groups.append(_Group(boxes, [self.classes[box][1][first] for box in boxes], of_roll))
        return groups

    def _combinations(self, boxes: list[int]) -> tuple[IntArray, IntArray]:
        return _distinct(np.column_stack([self.classes[box][1] for box in boxes]))

    def _columns_of(self, patterns: int, n_numbers: int) -> _Columns:
        """The columns of a block; made once for the blocks that share them."""
        joker = self.game.ruleset.joker
        joker_is_on = joker is not None and not patterns >> self.game.ruleset.index(joker.box) & 1
        key = (n_numbers, joker_is_on, patterns == 0)
        if key not in self.columns:
            self.columns[key] = self._make_columns(patterns, n_numbers, joker_is_on)
        return self.columns[key]

    def _make_columns(self, patterns: int, n_numbers: int, joker_is_on: bool) -> _Columns:
        game = self.game
        sets = np.array([bits for bits in self.number_sets if bits.bit_count() == n_numbers])
        which, lane = np.nonzero(game.reachable_lanes[patterns | sets])
        numbers = sets[which]
        least = {bits: least_that_suffices(game, bits) for bits in sets.tolist()}
        kind = np.array([least[bits][upper] for bits, upper in zip(numbers.tolist(), game.upper_total(lane), strict=True)])
        first, column = _distinct(np.column_stack([numbers, kind, lane % game.n_jokers]))
        cells = self.place[numbers] * game.n_lanes + lane
        numbers, lane = numbers[first], lane[first]
        boxes = [self._box(b, patterns, numbers, lane, joker_is_on) for b in range(game.n_boxes)]
        sources, points = zip(*boxes, strict=True)
        order = np.argsort(column, kind="stable")
        bounds = np.searchsorted(column[order], np.arange(len(first) + 1))
        is_open = numbers >> np.arange(game.n_boxes)[:, None] & 1 == 1
        return _Columns(list(sources), list(points), is_open, cells[order], bounds)

    def _box(
        self, box: int, patterns: int, numbers: IntArray, lane: IntArray, joker_is_on: bool
    ) -> tuple[IntArray, FloatArray]:
        """Where a box leads from each column, and what it scores; see :class:`_Columns`."""
        game, action, bit = self.game, self.game.n_holds + box, 1 << box
        rolls, _ = self.classes[box]
        next_lane = game.next_lane[:, rolls, action].T[:, lane].astype(np.int64)
        points = game.reward[:, rolls, action].T[:, lane].astype(np.float64)
        sources = self.place[numbers & ~bit] * game.n_lanes + next_lane
        is_number = box in self.numbers
        if is_number:
            sources[:, numbers & bit == 0] = self.closed
        if joker_is_on:
            open_boxes = numbers | (patterns if is_number else bit)
            legal = game.legal_boxes_table[open_boxes][:, game.roll_kind[rolls]].T >> box & 1
            sources[legal == 0] = self.closed
        return sources, points

    # ------------------------------------------------------------------------------------------------------- solving

    def _solve(self, part: list[_Piece]) -> None:
        """Solve some columns of one layer, and write down what they are worth."""
        lattice, width = self.lattice, sum(piece.stop - piece.start for piece in part)
        spare = np.empty((lattice.n_rolls, width))
        fill = np.concatenate([self._fill(piece) for piece in part], axis=1)
        keeps, best = np.empty((lattice.n_keeps, width)), np.empty((lattice.n_keeps, width))
        best[lattice.first_roll :] = fill
        for _ in range(self.game.rolls_per_turn - 1):
            keeps, best = best, keeps
            lattice.mean(keeps, spare)
            lattice.best(keeps, fill, best, spare)
        values = lattice.probability @ best[lattice.first_roll :]
        left = 0
        for piece in part:
            piece.write(self.values[piece.patterns], values[left : left + piece.stop - piece.start])
            left += piece.stop - piece.start

    def _fill(self, piece: _Piece) -> FloatArray:
        """What the best box is worth for each roll, shape ``(R, width)``."""
        start, stop, columns = piece.start, piece.stop, piece.columns
        best = np.full((self.lattice.n_rolls, stop - start), -np.inf)
        of_roll = np.empty_like(best)
        for group in self.groups:
            best_of_group: FloatArray | None = None
            for box, classes in zip(group.boxes, group.classes, strict=True):
                is_number = box in self.numbers
                if not (columns.is_open[box, start:stop].any() if is_number else piece.patterns >> box & 1):
                    continue
                source = self.values[piece.patterns if is_number else piece.patterns & ~(1 << box)]
                value = source.take(columns.sources[box][:, start:stop])
                value += columns.points[box][:, start:stop]
                value = value.take(classes, axis=0, mode="clip")
                best_of_group = value if best_of_group is None else np.maximum(best_of_group, value, out=value)
            if best_of_group is not None:
                best_of_group.take(group.of_roll, axis=0, out=of_roll, mode="clip")
                np.maximum(best, of_roll, out=best)
        return best


class _Lattice:
    """The lattice of keeps, with the keeps of equally many dice sorted by how many faces differ, the most first.

    A keep can be reached by removing a die in as many ways as it has different faces, and in this order the keeps that still
    have another way are a slice.
    """

    def __init__(self, dice: DiceTables) -> None:
        self.n_keeps, self.n_rolls, self.first_roll = dice.n_keeps, dice.n_rolls, dice.first_roll_keep
        self.share = 1.0 / dice.n_outcomes[: self.first_roll, None]  # the order keeps the sizes apart
        ways = np.array([len(set(row[:size])) for row, size in zip(dice.remove.tolist(), dice.keep_size, strict=True)])
        order = np.lexsort((np.arange(dice.n_keeps), -ways, dice.keep_size))
        position = np.argsort(order)
        self.rolls = order[self.first_roll :] - self.first_roll  # the rolls in this order
        self.probability = dice.probability[self.rolls]
        self.levels: list[tuple[int, int, IntArray, list[IntArray]]] = []
        for size in range(dice.n_dice + 1):
            start, stop = int(dice.size_start[size]), int(dice.size_start[size + 1])
            keeps = order[start:stop]
            add = position[dice.add[keeps]].T.copy() if size < dice.n_dice else np.zeros((0, 0), dtype=np.int64)
            fewer = [np.unique(dice.remove[keep][:size]) for keep in keeps]
            removed = [
                position[[row[j] for row in fewer if len(row) > j]] for j in range(max(map(len, fewer), default=0))
            ]
            self.levels.append((start, stop, add, removed))

    def mean(self, values: FloatArray, spare: FloatArray) -> None:
        """Fill in what each keep is worth, given the rolls (the last rows), times the ways that its other dice can fall."""
        for start, stop, add, _ in self.levels[-2::-1]:
            level, room = values[start:stop], spare[: stop - start]
            values.take(add[0], axis=0, out=level, mode="clip")
            for further in add[1:]:
                values.take(further, axis=0, out=room, mode="clip")
                level += room

    def best(self, keeps: FloatArray, fill: FloatArray, out: FloatArray, spare: FloatArray) -> None:
        """The best of each keep and all that hold fewer of its dice; for the rolls, of ``fill`` too.

        Args:
            keeps: As :meth:`mean` left it.
            fill: What it is worth to fill a box, for each roll.
            out: Where to write, one row a keep.
            spare: Room for as many rows as there are rolls.
        """
        np.multiply(keeps[: self.first_roll], self.share, out=out[: self.first_roll])
        out[self.first_roll :] = fill
        for start, _, _, removed in self.levels[1:]:
            for fewer in removed:
                level, room = out[start : start + len(fewer)], spare[: len(fewer)]
                out.take(fewer, axis=0, out=room, mode="clip")
                np.maximum(level, room, out=level)


@lru_cache(maxsize=4)
def _lattice(dice: DiceTables) -> _Lattice:
    return _Lattice(dice)


def _distinct(rows: npt.NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Where each different row comes first, and which of them each row is."""
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, which.reshape(-1)


def _subsets(boxes: Sequence[int]) -> list[int]:
    """All subsets as bits, the smaller ones first."""
    return [sum(1 << b for b in some) for n in range(len(boxes) + 1) for some in combinations(boxes, n)]
