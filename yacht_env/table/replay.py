"""A game shown again, step by step: every roll, every decision, and the card after it.

Public names: :func:`replay_steps`, :class:`Step`, :func:`seat_view`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from yacht_env.game import SingleState
from yacht_env.rendering import TableView
from yacht_env.table.record import GameRecord
from yacht_env.table.state import TableState
from yacht_env.view import table_view

__all__ = ["Step", "replay_steps", "seat_view"]


class Step(NamedTuple):
    """One roll or decision.

    Attributes:
        seat: Index of the seat.
        turn: Number of their turn, from 1.
        text: What happened: ``Ada rolls 1 3 3 5 6``.
        view: What a picture of that seat's card shows afterwards.
    """

    seat: int
    turn: int
    text: str
    view: TableView


def replay_steps(record: GameRecord) -> Iterator[Step]:
    """The steps of a game, one after another.

    Raises:
        ValueError: where the record is no possible game, naming turn and value, before the first step.
    """
    record.replay()
    return _steps(record)


def _steps(record: GameRecord) -> Iterator[Step]:
    table = TableState(record.game, [seat.name for seat in record.seats])
    for turn in record.turns:
        seat, number = table.seat, table.turn
        for text in table.steps(turn):
            yield Step(seat, number, f"{record.seats[seat].name} {text}", seat_view(table, seat))


def seat_view(table: TableState, seat: int) -> TableView:
    """What a picture of a seat's card shows; without dice where none of theirs are on the table."""
    game, card = table.game, table.cards[seat]
    if table.dice is not None and seat == table.seat:
        held = table.turns[-1].held
        return table_view(game, table.dice, card.scores, card.total, held[-1] if held else ())
    rolls_left = game.rolls_per_turn if card.open_boxes else 0
    waiting = SingleState(0, rolls_left, card.lane, card.open_boxes)
    view = table_view(game, waiting, card.scores, card.total)
    return replace(view, dice=(), held=(), options=(None,) * game.n_boxes)
