"""Below the card: what the coach says, or what happened last.

Public names: :class:`Advice`, :func:`choice_cells`, :func:`last_decision_text`.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from yacht_env.explain import Choice, Explanation
from yacht_env.solver import TIE
from yacht_env.table.app.card import BOX_KEYS
from yacht_env.table.review import ReviewedDecision

__all__ = ["Advice", "choice_cells", "last_decision_text"]

_COLUMN = 39
_NAME = 22


class Advice(Widget):
    """As many lines as there is room for: the best holds and boxes with their exact values, or the latest events.

    Args:
        id: The widget's name in the style sheet.
    """

    def __init__(self, id: str) -> None:  # noqa: A002 (as every widget calls it)
        super().__init__(id=id)
        self._lines: list[Content] = []
        self._from_the_end = False

    def show_events(self, events: Sequence[str]) -> None:
        """The latest events, the last one at the bottom."""
        self._lines = [Content.styled(event, "$foreground-muted") for event in events]
        self._from_the_end = True
        self.refresh()

    def show_outlook(self, expected: float, last: ReviewedDecision | None) -> None:
        """Before a roll: the total to be expected, and what the last decision cost."""
        outlook = f"a final total of {expected:.1f} is to be expected"
        self._lines = [Content.assemble(("Coach  ", "bold $text-accent"), outlook)]
        if last is not None:
            self._lines.append(Content(f"       {last_decision_text(last)}"))
        self._from_the_end = False
        self.refresh()

    def show_choices(self, explained: Explanation, total: int, n_holds: int, last: ReviewedDecision | None) -> None:
        """The choices of a position, holds on the left and boxes on the right.

        Args:
            explained: The choices.
            total: Points in hand.
            n_holds: Actions below this number hold dice.
            last: The last decision.
        """
        head = Content.assemble(
            (f"{'Coach: expected final total':<{_COLUMN + 1}}", "bold $text-accent"),
            (_clip(last_decision_text(last), _COLUMN) if last is not None else "", ""),
        )
        holds = [choice for choice in explained.choices if choice.action < n_holds]
        boxes = [choice for choice in explained.choices if choice.action >= n_holds]
        if not holds:  # boxes in both columns, row by row
            holds, boxes = boxes[::2], boxes[1::2]
        self._lines = [head]
        for i in range(max(len(holds), len(boxes))):
            left = _cell(holds[i], total, n_holds) if i < len(holds) else Content(" " * _COLUMN)
            right = _cell(boxes[i], total, n_holds) if i < len(boxes) else Content("")
            self._lines.append(Content.assemble(left, " ", right))
        self._from_the_end = False
        self.refresh()

    def render(self) -> Content:
        """The lines that have room."""
        room, width = max(self.size.height, 1), max(self.size.width, 1)
        if not self._from_the_end:
            return Content("\n").join(self._lines[:room])
        shown: list[Content] = []
        for line in reversed(self._lines):
            room -= max(-(-line.cell_length // width), 1)  # long lines wrap
            if room < 0:
                break
            shown.insert(0, line)
        return Content("\n").join(shown)


def choice_cells(choice: Choice, total: int, n_holds: int) -> tuple[str, str, str]:
    """A choice, the final total that it leads to on average, and what it loses against the best one."""
    name = choice.text
    if choice.action >= n_holds:
        name = f"{BOX_KEYS[choice.action - n_holds]} {choice.text.removeprefix('fill ')}, {choice.points}"
    return name, f"{total + choice.value:.2f}", "best" if choice.loss <= TIE else f"−{choice.loss:.2f}"


def last_decision_text(decision: ReviewedDecision) -> str:
    """What the last decision cost."""
    if decision.is_best:
        return f"Your last, {decision.text}: the best"
    return f"Your last lost {decision.loss:.2f}: better {decision.best_text}"


def _cell(choice: Choice, total: int, n_holds: int) -> Content:
    name, value, loss = choice_cells(choice, total, n_holds)
    style = "bold $text-success" if choice.loss <= TIE else ""
    return Content.styled(f"{_clip(name, _NAME):<{_NAME}} {value:>7} {loss:>7} ", style)


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
