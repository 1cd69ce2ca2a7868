"""The exact optimum of a ruleset, by backward induction over its cards.

A *card* is what lasts from turn to turn: the open boxes and the lane (upper total, Yacht box). Write ``V(c)`` for the
expected points still to come at the start of a turn on card ``c``. A turn on ``c`` is solved from its end::

    F0(r)   = max over legal boxes b of  reward(c, r, b) + V(c after b)         the last roll: fill the best box
    E1(k)   = mean over the rolls r that keep k can lead to of  F0(r)           a keep, with the last roll to come
    F1(r)   = max(F0(r), max over keeps k of r of E1(k))                        one roll left: fill a box, or roll on
    E2, F2                                                                      the same once more
    V(c)    = mean over all rolls r of  F2(r)                                   the first roll of the turn

Both the means and the maxima run along the lattice of keeps (:mod:`yacht_env.dice`), so there is no matrix of
probabilities, and every card (every lane) of a layer is one column of the same additions. Cards with fewer open boxes
come first; a layer holds the cards with equally many. Only lanes that a game can reach are solved.

The method is the usual one for games of this family (Verhoeff, "Optimal solitaire Yahtzee strategies", 1999; Glenn, "An
optimal strategy for Yahtzee", 2006); the running means and maxima are those of Pawlewicz, "Nearly optimal computer play in
multi-player Yahtzee", 2010.

Public names: :func:`solve`, :class:`Solution`, :class:`TurnTables`, :class:`TurnModel`.
"""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import platformdirs

from yacht_env.dice import max_over_keeps, mean_over_rolls
from yacht_env.files import write_atomically
from yacht_env.game import Game, State, get_game
from yacht_env.induction import backward_induction, roll_classes
from yacht_env.progress import Progress, progress_bar
from yacht_env.rules import Ruleset

