"""After the game: who won, what was luck and what was skill, and the proof that the dice were fair.

Public names: :class:`ReviewScreen`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from yacht_env.game import rolls_left_text
from yacht_env.table.app.showing import result_text
from yacht_env.table.review import Review, SeatReview
from yacht_env.table.scores import BestScores
from yacht_env.table.session import TableGame

if TYPE_CHECKING:
    from yacht_env.table.app.app import YachtApp

__all__ = ["ReviewScreen"]


class ReviewScreen(Screen[None]):
    """How a finished game was played.

    Args:
        game: The game.
        review: It judged.
        best_scores: With the totals of this game.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "another", "New game"),
        Binding("enter,escape", "table", "Back to the table", key_display="Esc"),
        Binding("up", "scroll(-1)", "Scroll", key_display="↑↓"),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
        Binding("pagedown,space", "scroll(10)", show=False),
        Binding("q", "leave", "Quit"),
    ]

    def __init__(self, game: TableGame, review: Review, best_scores: BestScores) -> None:
        super().__init__()
        self._game = game
        self._review = review
        self._best_scores = best_scores

    def compose(self) -> ComposeResult:
        """One text, which scrolls."""
        with VerticalScroll(id="review", can_focus=False):
            yield Static(self._text())
        yield Footer(compact=True, show_command_palette=False)

    def _text(self) -> Content:
        game, review = self._game, self._review
        parts: list[Content | str] = [Content.styled(result_text(game), "bold $text-accent")]
        if len(game.seats) > 1:
            parts += [Content(f"  {place.rank}. {game.seats[place.seat].name}: {place.total}") for place in game.ranking()]
        parts.append(Content(f"Perfect play averages {review.optimum:.1f} points in {review.ruleset}."))
        persons = [seat for seat in review.seats if seat.agent is None]
        for seat in persons:
            parts += ["", *_person(seat, review.optimum, self._place(seat))]
        for seat in review.seats:
            if seat.agent is not None:
                parts += ["", *_agent(seat)]
        parts += ["", *self._fair_dice()]
        return Content("\n").join(Content(part) if isinstance(part, str) else part for part in parts)

    def _place(self, seat: SeatReview) -> str:
        best = self._best_scores.best(self._game.ruleset)
        path = str(self._game.path)
        place = next((i for i, one in enumerate(best, 1) if one.name == seat.name and one.game == path), None)
        return f"Place {place} of the best scores in {self._game.ruleset.name} so far." if place else ""

    def _fair_dice(self) -> list[Content | str]:
        game = self._game
        return [
            Content.styled("The dice were fixed before the game", "bold"),
            f"commitment  {game.commitment}",
            f"seed        {game.dice.seed.hex()}",
            f"your word   {game.dice.word or '(none)'}",
            "To check that every roll follows from them:" if game.path else "The game is not saved.",
            *([f"  yacht-env verify {game.path}"] if game.path else []),
            *([f"  yacht-env replay {game.path}"] if game.path else []),
        ]

    def action_scroll(self, lines: int) -> None:
        """Scroll by some lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_table(self) -> None:
        """Back to the table, with the full cards."""
        self.app.pop_screen()

    def action_another(self) -> None:
        """To the start screen."""
        cast("YachtApp", self.app).leave(self._game)

    def action_leave(self) -> None:
        """End the program."""
        self.app.exit()


def _person(seat: SeatReview, optimum: float, place: str) -> list[Content | str]:
    lines: list[Content | str] = [
        Content.styled(f"{seat.name}: {seat.total} points", "bold"),
        _points(seat.luck, "by luck: what the dice gave, compared with average dice"),
        _points(-seat.lost, f"by decisions; {seat.n_best} of {len(seat.decisions)} were the best possible"),
        _points(seat.expected_total - optimum, "against the average of perfect play"),
    ]
    if seat.rating is not None:
        lines.append(f"  {str(seat.rating)[:1].upper()}{str(seat.rating)[1:]}")
    if place:
        lines.append(f"  {place}")
    if seat.costliest:
        lines.append("  The costliest decisions:")
    for one in seat.costliest:
        dice = " ".join(map(str, one.dice))
        lines.append(_points(-one.loss, f"turn {one.turn}, {dice}, {rolls_left_text(one.rolls_left)}:"))
        lines.append(Content.assemble(f"{'':12}{one.text}; better: ", (one.best_text, "bold $text-success")))
    if not seat.costliest:
        lines.append("  No decision could have been better.")
    return lines


def _agent(seat: SeatReview) -> list[Content | str]:
    n_best = f"{seat.n_best} of {len(seat.decisions)} the best"
    return [
        Content.styled(f"{seat.name}: {seat.total} points", "bold"),
        f"  {seat.luck:+.2f} by luck, {-seat.lost + 0.0:+.2f} by decisions ({n_best})",
    ]


def _points(points: float, what: str) -> Content:
    style = "$text-success" if points > 0 else "$text-error" if points < 0 else ""
    return Content.assemble((f"  {round(points, 2) + 0.0:+8.2f}", f"bold {style}".strip()), f"  {what}")


