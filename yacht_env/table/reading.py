"""Reading JSON that people and other programs may have written: every surprise ends with one sentence.

Public names: :func:`parse`, :func:`expect`, :func:`expect_keys`, :func:`integers`.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, TypeVar

__all__ = ["expect", "expect_keys", "integers", "parse"]

T = TypeVar("T")

_NAMES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a whole number",
    bool: "true or false",
}


def parse(content: str | bytes, what: str) -> dict[str, Any]:
    """The JSON object in a text; a key that comes twice is refused, since readers disagree on which one counts.

    Raises:
        ValueError: where the text holds anything else.
    """
    try:
        parsed = json.loads(content, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} can't be read as JSON: {error}") from error
    return expect(parsed, dict, what)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} comes twice")
    return found


def expect(value: Any, kind: type[T], what: str) -> T:
    """The value, which must be of exactly this type (``true`` is no number, ``1.0`` no whole one).

    Raises:
        ValueError: where it is not.
    """
    if type(value) is not kind:
        raise ValueError(f"{what} must be {_NAMES[kind]}, got {value!r:.80}")
    return value


def expect_keys(value: dict[str, Any], known: Collection[str], what: str) -> None:
    """Refuse keys that nobody would read, which are mostly misspelt ones.

    Raises:
        ValueError: naming the first such key.
    """
    if unknown := [key for key in value if key not in known]:
        raise ValueError(f"{what} has the unknown key {unknown[0]!r:.80}; expected some of {', '.join(known)}")


def integers(value: Any, what: str) -> tuple[int, ...]:
    """A list of whole numbers.

    Raises:
        ValueError: where it is none.
    """
    return tuple(expect(number, int, f"each of {what}") for number in expect(value, list, what))
