"""The parts of the agents' networks: states read off observations, perceptrons over cards, outputs for sets of dice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from yacht_env.game import Game, State
from yacht_env.network import card_inputs
from yacht_env.observation import Observation

__all__ = ["CardPerceptron", "MultisetHead", "StateReader", "linear_outputs", "mlp"]


def mlp(sizes: Sequence[int]) -> nn.Sequential:
    """A perceptron with ReLU between its layers."""
    layers: list[nn.Module] = []
    for size_in, size_out in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(size_in, size_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _activation(size: int, layer_norm: bool) -> list[nn.Module]:
    return [nn.LayerNorm(size), nn.ReLU()] if layer_norm else [nn.ReLU()]


class StateReader(nn.Module):
    """Reads states off flat observations, in torch, as :meth:`yacht_env.observation.Observation.decode` does in NumPy.

    Args:
        observation: The flat observation.
    """

    roll_weights: torch.Tensor
    roll_of_dice: torch.Tensor
    box_bits: torch.Tensor

    def __init__(self, observation: Observation) -> None:
        super().__init__()
        game, dice = observation.game, observation.game.dice
        self.layout = dict(observation.layout)
        self.game = game
        # The one-hot dice, read as digits, number the ordered rolls.
        digits = np.arange(dice.n_faces)[None, :] * dice.n_faces ** np.arange(dice.n_dice - 1, -1, -1)[:, None]
        tables = {
            "roll_weights": torch.tensor(digits.ravel(), dtype=torch.float32),
            "roll_of_dice": torch.tensor(dice.next_roll[: dice.n_faces**dice.n_dice], dtype=torch.int64),
            "box_bits": torch.tensor([1.0 * (1 << b) for b in range(game.n_boxes)]),
        }
        for name, table in tables.items():
            self.register_buffer(name, table, persistent=False)

    def forward(self, observations: torch.Tensor) -> State:
        """The states, as tensors of shape ``(N,)``, for observations ``(N, size)``."""
        game, layout = self.game, self.layout
        roll = self.roll_of_dice[(observations[:, layout["dice"]] @ self.roll_weights).round().long()]
        rolls_left = observations[:, layout["rolls_left"]].argmax(dim=1)
        open_boxes = (observations[:, layout["open_boxes"]] @ self.box_bits).round().long()
        lane = torch.zeros_like(roll)
        if "upper" in layout:
            lane = ((1.0 - observations[:, layout["upper"].start]) * game.upper_threshold).round().long()
        if "yacht_box" in layout:
            joker_box = game.ruleset.index(game.ruleset.joker.box)  # type: ignore[union-attr]
            holds_points = observations[:, layout["yacht_box"].start].round().long()
            is_filled = 1 - (open_boxes >> joker_box & 1)
            lane = lane * game.n_jokers + is_filled * (1 + holds_points)
        return State(roll, rolls_left, lane, open_boxes)  # type: ignore[arg-type]


class CardPerceptron(nn.Module):
    """A perceptron with ReLU over cards, and over the rolls left where there are some to tell apart.

    What a card's boxes and its lane contribute to the first layer is found once for each, and then only added up, since
    cards are many more than both. Each card, or each *turn* (a card with a number of rolls left), has a number
    (:meth:`number`), so that equal ones, of which a batch has many, are easily found and need but one pass.

    Args:
        game: The game.
        sizes: Widths of the layers, the last one's ReLU included.
        rolls_left: Whether the rolls left are read too.
        layer_norm: Whether the layers are normalised.
    """

    open_rows: torch.Tensor
    lane_rows: torch.Tensor

    def __init__(self, game: Game, sizes: Sequence[int], rolls_left: bool, layer_norm: bool = False) -> None:
        super().__init__()
        inputs = card_inputs(game)
        self.register_buffer("open_rows", torch.tensor(inputs.open_rows), persistent=False)
        self.register_buffer("lane_rows", torch.tensor(inputs.lane_rows), persistent=False)
        self.n_rolls_left = game.rolls_per_turn if rolls_left else 0
        self.n_inputs = 2**game.n_boxes * game.n_lanes * max(self.n_rolls_left, 1)
        self.first = nn.Linear(self.n_rolls_left + inputs.size, sizes[0])
        self.rest = nn.Sequential(*_activation(sizes[0], layer_norm))
        for size_in, size_out in zip(sizes[:-1], sizes[1:], strict=True):
            self.rest.append(nn.Linear(size_in, size_out))
            self.rest.extend(_activation(size_out, layer_norm))

    def number(self, rolls_left: torch.Tensor | None, lane: torch.Tensor, open_boxes: torch.Tensor) -> torch.Tensor:
        """The number of each turn (or card), from 0 to ``n_inputs - 1``; all of the same shape."""
        card = open_boxes * len(self.lane_rows) + lane
        return card if rolls_left is None else card * self.n_rolls_left + rolls_left

    def parts(self, numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The rolls left (0 for cards), lanes and open boxes behind numbers; the inverse of :meth:`number`."""
        n_rolls, n_lanes = max(self.n_rolls_left, 1), len(self.lane_rows)
        card = numbers // n_rolls
        return numbers % n_rolls, card % n_lanes, card // n_lanes

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """The last layer, shape ``(N, sizes[-1])``, for the numbers of turns (or cards), shape ``(N,)``."""
        rolls_left, lane, open_boxes = self.parts(numbers)
        of_rolls, of_card = self.first.weight.T.split([self.n_rolls_left, len(self.first.weight.T) - self.n_rolls_left])
        x = torch.addmm(self.first.bias, self.lane_rows, of_card).index_select(0, lane)
        if len(self.open_rows) <= len(open_boxes):
            x = x + (self.open_rows @ of_card).index_select(0, open_boxes)
        else:
            x = x + self.open_rows[open_boxes] @ of_card
        if self.n_rolls_left:
            x = x + of_rolls.index_select(0, rolls_left)
        return self.rest(x)


