"""What an agent sees: the encodings of a state, and their layout.

Two forms, both Markov for every ruleset, and both invertible (:meth:`Observation.decode`):

``"flat"``
    float32 in [0, 1], one vector, for networks. Its parts are named slices (:attr:`Observation.layout`):

    ============== ============== ====================================================================================
    part           width          content
    ============== ============== ====================================================================================
    ``dice``       5 x 6          each die's face, one-hot, dice in ascending order
    ``counts``     6              how many dice show each face, / 5
    ``rolls_left`` 3              one-hot: 0, 1 or 2 rolls left in this turn
    ``open_boxes`` boxes          1 while a box is open
    ``points``     boxes          reward for filling the box now, / :attr:`Observation.points_scale`; 0 where not legal
    ``upper``      3              with an upper bonus only: points still missing, / threshold; lead over the pace that
                                  just reaches it, / (2 threshold) + 1/2; whether the bonus is in
    ``yacht_box``  1              with a joker only: whether the Yacht box holds its points
    ============== ============== ====================================================================================

``"dict"``
    The raw numbers: ``dice`` (faces 1 to 6, ascending), ``rolls_left``, ``open_boxes`` (0 or 1 a box), and where the
    ruleset needs them ``upper_total`` (up to the bonus's threshold) and ``yacht_box`` (1 while it holds its points).

Public names: :class:`Observation`, :func:`get_observation`, :data:`LAYOUT_VERSION`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from yacht_env.game import Game, SingleState, State, get_game
from yacht_env.rules import Number, Ruleset, get_ruleset

__all__ = ["LAYOUT_VERSION", "Form", "Observation", "get_observation"]

LAYOUT_VERSION = 1
"""Raised whenever the meaning of a flat observation changes, so that a published network can tell."""

_BLOCK = 512  # observations encoded together; 130 kB
_SMALL_TABLE = 2**18  # numbers in a table that may be as wide as observations; 1 MB

Form: TypeAlias = Literal["flat", "dict"]
ObservationBatch: TypeAlias = npt.NDArray[np.float32] | dict[str, npt.NDArray[Any]]


class Observation:
    """One form of observation for one game; made by :func:`get_observation`.

    Attributes:
        game: The game that is seen.
        form: ``"flat"`` or ``"dict"``.
        space: The Gymnasium space of a single observation.
        size: Length of a flat observation; 0 for ``"dict"``.
        layout: The named slices of a flat observation; empty for ``"dict"``.
        points_scale: Points that the value 1.0 stands for in the part ``points``: the most that one box can bring.
    """

    def __init__(self, game: Game, form: Form) -> None:
        if form not in ("flat", "dict"):
            raise ValueError(f"observation must be 'flat' or 'dict', got {form!r}")
        self.game = game
        self.form: Form = form
        self.points_scale = float(game.reward.max())
        self.layout: Mapping[str, slice] = MappingProxyType(self._layout() if form == "flat" else {})
        self.size = max((part.stop for part in self.layout.values()), default=0)
        self.space: spaces.Box | spaces.Dict = self._flat_space() if form == "flat" else self._dict_space()
        if form == "flat":
            self._build_rows()

    def __deepcopy__(self, memo: dict[int, Any]) -> Observation:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return get_observation, (self.game.ruleset, self.form)

    def encode(self, state: State) -> ObservationBatch:
        """Observations of a batch of states, in new arrays.

        Args:
            state: The states, shape ``(N,)``.

        Returns:
            ``(N, size)`` float32 for ``"flat"``; a dictionary of arrays with ``N`` rows each for ``"dict"``.
        """
        return self._encode_flat(state) if self.form == "flat" else self._encode_dict(state)

    def encode_one(self, state: SingleState) -> Any:
        """Observation of one state, as :attr:`space` describes it."""
        if self.form == "flat":
            return self._encode_one_flat(state)
        batch = self._encode_dict(State(*(np.array([field], dtype=np.int64) for field in state)))
        return {key: rows[0] for key, rows in batch.items()}

    def decode(self, observations: Any) -> State:
        """The states behind a batch of observations; the inverse of :meth:`encode`.

        Args:
            observations: A batch in this form, with ``N`` rows.

        Raises:
            ValueError: where the shape is another one.
        """
        return self._decode_flat(observations) if self.form == "flat" else self._decode_dict(observations)

    # -------------------------------------------------------------------------------------------------------- flat

    def _layout(self) -> dict[str, slice]:
        game, dice = self.game, self.game.dice
        widths = {
            "dice": dice.n_dice * dice.n_faces,
            "counts": dice.n_faces,
            "rolls_left": game.rolls_per_turn,
            "open_boxes": game.n_boxes,
            "points": game.n_boxes,
        }
        if game.ruleset.upper_bonus:
            widths["upper"] = 3
        if game.ruleset.joker:
            widths["yacht_box"] = 1
        stops = np.cumsum(list(widths.values())).tolist()
        return {name: slice(stop - widths[name], stop) for name, stop in zip(widths, stops, strict=True)}

    def _flat_space(self) -> spaces.Box:
        return spaces.Box(0.0, 1.0, shape=(self.size,), dtype=np.float32)

    def _build_rows(self) -> None:
        """The tables of flat observations: a row of a turn times a row of a card, and what else depends on the lane.

        The rows of a turn say what the dice and the rolls left say, every box open, on the lane of an empty card. Those of
        a card are 0 where a box is closed, else 1. They are as wide as an observation where there are few of them, and
        else only as wide as the parts that they change: whole rows are multiplied faster, but their table is larger.
        """
        game, dice, layout = self.game, self.game.dice, self.layout
        self._n_rolls = dice.n_rolls
        one_hot = np.eye(dice.n_faces, dtype=np.float32)[dice.faces - 1].reshape(dice.n_rolls, -1)
        points = (game.reward[:, :, game.n_holds :] / np.float32(self.points_scale)).astype(np.float32)
        rows = np.zeros((game.rolls_per_turn, dice.n_rolls, self.size), dtype=np.float32)
        rows[:, :, layout["dice"]] = one_hot
        rows[:, :, layout["counts"]] = dice.counts / np.float32(dice.n_dice)
        rows[:, :, layout["rolls_left"]] = np.eye(game.rolls_per_turn)[:, None]
        rows[:, :, layout["open_boxes"]] = 1
        rows[:, :, layout["points"]] = points[0]
        self._turn_rows = rows.reshape(-1, self.size)

        both = slice(layout["open_boxes"].start, layout["points"].stop)
        self._card_part, self._card_rows = both, np.hstack([game.box_rows, game.box_rows]).astype(np.float32)
        if len(self._card_rows) * self.size <= _SMALL_TABLE:
            whole = np.ones((len(self._card_rows), self.size), dtype=np.float32)
            whole[:, both] = self._card_rows
            self._card_part, self._card_rows = slice(0, self.size), whole

        if game.n_lanes > 1:
            is_joker = game.roll_kind > 0  # there, not every open box may be filled
            self._is_special = ((points != points[0]).any(axis=2) | is_joker).ravel()  # by lane and roll
            self._points = points.reshape(-1, game.n_boxes)
            self._box_rows = game.box_rows.astype(np.float32)
        if game.ruleset.upper_bonus:
            faces = np.array([b.pattern.face if isinstance(b.pattern, Number) else 0 for b in game.ruleset.boxes])
            self._pace = (1 - game.box_rows) @ (faces / faces.sum())  # share of the threshold that is due by now

    def _encode_flat(self, state: State) -> npt.NDArray[np.float32]:
        """A product of two rows for each state: two are fetched, one is written; in blocks that stay in the caches."""
        turn = self.game.turn_index(state)
        out = np.empty((len(turn), self.size), dtype=np.float32)
        for start in range(0, len(turn), _BLOCK):
            block = slice(start, start + _BLOCK)
            rows = self._turn_rows.take(turn[block], axis=0, out=out[block], mode="clip")
            rows[:, self._card_part] *= self._card_rows.take(state.open_boxes[block], axis=0, mode="clip")
        if self.game.n_lanes > 1:
            index = state.lane * self.game.dice.n_rolls + state.roll
            special = np.flatnonzero(self._is_special.take(index))
            legal = self._box_rows.take(self.game.legal_boxes(State(*(field[special] for field in state))), axis=0)
            out[special, self.layout["points"]] = self._points.take(index[special], axis=0) * legal
            self._encode_lane(state, out)
        return out

    def _encode_one_flat(self, state: SingleState) -> npt.NDArray[np.float32]:
        """What :meth:`_encode_flat` gives, in a tenth of the time."""
        turn = self._turn_rows[state.rolls_left * self._n_rolls + state.roll]
        card = self._card_rows[state.open_boxes]
        if len(card) == self.size:
            out: npt.NDArray[np.float32] = turn * card
        else:
            out = turn.copy()
            out[self._card_part] *= card
        if self.game.n_lanes == 1:
            return out
        index = state.lane * self.game.dice.n_rolls + state.roll
        if self._is_special[index]:
            out[self.layout["points"]] = self._points[index] * self._box_rows[self.game.legal_boxes(state)]
        self._encode_lane(state, out)
        return out

    def _encode_lane(self, state: State | SingleState, out: npt.NDArray[np.float32]) -> None:
        """Fill in the parts that only some rulesets have."""
        if "upper" in self.layout:
            start = self.layout["upper"].start
            share = self.game.upper_total(state.lane) / self.game.upper_threshold
            out[..., start] = 1.0 - share
            out[..., start + 1] = (share - self._pace[state.open_boxes]) / 2 + 0.5
            out[..., start + 2] = share >= 1.0
        if "yacht_box" in self.layout:
            out[..., self.layout["yacht_box"].start] = self.game.yacht_box(state.lane)

    def _decode_flat(self, observations: Any) -> State:
        flat = np.asarray(observations)
        if flat.ndim != 2 or flat.shape[1] != self.size:
            raise ValueError(f"observations have shape {flat.shape}; expected (N, {self.size})")
        game, layout = self.game, self.layout
        dice = flat[:, layout["dice"]].reshape(len(flat), game.dice.n_dice, game.dice.n_faces).argmax(axis=2) + 1
        upper: npt.ArrayLike = 0
        if "upper" in layout:
            upper = np.rint((1.0 - flat[:, layout["upper"].start]) * game.upper_threshold).astype(np.int64)
        yacht = flat[:, layout["yacht_box"].start] > 0.5 if "yacht_box" in layout else False
        bits = game.box_bits(flat[:, layout["open_boxes"]] > 0.5)
        rolls_left = flat[:, layout["rolls_left"]].argmax(axis=1)
        return State(game.dice.roll_index(dice), rolls_left, game.lane(bits, upper, yacht), bits)

    # -------------------------------------------------------------------------------------------------------- dict

    def _dict_space(self) -> spaces.Dict:
        game, dice = self.game, self.game.dice
        parts: dict[str, spaces.Space[Any]] = {
            "dice": spaces.Box(1, dice.n_faces, shape=(dice.n_dice,), dtype=np.int8),
            "rolls_left": spaces.Discrete(game.rolls_per_turn),
            "open_boxes": spaces.MultiBinary(game.n_boxes),
        }
        if game.ruleset.upper_bonus:
            parts["upper_total"] = spaces.Discrete(game.upper_threshold + 1)
        if game.ruleset.joker:
            parts["yacht_box"] = spaces.Discrete(2)
        return spaces.Dict(parts)

    def _encode_dict(self, state: State) -> dict[str, npt.NDArray[Any]]:
        game = self.game
        parts: dict[str, npt.NDArray[Any]] = {
            "dice": game.dice.faces[state.roll],
            "rolls_left": np.array(state.rolls_left),
            "open_boxes": game.box_rows[state.open_boxes],
        }
        if game.ruleset.upper_bonus:
            parts["upper_total"] = game.upper_total(state.lane)
        if game.ruleset.joker:
            parts["yacht_box"] = game.yacht_box(state.lane)
        return parts

    def _decode_dict(self, observations: Any) -> State:
        game = self.game
        dice = np.asarray(observations["dice"])
        if dice.ndim != 2:
            raise ValueError(f"observations['dice'] has shape {dice.shape}; expected (N, {game.dice.n_dice})")
        assert isinstance(self.space, spaces.Dict)
        if missing := self.space.spaces.keys() - set(observations):
            raise ValueError(f"observations lack {sorted(missing)[0]!r}, which this ruleset needs")
        bits = game.box_bits(np.asarray(observations["open_boxes"]))
        lane = game.lane(bits, observations.get("upper_total", 0), observations.get("yacht_box", False))
        rolls_left = np.asarray(observations["rolls_left"]).astype(np.int64)
        return State(game.dice.roll_index(dice.astype(np.int64)), rolls_left, lane, bits)


@lru_cache(maxsize=32)
def _observation(ruleset: Ruleset, form: Form) -> Observation:
    return Observation(get_game(ruleset), form)


def get_observation(ruleset: str | Ruleset = "yacht", form: Form = "flat") -> Observation:
    """The encoding of a ruleset's states in one form; built once, then shared.

    Raises:
        ValueError: for an unknown ruleset or form.
    """
    return _observation(get_ruleset(ruleset), form)
