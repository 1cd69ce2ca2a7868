"""A window over the table with more text than fits: arrows scroll, Esc closes it.

Public names: :class:`TextWindow`.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

__all__ = ["TextWindow"]


class TextWindow(ModalScreen[None]):
    """A window with a title and a text; subclasses say what is in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", key_display="Esc"),
        Binding("q,enter,space", "close", show=False),
        Binding("up", "scroll(-1)", "Scroll", key_display="↑↓"),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
        Binding("pagedown", "scroll(10)", show=False),
    ]

    def title_text(self) -> str:
        """What the window is about."""
        raise NotImplementedError

    def text(self) -> Content:
        """What is in it."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """The text, which scrolls, and the keys."""
        with Vertical(classes="window"):
            yield Static(self.title_text(), classes="window-title", markup=False)
            with VerticalScroll(classes="window-text", can_focus=False):
                yield Static(self.text())
            yield Footer(compact=True, show_command_palette=False)

    def action_scroll(self, lines: int) -> None:
        """Scroll by some lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_close(self) -> None:
        """Back to the table."""
        self.dismiss()
