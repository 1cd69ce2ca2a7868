"""A game judged decision by decision: what the dice gave, and what the decisions lost.

Write ``V`` for the expected final total under optimal play from here. It starts at the optimum and ends at the total, and
between it changes in two ways alone: when dice fall, by *luck* (the value of the best action after the roll, minus the
value before it), and when a decision is made, by the *loss* of that decision (the value of the best action, minus that of
the chosen one). So

    total - optimum = sum of luck - sum of losses

exactly, for every game. This is the decomposition behind ``yacht_env.evaluate``, for one game in place of all.

Public names: :func:`review`, :class:`Review`, :class:`SeatReview`, :class:`ReviewedDecision`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from yacht_env.game import State, rolls_left_text
from yacht_env.progress import Progress
from yacht_env.solver import TIE, Solution, best_actions, solve
from yacht_env.table.rating import Rating, rate
from yacht_env.table.record import GameRecord
from yacht_env.table.state import Decision

__all__ = ["Review", "ReviewedDecision", "SeatReview", "review", "review_decisions"]

FloatArray = npt.NDArray[np.float64]

_COSTLIEST = 5


@dataclass(frozen=True)
class ReviewedDecision:
    """One decision.

    Attributes:
        turn: Number of the seat's turn, from 1.
        dice: Faces on the table, ascending.
        rolls_left: Rolls left in the turn.
        open_boxes: Names of the open boxes.
        action: What was done.
        text: It in words.
        best_text: The best action in words; the action's own where it is as good.
        value: Expected final total after the action.
        loss: Points by which the best action is better, 0 or more.
        luck: Points that the roll before it gave, above what was to be expected.
    """

    turn: int
    dice: tuple[int, ...]
    rolls_left: int
    open_boxes: tuple[str, ...]
    action: int
    text: str
    best_text: str
    value: float
    loss: float
    luck: float

    @property
    def is_best(self) -> bool:
        """Whether no other action is better."""
        return self.loss <= TIE

    def __str__(self) -> str:
        dice, rolls = " ".join(map(str, self.dice)), rolls_left_text(self.rolls_left)
        return f"turn {self.turn}: {dice}, {rolls}: {self.text} instead of {self.best_text}"


@dataclass(frozen=True)
class SeatReview:
    """The game of one seat.

    Attributes:
        name: Who.
        agent: The agent that played, or ``None`` for a person.
        total: Points so far, with every bonus.
        expected_total: The total where the card is full; before, what is to be expected under optimal play from here.
        luck: Points that the dice gave, above average.
        lost: Points that the decisions lost; ``expected_total - optimum == luck - lost``.
        decisions: All decisions, in the order of play.
        rating: The total among those of optimal play; ``None`` while the game is going on.
    """

    name: str
    agent: str | None
    total: int
    expected_total: float
    luck: float
    lost: float
    decisions: tuple[ReviewedDecision, ...]
    rating: Rating | None

    @property
    def costliest(self) -> tuple[ReviewedDecision, ...]:
        """The five decisions that lost the most, those that lost something."""
        costly = [decision for decision in self.decisions if not decision.is_best]
        return tuple(sorted(costly, key=lambda decision: -decision.loss)[:_COSTLIEST])

    @property
    def n_best(self) -> int:
        """How many decisions were as good as the best."""
        return sum(decision.is_best for decision in self.decisions)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        costliest = [dataclasses.asdict(decision) for decision in self.costliest]
        return dataclasses.asdict(self) | {"n_best": self.n_best, "costliest": costliest}


@dataclass(frozen=True)
class Review:
    """The game of every seat.

    Attributes:
        ruleset: Name of the ruleset.
        optimum: Points that perfect play averages.
        seats: The seats, in the order of play.
    """

    ruleset: str
    optimum: float
    seats: tuple[SeatReview, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "ruleset": self.ruleset,
            "optimum": self.optimum,
            "seats": [seat.to_dict() for seat in self.seats],
        }

    def __str__(self) -> str:
        head = f"{self.ruleset}: perfect play averages {self.optimum:.2f} points"
        return "\n\n".join([head, *(_seat_text(seat, self.optimum) for seat in self.seats)])


def review(record: GameRecord, *, solution: Solution | None = None, progress: Progress | None = None) -> Review:
    """Judge a game, finished or not, saved or typed in by hand.

    Args:
        record: The game.
        solution: The solved ruleset, to save looking it up.
        progress: Called as the solution grows; a bar on the terminal by default.

    Raises:
        ValueError: naming turn and value where the record is no possible game.
    """
    table = record.replay()
    solution = solution or solve(record.ruleset, progress=progress)
    seats = []
    for i, (seat, card) in enumerate(zip(record.seats, table.cards, strict=True)):
        made = [decision for decision in table.decisions if decision.seat == i]
        reviewed = review_decisions(solution, made)
        seats.append(
            SeatReview(
                name=seat.name,
                agent=seat.agent,
                total=card.total,
                expected_total=reviewed[-1].value if reviewed else solution.expected_score,
                luck=sum(decision.luck for decision in reviewed),
                lost=sum(decision.loss for decision in reviewed),
                decisions=tuple(reviewed),
                rating=None if card.open_boxes else rate(card.total, solution),
            )
        )
    return Review(record.ruleset.name, solution.expected_score, tuple(seats))


def review_decisions(solution: Solution, made: list[Decision]) -> list[ReviewedDecision]:
    """Judge the decisions of one seat, all those from the start of the game on."""
    if not made:
        return []
    game = solution.game
    state = State(*(np.array(field, dtype=np.int64) for field in zip(*(one.state for one in made), strict=True)))
    action = np.array([one.action for one in made])
    points = np.array([one.points for one in made])
    before = np.cumsum(points) - points  # points in hand when a decision is made
    values = solution.state_action_values(state)
    best = values.max(axis=1) + before
    value = values[np.arange(len(made)), action] + before
    expected = np.concatenate([[solution.expected_score], value[:-1]])  # before the roll that the decision follows
    roll, best_action = state.roll.tolist(), best_actions(values).tolist()
    loss = np.maximum(best - value, 0.0)
    return [
        ReviewedDecision(
            turn=one.turn,
            dice=tuple(game.dice.faces[roll[i]].tolist()),
            rolls_left=one.state.rolls_left,
            open_boxes=game.open_names(one.state.open_boxes),
            action=one.action,
            text=game.action_text(roll[i], one.action),
            best_text=game.action_text(roll[i], one.action if loss[i] <= TIE else best_action[i]),
            value=float(value[i]),
            loss=float(loss[i]),
            luck=float(best[i] - expected[i]),
        )
        for i, one in enumerate(made)
    ]


def _seat_text(seat: SeatReview, optimum: float) -> str:
    who = seat.name if seat.agent is None else f"{seat.name} ({seat.agent})"
    lines = [
        f"{who}: {seat.total} points" + ("" if seat.rating else f" so far, {seat.expected_total:.2f} to be expected"),
        f"  {_signed(seat.luck)}  by luck",
        f"  {_signed(-seat.lost)}  by decisions; {seat.n_best} of {len(seat.decisions)} were the best",
        f"  {_signed(seat.expected_total - optimum)}  against perfect play's average",
    ]
    if seat.rating:
        lines.append(f"  {seat.rating}")
    if seat.costliest:
        lines.append("  the costliest decisions:")
        lines += [f"  {_signed(-decision.loss)}  {decision}" for decision in seat.costliest]
    return "\n".join(lines)


def _signed(points: float) -> str:
    return f"{round(points, 2) + 0.0:+8.2f}"  # + 0.0 makes -0.0 a plain zero
