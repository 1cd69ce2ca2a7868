"""The rules of the game that is played, the odds of each box, and the keys.

Public names: :class:`RulesScreen`.
"""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from yacht_env.odds import box_odds
from yacht_env.rule_words import bonus_words, box_words, turn_words
from yacht_env.rules import Ruleset
from yacht_env.table.app.card import BOX_KEYS
from yacht_env.table.app.window import TextWindow

__all__ = ["RulesScreen"]

_KEYS = (
    ("space, r", "roll the dice that are not held"),
    ("1 2 3 4 5", "hold a die, or release it (or click on it)"),
    ("a b c ...", "score the box with this letter (or click on it)"),
    ("arrows, Enter", "choose a box, score it"),
    ("v", "the coach's values for this decision; again: all of them"),
    ("x", "how much the coach says: nothing, hints when you press v, always"),
    ("+ -", "opponents move faster or slower"),
    ("t", "dark or light colours"),
    ("q", "leave; the game is saved, and goes on when you come back"),
)


class RulesScreen(TextWindow):
    """Rules, odds and keys.

    Args:
        ruleset: The game.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark,f1", "close", show=False)]

    def __init__(self, ruleset: Ruleset) -> None:
        super().__init__()
        self._ruleset = ruleset

    def title_text(self) -> str:
        """The game's name."""
        return f"Rules and odds of {self._ruleset.name}"

    def text(self) -> Content:
        """Rules, then keys."""
        parts: list[Content] = [Content(turn_words()), *map(Content, bonus_words(self._ruleset)), Content("")]
        head = f"{'':<20}{'one roll':>12}{'in a turn':>12}{'points a turn':>16}"
        parts.append(Content.styled(head, "$foreground-muted"))
        for i, (box, odds) in enumerate(zip(self._ruleset.boxes, box_odds(self._ruleset), strict=True)):
            key = BOX_KEYS[i] if i < len(BOX_KEYS) else " "
            chances = "".join(f"{chance:>12.1%}".replace("%", " %")[1:] for chance in (odds.one_roll, odds.turn))
            numbers = f"{chances}{odds.turn_points:>16.1f}"
            parts.append(Content.assemble((f"{key} ", "bold $text-accent"), (f"{box.name:<18}", "bold"), numbers))
            parts.append(Content.styled(f"    {box_words(box)}", "$foreground-muted"))
        parts += [
            Content(""),
            Content.styled(
                "one roll: the chance that all five dice at once score there. In a turn: the chance with three rolls, "
                "played for this box alone. Points a turn: what such a turn brings on average, zeros included.",
                "$foreground-muted",
            ),
            Content(""),
            Content.styled("Keys", "bold"),
            *(Content.assemble((f"{key:<16}", "bold $text-accent"), what) for key, what in _KEYS),
        ]
        return Content("\n").join(parts)
