"""The saved games that are not finished, each in a line.

Public names: :func:`unfinished_games`, :class:`SavedGame`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from yacht_env.table.folders import saved_games
from yacht_env.table.record import GameRecord

__all__ = ["SavedGame", "unfinished_games"]

_LOOKED_AT = 60  # the newest files; older games are continued by ``yacht-env play GAME.json``


class SavedGame(NamedTuple):
    """A game that can be continued."""

    path: Path
    text: str


def unfinished_games() -> list[SavedGame]:
    """The newest first; files that hold no game, or one without a seed, are left out."""
    found = []
    for path in saved_games()[:_LOOKED_AT]:
        try:
            record = GameRecord.load(path)
        except (ValueError, OSError):
            continue
        n_seats, turns = len(record.seats), [turn for turn in record.turns if turn.box is not None]
        if record.dice is not None and len(turns) < n_seats * record.ruleset.n_boxes:
            found.append(SavedGame(path, _text(record, n_seats, len(turns))))
    return found


def _text(record: GameRecord, n_seats: int, n_turns: int) -> str:
    totals = [sum(turn.points or 0 for turn in record.turns[i::n_seats]) for i in range(n_seats)]
    seats = ", ".join(f"{seat.name} {total}" for seat, total in zip(record.seats, totals, strict=True))
    when = record.started[:16].replace("T", " ")
    return f"{when}  {record.ruleset.name}, round {n_turns // n_seats + 1} of {record.ruleset.n_boxes}: {seats}"
