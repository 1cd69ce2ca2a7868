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
import math
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import platformdirs

from yacht_env.card_turn import TIE, best_actions
from yacht_env.files import write_atomically
from yacht_env.game import Game, SingleState, State, get_game
from yacht_env.parallel import backward_induction
from yacht_env.progress import Progress, progress_bar
from yacht_env.rules import Ruleset
from yacht_env.single_states import SingleStateReader
from yacht_env.turn import TurnModel, TurnTables

__all__ = ["TIE", "Solution", "TurnModel", "TurnTables", "best_actions", "solve"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_CACHE_FORMAT = 1
_SLOW_LANES = 20_000  # solutions of more lanes than this are worth a file in the cache


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

    @cached_property
    def _reader(self) -> SingleStateReader:
        return SingleStateReader(self.game)

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
        single = self._single_state(dice, rolls_left, open_boxes, upper_total, yacht_box)
        if single is not None:
            return self.model.single_action_values(single)
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
        single = self._single_state(dice, rolls_left, open_boxes, upper_total, yacht_box)
        if single is not None:
            return self.model.best_action(single)
        values = self.action_values(dice, rolls_left, open_boxes, upper_total, yacht_box)
        best = best_actions(values)
        return int(best) if np.ndim(best) == 0 else best

    def _single_state(self, *numbers: Any) -> SingleState | None:
        """The state, where the numbers plainly describe a single one that a game can have."""
        state = self._reader.read(*numbers)
        if state is None or math.isnan(self.values.item(state.open_boxes, state.lane)):
            return None
        return state

    def state_action_values(self, state: State) -> FloatArray:
        """:meth:`action_values` of encoded states of shape ``(N,)``; shape ``(N, A)``."""
        return self.model.action_values(state)


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
