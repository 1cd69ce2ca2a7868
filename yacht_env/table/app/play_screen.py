"""What a person does at the table: roll, hold, and fill boxes, by keys and clicks.

Public names: :class:`PlayScreen`.
"""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.screen import Screen

from yacht_env.table.app.card import BOX_KEYS, BoxRow
from yacht_env.table.app.dice import DieWidget
from yacht_env.table.app.showing import sentence
from yacht_env.table.app.side import RollButton
from yacht_env.table.session import TableGame

__all__ = ["PlayScreen"]


class PlayScreen(Screen[None]):
    """A game in play, without its picture: :meth:`show` and :meth:`go_on` are the subclass's.

    Args:
        game: The game.

    Attributes:
        held: Which dice are held, by position; empty before the first roll of a turn.
        cursor: The box that Enter fills.
        asked: The box whose zero is to be confirmed.
        notice: Said once, in place of what may be done next.
        events: What has happened, a line each.
        shows_values: Whether the coach was asked about this decision.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,r", "roll", "Roll", key_display="space"),
        Binding("1", "hold(0)", "Hold", key_display="1-5"),
        *(Binding(str(i + 1), f"hold({i})", show=False) for i in range(1, 9)),
        Binding("a", "fill(0)", "Score", key_display="a b c"),
        *(Binding(key, f"fill({i})", show=False) for i, key in enumerate(BOX_KEYS[1:], 1)),
        Binding("up", "cursor(-1)", show=False),
        Binding("down", "cursor(1)", show=False),
        Binding("left,right", "cross", show=False),
        Binding("enter", "enter", show=False),
        Binding("y", "confirm", show=False),
        Binding("escape", "forget", show=False),
    ]

    def __init__(self, game: TableGame) -> None:
        super().__init__()
        self.game = game
        self.held = list(game.view().held)
        self.cursor: int | None = None
        self.asked: int | None = None
        self.notice: str | None = None
        self.events: list[str] = []
        self.shows_values = False

    def show(self, *, tumble: bool = False) -> None:
        """Draw everything anew; ``tumble`` lets the dice roll that are not held."""
        raise NotImplementedError

    def go_on(self) -> None:
        """Let agents move, work out what is missing, and end the game where it is over."""
        raise NotImplementedError

    @property
    def is_persons_turn(self) -> bool:
        """Whether a person is to move."""
        return not self.game.is_over and self.game.seats[self.game.seat].agent is None

    @on(DieWidget.Clicked)
    def _die_clicked(self, event: DieWidget.Clicked) -> None:
        self.action_hold(event.position)

    @on(BoxRow.Clicked)
    def _box_clicked(self, event: BoxRow.Clicked) -> None:
        self.action_fill(event.box)

    @on(RollButton.Clicked)
    def _roll_clicked(self) -> None:
        self.action_roll()

    def action_roll(self) -> None:
        """The first roll of a turn, or another one with the dice that are not held."""
        self._forget()
        if not self.is_persons_turn:
            return
        game = self.game
        if game.has_rolled:
            self._act(sum(1 << i for i, held in enumerate(self.held) if held))
        else:
            game.roll()
            self._moved(f"{game.seats[game.seat].name} rolls {self._dice_text()}", tumble=True)

    def action_hold(self, position: int) -> None:
        """Hold a die, or release it."""
        self._forget()
        if self.is_persons_turn and position < len(self.held):
            if self.game.view().rolls_left:
                self.held[position] = not self.held[position]
            else:
                self.notice = "No roll is left, so no die need be held: score a box."
        self.show()

    def action_fill(self, box: int) -> None:
        """Fill a box; a zero is asked about once."""
        was_asked = self.asked == box
        self._forget()
        if not self.is_persons_turn or box >= self.game.game.n_boxes:
            return
        if self.game.view().options[box] == 0 and not was_asked:
            self.asked = self.cursor = box
            name = self.game.ruleset.box_names[box]
            self.notice = f"A zero in {name}? Press {BOX_KEYS[box]} or click again to enter it, Esc to go back."
            self.show()
            return
        self._act(self.game.game.n_holds + box)

    def _act(self, action: int) -> None:
        game, name = self.game, self.game.seats[self.game.seat].name
        try:
            played = game.act(action)
        except ValueError as error:
            self.notice = sentence(error)
            self.show()
            return
        if played.turn_is_over:
            box = game.ruleset.box_names[action - game.game.n_holds]
            self._moved(f"{name} scores {played.points} point{'' if played.points == 1 else 's'} in {box}")
        else:
            held = played.text.removeprefix("hold ") if action else "nothing"
            self._moved(f"{name} holds {held}, and gets {self._dice_text()}", tumble=True)

    def _moved(self, event: str, *, tumble: bool = False) -> None:
        self.events.append(event)
        self.held = list(self.game.view().held)
        self.shows_values = False
        self.show(tumble=tumble)
        self.go_on()

    def _dice_text(self) -> str:
        return " ".join(map(str, self.game.view().dice))

    def _forget(self) -> None:
        self.asked = self.notice = None

    def action_forget(self) -> None:
        """Take back the question whether a zero is meant."""
        self._forget()
        self.show()

    def action_confirm(self) -> None:
        """Enter the zero that was asked about."""
        if self.asked is not None:
            self.action_fill(self.asked)

    def action_enter(self) -> None:
        """Fill the box under the cursor; once the game is over, show how it was played."""
        if self.game.is_over:
            self.go_on()
        elif self.cursor is not None:
            self.action_fill(self.cursor)

    def action_cursor(self, step: int) -> None:
        """Move the cursor to the next open box, or to the one before."""
        scores = self.game.view().scores
        boxes = [box for box, score in enumerate(scores) if score is None]
        if boxes and self.is_persons_turn:
            start = (-1 if step > 0 else len(scores)) if self.cursor is None else self.cursor
            ahead = [box for box in boxes[::step] if (box - start) * step > 0]
            self._point(ahead[0] if ahead else boxes[::step][0])

    def action_cross(self) -> None:
        """Move the cursor to the other column, to the open box that is nearest."""
        view = self.game.view()
        split = view.n_faces
        start = self.cursor or 0
        target = start - split if start >= split else start + split
        boxes = [b for b, score in enumerate(view.scores) if score is None and (b >= split) == (target >= split)]
        if boxes and self.is_persons_turn:
            self._point(min(boxes, key=lambda box: abs(box - target)))

    def _point(self, box: int) -> None:
        self._forget()
        self.cursor = box
        self.show()
