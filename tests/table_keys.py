"""Decisions for the tests of the table's screen: the same ones however a key gets there, so that games can be compared."""

from __future__ import annotations

from pathlib import Path

from yacht_env.table.record import GameRecord
from yacht_env.table.replay import seat_view
from yacht_env.table.state import TableState

BOXES = "abcdefghijklmno"


def next_keys(table: TableState) -> list[str]:
    """What the person to move presses now: the first roll, a hold and a roll, or the box with the most points."""
    if table.dice is None:
        return ["space"]
    view = seat_view(table, table.seat)
    commonest = max(set(view.dice), key=lambda face: (view.dice.count(face), face))
    wanted = [face == commonest for face in view.dice]
    if view.rolls_left and not all(wanted):
        toggled = [i for i, (want, held) in enumerate(zip(wanted, view.held, strict=True)) if want != held]
        return [*(str(i + 1) for i in toggled), "space"]
    points, box = max((points, -box) for box, points in enumerate(view.options) if points is not None)
    return [BOXES[-box]] * (1 if points else 2)  # a zero is asked about once


def saved_game(folder: Path) -> tuple[GameRecord, TableState] | None:
    """The newest game in a data folder, and where it stands; ``None`` where there is none."""
    games = sorted((folder / "games").glob("*.json"))
    if not games:
        return None
    record = GameRecord.load(games[-1])
    return record, record.replay()


def same_game(record: GameRecord) -> tuple[object, ...]:
    """All of a game but when and by which version it was played."""
    assert record.dice is not None
    return record.ruleset, record.seats, record.turns, record.dice.seed, record.dice.word
