"""Playing a trained network with NumPy alone.

The one architecture so far, ``"afterstate-mlp"``: a perceptron with ReLU (and, where asked for, LayerNorm before it) reads
the part of a flat observation that is not about the dice, and has one output for each afterstate
(:attr:`yacht_env.game.Game.afterstate`). The value of an action is the output of its afterstate, plus its points in units
of ``points_unit``; the best legal one is played. States that differ in their dice alone share the perceptron's work.

Public names: :class:`NetworkPolicy`, :class:`Architecture`, :class:`NetworkInputs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from yacht_env.observation import Observation, get_observation
from yacht_env.rules import Ruleset

__all__ = ["Architecture", "NetworkInputs", "NetworkPolicy"]

FloatArray = npt.NDArray[np.float32]
_NORM_EPSILON = 1e-5  # torch.nn.LayerNorm's default


@dataclass(frozen=True)
class Architecture:
    """Shape of a network.

    Attributes:
        hidden: Widths of the hidden layers.
        layer_norm: Whether each hidden layer is normalised before its ReLU.
        points_unit: Points that one unit of the outputs stands for.
        kind: Name of the architecture.
    """

    hidden: tuple[int, ...]
    layer_norm: bool = False
    points_unit: float = 20.0
    kind: str = "afterstate-mlp"

    def shapes(self, n_inputs: int, n_outputs: int) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the weights, in order: ``0.weight``, ``0.bias``, ``0.norm.weight`` and so on."""
        sizes = [n_inputs, *self.hidden, n_outputs]
        shapes: dict[str, tuple[int, ...]] = {}
        for i, (size_in, size_out) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
            shapes[f"{i}.weight"] = (size_out, size_in)
            shapes[f"{i}.bias"] = (size_out,)
            if self.layer_norm and i < len(self.hidden):
                shapes[f"{i}.norm.weight"] = (size_out,)
                shapes[f"{i}.norm.bias"] = (size_out,)
        return shapes


class NetworkInputs:
    """What the perceptron reads of flat observations: all that is not about the dice.

    Where there is an upper bonus, the points that are still missing and the lead over the pace are also spelled out as
    steps, one for each point: whether they are at least 1, 2, 3 ... points. What a point more is worth jumps at the
    threshold, and two numbers alone make a perceptron slow to learn where.

    Args:
        observation: The flat observation.

    Attributes:
        columns: Columns that are read as they are.
        step_columns: Columns that are compared, one entry a step.
        step_values: What they are compared with, float32.
    """

    def __init__(self, observation: Observation) -> None:
        parts = [part for name, part in observation.layout.items() if name not in ("dice", "counts", "points")]
        self.columns = [column for part in parts for column in range(part.start, part.stop)]
        self.step_columns: list[int] = []
        self.step_values = np.zeros(0, dtype=np.float32)
        if "upper" in observation.layout:
            missing = observation.layout["upper"].start
            n = observation.game.upper_threshold
            self.step_columns = [missing] * n + [missing + 1] * 2 * n
            halfway = (np.arange(2 * n) + 0.5) / (2 * n)  # between two whole numbers, so that rounding can't matter
            self.step_values = np.concatenate([(np.arange(n) + 0.5) / n, halfway]).astype(np.float32)

    @property
    def size(self) -> int:
        """How many numbers the perceptron reads."""
        return len(self.columns) + len(self.step_columns)

    def __call__(self, observations: FloatArray) -> FloatArray:
        """Inputs, shape ``(N, size)``, for flat observations ``(N, observation.size)``."""
        steps = observations[:, self.step_columns] >= self.step_values
        return np.hstack([observations[:, self.columns], steps]).astype(np.float32)


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
        self.inputs = NetworkInputs(self.observation)
        self.weights = self._checked(weights)

    def _checked(self, weights: Mapping[str, npt.NDArray[Any]]) -> dict[str, FloatArray]:
        shapes = self.architecture.shapes(self.inputs.size, self.game.n_afterstates)
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
        observations = np.asarray(observations, dtype=np.float32)
        state = self.observation.decode(observations)
        card = self.game.pack(state._replace(roll=np.zeros_like(state.roll)))
        _, first, which = np.unique(card, return_index=True, return_inverse=True)
        outputs = self._perceptron(self.inputs(observations[first]))
        values = outputs[which[:, None], self.game.afterstate[state.roll]]
        scale = np.float32(self.observation.points_scale / self.architecture.points_unit)
        values[:, self.game.n_holds :] += observations[:, self.observation.layout["points"]] * scale
        return np.where(np.asarray(action_masks) > 0, values, np.float32(-np.inf))

    def _perceptron(self, x: FloatArray) -> FloatArray:
        n_hidden = len(self.architecture.hidden)
        for i in range(n_hidden + 1):
            x = x @ self.weights[f"{i}.weight"].T + self.weights[f"{i}.bias"]
            if i == n_hidden:
                break
            if self.architecture.layer_norm:
                x = x - x.mean(axis=1, keepdims=True)
                x = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + np.float32(_NORM_EPSILON))
                x = x * self.weights[f"{i}.norm.weight"] + self.weights[f"{i}.norm.bias"]
            x = np.maximum(x, 0)
        return x

    def __repr__(self) -> str:
        return f"NetworkPolicy({self.name!r}, {self.game.ruleset.name!r}, {self.n_parameters} parameters)"