class MultisetHead(nn.Module):
    """A linear layer whose outputs belong to sets of dice, and get their weights in part from a network.

    That network reads which dice a set holds, so that what is learned about one serves similar ones; the free weights
    beside it leave every set its own. Both add up to one matrix, which is all that is published.

    Args:
        counts: How many dice show each face in each set, shape ``(S, n_faces)``.
        n_dice: The most dice that a set holds.
        size_in: Width of the layer below.
        hidden: Width of the network that makes weights; 0 for none.
    """

    features: torch.Tensor

    def __init__(self, counts: np.ndarray, n_dice: int, size_in: int, hidden: int = 64) -> None:
        super().__init__()
        self.own = nn.Linear(size_in, len(counts))
        one_hot = np.eye(n_dice + 1)[counts].reshape(len(counts), -1)
        features = torch.tensor(np.hstack([one_hot, counts / n_dice]), dtype=torch.float32)
        self.register_buffer("features", features, persistent=False)
        self.shared = mlp([features.shape[1], hidden, size_in + 1]) if hidden else None

    def weight_and_bias(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The matrix ``(S, size_in)`` and the bias ``(S,)`` that the layer amounts to."""
        if self.shared is None:
            return self.own.weight, self.own.bias
        made = self.shared(self.features)
        return self.own.weight + made[:, :-1], self.own.bias + made[:, -1]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Outputs, shape ``(N, S)``."""
        return functional.linear(x, *self.weight_and_bias())

    @torch.no_grad()
    def shrink(self, factor: float) -> None:
        """Multiply the outputs by a factor; for a start near zero."""
        for layer in (self.own, *([self.shared[-1]] if self.shared else [])):
            layer.weight.mul_(factor)  # type: ignore[operator, union-attr]
            layer.bias.mul_(factor)  # type: ignore[operator, union-attr]


def linear_outputs(x: torch.Tensor, layer: tuple[torch.Tensor, torch.Tensor], which: torch.Tensor) -> torch.Tensor:
    """One output of a linear layer in each row, shape ``(N,)``.

    Args:
        x: Inputs of the layer, shape ``(N, width)``.
        layer: Its weights, ``(S, width)``, and its bias, ``(S,)``.
        which: The output that is wanted of each row, shape ``(N,)``.
    """
    weight, bias = layer
    return (x * weight.index_select(0, which)).sum(dim=1) + bias.index_select(0, which)
