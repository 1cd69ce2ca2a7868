"""The tables that games move by: what :mod:`yacht_env.game` knows of its moves, laid out to be fetched a row at a time.

A *turn* here is the rolls left and the roll, as one number (:meth:`yacht_env.game.Game.turn_index`), of which there are
756. Two things are slow about moving many games: fetching numbers from all over the memory, and passing over arrays once
for each of them. So all that an action does in a turn is one row of 16 bytes, and a mask is the product of a row of the
turn with a row of the open boxes.

Public names: :data:`MOVE`, :data:`EFFECT`, :func:`moves`, :func:`effects`, :func:`masks_by_turn`, :func:`masks_by_boxes`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from yacht_env.dice import DiceTables

__all__ = ["EFFECT", "MOVE", "effects", "masks_by_boxes", "masks_by_turn", "moves"]

IntArray = npt.NDArray[np.int64]

MOVE = np.dtype(
    {
        "names": ["needs", "first_outcome", "n_outcomes", "points", "rolls_left", "box"],
        "formats": [np.int32, np.uint16, np.uint16, np.int16, np.int8, np.int8],
        "itemsize": 16,  # NumPy fetches items of 16 bytes faster than those of 12
    }
)
"""What an action does: ``needs``, the box that it fills, as a bit; ``first_outcome`` and ``n_outcomes``, the part of
:attr:`yacht_env.dice.DiceTables.next_roll` that its dice fall in; the ``points`` that it brings on lane 0; the rolls left
after it; ``box``, 0 for holds, and for boxes their place, from 1 up."""

EFFECT = np.dtype([("points", np.int16), ("lane", np.int16)])
"""Points and next lane."""


def moves(dice: DiceTables, rolls_per_turn: int, keep: IntArray, points: npt.NDArray[np.int16]) -> npt.NDArray[np.void]:
    """What each action does in each turn, :data:`MOVE`, shape ``(rolls_per_turn * R, A + 1)``.

    The last column stands for all that is no action. It and the forbidden holds need a box that no card has.

    Args:
        dice: The dice.
        rolls_per_turn: Rolls of a turn.
        keep: The keep that each action leaves of each roll, shape ``(R, A)``.
        points: What it brings on lane 0, shape ``(R, A)``.
    """
    n_actions, n_holds = keep.shape[1], dice.n_holds
    n_boxes, actions, boxes = n_actions - n_holds, slice(0, n_actions), slice(n_holds, n_actions)
    rows = np.zeros((rolls_per_turn, dice.n_rolls, n_actions + 1), dtype=MOVE)
    rows["needs"] = 1 << n_boxes
    rows["needs"][1:, :, : n_holds - 1] = 0  # all masks but the one that holds all
    rows["needs"][:, :, boxes] = 1 << np.arange(n_boxes)
    rows["first_outcome"][:, :, actions] = dice.outcome_start[keep]
    rows["n_outcomes"][:, :, actions] = dice.n_outcomes[keep]
    rows["points"][:, :, actions] = points
    rows["rolls_left"] = np.arange(rolls_per_turn)[:, None, None] - 1
    rows["rolls_left"][:, :, boxes] = rolls_per_turn - 1
    rows["box"][:, :, boxes] = 1 + np.arange(n_boxes)
    rows.setflags(write=False)
    return rows.reshape(-1, n_actions + 1)


def effects(dice: DiceTables, points: npt.NDArray[np.int16], next_lane: npt.NDArray[np.int16]) -> npt.NDArray[np.void]:
    """What holds (0) and boxes (from 1 up) do on each lane, :data:`EFFECT`, shape ``(L, R, 1 + B)``.

    Args:
        dice: The dice.
        points: What each action brings, shape ``(L, R, A)``.
        next_lane: The lane that it leads to, shape ``(L, R, A)``.
    """
    table = np.empty((*points.shape[:2], points.shape[2] - dice.n_holds + 1), dtype=EFFECT)
    table["points"] = points[:, :, dice.n_holds - 1 :]  # a hold, and the boxes
    table["lane"] = next_lane[:, :, dice.n_holds - 1 :]
    table.setflags(write=False)
    return table


def masks_by_turn(dice: DiceTables, rolls_per_turn: int, n_boxes: int) -> npt.NDArray[np.int8]:
    """The actions that are canonical in each turn, and all boxes; shape ``(rolls_per_turn * R, A)``."""
    held = np.arange(dice.n_holds)
    canonical = (dice.canonical_hold == held) & (held < dice.n_holds - 1)
    can_roll = np.arange(rolls_per_turn)[:, None, None] > 0
    masks = np.ones((rolls_per_turn, dice.n_rolls, dice.n_holds + n_boxes), dtype=np.int8)
    masks[:, :, : dice.n_holds] = canonical & can_roll
    masks.setflags(write=False)
    return masks.reshape(-1, masks.shape[2])


def masks_by_boxes(dice: DiceTables, n_boxes: int) -> npt.NDArray[np.int8]:
    """All holds, and the boxes that are in each set of boxes (bits); shape ``(2 ** B, A)``."""
    masks = np.ones((2**n_boxes, dice.n_holds + n_boxes), dtype=np.int8)
    masks[:, dice.n_holds :] = np.arange(2**n_boxes)[:, None] >> np.arange(n_boxes) & 1
    masks.setflags(write=False)
    return masks
