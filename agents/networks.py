"""The networks of the agents.

The value of an action is its points plus a function of what it leaves behind, the *afterstate*: the dice that are kept,
or the box that is gone, on a card with some rolls left (:attr:`yacht_env.game.Game.afterstate`). The dice that were
thrown away no longer matter. :class:`AfterstateNetwork` is built that way: a multilayer perceptron reads the card and the
rolls left, and has one output for each afterstate; the roll only selects which outputs are the actions' values. What is
learned about keeping three sixes from one roll thus serves every roll that has three sixes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from yacht_env.game import Game
from yacht_env.network import NetworkInputs
from yacht_env.observation import Observation, get_observation
from yacht_env.rules import Ruleset

__all__ = ["AfterstateNetwork", "MultisetHead", "RollValueNetwork", "keep_counts", "mlp"]


def mlp(sizes: Sequence[int], layer_norm: bool = False) -> nn.Sequential:
    """A perceptron with ReLU between its layers, and LayerNorm before each ReLU where asked for."""
    layers: list[nn.Module] = []
    for i, (size_in, size_out) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
        layers.append(nn.Linear(size_in, size_out))
        if i < len(sizes) - 2:
            layers += _activation(size_out, layer_norm)
    return nn.Sequential(*layers)


def _activation(size: int, layer_norm: bool) -> list[nn.Module]:
    return [nn.LayerNorm(size), nn.ReLU()] if layer_norm else [nn.ReLU()]


class MultisetHead(nn.Module):
    """A linear layer whose first outputs belong to sets of dice, and get their weights in part from a network.

    That network reads which dice a set holds, so that what is learned about one serves similar ones; the free weights
    beside it leave every set its own. Both add up to one matrix, which is all that is published.

    Args:
        counts: How many dice show each face in each set, shape ``(S, n_faces)``.
        n_dice: The most dice that a set holds.
        size_in: Width of the layer below.
        size_out: Number of outputs, of which the first ``S`` belong to the sets.
        hidden: Width of the network that makes weights; 0 for none.
    """

    features: torch.Tensor

    def __init__(self, counts: np.ndarray, n_dice: int, size_in: int, size_out: int, hidden: int = 64) -> None:
        super().__init__()
        self.own = nn.Linear(size_in, size_out)
        one_hot = np.eye(n_dice + 1)[counts].reshape(len(counts), -1)
        features = torch.tensor(np.hstack([one_hot, counts / n_dice]), dtype=torch.float32)
        self.register_buffer("features", features, persistent=False)
        self.shared = mlp([features.shape[1], hidden, size_in + 1]) if hidden else None

    def weight_and_bias(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The matrix ``(size_out, size_in)`` and the bias ``(size_out,)`` that the layer amounts to."""
        if self.shared is None:
            return self.own.weight, self.own.bias
        made = functional.pad(self.shared(self.features), (0, 0, 0, len(self.own.bias) - len(self.features)))
        return self.own.weight + made[:, :-1], self.own.bias + made[:, -1]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Outputs, shape ``(N, size_out)``."""
        return functional.linear(x, *self.weight_and_bias())


def keep_counts(game: Game) -> np.ndarray:
    """How many dice show each face in each keep that leaves a die to roll, shape ``(K - R, n_faces)``."""
    dice = game.dice
    held = np.arange(dice.n_holds - 1)[:, None] >> np.arange(dice.n_dice) & 1
    one_hot = np.eye(dice.n_faces, dtype=np.int64)[dice.faces - 1]
    counts = np.zeros((dice.first_roll_keep, dice.n_faces), dtype=np.int64)
    counts[dice.hold_keep[:, :-1]] = np.einsum("hd,rdf->rhf", held, one_hot)
    return counts


def _roll_tables(observation: Observation) -> dict[str, torch.Tensor]:
    """What reads the roll off an observation: the one-hot dice, taken as digits, number the ordered rolls."""
    dice = observation.game.dice
    digits = np.arange(dice.n_faces)[None, :] * dice.n_faces ** np.arange(dice.n_dice - 1, -1, -1)[:, None]
    return {
        "roll_weights": torch.tensor(digits.ravel(), dtype=torch.float32),
        "roll_of_dice": torch.tensor(dice.next_roll[: dice.n_faces**dice.n_dice], dtype=torch.int64),
    }


class _Inputs(nn.Module):
    """:class:`yacht_env.network.NetworkInputs`, in torch."""

    columns: torch.Tensor
    step_columns: torch.Tensor
    step_values: torch.Tensor

    def __init__(self, observation: Observation) -> None:
        super().__init__()
        inputs = NetworkInputs(observation)
        self.size = inputs.size
        self.register_buffer("columns", torch.tensor(inputs.columns), persistent=False)
        self.register_buffer("step_columns", torch.tensor(inputs.step_columns, dtype=torch.int64), persistent=False)
        self.register_buffer("step_values", torch.tensor(inputs.step_values), persistent=False)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        steps = (observations[:, self.step_columns] >= self.step_values).float()
        return torch.cat([observations[:, self.columns], steps], dim=1)


class AfterstateNetwork(nn.Module):
    """Values (or logits) of all actions from a flat observation; see the module.

    Args:
        ruleset: A name or a :class:`~yacht_env.Ruleset`.
        hidden: Widths of the hidden layers.
        points_unit: Points that one unit of the output stands for.
        layer_norm: Whether the hidden layers are normalised.
        head_hidden: Width of the network that shares weights between the keeps; 0 for none.
        gain: How steeply the points of a box count in its output, as a factor that is learned; ``None`` where they count
            as they are. Values need none, but logits do: how sharp a policy is differs from its values' unit.
    """

    roll_weights: torch.Tensor
    roll_of_dice: torch.Tensor
    afterstate: torch.Tensor

    def __init__(
        self,
        ruleset: str | Ruleset,
        hidden: Sequence[int] = (256, 256),
        points_unit: float = 20.0,
        layer_norm: bool = False,
        head_hidden: int = 64,
        gain: float | None = None,
    ) -> None:
        super().__init__()
        observation = get_observation(ruleset, "flat")
        game, dice = observation.game, observation.game.dice
        self.ruleset = game.ruleset
        self.hidden = tuple(hidden)
        self._points_unit = points_unit
        self.layer_norm = layer_norm
        self.layout = dict(observation.layout)
        self.n_holds = game.n_holds
        self.inputs = _Inputs(observation)
        self.points_scale = observation.points_scale
        self.log_gain = nn.Parameter(torch.tensor(gain).log()) if gain is not None else None
        self.trunk = nn.Sequential(*mlp([self.inputs.size, *hidden], layer_norm), *_activation(hidden[-1], layer_norm))
        self.head = MultisetHead(keep_counts(game), dice.n_dice, hidden[-1], game.n_afterstates, head_hidden)
        tables = _roll_tables(observation) | {"afterstate": torch.tensor(game.afterstate)}
        for name, table in tables.items():
            self.register_buffer(name, table, persistent=False)

    @property
    def points_unit(self) -> float:
        """Points that one unit of the output stands for, the gain included."""
        return self._points_unit / (self.log_gain.detach().exp().item() if self.log_gain is not None else 1.0)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Values of all actions, shape ``(N, n_actions)``, for flat observations ``(N, size)``; masks are the caller's."""
        roll = self.roll_of_dice[(observations[:, self.layout["dice"]] @ self.roll_weights).round().long()]
        values = self.afterstate_values(observations).gather(1, self.afterstate[roll])
        points = observations[:, self.layout["points"]] * (self.points_scale / self._points_unit)
        if self.log_gain is not None:
            points = points * self.log_gain.exp()
        return torch.cat([values[:, : self.n_holds], values[:, self.n_holds :] + points], dim=1)

    def afterstate_values(self, observations: torch.Tensor) -> torch.Tensor:
        """Values of all afterstates of the card and the rolls left, shape ``(N, n_afterstates)``; the dice play no part."""
        return self.head(self.trunk(self.inputs(observations)))


