"""Libraries that come with an extra of this package, and what to say where one is missing.

Public names: :func:`needs_extra`, :class:`MissingExtraError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["MissingExtraError", "needs_extra"]


class MissingExtraError(ModuleNotFoundError):
    """A library is missing; the message is one sentence that names it and the command that installs it."""


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """A ``with`` block around the imports of libraries that an extra brings along.

    Args:
        extra: Name of the extra in ``pyproject.toml``.

    Raises:
        MissingExtraError: where a library is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or str(error)).partition(".")[0]
        sentence = f'{library} is not installed: run `pip install "yacht-env[{extra}]"`'
        raise MissingExtraError(sentence, name=error.name, path=error.path) from error
