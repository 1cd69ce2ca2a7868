"""Backward induction by several processes, one a core: the parts of a layer wait for nothing but the layer before.

This process solves parts like any other; its helpers are further interpreters, which share the values, and one byte a part,
through a file that all of them map into memory. A part is first claimed and then solved, each process beginning at a place
of its own. Claims take no lock: where two processes claim a part at the same moment, both write the same numbers. A layer
is over when every helper has answered, and this process does over what a helper that died had claimed. So helpers only
make it faster: until they are ready, or where none can be started, this process goes on alone.

They are started as ``sys.executable -c``, not by :mod:`multiprocessing`, which would run the user's main program once more
in each (spawn), or copy its threads' locks (fork).

Public names: :func:`backward_induction`.
"""

from __future__ import annotations

import mmap
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from yacht_env.game import Game, get_game
from yacht_env.induction import FloatArray, Induction, Part
from yacht_env.rules import Ruleset

if TYPE_CHECKING:
    from yacht_env.progress import Progress

__all__ = ["backward_induction"]

Marks = npt.NDArray[np.uint8]

_CELLS_WORTH_HELP = 100_000  # fewer are solved before a helper is ready
_MOST_PROCESSES = 8
_FREE, _CLAIMED, _DONE = range(3)
_HELPER = """
import pickle, sys, types
sys.path[:], package = pickle.load(sys.stdin.buffer)
sys.modules["yacht_env"] = types.ModuleType("yacht_env")  # so that none of what the whole package imports is waited for
sys.modules["yacht_env"].__path__ = package
from yacht_env.parallel import help_along
help_along(*pickle.load(sys.stdin.buffer))
"""


def backward_induction(game: Game, progress: Progress | None = None, processes: int | None = None) -> FloatArray:
    """V of every card of a game.

    Args:
        game: The game.
        progress: Called with (lanes solved, lanes in all) after each part.
        processes: How many share the work; by default one a core, or for a small game one.

    Returns:
        Expected points from the start of a turn, by open boxes (bits) and lane, shape ``(2 ** B, L)``, float64; NaN
        where no game can come. The same bit for bit, however many processes.
    """
    if processes is None:
        processes = min(_cores(), _MOST_PROCESSES) if Induction.n_cells(game) >= _CELLS_WORTH_HELP else 1
    with ExitStack() as stack:
        path = None
        if processes > 1:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="yacht-env-", ignore_cleanup_errors=True))
            with suppress(OSError):  # no room for it: this process goes on alone
                path = _zeros(Path(folder) / "shared", _n_bytes(game, processes))
        helpers = [
            stack.enter_context(_Helper(game.ruleset, path, number, processes)) for number in range(1, processes) if path
        ]
        return _solve(game, _share(game, path, processes), helpers, progress)


def help_along(ruleset: Ruleset, path: Path, number: int, processes: int) -> None:
    """What a helper does: solve parts of the layers that it is told on standard input, and answer when they are done."""
    shared = _share(get_game(ruleset), path, processes)
    induction = Induction(get_game(ruleset), shared.cells)
    marks = _by_layer(induction, shared.marks)
    shared.ready[number] = 1
    for line in sys.stdin.buffer:
        layer = int(line)
        for _ in _solve_free(induction, induction.layers[layer], marks[layer], number / processes):
            pass
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


# ------------------------------------------------------------------------------------------------------------- solving


def _solve(game: Game, shared: _Shared, helpers: Sequence[_Helper], progress: Progress | None) -> FloatArray:
    induction = Induction(game, shared.cells)
    solved, total = 0, int(game.reachable_lanes[1:].sum())
    for number, (layer, marks) in enumerate(zip(induction.layers, _by_layer(induction, shared.marks), strict=True)):
        sizes = np.array([sum(piece.n_cells for piece in part) for part in layer])
        _begin(helpers, shared.ready, number)
        for _ in _solve_free(induction, layer, marks, 0.0):
            _begin(helpers, shared.ready, number)
            if progress and (marks != _DONE).any():
                progress(solved + int(sizes[marks == _DONE].sum()), total)
        for helper in helpers:
            helper.wait()
        for part in np.flatnonzero(marks != _DONE).tolist():  # a helper has died over it
            induction.solve(layer[part])
        solved += int(sizes.sum())
        if progress:
            progress(solved, total)
    return induction.table()


def _begin(helpers: Sequence[_Helper], ready: Marks, layer: int) -> None:
    """Let the helpers work on a layer, those too that have become ready since it was begun."""
    for helper in helpers:
        if ready[helper.number] and not helper.is_working:
            helper.begin(layer)


def _solve_free(induction: Induction, layer: Sequence[Part], marks: Marks, start: float) -> Iterator[None]:
    """Solve the parts that nobody has claimed, from some share of the layer on and around; pauses after each."""
    first = int(start * len(layer))
    for part in [*range(first, len(layer)), *range(first)]:
        if marks[part] == _FREE:
            marks[part] = _CLAIMED
            induction.solve(layer[part])
            marks[part] = _DONE
            yield


def _by_layer(induction: Induction, marks: Marks) -> list[Marks]:
    return np.split(marks, np.cumsum([len(layer) for layer in induction.layers]))[:-1]


# ------------------------------------------------------------------------------------------------------------- sharing


class _Shared(NamedTuple):
    """What the processes share."""

    cells: FloatArray  # the values
    marks: Marks  # one a part: free, claimed or done
    ready: Marks  # one a process: whether it is ready for work


def _n_bytes(game: Game, processes: int) -> int:
    return 8 * Induction.n_cells(game) + Induction.most_parts(game) + processes


def _zeros(path: Path, n_bytes: int) -> Path:
    # All are written, since a process that writes to a hole of a mapped file for which there is no room is killed.
    path.write_bytes(bytes(n_bytes))
    return path


def _share(game: Game, path: Path | None, processes: int) -> _Shared:
    """The shared arrays, in a file of zeros or in plain memory."""
    if path is None:
        memory = np.zeros(_n_bytes(game, processes), dtype=np.uint8)
    else:
        with open(path, "r+b") as file:
            memory = np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=np.uint8)
    cells, marks, ready = np.split(memory, np.cumsum([8 * Induction.n_cells(game), Induction.most_parts(game)]))
    return _Shared(cells.view(np.float64), marks, ready)


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Helper:
    """A further process, as seen from this one; a context, at whose end it ends.

    Args:
        ruleset: The game.
        path: The file of the shared arrays.
        number: Its number, from 1 up.
        processes: How many share the work.
    """

    def __init__(self, ruleset: Ruleset, path: Path, number: int, processes: int) -> None:
        self.number = number
        self.is_working = False
        self._process: subprocess.Popen[bytes] | None = None
        if not sys.executable or getattr(sys, "frozen", False):
            return  # this program can't be asked to run other code
        with suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-c", _HELPER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
            where = sys.path, [str(Path(__file__).parent)]
            self._send(pickle.dumps(where) + pickle.dumps((ruleset, path, number, processes)))

    def begin(self, layer: int) -> None:
        """Let it solve parts of a layer."""
        self.is_working = True
        self._send(b"%d\n" % layer)

    def wait(self) -> None:
        """Wait for it to end the layer, or its life."""
        if self.is_working and self._process and self._process.stdout:
            self._process.stdout.readline()
        self.is_working = False

    def _send(self, data: bytes) -> None:
        if not self._process or not self._process.stdin:
            return
        with suppress(OSError):  # it has died: its answer will be the end of the file
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def __enter__(self) -> _Helper:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
