"""Reading one state from what users write, as fast as plain Python can.

:meth:`yacht_env.game.Game.encode_state` takes batches as well as single states, and says what is wrong with either, for
which a single state pays 40 microseconds. Here one state is read in two, where it is written in plain numbers and names.

Public names: :class:`SingleStateReader`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yacht_env.game import Game, SingleState

__all__ = ["SingleStateReader"]

_WHOLE = frozenset({int, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32})
_BOX = _WHOLE | {str}
_FLAG = _WHOLE | {bool, np.bool_}
_FLAGS = frozenset({0, 1})  # the values of flags, True and False among them


class SingleStateReader:
    """Reads single states of a game.

    Args:
        game: The game.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self._number_of_roll = {tuple(faces): roll for roll, faces in enumerate(game.dice.faces.tolist())}
        boxes: list[str | int] = [*game.ruleset.box_names, *range(game.n_boxes)]
        self._bit_of_box = {box: 1 << i % game.n_boxes for i, box in enumerate(boxes)}
        joker, closed = game.ruleset.joker, np.array(0)
        self._joker_bit = self._bit_of_box[joker.box] if joker else 0
        self._lanes_of_joker = [int(game.lane(closed, 0, yacht_box)) for yacht_box in (False, True)]

    def read(
        self, dice: Any, rolls_left: Any, open_boxes: Any = None, upper_total: Any = 0, yacht_box: Any = False
    ) -> SingleState | None:
        """The state that these raw numbers describe; arguments as for ``encode_state``.

        Returns:
            The state; ``None`` for batches, for numbers of unusual types, and for those that no state has:
            ``encode_state`` encodes these, or says what is wrong with them.
        """
        if isinstance(dice, np.ndarray) and dice.ndim == 1 and dice.dtype.kind in "iu":
            dice = dice.tolist()
        if not isinstance(dice, (list, tuple)) or not _WHOLE.issuperset(map(type, dice)):
            return None
        roll = self._number_of_roll.get(tuple(sorted(dice)))
        if roll is None or type(rolls_left) not in _WHOLE or not 0 <= rolls_left < self.game.rolls_per_turn:
            return None
        if type(upper_total) not in _WHOLE or not 0 <= upper_total < 2**63 or type(yacht_box) not in _FLAG:
            return None
        bits = self._box_bits(open_boxes)
        if not bits:
            return None
        lane = self.game.n_jokers * min(int(upper_total), self.game.upper_threshold)
        if not bits & self._joker_bit:
            lane += self._lanes_of_joker[bool(yacht_box)]
        return SingleState(roll, int(rolls_left), lane, bits)

    def _box_bits(self, open_boxes: Any) -> int:
        """The open boxes of one card as bits; 0 where ``Game.box_bits`` has to look at them."""
        if open_boxes is None:
            return self.game.all_open
        if isinstance(open_boxes, np.ndarray):
            if open_boxes.ndim != 1 or open_boxes.dtype.kind not in "bui":
                return 0
            open_boxes, are_flags = open_boxes.tolist(), True
        elif isinstance(open_boxes, (list, tuple, set, frozenset)):
            kinds = set(map(type, open_boxes))
            are_flags = kinds == {bool} and isinstance(open_boxes, list)
            if not are_flags and not kinds <= _BOX:
                return 0
        else:
            return 0
        if are_flags:
            known = len(open_boxes) == self.game.n_boxes and _FLAGS.issuperset(open_boxes)
            return sum(1 << b for b, flag in enumerate(open_boxes) if flag) if known else 0
        bits = 0
        for box in open_boxes:
            bits |= self._bit_of_box.get(box, -1)
        return max(bits, 0)  # an unknown box makes it negative
