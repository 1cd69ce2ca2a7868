"""The table: dice, card, seats and coach on one screen.

Public names: :class:`TableScreen`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import Footer, Static

from yacht_env.table.app.advice import Advice
from yacht_env.table.app.card import Card
from yacht_env.table.app.choices_screen import ChoicesScreen
from yacht_env.table.app.dice import DiceRow
from yacht_env.table.app.opponents import Opponents
from yacht_env.table.app.play_screen import PlayScreen
from yacht_env.table.app.preparation import Preparation
from yacht_env.table.app.review_screen import ReviewScreen
from yacht_env.table.app.rules_screen import RulesScreen
from yacht_env.table.app.showing import seat_columns, seat_lines, sentence, status_text, task_text
from yacht_env.table.app.side import RollButton, Seats
from yacht_env.table.coach import Coach
from yacht_env.table.scores import BestScores
from yacht_env.table.session import TableGame
from yacht_env.table.settings import COACHING, Coaching

if TYPE_CHECKING:
    from yacht_env.table.app.app import YachtApp

__all__ = ["TableScreen"]

_SPEEDS = (3.0, 1.6, 0.8, 0.4, 0.15, 0.01)  # seconds between the steps of an agent
_WIDE = 116  # columns from which on the events have room beside the table
_FAST = 4  # from here on, the dice of agents don't tumble


class TableScreen(PlayScreen):
    """A game in play.

    Args:
        game: The game.
        coach: Knows the game's ruleset.
        coaching: How much the coach says.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "values", "Coach"),
        Binding("x", "coaching", show=False),
        Binding("question_mark,f1", "rules", "Rules", key_display="?"),
        Binding("plus,equals_sign", "speed(1)", "Speed", key_display="+ -"),
        Binding("minus", "speed(-1)", show=False),
        Binding("q", "leave", "Leave"),
    ]

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]

    def __init__(self, game: TableGame, coach: Coach, coaching: Coaching = "off") -> None:
        super().__init__(game)
        self.coach = coach
        self.coaching = coaching
        self.opponents = Opponents(game)
        self.preparation = Preparation(self, game, self.opponents, coach)
        self.best_scores = BestScores()
        self.events = ["The dice follow from a secret seed. Its SHA-256, the commitment, is", game.commitment]
        self._chosen_box: int | None = None  # by an agent that is about to fill it
        self._failure: str | None = None
        self._trouble: str | None = None  # that is shown
        self._progress = ""  # of what is being prepared
        self._are_scores_entered = False
        self._waiting: Timer | None = None  # for the next step of an agent

    @property
    def yacht_app(self) -> YachtApp:
        """The app."""
        return cast("YachtApp", self.app)

    # ------------------------------------------------------------------------------------------------------- showing

    def compose(self) -> ComposeResult:
        """All parts of the table."""
        view = self.game.view()
        with Horizontal(id="all"):
            with Vertical(id="table"):
                yield Static(id="status", markup=False)
                with Horizontal(id="top"):
                    yield DiceRow(self.game.game.dice.n_dice, view.n_faces)
                    with Vertical(id="side"):
                        yield Seats(id="seats")
                        yield RollButton(id="roll")
                yield Static(id="task", markup=False)
                yield Static(id="trouble", markup=False)
                yield Card(view)
                yield Advice("advice")
            yield Advice("log")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """The game begins, or goes on where it was left."""
        self.show()
        self.go_on()

    @property
    def coach_speaks(self) -> bool:
        """Whether the coach's values are to be seen now."""
        wanted = self.coaching == "always" or (self.coaching == "hints" and self.shows_values)
        return wanted and self.coach.is_ready and self.is_persons_turn

    def show(self, *, tumble: bool = False) -> None:
        """Draw everything anew; ``tumble`` lets the dice roll that are not held."""
        game, view = self.game, self.game.view()
        self.query_one("#status", Static).update(status_text(game, self.best_scores), layout=False)
        self._say(self.notice or task_text(game))
        self.query_one("#task").set_class(self.asked is not None, "-asked")
        self.query_one(DiceRow).show(view.dice, self.held, tumble=tumble)
        self.query_one(Seats).show(seat_lines(game, self.preparation.chances if self.coaching != "off" else None))
        self._show_button()
        box = self.cursor if self.is_persons_turn else self._chosen_box
        self.query_one(Card).show(seat_columns(game), box, self.asked)
        self._show_trouble(self._failure or game.save_error or self.best_scores.trouble or "")
        self.query_one("#log", Advice).show_events(self.events)
        self._show_advice(self.query_one("#advice", Advice))

    def _say(self, text: str) -> None:
        self.query_one("#task", Static).update(text, layout=False)

    def _show_trouble(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self.query_one("#trouble", Static).update(sentence(trouble))
            self.query_one("#trouble").display = bool(trouble)

    def _show_button(self) -> None:
        n_free = len(self.held) - sum(self.held) if self.game.has_rolled else self.game.n_to_roll
        if not self.is_persons_turn:
            text, can_roll = "", False
        elif self.game.view().rolls_left == 0:
            text, can_roll = "no roll left", False
        elif n_free == 0:
            text, can_roll = "all dice are held", False
        else:
            text, can_roll = f"Roll {n_free} {'die' if n_free == 1 else 'dice'}  (space)", True
        self.query_one(RollButton).show(text, can_roll)

    def _show_advice(self, advice: Advice) -> None:
        if not self.coach_speaks:
            events = [] if self.has_class("-wide") else self.events  # they are beside the table there
            advice.show_events([*events, self._progress] if self._progress else events)
            return
        game = self.game
        last, explained = self.coach.last_decision(game, game.seat), self.coach.choices(game)
        if explained is None:
            advice.show_outlook(self.coach.expected_total(game, game.seat), last)
        else:
            advice.show_choices(explained, game.total(game.seat), game.game.n_holds, last)

    # ---------------------------------------------------------------------------------------------------- going on

    def go_on(self) -> None:
        """Let agents move, work out what is missing, and end the game where it is over."""
        over = self.game.is_over
        if over:
            self._enter_scores()
        self.preparation.go_on(needs_coach=self.coaching != "off" and not over, needs_review=over)
        if over and self.preparation.review is not None:
            self.app.push_screen(ReviewScreen(self.game, self.preparation.review, self.best_scores))
        elif self.opponents.can_move and self._waiting is None:
            self._waiting = self.set_timer(_SPEEDS[self.yacht_app.speed], self._opponent_moves)

    def _opponent_moves(self) -> None:
        self._waiting = None
        try:
            step = self.opponents.step()
        except ValueError as error:
            self._failure = str(error)
            self.show()
            return
        if step.has_rolled or step.box is None:
            self.events.append(step.text)
        self.notice = step.text if self.opponents.can_move else None
        self.held = list(self.game.view().held if step.held is None else step.held)
        self._chosen_box = step.box
        self.show(tumble=step.has_rolled and self.yacht_app.speed < _FAST)
        self.go_on()

    def _enter_scores(self) -> None:
        """The totals of persons go into the list of best scores, once a game, also where it is opened again."""
        game = self.game
        if self._are_scores_entered:
            return
        self._are_scores_entered = True
        known = {(score.name, score.game) for score in self.best_scores.best(game.ruleset) if score.game}
        for seat, who in enumerate(game.seats):
            if who.agent is None and (who.name, str(game.path)) not in known:
                self.best_scores.add(game.ruleset, who.name, game.total(seat), game=game.path)

    @on(Preparation.Progressed)
    def _progressed(self, event: Preparation.Progressed) -> None:
        self._progress = event.text
        self._show_advice(self.query_one("#advice", Advice))

    @on(Preparation.Ready)
    def _ready(self) -> None:
        self.preparation.done()
        self._progress = ""
        self.show()
        self.go_on()

    @on(Preparation.Failed)
    def _failed(self, event: Preparation.Failed) -> None:
        self.preparation.done()
        self._progress, self._failure = "", event.sentence
        self.show()

    # -------------------------------------------------------------------------------------------- other things to do

    def action_values(self) -> None:
        """The coach's values of this decision; all of them in a window where the best ones are shown already."""
        if self.coaching == "off":
            self.notice = "The coach is off; x changes that (hints when you press v, or always)."
        elif not self.coach.is_ready:
            self.notice = "The coach is still working it out; the game can go on meanwhile."
        elif self.is_persons_turn and self.coach_speaks and self.game.has_rolled:
            self.app.push_screen(ChoicesScreen(self.game, self.coach))
        self.shows_values = True
        self.show()

    def action_coaching(self) -> None:
        """The next of: no coach, values when asked for, values always."""
        self.coaching = COACHING[(COACHING.index(self.coaching) + 1) % len(COACHING)]
        told = {"off": "off", "hints": "silent until you press v", "always": "always there (v shows every choice)"}
        self.notice = f"The coach is {told[self.coaching]}."
        self.show()
        if not self.game.is_over:
            self.go_on()

    def action_rules(self) -> None:
        """The rules of every box and its odds, and the keys."""
        self.app.push_screen(RulesScreen(self.game.ruleset))

    def action_speed(self, step: int) -> None:
        """Opponents move faster, or slower."""
        app = self.yacht_app
        app.speed = min(max(app.speed + step, 0), len(_SPEEDS) - 1)
        self.notice = f"Opponents take {_SPEEDS[app.speed]:g} s a step (speed {app.speed + 1} of {len(_SPEEDS)})."
        self.show()

    def action_leave(self) -> None:
        """Back to the start; the game is saved and can be continued there."""
        self.yacht_app.leave(self.game)
