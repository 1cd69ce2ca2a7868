"""Playing a trained network with NumPy alone.

The one architecture so far, ``"afterstate-mlp"``, values what an action leaves behind, the afterstate
(:attr:`yacht_env.game.Game.afterstate`), by two perceptrons with ReLU (and, where asked for, LayerNorm before it):

- ``keep``: reads the rolls left, one-hot, and the card (:class:`CardInputs`), and has one output for each keep;
- ``card``: reads a card at the start of a turn, and has one output: what it is worth. A full card is worth 0.

The value of holding dice is the output of the keep; that of filling a box is its points, in units of ``points_unit``, plus
the value of the card that it leaves. The best legal action is played. States that differ in their dice alone share the
perceptrons' work.

Public names: :class:`NetworkPolicy`, :class:`Architecture`, :class:`CardInputs`, :func:`card_inputs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from yacht_env.game import Game, State
from yacht_env.observation import get_observation
from yacht_env.rules import Ruleset

__all__ = ["Architecture", "CardInputs", "NetworkPolicy", "card_inputs"]

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
_NORM_EPSILON = 1e-5  # torch.nn.LayerNorm's default
_STEP_HEIGHT = 0.125  # low, or the many steps that go up together would drown all else


@dataclass(frozen=True)
class Architecture:
    """Shape of a network.

    Attributes:
        hidden: Widths of the hidden layers of the perceptron that values keeps.
        card_hidden: Widths of the hidden layers of the one that values cards.
        layer_norm: Whether each hidden layer is normalised before its ReLU.
        points_unit: Points that one unit of the outputs stands for.
        kind: Name of the architecture.
    """

    hidden: tuple[int, ...]
    card_hidden: tuple[int, ...]
    layer_norm: bool = False
    points_unit: float = 20.0
    kind: str = "afterstate-mlp"

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights: ``keep.0.weight``, ``keep.0.bias``, ``keep.0.norm.weight`` and so on."""
        card_size = card_inputs(game).size
        sizes = {
            "keep": (game.rolls_per_turn + card_size, *self.hidden, game.dice.first_roll_keep),
            "card": (card_size, *self.card_hidden, 1),
        }
        shapes: dict[str, tuple[int, ...]] = {}
        for name, widths in sizes.items():
            for i, (size_in, size_out) in enumerate(zip(widths[:-1], widths[1:], strict=True)):
                shapes[f"{name}.{i}.weight"] = (size_out, size_in)
                shapes[f"{name}.{i}.bias"] = (size_out,)
                if self.layer_norm and i < len(widths) - 2:
                    shapes[f"{name}.{i}.norm.weight"] = (size_out,)
                    shapes[f"{name}.{i}.norm.bias"] = (size_out,)
        return shapes


class CardInputs:
    """What the perceptrons read of a card: its open boxes, and the columns that a flat observation has about its lane.

    A card's row is ``open_rows[open boxes] + lane_rows[lane]``. Where there is an upper bonus, it ends with the upper total
    in steps, one for each point: whether it is at least 1, 2, 3 ... points. What one point more is worth differs from
    total to total, and two smooth numbers make that slow to learn.

    Args:
        game: The game.

    Attributes:
        open_rows: float32, shape ``(2 ** B, size)``.
        lane_rows: float32, shape ``(L, size)``.
        box_bits: The box that each afterstate beyond the keeps is about, as a bit, shape ``(n_afterstates - keeps,)``.
        next_lane: The lane that each of them leads to, by lane before, shape ``(L, n_afterstates - keeps)``.
    """

    def __init__(self, game: Game) -> None:
        observation = get_observation(game.ruleset, "flat")
        parts = [observation.layout[name] for name in ("open_boxes", "upper", "yacht_box") if name in observation.layout]
        columns = [column for part in parts for column in range(part.start, part.stop)]

        def rows(lane: npt.NDArray[np.int64], open_boxes: npt.NDArray[np.int64]) -> FloatArray:
            zeros = np.zeros_like(lane)
            encoded: FloatArray = np.asarray(observation.encode(State(zeros, zeros, lane, open_boxes)))[:, columns]
            return encoded

        cards, lanes = np.arange(2**game.n_boxes), np.arange(game.n_lanes)
        by_open = rows(np.zeros_like(cards), cards)
        by_lane = rows(lanes, np.full_like(lanes, game.all_open)) - by_open[game.all_open]
        steps = np.arange(1, game.upper_threshold + 1) <= game.upper_total(lanes)[:, None]
        self.open_rows = np.hstack([by_open, np.zeros((len(cards), steps.shape[1]))]).astype(np.float32)
        self.lane_rows = np.hstack([by_lane, steps * _STEP_HEIGHT]).astype(np.float32)

        n_keeps = game.dice.first_roll_keep
        _, first = np.unique(game.afterstate, return_index=True)
        rolls, actions = np.unravel_index(first[n_keeps:], game.afterstate.shape)
        self.box_bits = 1 << (actions - game.n_holds)
        self.next_lane = game.next_lane[:, rolls, actions].astype(np.int64)

    @property
    def size(self) -> int:
        """How many numbers are read of a card."""
        return self.open_rows.shape[1]


@lru_cache(maxsize=32)
def card_inputs(game: Game) -> CardInputs:
    """The inputs of a game; built once, then shared."""
    return CardInputs(game)


