"""Backward induction over all cards of a game, with NumPy alone.

What a turn on a card is worth is found as :mod:`yacht_env.solver` says. Here the cards are put in an order that keeps the
arrays large and the work small.

**Blocks.** The boxes are split into number boxes and pattern boxes. A block holds all cards with the same open pattern
boxes and *k* open number boxes, each with all its lanes: one column a card and lane. Where a column's values come from
depends on *k* alone (and on the joker), so the tables of indices are made once for each *k* and serve all sets of pattern
boxes. A block of cards with ``n`` open boxes reads blocks with ``n - 1``, so all blocks of one ``n`` can be cut and put
together as it suits.

**Columns that need no work.** Two upper totals are alike where the open number boxes need to bring the same for the bonus:
with only Sixes open and 63 to reach, 40 and 44 both need four sixes, and below 33 nothing helps. That is worth the same as
a bonus already paid, since no more of it is to come. Alike cards share one column, which leaves three columns of five.

**Arithmetic.** For each column, the best box of the 252 rolls takes about 1,000 maxima (boxes are compared by the classes
of rolls that they tell apart, before the rolls themselves); then, twice, 1,260 additions along the lattice of keeps (the
mean over the dice) and 1,260 maxima (the best keep): about 6,000 operations on float64. All work on whole rows of about 200
columns: enough for the calls to cost little, few enough for the 462 rows, 0.8 MB, to stay in a second-level cache. The limit
is the bandwidth of that cache: an operation fetches a row (one read, one written) and joins it to another (two read, one
written), 40 bytes a column. So the same memory serves all parts, nothing is copied that need not be, and rows start where a
line of the cache starts, which alone saves a twentieth. Threads do not help: each call is so short that they wait for the
interpreter's lock, so :mod:`yacht_env.parallel` shares the parts of a layer among processes.
SciPy's sparse products take as long as the takes and additions here.

Public names: :class:`Induction`, :func:`roll_classes`, :func:`least_that_suffices`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from yacht_env.game import Game, distinct_rows
from yacht_env.lattice import get_lattice

__all__ = ["Induction", "Part", "least_that_suffices", "roll_classes"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_LINE = 8  # float64 numbers in a line of the cache
_WIDTH = 26 * _LINE  # columns solved together, at most
_COMBINATIONS = 64  # of the classes of boxes that are looked at together


def roll_classes(game: Game, box: int) -> tuple[IntArray, IntArray]:
    """Rolls that do the same in a box: one of each class, shape ``(O,)``, and the class of each roll, ``(R,)``."""
    action = game.n_holds + box
    effect = np.hstack([game.reward[:, :, action].T, game.next_lane[:, :, action].T, game.roll_kind[:, None]])
    return distinct_rows(effect)


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
    enough = np.array([*sorted(sums), -1])
    needed = game.upper_threshold - np.arange(game.upper_threshold + 1)
    return enough[np.searchsorted(enough[:-1], needed)].tolist()


class _Columns(NamedTuple):
    """The columns of the blocks that differ in their open pattern boxes alone; ``C`` of them.

    Rows are classes of rolls: those of all number boxes, or those of one pattern box.
    """

    number_sources: IntArray  # where each class leads, (O, C), flat as the values of a set of pattern boxes
    number_points: FloatArray  # what it scores, (O, C); -inf where it is illegal
    sources: dict[int, IntArray]  # by pattern box: as above, or one row for all classes, (1, C)
    points: dict[int, FloatArray]
    is_open: npt.NDArray[np.bool_]  # whether each number box is open, (B, C)
    cells: IntArray  # what the block fills, (M,), flat in the values of its pattern boxes; sorted by column
    bounds: IntArray  # where the cells of each column start in it, (C + 1,)

    @property
    def n_columns(self) -> int:
        return len(self.bounds) - 1


class Piece(NamedTuple):
    """Some columns of one block."""

    patterns: int  # the block's open pattern boxes
    columns: _Columns
    start: int
    stop: int

    @property
    def n_columns(self) -> int:
        return self.stop - self.start

    @property
    def n_cells(self) -> int:
        return int(self.columns.bounds[self.stop] - self.columns.bounds[self.start])

    def write(self, out: FloatArray, values: FloatArray) -> None:
        """Write the values of the columns into all their cells."""
        bounds = self.columns.bounds[self.start : self.stop + 1]
        out[self.columns.cells[bounds[0] : bounds[-1]]] = np.repeat(values, np.diff(bounds))


Part = list[Piece]
"""Columns that are solved together, all of one layer."""


class _Group(NamedTuple):
    """Boxes that are looked at together; ``J`` combinations of their classes occur."""

    boxes: list[int]
    rows: IntArray  # by box of the group: its class in each combination, as a row of all classes, (G, J)
    of_roll: IntArray  # the combination of each roll, (R,)


class _Rooms(NamedTuple):
    """Memory to work in, used again for each part, since fresh memory is slow; each as flat as its rows of full width."""

    fill: FloatArray
    keeps: FloatArray
    spare: FloatArray
    worth: FloatArray
    chosen: FloatArray


class Induction:
    """The cards of a game in layers, and the layers in parts: a part reads the layer before, and can be solved by itself.

    Args:
        game: The game.
        cells: Where the values go, :meth:`n_cells` numbers of float64, which several processes may share.

    Attributes:
        values: For each set of pattern boxes, the number sets by lanes, flat. One more cell at the end is -inf: where a
            closed box leads.
    """

    def __init__(self, game: Game, cells: FloatArray | None = None) -> None:
        self.game = game
        self.lattice = get_lattice(game.dice)
        boxes = game.ruleset.boxes
        self.numbers = [b for b, box in enumerate(boxes) if box.is_number]
        self.number_sets = _subsets(self.numbers)
        self.patterns = [b for b, box in enumerate(boxes) if not box.is_number]
        self.pattern_sets = _subsets(self.patterns)
        self.place = np.zeros(2**game.n_boxes, dtype=np.int64)
        self.place[self.number_sets] = np.arange(len(self.number_sets))
        self.closed = len(self.number_sets) * game.n_lanes
        rows = (np.zeros(self.n_cells(game)) if cells is None else cells).reshape(len(self.pattern_sets), self.closed + 1)
        rows[:, self.closed] = -np.inf
        self.values = dict(zip(self.pattern_sets, rows, strict=True))
        classes = [roll_classes(game, b) for b in range(game.n_boxes)]
        self.classes = [(rolls, class_of_roll[self.lattice.rolls]) for rolls, class_of_roll in classes]
        order = [*self.numbers, *self.patterns]
        first_row = np.cumsum([0, *(len(self.classes[b][0]) for b in order)]).tolist()
        self.rows = {b: slice(*bounds) for b, bounds in zip(order, pairwise(first_row), strict=True)}
        self.number_rows = slice(0, first_row[len(self.numbers)])
        self.groups = self._groups()
        rooms = (self.lattice.n_rolls, self.lattice.n_keeps, self.lattice.n_rolls, first_row[-1])
        self.rooms = _Rooms(*(_aligned(n * _WIDTH) for n in (*rooms, max(group.rows.size for group in self.groups))))
        self.least = {bits: least_that_suffices(game, bits) for bits in self.number_sets}
        self.columns: dict[tuple[int, bool, bool], _Columns] = {}
        self.layers = [list(self._parts(layer)) for layer in self._layers()]

    @staticmethod
    def n_cells(game: Game) -> int:
        """Numbers that the values take."""
        n_patterns = sum(not box.is_number for box in game.ruleset.boxes)
        return 2**game.n_boxes * game.n_lanes + 2**n_patterns

    @staticmethod
    def most_parts(game: Game) -> int:
        """No game has more parts: any two neighbours in a layer are wider than one part may be."""
        return 2 * (2**game.n_boxes * game.n_lanes // _WIDTH) + 2 * game.n_boxes

    def table(self) -> FloatArray:
        """V by open boxes (bits) and lane, shape ``(2 ** B, L)``; NaN where no game can come."""
        game = self.game
        out = np.full((2**game.n_boxes, game.n_lanes), np.nan)
        for patterns, values in self.values.items():
            rows = [patterns | numbers for numbers in self.number_sets]
            out[rows] = values[:-1].reshape(len(rows), game.n_lanes)
        out[~game.reachable_lanes] = np.nan
        return out

    def _layers(self) -> list[list[tuple[int, int]]]:
        """The blocks, as open pattern boxes and number of open number boxes, by open boxes in all, from one up."""
        layers: list[list[tuple[int, int]]] = [[] for _ in range(self.game.n_boxes + 1)]
        for patterns in self.pattern_sets:
            for n_numbers in range(len(self.numbers) + 1):
                layers[patterns.bit_count() + n_numbers].append((patterns, n_numbers))
        return layers[1:]

    def _parts(self, layer: Sequence[tuple[int, int]]) -> Iterator[Part]:
        """The columns of a layer's blocks in parts of about equal width: large blocks are cut, small ones put together."""
        part: Part = []
        width = 0
        for patterns, n_numbers in layer:
            columns = self._columns_of(patterns, n_numbers)
            n_pieces = max(1, -(-columns.n_columns // _WIDTH))
            lines = -(-columns.n_columns // (n_pieces * _LINE))  # of each piece but the last; no more than those of a part
            for start, stop in pairwise([*range(0, columns.n_columns, max(1, lines) * _LINE), columns.n_columns]):
                if width + stop - start > _WIDTH:
                    yield part
                    part, width = [], 0
                part.append(Piece(patterns, columns, start, stop))
                width += stop - start
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
            rows = [self.rows[box].start + self.classes[box][1][first] for box in boxes]
            groups.append(_Group(boxes, np.array(rows), of_roll))
        return groups

    def _combinations(self, boxes: list[int]) -> tuple[IntArray, IntArray]:
        return distinct_rows(np.column_stack([self.classes[box][1] for box in boxes]))

    def _columns_of(self, patterns: int, n_numbers: int) -> _Columns:
        """The columns of a block; made once for the blocks that share them."""
        joker = self.game.ruleset.joker
        joker_is_on = joker is not None and not patterns >> self.game.ruleset.index(joker.box) & 1
        key = (n_numbers, joker_is_on, joker_is_on and patterns == 0)
        if key not in self.columns:
            self.columns[key] = self._make_columns(patterns, n_numbers, joker_is_on)
        return self.columns[key]

    def _make_columns(self, patterns: int, n_numbers: int, joker_is_on: bool) -> _Columns:
        game = self.game
        sets = np.array([bits for bits in self.number_sets if bits.bit_count() == n_numbers])
        which, lane = np.nonzero(game.reachable_lanes[patterns | sets])
        numbers = sets[which]
        least = np.array([self.least[bits] for bits in sets.tolist()])[which, game.upper_total(lane)]
        kind = np.maximum(least, 0)  # a bonus out of reach is worth what one already paid is
        key = (numbers * (kind.max() + 1) + kind) * game.n_jokers + lane % game.n_jokers
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.diff(key[order], prepend=-1))
        first = order[starts]
        cells = (self.place[numbers] * game.n_lanes + lane)[order]
        numbers, lane = numbers[first], lane[first]
        boxes = [self._box(b, patterns, numbers, lane, joker_is_on) for b in range(game.n_boxes)]
        none = np.zeros((0, len(first)), dtype=np.int64)
        number_sources = np.vstack([none, *(boxes[b][0] for b in self.numbers)])
        number_points = np.vstack([none, *(boxes[b][1] for b in self.numbers)])
        sources = {b: boxes[b][0] for b in self.patterns}
        points = {b: boxes[b][1] for b in self.patterns}
        bounds = np.append(starts, len(order))
        is_open = numbers >> np.arange(game.n_boxes)[:, None] & 1 == 1
        return _Columns(number_sources, number_points, sources, points, is_open, cells, bounds)

    def _box(
        self, box: int, patterns: int, numbers: IntArray, lane: IntArray, joker_is_on: bool
    ) -> tuple[IntArray, FloatArray]:
        """Where a box leads from each column, one row where all classes lead alike, and what it scores."""
        game, action, bit = self.game, self.game.n_holds + box, 1 << box
        rolls, _ = self.classes[box]
        next_lane = game.next_lane[:, rolls, action].T
        points = game.reward[:, rolls, action].T[:, lane].astype(np.float64)
        is_number = box in self.numbers
        if not is_number and (next_lane == next_lane[0]).all():
            next_lane = next_lane[:1]
        sources = self.place[numbers & ~bit] * game.n_lanes + next_lane[:, lane]
        if is_number:
            sources[:, numbers & bit == 0] = self.closed
        if joker_is_on:
            open_boxes = numbers | (patterns if is_number else bit)
            legal = game.legal_boxes_table[open_boxes][:, game.roll_kind[rolls]].T >> box & 1
            points[legal == 0] = -np.inf
        return sources, points

    # ------------------------------------------------------------------------------------------------------- solving

    def solve(self, part: Part) -> None:
        """Solve some columns of one layer, and write down what they are worth."""
        lattice, width = self.lattice, sum(piece.n_columns for piece in part)
        fill, keeps, spare = (_rows(room, width) for room in (self.rooms.fill, self.rooms.keeps, self.rooms.spare))
        left = 0
        for piece in part:
            self._fill(piece, fill[:, left : left + piece.n_columns])
            left += piece.n_columns
        rolls = fill
        for _ in range(self.game.rolls_per_turn - 1):
            lattice.mean(rolls, keeps, spare)
            lattice.best(keeps, fill, spare)
            rolls = keeps[lattice.first_roll :]
        values = lattice.probability @ rolls
        left = 0
        for piece in part:
            piece.write(self.values[piece.patterns], values[left : left + piece.n_columns])
            left += piece.n_columns

    def _fill(self, piece: Piece, out: FloatArray) -> None:
        """Write what the best box is worth for each roll, shape ``(R, width)``.

        For each open box of a group of ``J`` combinations, ``J`` rows are fetched and compared, and for each group ``R``: of
        five rows read or written, two by the take, three by the maximum.
        """
        width = piece.n_columns
        chosen, of_roll = _rows(self.rooms.chosen, width), _rows(self.rooms.spare, width)
        worth, is_open = self._worth(piece)
        groups = [(group, group.rows[is_open[group.boxes]]) for group in self.groups if is_open[group.boxes].any()]
        for n, (group, rows) in enumerate(groups):
            room = chosen[: rows.size].reshape(*rows.shape, width)
            worth.take(rows, axis=0, out=room, mode="clip")
            best = np.maximum.reduce(room, axis=0)
            best.take(group.of_roll, axis=0, out=of_roll if n else out, mode="clip")
            if n:
                np.maximum(out, of_roll, out=out)

    def _worth(self, piece: Piece) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """What each class of rolls is worth in each open box, one row a class of a box; and which boxes are open anywhere.

        One value is fetched and one addition made for each class and column; a pattern box that leads all classes to one
        card fetches a single row. Rows of closed boxes are not written.
        """
        columns, span = piece.columns, slice(piece.start, piece.stop)
        out = _rows(self.rooms.worth, piece.n_columns)
        is_open: npt.NDArray[np.bool_] = np.logical_or.reduce(columns.is_open[:, span], axis=1)
        after = self.values[piece.patterns].take(columns.number_sources[:, span])
        np.add(columns.number_points[:, span], after, out=out[self.number_rows])
        for box in self.patterns:
            if piece.patterns >> box & 1:
                is_open[box] = True
                after = self.values[piece.patterns & ~(1 << box)].take(columns.sources[box][:, span])
                np.add(columns.points[box][:, span], after, out=out[self.rows[box]])
        return out, is_open


def _aligned(n: int) -> FloatArray:
    """Fresh memory that starts with a line of the cache, so that no load of a whole vector crosses two."""
    memory = np.empty(n + _LINE)
    start = -memory.ctypes.data // memory.itemsize % _LINE
    return memory[start : start + n]


def _rows(room: FloatArray, width: int) -> FloatArray:
    """The beginning of some memory as rows of this width, as many as there would be of full width."""
    return room[: len(room) // _WIDTH * width].reshape(-1, width)


def _subsets(boxes: Sequence[int]) -> list[int]:
    """All subsets as bits, the smaller ones first."""
    return [sum(1 << b for b in some) for n in range(len(boxes) + 1) for some in combinations(boxes, n)]
