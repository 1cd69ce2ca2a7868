"""Progress bars for work that may take a while."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Progress", "progress_bar"]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the work done and the work in all, whenever there is news."""

_SECONDS_BEFORE = 2.0


def progress_bar(what: str) -> Progress:
    """A bar on stderr that appears after two seconds, where a person watches (a terminal), and goes when it is full."""
    if not (sys.stderr and sys.stderr.isatty()):
        return lambda done, total: None
    from tqdm import tqdm  # here, since its import takes a moment, and is wanted where a person watches alone

    bar = tqdm(desc=what, unit="card", unit_scale=True, delay=_SECONDS_BEFORE, leave=False)

    def update(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)
        if done >= total:
            bar.close()

    return update