class NetworkPolicy:
    """Plays the best action by a network's values; needs neither torch nor stable-baselines3.

    Args:
        ruleset: The game that it plays.
        architecture: Shape of the network.
        weights: Its weights, float32, named and shaped as :meth:`Architecture.shapes` says.
        name: What to call it.
        config: Whatever else is known about it, as published.

    Raises:
        ValueError: where a weight is missing, is left over, or has another shape or type, or is not finite.
    """

    def __init__(
        self,
        ruleset: str | Ruleset,
        architecture: Architecture,
        weights: Mapping[str, npt.NDArray[Any]],
        name: str = "network",
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.observation = get_observation(ruleset, "flat")
        self.game = self.observation.game
        self.architecture = architecture
        self.name = name
        self.config = dict(config or {})
        self.inputs = card_inputs(self.game)
        self.weights = self._checked(weights)

    def _checked(self, weights: Mapping[str, npt.NDArray[Any]]) -> dict[str, FloatArray]:
        shapes = self.architecture.shapes(self.game)
        if set(weights) != set(shapes):
            wrong = sorted(set(weights) ^ set(shapes))[0]
            raise ValueError(f"weight {wrong!r} is {'missing' if wrong in shapes else 'not part of the architecture'}")
        for key, shape in shapes.items():
            weight = weights[key]
            if weight.shape != shape:
                raise ValueError(f"weight {key!r} has shape {weight.shape}; expected {shape}")
            if weight.dtype != np.float32:
                raise ValueError(f"weight {key!r} has type {weight.dtype}; expected float32")
            if not np.isfinite(weight).all():
                raise ValueError(f"weight {key!r} holds values that are not finite")
        return {key: np.array(weights[key]) for key in shapes}

    @property
    def n_parameters(self) -> int:
        """Number of weights."""
        return sum(weight.size for weight in self.weights.values())

    def __call__(self, observations: FloatArray, action_masks: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        """The best legal actions, shape ``(N,)``, for flat observations ``(N, size)`` and their masks."""
        return self.action_values(observations, action_masks).argmax(axis=1)

    def action_values(self, observations: FloatArray, action_masks: npt.NDArray[np.int8]) -> FloatArray:
        """Values of all actions in units of ``points_unit``, ``-inf`` where masked; shape ``(N, n_actions)``."""
        state = self.observation.decode(np.asarray(observations, dtype=np.float32))
        return self._masked_values(state, action_masks)

    def state_actions(self, state: State) -> IntArray:
        """The best actions in states, shape ``(N,)``: what a call with their observations and masks gives, in less time."""
        best: IntArray = self._masked_values(state, self.game.action_mask(state)).argmax(axis=1)
        return best

    def _masked_values(self, state: State, action_masks: npt.NDArray[np.int8]) -> FloatArray:
        """Values of all actions; the perceptrons are run once for states that differ in their dice alone."""
        game, roll, zeros = self.game, state.roll, np.zeros_like(state.roll)
        turns, turn = np.unique(game.pack(state._replace(roll=zeros)), return_inverse=True)
        cards, card = np.unique(game.pack(State(zeros, zeros, *state[2:])), return_inverse=True)
        keeps, boxes = self._keep_values(game.unpack(turns)), self._box_values(game.unpack(cards))
        values = np.full((len(roll), game.n_actions), -np.inf, dtype=np.float32)
        rows = np.flatnonzero(state.rolls_left)
        values[rows, : game.n_holds] = keeps[turn[rows, None], game.afterstate[roll[rows], : game.n_holds]]
        points = game.reward[state.lane, roll, game.n_holds :] * np.float32(1 / self.architecture.points_unit)
        values[:, game.n_holds :] = points + boxes[card[:, None], game.afterstate[roll, game.n_holds :] - keeps.shape[1]]
        values[np.asarray(action_masks) <= 0] = -np.inf
        return values

    def _keep_values(self, state: State) -> FloatArray:
        rolls_left = np.eye(self.game.rolls_per_turn, dtype=np.float32)[state.rolls_left]
        return self._perceptron("keep", np.hstack([rolls_left, self._card_rows(state.lane, state.open_boxes)]))

    def _box_values(self, state: State) -> FloatArray:
        """Values of the cards that each box (and what it does to the lane) leaves, shape ``(N, n_afterstates - keeps)``."""
        lane, open_boxes = self.inputs.next_lane[state.lane], state.open_boxes[:, None] & ~self.inputs.box_bits
        cards, which = np.unique(open_boxes * self.game.n_lanes + lane, return_inverse=True)
        lanes, opens = cards % self.game.n_lanes, cards // self.game.n_lanes
        values = np.where(opens == 0, np.float32(0), self._perceptron("card", self._card_rows(lanes, opens))[:, 0])
        return values[which.reshape(lane.shape)]

    def _card_rows(self, lane: IntArray, open_boxes: IntArray) -> FloatArray:
        return self.inputs.open_rows[open_boxes] + self.inputs.lane_rows[lane]

    def _perceptron(self, name: str, x: FloatArray) -> FloatArray:
        n_hidden = len(self.architecture.hidden if name == "keep" else self.architecture.card_hidden)
        for i in range(n_hidden + 1):
            x = x @ self.weights[f"{name}.{i}.weight"].T + self.weights[f"{name}.{i}.bias"]
            if i == n_hidden:
                break
            if self.architecture.layer_norm:
                x = x - x.mean(axis=1, keepdims=True)
                x = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + np.float32(_NORM_EPSILON))
                x = x * self.weights[f"{name}.{i}.norm.weight"] + self.weights[f"{name}.{i}.norm.bias"]
            x = np.maximum(x, 0)
        return x

    def __repr__(self) -> str:
        return f"NetworkPolicy({self.name!r}, {self.game.ruleset.name!r}, {self.n_parameters} parameters)"