class RollValueNetwork(nn.Module):
    """Values of all states that differ in their dice alone, in one pass.

    A perceptron reads the card and the rolls left, and has one output for each roll.

    Args:
        ruleset: A name or a :class:`~yacht_env.Ruleset`.
        hidden: Widths of the hidden layers.
        head_hidden: Width of the network that shares weights between the rolls; 0 for none.
    """

    roll_weights: torch.Tensor
    roll_of_dice: torch.Tensor

    def __init__(self, ruleset: str | Ruleset, hidden: Sequence[int] = (256, 256), head_hidden: int = 64) -> None:
        super().__init__()
        observation = get_observation(ruleset, "flat")
        dice = observation.game.dice
        self.ruleset = observation.game.ruleset
        self.dice_columns = observation.layout["dice"]
        self.inputs = _Inputs(observation)
        self.trunk = nn.Sequential(*mlp([self.inputs.size, *hidden]), nn.ReLU())
        self.head = MultisetHead(dice.counts, dice.n_dice, hidden[-1], dice.n_rolls, head_hidden)
        for name, table in _roll_tables(observation).items():
            self.register_buffer(name, table, persistent=False)

    def rolls(self, observations: torch.Tensor) -> torch.Tensor:
        """The rolls on the table, shape ``(N,)``."""
        return self.roll_of_dice[(observations[:, self.dice_columns] @ self.roll_weights).round().long()]

    def all_rolls(self, observations: torch.Tensor) -> torch.Tensor:
        """Value of the states with every roll in the place of the one that is there, shape ``(N, R)``."""
        return self.head(self.trunk(self.inputs(observations)))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Values, shape ``(N, 1)``, for flat observations ``(N, size)``."""
        return self.all_rolls(observations).gather(1, self.rolls(observations)[:, None])
