"""From a state of a game to the plain values that a picture shows."""

from __future__ import annotations

from collections.abc import Sequence

from yacht_env.game import Game, SingleState
from yacht_env.rendering import TableView

__all__ = ["table_view"]


def table_view(
    game: Game, state: SingleState, scores: Sequence[int | None], total: int, held_faces: Sequence[int] = ()
) -> TableView:
    """What a picture of this state shows.

    Args:
        game: The game.
        state: The state.
        scores: Points that each filled box holds, without the upper bonus; ``None`` while it is open.
        total: Points of the game so far.
        held_faces: Faces of the dice that the last hold kept.
    """
    roll, rolls_left, lane, open_boxes = state
    dice = tuple(game.dice.faces[roll].tolist())
    legal = int(game.legal_boxes(state)) if open_boxes else 0
    rewards = game.reward[lane, roll, game.n_holds :].tolist()
    bonus = game.ruleset.upper_bonus
    return TableView(
        title=game.ruleset.name,
        box_names=game.ruleset.box_names,
        dice=dice,
        held=_held_marks(dice, list(held_faces)),
        rolls_left=rolls_left,
        turn=min(game.n_boxes - open_boxes.bit_count() + 1, game.n_boxes),
        scores=tuple(scores),
        options=tuple(points if legal >> b & 1 else None for b, points in enumerate(rewards)),
        total=total,
        upper_total=int(game.upper_total(state.lane)) if bonus else None,
        upper_threshold=bonus.threshold if bonus else None,
        upper_bonus=bonus.points if bonus else None,
        n_faces=game.dice.n_faces,
    )


def _held_marks(dice: tuple[int, ...], held_faces: list[int]) -> tuple[bool, ...]:
    """Which dice were held; of equal faces the first ones, since the dice are sorted after every roll."""
    marks = []
    for face in dice:
        marks.append(face in held_faces)
        if marks[-1]:
            held_faces.remove(face)
    return tuple(marks)
