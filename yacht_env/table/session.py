"""A game at the table: it rolls fair dice, moves, and saves itself after every roll and decision.

Public names: :class:`TableGame`, :class:`Played`, :class:`Place`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from yacht_env import __version__
from yacht_env.game import Game, SingleState
from yacht_env.rendering import TableView
from yacht_env.rules import Ruleset, get_ruleset
from yacht_env.table.fair_dice import FairDice
from yacht_env.table.record import GameRecord, Seat, now, read_json
from yacht_env.table.replay import seat_view
from yacht_env.table.state import TableState
from yacht_env.table.verify import verify_content

__all__ = ["Place", "Played", "TableGame"]


@dataclass(frozen=True)
class Played:
    """What an action did.

    Attributes:
        seat: Index of the seat that acted.
        action: The action.
        text: It in words, such as ``hold 6 6 6`` or ``fill Sixes``.
        points: Points that it brought, with any bonus; 0 for holding dice.
        turn_is_over: Whether it ended the turn.
        is_over: Whether it ended the game.
    """

    seat: int
    action: int
    text: str
    points: int
    turn_is_over: bool
    is_over: bool


class Place(NamedTuple):
    """A line of the ranking; equal totals share a rank."""

    rank: int
    seat: int
    total: int


class TableGame:
    """One game, from the first roll to the last box; made by :meth:`new` or :meth:`load`.

    Attributes:
        game: The tables of the rules.
        seats: Who plays, in the order of play.
        dice: The seed and the word behind the dice.
        path: Where the game saves itself; ``None`` for nowhere.
        save_error: A sentence where the last save failed, as on a full disk or in a read-only folder; the game goes on,
            and the next roll or decision tries again.
    """

    def __init__(self, record: GameRecord, dice: FairDice, path: Path | None) -> None:
        self.game: Game = record.game
        self.seats = record.seats
        self.dice = dice
        self.path = path
        self.save_error: str | None = None
        self._first_record = record
        self._state = record.replay()

    @classmethod
    def new(
        cls,
        ruleset: str | Ruleset,
        seats: Sequence[Seat],
        *,
        dice: FairDice | None = None,
        path: Path | None = None,
    ) -> TableGame:
        """A new game, saved at once.

        Args:
            ruleset: The rules.
            seats: Who plays, in the order of play.
            dice: The dice: ``FairDice.new()``, whose commitment is shown, and then ``.with_word(...)``; fresh ones
                without a word by default.
            path: Where the game saves itself.

        Raises:
            ValueError: for an unknown ruleset, no seat, too many, or two of one name.
        """
        dice = dice or FairDice.new()
        program = f"yacht-env {__version__}"
        game = cls(GameRecord(get_ruleset(ruleset), tuple(seats), (), dice, now(), program), dice, path)
        game._save()
        return game

    @classmethod
    def load(cls, path: Path) -> TableGame:
        """Continue a saved game.

        Raises:
            ValueError: where the file holds no game, or one without a seed, or one that was changed since it was saved.
            OSError: where it can't be read.
        """
        try:
            content = read_json(path)
            record = GameRecord.from_json(content)
            if record.dice is None:
                raise ValueError("the game was typed in by hand; without a seed it can't be continued")
            if differences := verify_content(content).differences:
                raise ValueError(differences[0])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        _remove_leftovers(path)
        return cls(record, record.dice, path)

    # ------------------------------------------------------------------------------------------------------- knowing

    @property
    def ruleset(self) -> Ruleset:
        """The rules."""
        return self.game.ruleset

    @property
    def record(self) -> GameRecord:
        """All that a saved game holds."""
        first = self._first_record
        return GameRecord(
            first.ruleset, first.seats, self._state.written_turns, self.dice, first.started, first.program
        )

    @property
    def commitment(self) -> str:
        """SHA-256 of the secret seed."""
        return self.dice.commitment

    @property
    def seat(self) -> int:
        """Index of the seat to move; the last one once the game is over."""
        return self._state.seat

    @property
    def turn(self) -> int:
        """Number of the turn of the seat to move, from 1."""
        return self._state.turn

    @property
    def is_over(self) -> bool:
        """Whether all cards are full."""
        return self._state.is_over

    @property
    def has_rolled(self) -> bool:
        """Whether dice are on the table; a turn begins without."""
        return self._state.dice is not None

    @property
    def n_to_roll(self) -> int:
        """How many dice the first roll of a turn rolls."""
        return self.game.dice.n_dice

    @property
    def table(self) -> TableState:
        """The cards, turns and decisions so far, to be looked at and not to be moved."""
        return self._state

    def state(self, seat: int | None = None) -> SingleState | None:
        """The decision state of the seat to move; ``None`` before the first roll, and for every other seat."""
        return self._state.dice if seat in (None, self.seat) else None

    def scores(self, seat: int) -> tuple[int | None, ...]:
        """Points in each box, without the upper bonus; ``None`` while it is open."""
        return self._state.cards[seat].scores

    def total(self, seat: int) -> int:
        """Points so far, with every bonus."""
        return self._state.cards[seat].total

    def ranking(self) -> tuple[Place, ...]:
        """The seats by their totals, the highest first; equal totals share a rank and stay in the order of play."""
        totals = [card.total for card in self._state.cards]
        order = sorted(range(len(totals)), key=lambda seat: -totals[seat])
        return tuple(Place(1 + sum(other > totals[seat] for other in totals), seat, totals[seat]) for seat in order)

    def view(self, seat: int | None = None) -> TableView:
        """What a picture of a seat's card shows; without dice where none of theirs are on the table."""
        return seat_view(self._state, self.seat if seat is None else seat)

    # -------------------------------------------------------------------------------------------------------- moving

    def roll(self) -> None:
        """The first roll of a turn.

        Raises:
            ValueError: where the game is over, or dice are on the table.
        """
        self._state.roll(self._fallen(self.game.dice.n_dice))
        self._save()

    def act(self, action: int) -> Played:
        """Hold dice and roll the others (a hold mask), or fill a box (``n_holds`` + box), which ends the turn.

        Raises:
            ValueError: for an action that the rules forbid now, saying why; nothing has changed then.
        """
        state, seat = self._state.dice, self.seat
        n_dice, points = self._state.n_to_roll(action), 0
        if n_dice:
            self._state.hold(action, self._fallen(n_dice))
        else:
            points = self._state.fill(action)
        self._save()
        assert state is not None  # or n_to_roll would have refused
        text = self.game.action_text(state.roll, action)
        return Played(seat, action, text, points, not n_dice, self.is_over)

    def _fallen(self, n_dice: int) -> tuple[int, ...]:
        return self.dice.faces(self._state.n_rolls, n_dice, self.game.dice.n_faces)

    def _save(self) -> None:
        if self.path is None:
            return
        try:
            self.record.save(self.path)
            self.save_error = None
        except OSError as error:
            self.save_error = f"the game can't be saved in {self.path} ({error.strerror or error}); it goes on unsaved"


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files of saves that were cut short, as by a kill."""
    with contextlib.suppress(OSError):
        for other in path.parent.iterdir():
            if other.name.startswith(f".{path.name}."):
                other.unlink()
