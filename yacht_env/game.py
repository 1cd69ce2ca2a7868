"""How a game moves: the state, legal actions, the transition and the reward, as tables built from a ruleset.

This is the only module that knows the moves. The environments, the solver and the evaluation are siblings over it.

**State.** Four whole numbers describe a decision state, whatever the ruleset (:class:`State`): the roll on the table (an
index into :attr:`DiceTables.faces`), the rolls that are left in this turn, the *lane*, and the open boxes as bits (bit
``b`` is set while box ``b`` is open). The lane is all that matters of the filled boxes: the upper total, up to the
bonus's threshold, and the state of the Yacht box where a joker depends on it (0 while it is open, 1 once it holds 0, 2
once it holds its points)::

    lane = n_jokers * upper_total + joker

so it is always 0 for a ruleset with neither. A game is over when no box is open.

**Packing.** :meth:`Game.pack` puts a state into one int64, from the lowest bit up: the roll (8 bits for 252 rolls), the
rolls left (2 bits), the lane (no bit where there is but one lane, 6 for ``yatzy``, 8 for ``classic13``), the open boxes
(one bit a box). The widths follow from the tables.

**Actions.** ``0 <= a < n_holds`` holds the dice whose bits are set in ``a`` and rolls the others; ``n_holds + b`` fills box
``b``. A hold is allowed while a roll is left, unless it holds all the dice, which is no roll. Several masks can leave the
same dice (two equal ones); the lowest is the *canonical* one, and only canonical actions are in :meth:`Game.action_mask`.

**Reward.** The points of a box, with the bonus and the extra points that it earns, so a game's rewards are its total.

Public names: :class:`Game`, :class:`State`, :class:`SingleState`, :func:`get_game`, :func:`rolls_left_text`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from yacht_env import move_tables
from yacht_env.dice import DiceTables, dice_tables
from yacht_env.rules import N_DICE, ROLLS_PER_TURN, Box, Ruleset, get_ruleset

__all__ = ["Game", "SingleState", "State", "get_game", "rolls_left_text"]

IntArray = npt.NDArray[np.int64]

_OPEN, _ZERO, _HOLDS_POINTS = range(3)  # the states of the Yacht box that a joker tells apart

# Plain numbers of a single state: whole numbers that NumPy puts together as int64, whether they are for boxes or flags.


class State(NamedTuple):
    """A batch of decision states; every field is an int64 array of the same shape, often ``(N,)``."""

    roll: IntArray  # index of the roll on the table
    rolls_left: IntArray  # 0 ... rolls_per_turn - 1
    lane: IntArray  # upper total and state of the Yacht box, see the module
    open_boxes: IntArray  # bit b is set while box b is open


class SingleState(NamedTuple):
    """One decision state, as plain numbers; the fields are those of :class:`State`."""

    roll: int
    rolls_left: int
    lane: int
    open_boxes: int

    @property
    def batch(self) -> State:
        """The batch of this one state; fields of shape ``(1,)``."""
        return State(*(np.array([field]) for field in self))


class Game:
    """The tables of one ruleset, and the moves that they spell out; made by :func:`get_game`, and never changed.

    ``R`` is the number of rolls, ``H`` of hold masks, ``B`` of boxes, ``A = H + B`` of actions, ``L`` of lanes.

    Attributes:
        ruleset: The rules.
        dice: The tables of the dice.
        reward: Points of an action, shape ``(L, R, A)``, int16; 0 for holds; meaningless where illegal.
        next_lane: Lane after an action, shape ``(L, R, A)``, int16.
        keep: The keep that an action leaves on the table, shape ``(R, A)``: the held dice, or none after a box.
        afterstate: What an action leaves behind, shape ``(R, A)``: a keep of some of the dice, or a box together with
            what its points change in the lane. Actions with one number lead on alike, whatever the dice were, so the
            value of an action is its points plus a function of the card, the rolls left and this number.
        n_afterstates: How many such numbers there are (222 for the default game).
        box_rows: Whether each box is open, 1 or 0, by open boxes (bits), shape ``(2 ** B, B)``, int8.
        n_open: How many boxes are open, by open boxes (bits), shape ``(2 ** B,)``.
        roll_kind: The face of five of a kind where a joker depends on it, else 0, shape ``(R,)``.
        legal_boxes_table: Boxes that may be filled, as bits, by open boxes (bits) and kind of roll.
    """

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        self.dice: DiceTables = dice_tables()
        self._n_rolls = self.dice.n_rolls
        self.rolls_per_turn = ROLLS_PER_TURN
        self.n_boxes = ruleset.n_boxes
        self.n_holds = self.dice.n_holds
        self.n_actions = self.n_holds + self.n_boxes
        self.all_open = 2**self.n_boxes - 1
        self.upper_threshold = ruleset.upper_bonus.threshold if ruleset.upper_bonus else 0
        self.n_jokers = 3 if ruleset.joker else 1
        self.n_lanes = (self.upper_threshold + 1) * self.n_jokers

        five = self.dice.counts.max(axis=1) == N_DICE
        face = self.dice.counts.argmax(axis=1) + 1
        self.roll_kind = np.where(five & (ruleset.joker is not None), face, 0)  # the face of five of a kind, else 0
        self._joker_box = ruleset.index(ruleset.joker.box) if ruleset.joker else None
        self.reward, self.next_lane = self._build_moves()
        boxes = np.zeros((self.dice.n_rolls, self.n_boxes), dtype=np.int64)  # nothing is held after a box
        self.keep = np.concatenate([self.dice.hold_keep, boxes], axis=1)
        self.afterstate, self.n_afterstates = self._build_afterstates()
        self.legal_boxes_table = self._build_legal_boxes()

        bits = np.arange(2**self.n_boxes)[:, None] >> np.arange(self.n_boxes) & 1
        self.box_rows = bits.astype(np.int8)
        self.n_open = bits.sum(axis=1)
        self._widths = [int(n - 1).bit_length() for n in (self.dice.n_rolls, self.rolls_per_turn, self.n_lanes)]
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    # A game is a shared constant: copies are the game itself, and a pickle holds the rules alone.
    def __copy__(self) -> Game:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Game:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return get_game, (self.ruleset,)

    def __repr__(self) -> str:
        return f"Game({self.ruleset.name!r}, n_boxes={self.n_boxes}, n_lanes={self.n_lanes})"

    # ---------------------------------------------------------------------------------------------------- building

    def _build_moves(self) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]:
        n_upper, n_jokers = self.upper_threshold + 1, self.n_jokers
        shape = (n_upper, n_jokers, self.dice.n_rolls, self.n_actions)
        reward = np.zeros(shape, dtype=np.int16)
        next_lane = np.empty(shape, dtype=np.int16)
        next_lane[:] = np.arange(self.n_lanes).reshape(n_upper, n_jokers, 1, 1)
        upper, joker = np.arange(n_upper)[:, None, None], np.arange(n_jokers)[None, :, None]
        for b, box in enumerate(self.ruleset.boxes):
            natural = np.array([box.score(counts) for counts in self.dice.counts.tolist()])
            next_upper = np.minimum(upper + natural * box.is_number, self.upper_threshold)
            next_joker = np.where(natural, _HOLDS_POINTS, _ZERO) if b == self._joker_box else joker
            reward[..., self.n_holds + b] = self._points(box, natural) + self._bonus(upper, next_upper)
            next_lane[..., self.n_holds + b] = n_jokers * next_upper + next_joker
        lanes = (self.n_lanes, self.dice.n_rolls, self.n_actions)
        return reward.reshape(lanes), next_lane.reshape(lanes)

    def _bonus(self, upper: IntArray, next_upper: IntArray) -> IntArray:
        bonus = self.ruleset.upper_bonus
        if bonus is None:
            return np.zeros_like(upper)
        return bonus.points * ((upper < bonus.threshold) & (next_upper == bonus.threshold))

    def _points(self, box: Box, natural: IntArray) -> IntArray:
        """What a box scores by the state of the Yacht box and the roll, shape ``(n_jokers, R)``, the bonus left out."""
        points = np.tile(natural, (self.n_jokers, 1))
        if self.ruleset.joker:
            five = np.flatnonzero(self.roll_kind)
            as_joker = np.array([box.score_as_joker(counts) for counts in self.dice.counts[five].tolist()])
            points[_ZERO, five] = as_joker
            points[_HOLDS_POINTS, five] = as_joker + self.ruleset.joker.extra_points
        return points

    def _build_afterstates(self) -> tuple[IntArray, int]:
        n_keeps = self.dice.first_roll_keep  # keeps that leave a die to roll
        after = np.zeros((self.dice.n_rolls, self.n_actions), dtype=np.int64)
        after[:, : self.n_holds - 1] = self.dice.hold_keep[:, :-1]
        n_afterstates = n_keeps
        for action in range(self.n_holds, self.n_actions):
            effects, effect = distinct_rows(self.next_lane[:, :, action].T)
            after[:, action] = n_afterstates + effect
            n_afterstates += len(effects)
        return after, n_afterstates

    def _build_legal_boxes(self) -> IntArray:
        """Boxes that may be filled, as bits, by open boxes and kind of roll; shape ``(2 ** B, n_kinds)``."""
        open_boxes = np.arange(2**self.n_boxes)
        if self._joker_box is None:
            return open_boxes[:, None]
        numbers = sum(1 << b for b, box in enumerate(self.ruleset.boxes) if box.is_number)
        legal = np.repeat(open_boxes[:, None], self.dice.n_faces + 1, axis=1)
        joker = open_boxes >> self._joker_box & 1 == 0
        lower, upper = open_boxes & ~numbers, open_boxes & numbers
        for face in range(1, self.dice.n_faces + 1):
            own = sum(1 << b for b, box in enumerate(self.ruleset.boxes) if getattr(box.pattern, "face", 0) == face)
            forced = np.where(open_boxes & own, own, np.where(lower, lower, upper))
            legal[:, face] = np.where(joker, forced, open_boxes)
        return legal

    # Tables for moving fast, made of the plain ones when they are first needed.

    @cached_property
    def _moves(self) -> npt.NDArray[np.void]:
        return move_tables.moves(self.dice, self.rolls_per_turn, self.keep, self.reward[0])

    @cached_property
    def _outcomes(self) -> list[list[tuple[int, int]]]:
        """First outcome and number of outcomes by roll and hold mask, as plain numbers, for one game at a time."""
        outcomes = list(zip(self.dice.outcome_start.tolist(), self.dice.n_outcomes.tolist(), strict=True))
        return [[outcomes[keep] for keep in row] for row in self.dice.hold_keep.tolist()]

    @cached_property
    def _next_roll(self) -> memoryview[int]:
        return memoryview(self.dice.next_roll)  # type: ignore[arg-type]

    @cached_property
    def _effects(self) -> npt.NDArray[np.void]:
        return move_tables.effects(self.dice, self.reward, self.next_lane)

    @cached_property
    def _masks(self) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
        by_turn = move_tables.masks_by_turn(self.dice, self.rolls_per_turn, self.n_boxes)
        return by_turn, move_tables.masks_by_boxes(self.dice, self.n_boxes)

    # ------------------------------------------------------------------------------------------------------ moving

    def legal_boxes(self, state: State | SingleState) -> Any:
        """Boxes that may be filled now, as bits; same shape as the fields of ``state``, a plain number for a single one."""
        if self._joker_box is None:
            return state.open_boxes
        if isinstance(state, SingleState):
            return self.legal_boxes_table.item(state.open_boxes, self.roll_kind.item(state.roll))
        kind = self.roll_kind.take(state.roll)
        return self.legal_boxes_table.take(state.open_boxes * self.legal_boxes_table.shape[1] + kind)

    def action_mask(self, state: State | SingleState) -> npt.NDArray[np.int8]:
        """Canonical legal actions, 1 or 0, shape ``(..., A)``; all 0 once a game is over.

        What the turn allows, and what the boxes do: two rows of ``A`` bytes are fetched a state, and one is written.
        """
        by_turn, by_boxes = self._masks
        if isinstance(state, SingleState):
            legal = state.open_boxes if self._joker_box is None else self.legal_boxes(state)
            mask: npt.NDArray[np.int8] = by_turn[state.rolls_left * self._n_rolls + state.roll] & by_boxes[legal]
            return mask
        mask = by_turn.take(self.turn_index(state), axis=0)
        mask &= by_boxes.take(self.legal_boxes(state), axis=0)
        return mask

    def turn_index(self, state: State) -> IntArray:
        """Rolls left and roll as one number, below ``rolls_per_turn * R``; same shape as the fields of ``state``."""
        return state.rolls_left * self._n_rolls + state.roll

    def is_legal(self, state: State, actions: IntArray) -> npt.NDArray[np.bool_]:
        """Whether the rules allow these actions, canonical or not; any whole number may be asked about."""
        return self._fits(state, self._moves.take(self._move_index(state, actions)))

    def _move_index(self, state: State, actions: IntArray) -> IntArray:
        # Seen as unsigned, negative numbers are large ones; whatever is no action is the last column.
        unsigned = np.asarray(actions, dtype=np.int64).view(np.uint64)
        column = np.minimum(unsigned, np.uint64(self.n_actions)).view(np.int64)
        index: IntArray = self.turn_index(state) * self._moves.shape[1] + column
        return index

    def _fits(self, state: State, move: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        needs = move["needs"]
        fits: npt.NDArray[np.bool_] = self.legal_boxes(state) & needs == needs
        return fits

    def transition(
        self, state: State, actions: IntArray, uniform: npt.NDArray[np.float64]
    ) -> tuple[State, npt.NDArray[np.int16], npt.NDArray[np.bool_]]:
        """Next states and points; an illegal action changes nothing and scores nothing.

        For each state one row of 16 bytes is fetched from a table of moves, one number from the table of rolls, and, where
        there are several lanes, 4 bytes from a table of what boxes bring; the rest is arithmetic on whole arrays. Games
        that end here and illegal actions, which are few, are mended afterwards.

        Args:
            state: The states, shape ``(N,)``.
            actions: One action a state, int64, shape ``(N,)``.
            uniform: The dice: one random number in [0, 1) a state, shape ``(N,)``, float64.

        Returns:
            The next states, the points (int16), and which actions were legal; each of shape ``(N,)``, in new arrays.
        """
        move = self._moves.take(self._move_index(state, actions))
        legal = self._fits(state, move)
        open_boxes = state.open_boxes & ~move["needs"]
        roll = self.dice.roll(move["first_outcome"], move["n_outcomes"], uniform)
        rolls_left = move["rolls_left"].astype(np.int64)
        if self.n_lanes == 1:
            points, lane = move["points"].copy(), state.lane.copy()
        else:
            row = state.lane * self._n_rolls + state.roll
            effects = self._effects.take(row * self._effects.shape[2] + move["box"])
            points, lane = effects["points"].copy(), effects["lane"].astype(np.int64)
        after = State(roll, rolls_left, lane, open_boxes)
        over = np.flatnonzero(open_boxes == 0)
        if over.size:  # no dice are rolled any more
            roll[over] = state.roll[over]
            rolls_left[over] = 0
        if not legal.all():
            wrong = np.flatnonzero(~legal)
            points[wrong] = 0
            for new, old in zip(after, state, strict=True):
                new[wrong] = old[wrong]
        return after, points, legal

    def move(self, state: SingleState, action: int, uniform: float) -> tuple[SingleState, int, bool]:
        """:meth:`transition` of one state: the next state, the points, and whether the action was legal."""
        roll, rolls_left, lane, open_boxes = state
        if 0 <= action < self.n_holds - 1 and rolls_left:
            fallen = self._fall(uniform, *self._outcomes[roll][action])
            return SingleState(fallen, rolls_left - 1, lane, open_boxes), 0, True
        box = action - self.n_holds
        if not 0 <= box < self.n_boxes or not self.legal_boxes(state) >> box & 1:
            return state, 0, False
        points, lane = self.reward.item(lane, roll, action), self.next_lane.item(lane, roll, action)
        open_boxes ^= 1 << box
        if not open_boxes:  # no dice are rolled any more
            return SingleState(roll, 0, lane, 0), points, True
        fallen = self._fall(uniform, *self._outcomes[roll][0])  # the mask that holds nothing
        return SingleState(fallen, self.rolls_per_turn - 1, lane, open_boxes), points, True

    def _fall(self, uniform: float, first_outcome: int, n_outcomes: int) -> int:
        return self._next_roll[first_outcome + int(uniform * n_outcomes)]

    def roll(self, keep: IntArray, uniform: npt.NDArray[np.float64]) -> IntArray:
        """The roll that these random numbers in [0, 1) give when the dice outside ``keep`` are rolled."""
        return self.dice.roll(self.dice.outcome_start[keep], self.dice.n_outcomes[keep], uniform)

    def start_one(self, uniform: float) -> SingleState:
        """:meth:`start` of one game."""
        return SingleState(self._fall(uniform, *self._outcomes[0][0]), self.rolls_per_turn - 1, 0, self.all_open)

    def start(self, uniform: npt.NDArray[np.float64]) -> State:
        """The states after the first roll of new games; one random number in [0, 1) a game, shape ``(N,)``."""
        roll = self.roll(np.zeros(uniform.shape, dtype=np.int64), uniform)
        full = np.full_like(roll, self.all_open)
        return State(roll, np.full_like(roll, self.rolls_per_turn - 1), np.zeros_like(roll), full)

    # ----------------------------------------------------------------------------------------------------- spelling

    def lane(self, open_boxes: IntArray, upper_total: npt.ArrayLike, yacht_box: npt.ArrayLike) -> IntArray:
        """The lane for these open boxes (bits), upper total, and whether the Yacht box holds its points.

        Raises:
            ValueError: where an upper total is negative or no whole number.
        """
        upper = np.asarray(upper_total)
        if not np.issubdtype(upper.dtype, np.integer) or np.any(upper < 0):
            raise ValueError(f"upper_total must be a whole number, 0 or more, got {upper_total!r}")
        upper = np.minimum(upper.astype(np.int64), self.upper_threshold)
        if self._joker_box is None:
            return upper + np.zeros_like(open_boxes)
        is_open = open_boxes >> self._joker_box & 1 == 1
        joker = np.where(is_open, _OPEN, np.where(np.asarray(yacht_box, dtype=bool), _HOLDS_POINTS, _ZERO))
        return self.n_jokers * upper + joker

    def upper_total(self, lane: Any) -> Any:
        """Points in the number boxes, up to the bonus's threshold; 0 where the ruleset has no bonus."""
        return lane // self.n_jokers

    def bonus_paid(self, before: State | SingleState, after: State | SingleState) -> IntArray:
        """Points of the upper bonus that were paid between two states; 0 where it was not earned there."""
        bonus = self.ruleset.upper_bonus
        if bonus is None:
            return np.zeros_like(before.lane)
        earned = (self.upper_total(before.lane) < bonus.threshold) & (self.upper_total(after.lane) == bonus.threshold)
        return bonus.points * np.asarray(earned, dtype=np.int64)

    def yacht_box(self, lane: Any) -> IntArray:
        """1 where the Yacht box holds its points and a joker depends on it, else 0."""
        return np.asarray(lane % self.n_jokers == _HOLDS_POINTS, dtype=np.int64)

    def box_bits(self, open_boxes: Iterable[int | str] | npt.ArrayLike | None) -> IntArray:
        """The open boxes as bits.

        Args:
            open_boxes: Names or positions of one card's open boxes, as a list; or an array of flags (bool, or 0 and 1) of
                shape ``(..., B)``, as the dict observation has; ``None`` is all of them.

        Raises:
            ValueError: for a box that the card lacks, or an array of another width or with other numbers.
        """
        if open_boxes is None:
            return np.array(self.all_open)
        if isinstance(open_boxes, list) and open_boxes and all(isinstance(flag, bool) for flag in open_boxes):
            open_boxes = np.array(open_boxes)
        if isinstance(open_boxes, np.ndarray):
            if open_boxes.ndim == 0 or open_boxes.shape[-1] != self.n_boxes:
                raise ValueError(f"open_boxes has shape {open_boxes.shape}; expected (..., {self.n_boxes})")
            if not np.isin(open_boxes, (0, 1)).all():
                raise ValueError(f"an array of open_boxes must hold flags, 0 or 1, got {open_boxes!r}")
            return open_boxes.astype(bool) @ (1 << np.arange(self.n_boxes))
        if isinstance(open_boxes, str) or not isinstance(open_boxes, Iterable):
            raise ValueError(f"open_boxes must be a list of names or positions, got {open_boxes!r}")
        boxes: Iterable[Any] = open_boxes
        return np.array(sum(1 << b for b in {self.ruleset.index(box) for box in boxes}))

    def encode_state(
        self,
        dice: npt.ArrayLike,
        rolls_left: npt.ArrayLike,
        open_boxes: Iterable[int | str] | npt.ArrayLike | None = None,
        upper_total: npt.ArrayLike = 0,
        yacht_box: npt.ArrayLike = False,
    ) -> State:
        """The state, or the batch of states, that these raw numbers describe.

        Args:
            dice: Faces in any order, shape ``(..., n_dice)``.
            rolls_left: Rolls left in this turn, 0 to ``rolls_per_turn - 1``, shape ``(...)``.
            open_boxes: Names or positions of the open boxes, or flags ``(..., B)``; ``None`` is all of them.
            upper_total: Points in the number boxes; it matters only where there is an upper bonus, up to its threshold.
            yacht_box: Whether the Yacht box holds its points; it matters only where there is a joker.

        Raises:
            ValueError: naming the value that no state has.
        """
        rolls = np.asarray(rolls_left)
        if not np.issubdtype(rolls.dtype, np.integer) or np.any((rolls < 0) | (rolls >= self.rolls_per_turn)):
            raise ValueError(f"rolls_left must be 0 to {self.rolls_per_turn - 1}, got {rolls_left!r}")
        bits = self.box_bits(open_boxes)
        if np.any(bits == 0):
            raise ValueError("open_boxes is empty; a game with no open box is over")
        fields = (self.dice.roll_index(dice), rolls.astype(np.int64), self.lane(bits, upper_total, yacht_box), bits)
        return State(*np.broadcast_arrays(*fields))

    def open_names(self, open_boxes: int) -> tuple[str, ...]:
        """Names of the boxes that are open, given as bits, in the order of the card."""
        return tuple(name for b, name in enumerate(self.ruleset.box_names) if open_boxes >> b & 1)

    def action_text(self, roll: int, action: int) -> str:
        """An action on a roll in words: ``hold 6 6 6 6``, ``roll all dice``, or ``fill Sixes``."""
        if action >= self.n_holds:
            return f"fill {self.ruleset.box_names[action - self.n_holds]}"
        held = self.dice.held_faces(roll, action)
        return "hold " + " ".join(map(str, held)) if held.size else "roll all dice"

    def pack(self, state: State) -> IntArray:
        """The states as single int64 numbers, see the module."""
        roll_bits, rolls_bits, lane_bits = self._widths
        packed = state.open_boxes << lane_bits | state.lane
        return (packed << rolls_bits | state.rolls_left) << roll_bits | state.roll

    def unpack(self, packed: IntArray) -> State:
        """The states behind packed numbers; the inverse of :meth:`pack`."""
        roll_bits, rolls_bits, lane_bits = self._widths
        rest, roll = packed >> roll_bits, packed & 2**roll_bits - 1
        rest, rolls_left = rest >> rolls_bits, rest & 2**rolls_bits - 1
        return State(roll, rolls_left, rest & 2**lane_bits - 1, rest >> lane_bits)

    @cached_property
    def reachable_lanes(self) -> npt.NDArray[np.bool_]:
        """Which lanes a card can have, by its open boxes (bits); shape ``(2 ** B, L)``."""
        return self.lanes_from(self.all_open, 0)

    def lanes_from(self, open_boxes: int, lane: int) -> npt.NDArray[np.bool_]:
        """Which cards can come of one card, itself among them, by open boxes (bits) and lane; shape ``(2 ** B, L)``."""
        reachable = np.zeros((2**self.n_boxes, self.n_lanes), dtype=bool)
        reachable[open_boxes, lane] = True
        cards = np.array([open_boxes])  # those of which the boxes so far are filled or not; their order changes no lane
        for b in range(self.n_boxes):
            if open_boxes >> b & 1:
                lanes = reachable[cards]
                target = self.next_lane[:, :, self.n_holds + b]
                if (target != np.arange(self.n_lanes)[:, None]).any():
                    moves = np.zeros((self.n_lanes, self.n_lanes), dtype=np.float32)
                    moves[np.arange(self.n_lanes)[:, None], target] = 1
                    lanes = lanes.astype(np.float32) @ moves > 0
                reachable[cards ^ 1 << b] = lanes
                cards = np.concatenate([cards, cards ^ 1 << b])
        return reachable


def distinct_rows(rows: npt.NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Where each different row comes first, in the order of the rows' numbers, and which of them each row is.

    As ``np.unique(rows, axis=0, return_index=True, return_inverse=True)``, many times faster where few rows are different.
    """
    keys = [row.tobytes() for row in np.ascontiguousarray(rows)]
    first: dict[bytes, int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    places = sorted(first.values(), key=lambda place: rows[place].tolist())
    number = {keys[place]: n for n, place in enumerate(places)}
    return np.array(places), np.array([number[key] for key in keys])


def rolls_left_text(rolls_left: int) -> str:
    """The rolls left in a turn, in words: ``no roll left``, ``1 roll left``, ``2 rolls left``."""
    return {0: "no roll left", 1: "1 roll left"}.get(rolls_left, f"{rolls_left} rolls left")


@lru_cache(maxsize=32)
def _game(ruleset: Ruleset) -> Game:
    return Game(ruleset)


def get_game(ruleset: str | Ruleset = "yacht") -> Game:
    """The game of a ruleset, by name or as data; built once, then shared.

    Raises:
        ValueError: for an unknown name.
    """
    return _game(get_ruleset(ruleset))
