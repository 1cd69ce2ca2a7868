"""Every choice of a position with its exact value.

Public names: :class:`ChoicesScreen`.
"""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from yacht_env.game import rolls_left_text
from yacht_env.solver import TIE
from yacht_env.table.app.advice import choice_cells
from yacht_env.table.app.window import TextWindow
from yacht_env.table.coach import Coach
from yacht_env.table.session import TableGame

__all__ = ["ChoicesScreen"]


class ChoicesScreen(TextWindow):
    """All holds and boxes, the best first.

    Args:
        game: A game with dice on the table.
        coach: Has solved its ruleset.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("v", "close", show=False)]

    def __init__(self, game: TableGame, coach: Coach) -> None:
        super().__init__()
        self._game = game
        self._explained = coach.choices(game)

    def title_text(self) -> str:
        """The position."""
        explained = self._explained
        assert explained is not None  # dice are on the table
        dice = " ".join(map(str, explained.dice))
        return f"{dice}, {rolls_left_text(explained.rolls_left)}: average final total of each choice"

    def text(self) -> Content:
        """One choice a line."""
        game, explained = self._game, self._explained
        assert explained is not None
        lines = [Content.styled(f"{'choice':<28}{'points now':>12}{'final total':>14}{'loses':>10}", "$foreground-muted")]
        for choice in explained.choices:
            name, value, loss = choice_cells(choice, game.total(game.seat), game.game.n_holds)
            points = str(choice.points) if choice.action >= game.game.n_holds else ""
            line = f"{name.rpartition(', ')[0] or name:<28}{points:>12}{value:>14}{loss:>10}"
            lines.append(Content.styled(line, "bold $text-success" if choice.loss <= TIE else ""))
        return Content("\n").join(lines)