__all__ = ["TIE", "Solution", "TurnModel", "TurnTables", "best_actions", "solve"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

TIE = 1e-9
"""Points; values that differ by less are equal, since sums of rounded numbers differ by about 1e-13."""

_BLOCK = 128  # lanes solved together: 462 x 128 float64 stay in a second-level cache
_CARDS_KEPT = 256  # whose turn tables are kept for questions about single states; 11 kB each
_CACHE_FORMAT = 1
_SLOW_LANES = 20_000  # solutions of more lanes than this are worth a file in the cache


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
        self.values = values
        self._classes = [roll_classes(game, b) for b in range(game.n_boxes)]
        self._tables_of_card = lru_cache(maxsize=_CARDS_KEPT)(self._make_tables_of_card)

    def _make_tables_of_card(self, card: int) -> TurnTables:
        return self.tables(np.array([card // self.game.n_lanes]), np.array([card % self.game.n_lanes]))

    def fill_values(self, open_boxes: IntArray, lane: IntArray) -> FloatArray:
        """F0 of the cards with these open boxes and lanes, both of shape ``(L,)``; shape ``(R, L)``."""
        game = self.game
        best = np.full((game.dice.n_rolls, len(lane)), -np.inf)
        for _, value in self.box_values(open_boxes, lane):
            np.maximum(best, value, out=best)
        return best

    def box_values(self, open_boxes: IntArray, lane: IntArray) -> Iterator[tuple[int, FloatArray]]:
        """Each box that some of these cards have open, and what filling it is worth, ``-inf`` where illegal, ``(R, L)``."""
        for b, (rolls, class_of_roll) in enumerate(self._classes):
            if np.any(open_boxes >> b & 1):
                yield b, self._box_values(b, rolls, open_boxes, lane)[class_of_roll]

    def _box_values(self, box: int, rolls: IntArray, open_boxes: IntArray, lane: IntArray) -> FloatArray:
        game, action = self.game, self.game.n_holds + box
        state = State(rolls[:, None], np.zeros(1, dtype=np.int64), lane[None, :], open_boxes[None, :])
        after = (open_boxes & ~(1 << box))[None, :]
        next_lane = game.next_lane[lane[None, :], rolls[:, None], action]
        value = game.reward[lane[None, :], rolls[:, None], action] + self.values[after, next_lane]
        legal = game.legal_boxes(state) >> box & 1
        return np.where(legal == 1, value, -np.inf)

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
        if len(state.roll) == 1:  # questions about single states often stay with one card for a while
            card = int(state.open_boxes[0]) * game.n_lanes + int(state.lane[0])
            return self.action_values_from(self._tables_of_card(card), state, np.zeros(1, dtype=np.int64))
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
        lane, roll, action = state.lane[boxes], state.roll[boxes], action[boxes]
        after = state.open_boxes[boxes] & ~(1 << (action - game.n_holds))
        value[boxes] = game.reward[lane, roll, action] + self.values[after, game.next_lane[lane, roll, action]]
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
        reward = game.reward[state.lane, roll, game.n_holds :]
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


@dataclass(frozen=True, eq=False)
class Solution:
    """The exact optimum of a ruleset; made by :func:`solve`.

    Attributes:
        game: The game that is solved.
        values: Expected points from the start of a turn under optimal play, by open boxes (bits) and lane, shape
            ``(2 ** B, L)``; NaN where no game can come.
    """

    game: Game
    values: FloatArray

    @property
    def ruleset(self) -> Ruleset:
        """The rules."""
        return self.game.ruleset

    @cached_property
    def model(self) -> TurnModel:
        """The turns, with the optimal values after them."""
        return TurnModel(self.game, self.values)

    @property
    def expected_score(self) -> float:
        """Expected total of an optimal game, exact to 1e-9."""
        return float(self.values[self.game.all_open, 0])

    def state_value(
        self,
        open_boxes: Iterable[int | str] | npt.ArrayLike | None = None,
        upper_total: npt.ArrayLike = 0,
        yacht_box: npt.ArrayLike = False,
    ) -> float | FloatArray:
        """Expected points still to come at the start of a turn, before the first roll.

        Args:
            open_boxes: Names or positions of the open boxes, or flags ``(..., B)``; ``None`` is all of them.
            upper_total: Points in the number boxes, where the ruleset has an upper bonus, shape ``(...)``.
            yacht_box: Whether the Yacht box holds its points, where the ruleset has a joker, shape ``(...)``.

        Returns:
            One value; or an array ``(...)`` for a batch.

        Raises:
            ValueError: for boxes that the card lacks, or an upper total that no game has with these boxes open.
        """
        bits = self.game.box_bits(open_boxes)
        value = self.values[bits, self.game.lane(bits, upper_total, yacht_box)]
        if np.isnan(value).any():
            raise ValueError(f"no game has an upper total of {upper_total!r} with these boxes open: {open_boxes!r}")
        return float(value) if np.ndim(value) == 0 else value

    def action_values(
        self,
        dice: npt.ArrayLike,
        rolls_left: npt.ArrayLike,
        open_boxes: Iterable[int | str] | npt.ArrayLike | None = None,
        upper_total: npt.ArrayLike = 0,
        yacht_box: npt.ArrayLike = False,
    ) -> FloatArray:
        """Value of every action: points from here if it is taken and play is optimal afterwards.

        Args:
            dice: Faces in any order, shape ``(..., n_dice)``; a hold's bits mean the dice in ascending order.
            rolls_left: Rolls left in this turn, shape ``(...)``.
            open_boxes: Names or positions of the open boxes, or flags ``(..., B)``; ``None`` is all of them.
            upper_total: Points in the number boxes, where the ruleset has an upper bonus.
            yacht_box: Whether the Yacht box holds its points, where the ruleset has a joker.

        Returns:
            Shape ``(..., A)``; ``-inf`` where the rules forbid the action.

        Raises:
            ValueError: naming the value that no state has.
        """
        state = self.game.encode_state(dice, rolls_left, open_boxes, upper_total, yacht_box)
        flat = State(*(np.atleast_1d(field).ravel() for field in state))
        if np.isnan(self.values[flat.open_boxes, flat.lane]).any():
            raise ValueError(f"no game has an upper total of {upper_total!r} with these boxes open: {open_boxes!r}")
        return self.state_action_values(flat).reshape(*np.shape(state.roll), self.game.n_actions)

    def best_action(
        self,
        dice: npt.ArrayLike,
        rolls_left: npt.ArrayLike,
        open_boxes: Iterable[int | str] | npt.ArrayLike | None = None,
        upper_total: npt.ArrayLike = 0,
        yacht_box: npt.ArrayLike = False,
    ) -> int | IntArray:
        """The best action, or an array ``(...)`` of them for a batch; of equal ones the lowest. Arguments as above.

        Actions whose values differ by less than :data:`TIE` points are equal.
        """
        values = self.action_values(dice, rolls_left, open_boxes, upper_total, yacht_box)
        best = best_actions(values)
        return int(best) if np.ndim(best) == 0 else best

    def state_action_values(self, state: State) -> FloatArray:
        """:meth:`action_values` of encoded states of shape ``(N,)``; shape ``(N, A)``."""
        return self.model.action_values(state)


def best_actions(values: FloatArray) -> IntArray:
    """The best action of each row of values ``(..., A)``; of those within :data:`TIE` points the lowest; shape ``(...)``."""
    best: IntArray = (values >= values.max(axis=-1, keepdims=True) - TIE).argmax(axis=-1)
    return best


_solved: dict[str, Solution] = {}


def solve(ruleset: str | Ruleset = "yacht", *, progress: Progress | None = None, cache: bool = True) -> Solution:
    """The exact optimum of a ruleset.

    A ruleset is solved once a process. Those that take longer than a moment are also kept in the user's cache folder,
    under a hash of the rules and the format; a damaged file there is noticed, and rebuilt.

    Args:
        ruleset: A name or a :class:`Ruleset`.
        progress: Called with (lanes solved, lanes in all) as the solution grows; a bar on the terminal by default.
        cache: Whether solutions may be taken from, and written to, memory and the cache folder.

    Raises:
        ValueError: for an unknown name.
    """
    game = get_game(ruleset)
    key = game.ruleset.fingerprint
    if cache and key in _solved:
        known = _solved[key]
        return known if known.game is game else Solution(game, known.values)
    path = _cache_path(key) if cache and game.n_lanes * 2**game.n_boxes > _SLOW_LANES else None
    values = _read_cache(path, game) if path else None
    if values is None:
        values = backward_induction(game, progress or progress_bar(f"solving {game.ruleset.name}"))
        if path:
            _write_cache(path, values)
    values.setflags(write=False)
    solution = Solution(game, values)
    if cache:
        _solved[key] = solution
    return solution


def _cache_path(fingerprint: str) -> Path:
    folder = os.environ.get("YACHT_ENV_CACHE") or platformdirs.user_cache_dir("yacht-env", appauthor=False)
    return Path(folder) / f"solution-{_CACHE_FORMAT}-{fingerprint[:32]}.npy"


def _read_cache(path: Path, game: Game) -> FloatArray | None:
    """The values in a cache file, or ``None`` where it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, data = content[:32], content[32:]
    if hashlib.sha256(data).digest() != digest:
        warnings.warn(f"the cached solution {path} is damaged; solving again", stacklevel=3)
        return None
    values: FloatArray = np.load(io.BytesIO(data), allow_pickle=False)
    return values if values.shape == (2**game.n_boxes, game.n_lanes) else None


def _write_cache(path: Path, values: FloatArray) -> None:
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    data = buffer.getvalue()
    try:
        write_atomically(path, hashlib.sha256(data).digest() + data)
    except OSError as error:
        warnings.warn(f"can't keep the solution in {path}: {error}", stacklevel=3)
