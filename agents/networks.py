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
from yacht_env.network import context_columns
from yacht_env.observation import get_observation
from yacht_env.rules import Ruleset

__all__ = ["AfterstateHead", "AfterstateNetwork", "mlp"]


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


class AfterstateHead(nn.Module):
    """A linear layer with one output for each afterstate, whose weights for the keeps also come from a network.

    That network reads which dice a keep holds, so that what is learned about one keep serves similar ones; the free weights
    beside it leave every keep its own. Both add up to one matrix, which is all that is published.

    Args:
        game: The game.
        size_in: Width of the layer below.
        hidden: Width of the network that makes the weights of the keeps; 0 for none.
    """

    keep_features: torch.Tensor

    def __init__(self, game: Game, size_in: int, hidden: int = 64) -> None:
        super().__init__()
        self.own = nn.Linear(size_in, game.n_afterstates)
        n_keeps = game.dice.first_roll_keep
        counts = np.zeros((n_keeps, game.dice.n_faces), dtype=np.int64)
        counts[game.dice.hold_keep[:, :-1]] = _held_counts(game)
        one_hot = np.eye(game.dice.n_dice + 1)[counts].reshape(n_keeps, -1)
        features = torch.tensor(np.hstack([one_hot, counts / game.dice.n_dice]), dtype=torch.float32)
        self.register_buffer("keep_features", features, persistent=False)
        self.shared = mlp([features.shape[1], hidden, size_in + 1]) if hidden else None

    def weight_and_bias(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The matrix ``(n_afterstates, size_in)`` and the bias ``(n_afterstates,)`` that the layer amounts to."""
        if self.shared is None:
            return self.own.weight, self.own.bias
        made = functional.pad(self.shared(self.keep_features), (0, 0, 0, len(self.own.bias) - len(self.keep_features)))
        return self.own.weight + made[:, :-1], self.own.bias + made[:, -1]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Outputs, shape ``(N, n_afterstates)``."""
        return functional.linear(x, *self.weight_and_bias())


def _held_counts(game: Game) -> np.ndarray:
    """Counts of the faces that each hold mask but the last keeps of each roll, shape ``(R, H - 1, n_faces)``."""
    dice = game.dice
    held = np.arange(dice.n_holds - 1)[:, None] >> np.arange(dice.n_dice) & 1
    one_hot = np.eye(dice.n_faces, dtype=np.int64)[dice.faces - 1]
    return np.einsum("hd,rdf->rhf", held, one_hot)


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
        self.context = context_columns(observation)
        self.points_scale = observation.points_scale
        self.log_gain = nn.Parameter(torch.tensor(gain).log()) if gain is not None else None
        self.trunk = nn.Sequential(*mlp([len(self.context), *hidden], layer_norm), *_activation(hidden[-1], layer_norm))
        self.head = AfterstateHead(game, hidden[-1], head_hidden)
        # The one-hot dice, read as digits, number the ordered rolls.
        digits = np.arange(dice.n_faces)[None, :] * dice.n_faces ** np.arange(dice.n_dice - 1, -1, -1)[:, None]
        tables = {
            "roll_weights": torch.tensor(digits.ravel(), dtype=torch.float32),
            "roll_of_dice": torch.tensor(dice.next_roll[: dice.n_faces**dice.n_dice], dtype=torch.int64),
            "afterstate": torch.tensor(game.afterstate),
        }
        for name, table in tables.items():
            self.register_buffer(name, table, persistent=False)

    @property
    def points_unit(self) -> float:
        """Points that one unit of the output stands for, the gain included."""
        return self._points_unit / (self.log_gain.detach().exp().item() if self.log_gain is not None else 1.0)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Values of all actions, shape ``(N, n_actions)``, for flat observations ``(N, size)``; masks are the caller's."""
        roll = self.roll_of_dice[(observations[:, self.layout["dice"]] @ self.roll_weights).round().long()]
        outputs = self.head(self.trunk(observations[:, self.context]))
        values = outputs.gather(1, self.afterstate[roll])
        points = observations[:, self.layout["points"]] * (self.points_scale / self._points_unit)
        if self.log_gain is not None:
            points = points * self.log_gain.exp()
        return torch.cat([values[:, : self.n_holds], values[:, self.n_holds :] + points], dim=1)
