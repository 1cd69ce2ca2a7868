"""The dice on the table, drawn large; a click holds or releases one.

Public names: :class:`DiceRow`, :class:`DieWidget`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from yacht_env.rendering import die_lines

__all__ = ["DiceRow", "DieWidget"]

_FRAMES, _SECONDS = 6, 0.05  # of tumbling dice
_PLAIN, _HELD = tuple("┌─┐│└┘"), tuple("╔═╗║╚╝")  # a held die is told apart without colours as well


class DieWidget(Widget):
    """One die with its key below; empty before the first roll of a turn.

    Args:
        position: Its place in the row, from 0.
    """

    class Clicked(Message):
        """A die was clicked."""

        def __init__(self, position: int) -> None:
            self.position = position
            super().__init__()

    def __init__(self, position: int) -> None:
        super().__init__(classes="die")
        self.position = position
        self.face: int | None = None
        self.held = False

    def show(self, face: int | None, held: bool) -> None:
        """Show a face, or none."""
        if (face, held) != (self.face, self.held):
            self.face, self.held = face, held
            self.set_class(held, "-held")
            self.set_class(face is None, "-empty")
            self.refresh()

    def render(self) -> Content:
        """Five lines of the die and one below it."""
        left, flat, right, side, low_left, low_right = _HELD if self.held else _PLAIN
        inside = [" " * 7] * 3 if self.face is None else die_lines(self.face)
        key = f"{self.position + 1} held" if self.held else str(self.position + 1)
        return Content(
            "\n".join(
                [
                    f"{left}{flat * 7}{right}",
                    *(f"{side}{line}{side}" for line in inside),
                    f"{low_left}{flat * 7}{low_right}",
                    f"{key:^9}",
                ]
            )
        )

    def on_click(self) -> None:
        """Tell the table."""
        self.post_message(self.Clicked(self.position))


class DiceRow(Horizontal):
    """All dice, side by side.

    Args:
        n_dice: How many.
        n_faces: Faces of a die.
    """

    def __init__(self, n_dice: int, n_faces: int) -> None:
        super().__init__(id="dice")
        self._dice = [DieWidget(i) for i in range(n_dice)]
        self._n_faces = n_faces
        self._faces: Sequence[int] = ()
        self._held: list[bool] = []
        self._tumbling: Timer | None = None
        self._frame = 0

    def compose(self) -> ComposeResult:
        """The dice."""
        yield from self._dice

    def show(self, faces: Sequence[int], held: Sequence[bool], *, tumble: bool = False) -> None:
        """Show these faces, none where there are no dice; ``tumble`` lets those that are not held roll first."""
        if self._tumbling is not None and not tumble and (faces, list(held)) == (self._faces, self._held):
            return  # something else on the table has changed
        self._faces, self._held = faces, list(held)
        self._stop()
        if tumble and self.app.animation_level != "none":
            self._frame = 0
            self._tumbling = self.set_interval(_SECONDS, self._tumble)
            self._tumble()
        else:
            self._settle()

    def _tumble(self) -> None:
        self._frame += 1
        if self._frame > _FRAMES:
            self._stop()
            self._settle()
            return
        for die, face, held in zip(self._dice, self._faces, self._held, strict=True):
            # Only a picture: the dice have fallen, and the game is saved, before they tumble.
            die.show(face if held else random.randint(1, self._n_faces), held)

    def _stop(self) -> None:
        if self._tumbling is not None:
            self._tumbling.stop()
            self._tumbling = None

    def _settle(self) -> None:
        for i, die in enumerate(self._dice):
            die.show(self._faces[i] if self._faces else None, bool(self._faces) and self._held[i])
