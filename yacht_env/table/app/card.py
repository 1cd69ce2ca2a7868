"""The card: what every box would score now and what it holds, with a column for every seat.

Public names: :class:`Card`, :class:`BoxRow`, :data:`BOX_KEYS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from yacht_env.rendering import TableView

__all__ = ["BOX_KEYS", "BoxRow", "Card", "SeatColumn"]

BOX_KEYS = "abcdefghijklmno"
"""Keys of the boxes, in the order of the card; the letters after these are commands."""

_NAME, _NOW = 16, 5  # columns of text
_SEATS = 16  # for the numbers of all seats together
_MOST_COLUMNS = 4
_WIDEST = 8  # a seat's column


@dataclass(frozen=True)
class SeatColumn:
    """What the card shows of one seat: a short name, the points in its boxes, and what is below the number boxes."""

    name: str
    view: TableView
    is_moving: bool


class BoxRow(Static):
    """One line of the card; a click fills the box.

    Args:
        box: Position of the box; ``None`` for the lines of the upper bonus.
    """

    class Clicked(Message):
        """A box was clicked."""

        def __init__(self, box: int) -> None:
            self.box = box
            super().__init__()

    def __init__(self, box: int | None = None) -> None:
        super().__init__(classes="box" if box is not None else "below")
        self.box = box

    def on_click(self) -> None:
        """Tell the table."""
        if self.box is not None:
            self.post_message(self.Clicked(self.box))


class Card(Horizontal):
    """All boxes in two columns, as on paper: the number boxes and what they add up to, and the others.

    Args:
        view: What any seat's card looks like.
    """

    def __init__(self, view: TableView) -> None:
        super().__init__(id="card")
        self._rows = [BoxRow(box) for box in range(len(view.box_names))]
        self._heads = [Static(classes="head"), Static(classes="head")]
        self._below = [BoxRow(), BoxRow()] if view.upper_bonus is not None else []
        self._split = view.n_faces

    def compose(self) -> ComposeResult:
        """Two columns."""
        with Vertical(classes="half"):
            yield self._heads[0]
            yield from self._rows[: self._split]
            yield from self._below
        with Vertical(classes="half"):
            yield self._heads[1]
            yield from self._rows[self._split :]

    def show(self, columns: Sequence[SeatColumn], cursor: int | None, asked: int | None) -> None:
        """Show the seats' cards.

        Args:
            columns: The seats, in the order of play; one of them is moving.
            cursor: The box that Enter fills.
            asked: The box whose zero is to be confirmed.
        """
        columns = _shown(columns)
        width = min(_SEATS // len(columns), _WIDEST)
        names = ["points"] if len(columns) == 1 else _short_names([column.name for column in columns], width - 1)
        moving = [column.is_moving for column in columns]
        heading = _line("  ", "", "now", list(zip(names, moving, strict=True)), width)
        for head in self._heads:
            head.update(heading, layout=False)  # every line keeps its size, so nothing moves
        for row in self._rows:
            self._show_box(row, columns, width, cursor, asked)
        for row, (name, values) in zip(self._below, _bonus_lines(columns), strict=False):
            row.update(_line("  ", name, "", list(zip(values, moving, strict=True)), width), layout=False)

    def _show_box(
        self, row: BoxRow, columns: Sequence[SeatColumn], width: int, cursor: int | None, asked: int | None
    ) -> None:
        box = row.box
        assert box is not None
        moving = next(column.view for column in columns if column.is_moving)
        score, option = moving.scores[box], moving.options[box]
        row.set_class(score is not None, "-filled")
        row.set_class(score is None and bool(option), "-scores")
        row.set_class(box == cursor, "-cursor")
        row.set_class(box == asked, "-asked")
        now = "" if score is not None else "" if not moving.dice else "–" if option is None else f"{option}"
        marker = "▸" if box == cursor else " "
        cells = [
            ("·" if (points := column.view.scores[box]) is None else str(points), column.is_moving) for column in columns
        ]
        key = BOX_KEYS[box] if box < len(BOX_KEYS) else " "
        row.update(_line(f"{marker}{key}", moving.box_names[box], now, cells, width, option), layout=False)


def _line(
    key: str, name: str, now: str, cells: Sequence[tuple[str, bool]], width: int, option: int | None = None
) -> Content:
    """One line: key, name, points now, and a number for each seat, that of the seat to move the brighter."""
    now_style = "bold $text-success" if option else "$foreground-muted"
    return Content.assemble(
        (key, "bold $text-accent"),
        f" {_clip(name, _NAME - 1):<{_NAME}}",
        (f"{now:>{_NOW - 1}} ", now_style),
        *((f"{text:>{width}}", "bold" if moving else "$foreground-muted") for text, moving in cells),
    )


def _bonus_lines(columns: Sequence[SeatColumn]) -> list[tuple[str, list[str]]]:
    views = [column.view for column in columns]
    threshold, bonus = views[0].upper_threshold, views[0].upper_bonus
    if threshold is None or bonus is None:
        return []
    totals = [view.upper_total or 0 for view in views]
    return [
        (f"Upper, of {threshold}", [str(total) for total in totals]),
        (f"Bonus, {bonus}", [str(bonus) if total >= threshold else "·" for total in totals]),
    ]


def _shown(columns: Sequence[SeatColumn]) -> Sequence[SeatColumn]:
    """The seats that have room: all, or those around the one to move."""
    if len(columns) <= _MOST_COLUMNS:
        return columns
    moving = next(i for i, column in enumerate(columns) if column.is_moving)
    first = min(max(moving - 1, 0), len(columns) - _MOST_COLUMNS)
    return columns[first : first + _MOST_COLUMNS]


def _short_names(names: Sequence[str], width: int) -> list[str]:
    """Names that fit into a column, with their last digits (Player 2); numbers where cutting makes them equal."""
    short = []
    for name in names:
        head = name.rstrip("0123456789")
        number = name[len(head) :][:width]
        short.append(name if len(name) <= width else head[: width - len(number)].rstrip() + number)
    return short if len(set(short)) == len(short) else [f"#{i}" for i in range(1, len(names) + 1)]


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
