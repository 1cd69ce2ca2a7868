"""From a game to the texts and lines that the table shows.

Public names: :func:`status_text`, :func:`task_text`, :func:`result_text`, :func:`sentence`, :func:`seat_columns`,
:func:`seat_lines`.
"""

from __future__ import annotations

from yacht_env.table.app.card import SeatColumn
from yacht_env.table.app.side import SeatLine
from yacht_env.table.outlook import Chances
from yacht_env.table.scores import BestScores
from yacht_env.table.session import TableGame

__all__ = ["result_text", "seat_columns", "seat_lines", "sentence", "status_text", "task_text"]

_LONGEST = 16  # characters of a name in the status


def status_text(game: TableGame, best_scores: BestScores) -> str:
    """Ruleset, round, roll, and the best score so far."""
    rolls = game.game.rolls_per_turn
    roll = rolls - game.view().rolls_left if game.has_rolled else 0
    parts = [game.ruleset.name, f"round {game.turn} of {game.game.n_boxes}"]
    parts.append("game over" if game.is_over else f"roll {roll} of {rolls}")
    if best := best_scores.best(game.ruleset):
        parts.append(f"best so far {best[0].total} ({best[0].name[:_LONGEST]})")
    return "   ".join(parts)


def task_text(game: TableGame) -> str:
    """What is to be done next, and by whom."""
    if game.is_over:
        return f"{result_text(game)} Enter shows how it was played."
    who = game.seats[game.seat]
    if who.agent is not None:
        return f"{who.name} is to move"
    name = f"{who.name}: " if len(game.seats) > 1 else ""
    if not game.has_rolled:
        return f"{name}Roll the dice: space, or click on Roll."
    if game.view().rolls_left:
        return f"{name}Hold dice (1-5) and roll the others, or score a box (its letter)."
    return f"{name}No roll is left: score a box (its letter)."


def result_text(game: TableGame) -> str:
    """Who has won, or who share the first place."""
    places = game.ranking()
    first = [game.seats[place.seat].name for place in places if place.rank == 1]
    points = places[0].total
    if len(places) == 1:
        return f"Game over: {points} points."
    if len(first) == 1:
        return f"Game over: {first[0]} wins with {points} points."
    return f"Game over: a draw, {' and '.join(first)} have {points} points."


def sentence(error: object) -> str:
    """What went wrong, as a sentence of its own: with a capital letter, and a full stop."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def seat_columns(game: TableGame) -> list[SeatColumn]:
    """The cards, in the order of play."""
    return [SeatColumn(who.name, game.view(i), i == game.seat) for i, who in enumerate(game.seats)]


def seat_lines(game: TableGame, chances: Chances | None) -> list[SeatLine]:
    """Names and totals, and the chances to win alone where they are known."""
    return [
        SeatLine(who.name, game.total(i), i == game.seat and not game.is_over, chances.outcomes[i].win if chances else None)
        for i, who in enumerate(game.seats)
    ]
