"""A table in play: a card for each seat, whose turn it is, and the turns so far. It is told how the dice fall.

Everything that replays a game goes through here (continuing, verifying, reviewing), so all of them judge alike what is a
possible game.

Public names: :class:`TableState`, :class:`Turn`, :class:`Card`, :class:`Decision`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from yacht_env.game import Game, SingleState

__all__ = ["Card", "Decision", "TableState", "Turn"]


@dataclass(frozen=True)
class Turn:
    """One turn, as it is written down.

    Attributes:
        rolls: The faces of every roll, ascending; none before the first roll.
        held: The faces that were held after each roll but the last, ascending; empty where all dice were rolled again.
        box: Position of the box that was filled; ``None`` while the turn is going on.
        points: What that brought, with any bonus; ``None`` while the turn is going on.
    """

    rolls: tuple[tuple[int, ...], ...] = ()
    held: tuple[tuple[int, ...], ...] = ()
    box: int | None = None
    points: int | None = None


@dataclass(frozen=True)
class Card:
    """One seat's card.

    Attributes:
        open_boxes: The open boxes, as bits.
        lane: Upper total and state of the Yacht box, see :mod:`yacht_env.game`.
        scores: Points that each filled box holds, without the upper bonus; ``None`` while it is open.
        total: Points so far, with every bonus.
    """

    open_boxes: int
    lane: int
    scores: tuple[int | None, ...]
    total: int


class Decision(NamedTuple):
    """A decision that was made: who, in which turn of theirs (from 1), where, what, and the points that it brought."""

    seat: int
    turn: int
    state: SingleState
    action: int
    points: int


class TableState:
    """The game so far.

    Args:
        game: The game.
        names: Who plays, in the order of play.

    Attributes:
        cards: One card a seat.
        turns: The turns so far, those of all seats in the order of play; the last one may be going on.
        decisions: The decisions so far.
        dice: The decision state of the seat to move; ``None`` before the first roll of a turn.
    """

    def __init__(self, game: Game, names: Sequence[str]) -> None:
        self.game = game
        self.names = tuple(names)
        self.n_seats = len(self.names)
        self.cards = [Card(game.all_open, 0, (None,) * game.n_boxes, 0)] * self.n_seats
        self.turns: list[Turn] = [Turn()]
        self.decisions: list[Decision] = []
        self.dice: SingleState | None = None

    @property
    def seat(self) -> int:
        """The seat to move; the last one once the game is over."""
        return (len(self.turns) - 1) % self.n_seats

    @property
    def turn(self) -> int:
        """Number of the turn of the seat to move, from 1."""
        return (len(self.turns) - 1) // self.n_seats + 1

    @property
    def turn_name(self) -> str:
        """The turn of the seat to move in words: ``turn 3 of Ada``."""
        return f"turn {self.turn} of {self.names[self.seat]}"

    @property
    def is_over(self) -> bool:
        """Whether every box of every card is filled."""
        return not any(card.open_boxes for card in self.cards)

    @property
    def written_turns(self) -> tuple[Turn, ...]:
        """The turns in which something has happened, which is what a saved game holds."""
        return tuple(turn for turn in self.turns if turn.rolls)

    @property
    def n_rolls(self) -> int:
        """Rolls so far, of all seats."""
        return sum(len(turn.rolls) for turn in self.turns)

    def roll(self, faces: Sequence[int]) -> None:
        """The first roll of a turn falls.

        Raises:
            ValueError: where the game is over or the turn has its first roll; for dice that don't exist.
        """
        if self.is_over:
            raise ValueError("the game is over; there is nothing to roll")
        if self.dice is not None:
            raise ValueError("the first roll of this turn has fallen; hold some dice, or fill a box")
        card, roll = self.cards[self.seat], self._roll_index(faces)
        self.dice = SingleState(roll, self.game.rolls_per_turn - 1, card.lane, card.open_boxes)
        self.turns[-1] = Turn(rolls=(self._faces(roll),))

    def n_to_roll(self, action: int) -> int:
        """How many dice an action rolls; 0 for filling a box.

        Raises:
            ValueError: for an action that the rules forbid now.
        """
        state = self._legal(action)
        return self.game.dice.n_dice - len(self._held(state, action)) if action < self.game.n_holds else 0

    def hold(self, action: int, fallen: Sequence[int]) -> None:
        """Dice are held, and the others are rolled.

        Args:
            action: A hold mask.
            fallen: The faces of the dice that were rolled, in any order.

        Raises:
            ValueError: for an action that the rules forbid now, or another number of dice.
        """
        state = self._legal(action)
        held = self._held(state, action)
        roll = self._roll_index((*held, *fallen))
        self._note(state, action, 0)
        self.dice = state._replace(roll=roll, rolls_left=state.rolls_left - 1)
        last = self.turns[-1]
        self.turns[-1] = replace(last, rolls=(*last.rolls, self._faces(roll)), held=(*last.held, held))

    def fill(self, action: int) -> int:
        """A box is filled, and the next seat's turn begins; returns the points, with any bonus.

        Raises:
            ValueError: for an action that the rules forbid now.
        """
        state, box = self._legal(action), action - self.game.n_holds
        after, points, _ = self.game.move(state, action, 0.0)
        card, bonus = self.cards[self.seat], int(self.game.bonus_paid(state, after))
        scores = (*card.scores[:box], points - bonus, *card.scores[box + 1 :])
        self._note(state, action, points)
        self.cards[self.seat] = Card(after.open_boxes, after.lane, scores, card.total + points)
        self.turns[-1] = replace(self.turns[-1], box=box, points=points)
        self.dice = None
        if not self.is_over:
            self.turns.append(Turn())
        return points

    def mask_of(self, held: Sequence[int]) -> int:
        """The canonical hold mask that keeps these faces of the dice on the table.

        Raises:
            ValueError: where the dice lack one of them, or before the first roll.
        """
        if self.dice is None:
            raise ValueError("no dice are on the table")
        dice, wanted, mask = self._faces(self.dice.roll), Counter(held), 0
        for i, face in enumerate(dice):
            if wanted[face]:
                wanted[face] -= 1
                mask |= 1 << i
        if wanted.total():
            raise ValueError(f"held {_text(held)} are not all among the dice {_text(dice)}")
        return mask

    def replay(self, turns: Iterable[Turn]) -> None:
        """Play turns that were written down.

        Raises:
            ValueError: naming seat, turn and value where they are no possible game.
        """
        for turn in turns:
            where = self.turn_name
            try:
                for _ in self.steps(turn):
                    pass
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from error

    def steps(self, turn: Turn) -> Iterator[str]:
        """Play a turn that was written down step by step; after each step what it was, in words.

        Raises:
            ValueError: naming the value that makes it impossible.
        """
        if self.is_over:
            raise ValueError("every box is filled; expected no further turn")
        if not turn.rolls:
            raise ValueError("there is no roll")
        if len(turn.held) != len(turn.rolls) - 1:
            raise ValueError(
                f"there are {len(turn.rolls)} rolls, and dice were held {len(turn.held)} times; expected "
                f"{len(turn.rolls) - 1}, once between two rolls"
            )
        self.roll(turn.rolls[0])
        yield f"rolls {_text(turn.rolls[0])}"
        for held, rolled in zip(turn.held, turn.rolls[1:], strict=True):
            action = self.mask_of(held)
            self._roll_index(rolled)  # refuses what are no dice
            if missing := Counter(held) - Counter(rolled):
                raise ValueError(f"{_text(missing.elements())} was held, but the roll after it is {_text(rolled)}")
            self.hold(action, tuple((Counter(rolled) - Counter(held)).elements()))
            yield f"{f'holds {_text(held)}' if held else 'holds nothing'}, rolls {_text(rolled)}"
        if turn.box is not None:
            points, name = self.fill(self.game.n_holds + turn.box), self.game.ruleset.box_names[turn.box]
            if turn.points is not None and turn.points != points:
                raise ValueError(f"{name} is said to bring {turn.points} points, but brings {points}")
            yield f"fills {name} for {points} point{'' if points == 1 else 's'}"

    def _legal(self, action: int) -> SingleState:
        game = self.game
        if self.dice is None:
            raise ValueError("the game is over" if self.is_over else "no dice are on the table; roll first")
        if not 0 <= action < game.n_actions:
            raise ValueError(f"action must be 0 to {game.n_actions - 1}, got {action}")
        if not game.move(self.dice, action, 0.0)[2]:
            raise ValueError(self._why_illegal(self.dice, action))
        return self.dice

    def _why_illegal(self, state: SingleState, action: int) -> str:
        game = self.game
        if action < game.n_holds:
            return "no roll is left; fill a box" if not state.rolls_left else "all dice are held; that is no roll"
        name = game.ruleset.box_names[action - game.n_holds]
        if not state.open_boxes >> (action - game.n_holds) & 1:
            return f"{name} is filled already"
        allowed = ", ".join(game.open_names(game.legal_boxes(state)))
        return f"{name} may not be filled with {_text(self._faces(state.roll))}; the joker rule leaves {allowed}"

    def _note(self, state: SingleState, action: int, points: int) -> None:
        self.decisions.append(Decision(self.seat, self.turn, state, action, points))

    def _held(self, state: SingleState, action: int) -> tuple[int, ...]:
        return tuple(self.game.dice.held_faces(state.roll, action).tolist())

    def _faces(self, roll: int) -> tuple[int, ...]:
        return tuple(self.game.dice.faces[roll].tolist())

    def _roll_index(self, faces: Sequence[int]) -> int:
        return int(self.game.dice.roll_index(list(faces)))


def _text(faces: Iterable[int]) -> str:
    return " ".join(map(str, faces))
