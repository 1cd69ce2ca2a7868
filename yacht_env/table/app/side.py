"""Beside the dice: who sits at the table with how many points, and the button that rolls.

Public names: :class:`Seats`, :class:`SeatLine`, :class:`RollButton`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

__all__ = ["RollButton", "SeatLine", "Seats"]

_NAME = 15
_LINES = 4


@dataclass(frozen=True)
class SeatLine:
    """What is shown of a seat: its name and total, whether it moves, and its chance of winning where it is known."""

    name: str
    total: int
    is_moving: bool
    chance: float | None = None


class Seats(Static):
    """The seats, one a line; where there are more than fit, those around the one to move."""

    def show(self, seats: Sequence[SeatLine]) -> None:
        """Show these seats."""
        moving = next((i for i, seat in enumerate(seats) if seat.is_moving), 0)
        first = max(0, min(moving - 1, len(seats) - _LINES))
        has_chances = any(seat.chance is not None for seat in seats)
        head = f"{'':{_NAME + 3}}{'total':>5}{'wins' if has_chances else '':>6}"
        shown = map(_line, seats[first : first + _LINES])
        self.update(Content("\n").join([Content.styled(head, "$foreground-muted"), *shown]), layout=False)


class RollButton(Static):
    """The button that rolls the dice that are not held."""

    class Clicked(Message):
        """It was clicked."""

    def show(self, text: str, is_enabled: bool) -> None:
        """Say what it does now."""
        self.update(Content(text), layout=False)
        self.set_class(not is_enabled, "-disabled")
        self.visible = bool(text)

    def on_click(self) -> None:
        """Tell the table."""
        self.post_message(self.Clicked())


def _line(seat: SeatLine) -> Content:
    name = seat.name if len(seat.name) <= _NAME else seat.name[: _NAME - 1] + "…"
    chance = "" if seat.chance is None else f"{seat.chance:>5.0%}".replace("%", " %")
    return Content.assemble(
        ("▶ " if seat.is_moving else "  ", "bold $text-accent"),
        (f"{name:<{_NAME}} ", "bold" if seat.is_moving else ""),
        (f"{seat.total:>5}", "bold"),
        (f"{chance:>6}", "$foreground-muted"),
    )
