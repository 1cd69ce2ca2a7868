"""The networks of the agents.

The value of an action is its points plus a function of what it leaves behind, the *afterstate*: the dice that are kept,
or the card without the box that is gone (:attr:`yacht_env.game.Game.afterstate`). The dice that were thrown away no longer
matter. :class:`AfterstateNetwork` is built that way, of two perceptrons. One reads the card and the rolls left, and has one
output for each set of dice that may be kept; the other reads a card, and says what it is worth at the start of a turn,
which is what a filled box leaves. The roll only selects which of these are the actions' values. What is learned about
keeping three sixes from one roll thus serves every roll that has three sixes, and what is learned about a card serves
every box that leads to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from yacht_env.dice import roll_probabilities
from yacht_env.game import Game, State
from yacht_env.network import card_inputs
from yacht_env.observation import Observation, get_observation
from yacht_env.rules import Ruleset

__all__ = ["AfterstateNetwork", "CardPerceptron", "MultisetHead", "RollValueNetwork", "StateReader", "mlp"]


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
    cards are many more than both.

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
        self.first = nn.Linear(self.n_rolls_left + inputs.size, sizes[0])
        self.rest = nn.Sequential(*_activation(sizes[0], layer_norm))
        for size_in, size_out in zip(sizes[:-1], sizes[1:], strict=True):
            self.rest.append(nn.Linear(size_in, size_out))
            self.rest.extend(_activation(size_out, layer_norm))

    def forward(self, rolls_left: torch.Tensor | None, lane: torch.Tensor, open_boxes: torch.Tensor) -> torch.Tensor:
        """The last layer, shape ``(..., sizes[-1])``; arguments of shape ``(...)``."""
        of_rolls, of_card = self.first.weight.T.split([self.n_rolls_left, len(self.first.weight.T) - self.n_rolls_left])
        x = functional.embedding(lane, torch.addmm(self.first.bias, self.lane_rows, of_card))
        if len(self.open_rows) <= open_boxes.numel():
            x = x + functional.embedding(open_boxes, self.open_rows @ of_card)
        else:
            x = x + self.open_rows[open_boxes] @ of_card
        if rolls_left is not None:
            x = x + functional.embedding(rolls_left, of_rolls)
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


class AfterstateNetwork(nn.Module):
    """Values (or logits) of all actions from a flat observation; see the module.

    Args:
        ruleset: A name or a :class:`~yacht_env.Ruleset`.
        hidden: Widths of the hidden layers of the perceptron that values keeps.
        card_hidden: Widths of the hidden layers of the one that values cards.
        points_unit: Points that one unit of the output stands for.
        layer_norm: Whether the hidden layers are normalised.
        head_hidden: Width of the network that shares weights between the keeps; 0 for none.
        gain: How steeply the points of a box count in its output, as a factor that is learned; ``None`` where they count
            as they are. Values need none, but logits do: how sharp a policy is differs from its values' unit.
    """

    afterstate: torch.Tensor
    closed: torch.Tensor
    next_lane: torch.Tensor
    closed_box: torch.Tensor
    lane_after_box: torch.Tensor

    def __init__(
        self,
        ruleset: str | Ruleset,
        hidden: Sequence[int] = (256, 256),
        card_hidden: Sequence[int] = (64, 32),
        points_unit: float = 20.0,
        layer_norm: bool = False,
        head_hidden: int = 64,
        gain: float | None = None,
    ) -> None:
        super().__init__()
        observation = get_observation(ruleset, "flat")
        game, dice = observation.game, observation.game.dice
        self.ruleset = game.ruleset
        self.hidden, self.card_hidden = tuple(hidden), tuple(card_hidden)
        self._points_unit = points_unit
        self.layer_norm = layer_norm
        self.n_holds = game.n_holds
        self.points = observation.layout["points"]
        self.points_scale = observation.points_scale
        self.read = StateReader(observation)
        self.trunk = CardPerceptron(game, self.hidden, True, layer_norm)
        self.head = MultisetHead(dice.keep_counts[: dice.first_roll_keep], dice.n_dice, self.hidden[-1], head_hidden)
        self.card_trunk = CardPerceptron(game, self.card_hidden, False, layer_norm)
        self.card_head = nn.Linear(self.card_hidden[-1], 1)
        self.log_gain = nn.Parameter(torch.tensor(gain).log()) if gain is not None else None
        inputs = card_inputs(game)
        tables = {
            "afterstate": game.afterstate,
            "closed": ~inputs.box_bits,
            "next_lane": inputs.next_lane,
            "closed_box": ~(1 << np.arange(game.n_boxes)),
            # int32, since not all that sends tensors between machines knows int16
            "lane_after_box": game.next_lane[:, :, game.n_holds :].reshape(-1, game.n_boxes).astype(np.int32),
        }
        for name, table in tables.items():
            self.register_buffer(name, torch.tensor(table), persistent=False)

    @property
    def points_unit(self) -> float:
        """Points that one unit of the output stands for, the gain included."""
        return self._points_unit / (self.log_gain.detach().exp().item() if self.log_gain is not None else 1.0)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Values of all actions, shape ``(N, n_actions)``, for flat observations ``(N, size)``; masks are the caller's."""
        state = self.read(observations)
        holds = self.keep_values(state).gather(1, self.afterstate[state.roll, : self.n_holds])
        boxes = self.card_values(*self._after_boxes(state))
        points = observations[:, self.points] * (self.points_scale / self._points_unit)
        if self.log_gain is not None:
            points = points * self.log_gain.exp()
        return torch.cat([holds, boxes + points], dim=1)

    def _after_boxes(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        """Lanes and open boxes after each box is filled with the dice on the table, shape ``(N, B)``."""
        row = state.lane * len(self.afterstate) + state.roll
        return self.lane_after_box[row].long(), state.open_boxes[:, None] & self.closed_box  # type: ignore[call-overload]

    def afterstate_values(self, state: State) -> torch.Tensor:
        """Values of all afterstates, shape ``(N, n_afterstates)``, for states as tensors; the rolls play no part."""
        cards = self.card_values(self.next_lane[state.lane], state.open_boxes[:, None] & self.closed)  # type: ignore[call-overload]
        return torch.cat([self.keep_values(state), cards], dim=1)

    def keep_values(self, state: State) -> torch.Tensor:
        """Values of the keeps, shape ``(N, K - R)``."""
        return self.head(self.trunk(*state[1:]))

    def card_values(self, lane: torch.Tensor, open_boxes: torch.Tensor) -> torch.Tensor:
        """Values of cards at the start of a turn, of the shape of both arguments; 0 where no box is open."""
        n_lanes, n_open = len(self.next_lane), len(self.card_trunk.open_rows)
        if open_boxes.numel() > n_lanes * n_open:  # more than there are cards: each once is less work
            cards = torch.arange(n_lanes * n_open, device=lane.device)
            return self.card_values(cards % n_lanes, cards // n_lanes)[open_boxes * n_lanes + lane]
        values = self.card_head(self.card_trunk(None, lane, open_boxes))[..., 0]
        return values.masked_fill(open_boxes == 0, 0.0)


class RollValueNetwork(nn.Module):
    """Values of all states that differ in their dice alone, in one pass.

    A perceptron reads the card and the rolls left, and has one output for each roll.

    Args:
        ruleset: A name or a :class:`~yacht_env.Ruleset`.
        hidden: Widths of the hidden layers.
        head_hidden: Width of the network that shares weights between the rolls; 0 for none.
    """

    keep: torch.Tensor
    chances: torch.Tensor

    def __init__(self, ruleset: str | Ruleset, hidden: Sequence[int] = (256, 256), head_hidden: int = 64) -> None:
        super().__init__()
        observation = get_observation(ruleset, "flat")
        dice = observation.game.dice
        self.read = StateReader(observation)
        self.trunk = CardPerceptron(observation.game, tuple(hidden), True)
        self.head = MultisetHead(dice.counts, dice.n_dice, hidden[-1], head_hidden)
        self.register_buffer("keep", torch.tensor(observation.game.keep), persistent=False)
        chances = torch.tensor(roll_probabilities(dice), dtype=torch.float32)
        self.register_buffer("chances", chances, persistent=False)

    def all_rolls(self, state: State) -> torch.Tensor:
        """Value of the states with every roll in the place of the one that is there, shape ``(N, R)``."""
        return self.head(self.trunk(*state[1:]))

    def luck(self, rolls: torch.Tensor, actions: torch.Tensor, after: State) -> torch.Tensor:
        """By how much the states that followed are worth more than their mean over the dice, shape ``(N,)``.

        Args:
            rolls: The rolls on the table before, shape ``(N,)``.
            actions: The actions, shape ``(N,)``.
            after: The states that followed, as tensors of shape ``(N,)``.
        """
        values = self.all_rolls(after)
        value = values.gather(1, after.roll[:, None])[:, 0]  # type: ignore[call-overload]
        return value - (values * self.chances[self.keep[rolls, actions]]).sum(dim=1)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Values, shape ``(N, 1)``, for flat observations ``(N, size)``."""
        state = self.read(observations)
        return self.all_rolls(state).gather(1, state.roll[:, None])  # type: ignore[call-overload]
