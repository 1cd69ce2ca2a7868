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

from agents.layers import CardPerceptron, MultisetHead, StateReader, linear_outputs
from yacht_env.dice import roll_probabilities
from yacht_env.game import State
from yacht_env.network import card_inputs
from yacht_env.observation import get_observation
from yacht_env.rules import Ruleset

__all__ = ["AfterstateNetwork", "RollValueNetwork"]


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
        return self.action_values(observations, self.read(observations))

    def action_values(self, observations: torch.Tensor, state: State) -> torch.Tensor:
        """The same, where the states behind the observations are known."""
        turns, turn = self.turns(state).unique(return_inverse=True)
        holds = self.hold_values(self.head(self.trunk(turns)), turn, state)
        boxes = self.card_values(*self.after_boxes(state))
        return torch.cat([holds, boxes + self.box_points(observations)], dim=1)

    def turns(self, state: State) -> torch.Tensor:
        """Numbers of the turns, shape ``(N,)``; where no roll is left holds are illegal, and one turn serves all."""
        return self.trunk.number(*state[1:]) * (state.rolls_left > 0)

    def hold_values(self, keeps: torch.Tensor, turn: torch.Tensor, state: State) -> torch.Tensor:
        """Values of holds, shape ``(N, n_holds)``, picked from those of the keeps of some turns.

        Args:
            keeps: Values of the keeps, shape ``(T, K - R)``.
            turn: Which of the ``T`` rows is about each state, shape ``(N,)``.
            state: The states, as tensors of shape ``(N,)``.
        """
        places = turn[:, None] * keeps.shape[1] + self.afterstate[state.roll, : self.n_holds]
        return keeps.view(-1).index_select(0, places.view(-1)).view(places.shape)

    def box_points(self, observations: torch.Tensor) -> torch.Tensor:
        """Points of each box in units of the output, shape ``(N, B)``."""
        points = observations[:, self.points] * (self.points_scale / self._points_unit)
        return points if self.log_gain is None else points * self.log_gain.exp()

    def after_boxes(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        """Lanes and open boxes after each box is filled with the dice on the table, shape ``(N, B)``."""
        row = state.lane * len(self.afterstate) + state.roll
        return self.lane_after_box[row].long(), state.open_boxes[:, None] & self.closed_box  # type: ignore[call-overload]

    def afterstate_values(self, state: State) -> torch.Tensor:
        """Values of all afterstates, shape ``(N, n_afterstates)``, for states as tensors; the rolls play no part."""
        cards = self.card_values(self.next_lane[state.lane], state.open_boxes[:, None] & self.closed)  # type: ignore[call-overload]
        return torch.cat([self.keep_values(state), cards], dim=1)

    def keep_values(self, state: State) -> torch.Tensor:
        """Values of the keeps, shape ``(N, K - R)``."""
        return self.head(self.trunk(self.trunk.number(*state[1:])))

    def card_values(self, lane: torch.Tensor, open_boxes: torch.Tensor) -> torch.Tensor:
        """Values of cards at the start of a turn, of the shape of both arguments; 0 where no box is open."""
        cards = self.card_trunk.number(None, lane, open_boxes)
        if cards.numel() > self.card_trunk.n_inputs:  # more than there are cards
            distinct, which = torch.arange(self.card_trunk.n_inputs, device=cards.device), cards
        else:
            distinct, which = cards.unique(return_inverse=True)
        return self.values_of_cards(distinct).index_select(0, which.flatten()).view(which.shape)

    def values_of_cards(self, cards: torch.Tensor) -> torch.Tensor:
        """The same for the numbers of cards, shape ``(N,)``."""
        is_over = cards < len(self.next_lane)  # no box is open
        return self.card_head(self.card_trunk(cards))[:, 0].masked_fill(is_over, 0.0)


class RollValueNetwork(nn.Module):
    """Values of states, and of what is expected of them before the dice fall.

    A perceptron reads the card and the rolls left, and a linear layer has one output for each roll. So the mean of the
    outputs over the dice that fall after a keep is such an output too, whose weights are the mean of theirs; the keeps of
    all dice, of which none is rolled, are the rolls themselves (:meth:`head_of_keeps`).

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
        self.first_roll_keep = dice.first_roll_keep
        self.register_buffer("keep", torch.tensor(observation.game.keep), persistent=False)
        chances = torch.tensor(roll_probabilities(dice), dtype=torch.float32)
        self.register_buffer("chances", chances, persistent=False)

    def head_of_keeps(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The last layer's weights ``(K, hidden[-1])`` and bias ``(K,)`` for the mean over what falls after each keep."""
        weight, bias = self.head.weight_and_bias()
        return self.chances @ weight, self.chances @ bias

    def luck(self, rolls: torch.Tensor, actions: torch.Tensor, after: State) -> torch.Tensor:
        """By how much the states that followed are worth more than their mean over the dice, shape ``(N,)``.

        Args:
            rolls: The rolls on the table before, shape ``(N,)``.
            actions: The actions, shape ``(N,)``.
            after: The states that followed, as tensors of shape ``(N,)``.
        """
        head, x = self.head_of_keeps(), self.trunk(self.trunk.number(*after[1:]))
        values = linear_outputs(x, head, self.first_roll_keep + after.roll)
        return values - linear_outputs(x, head, self.keep[rolls, actions])

    def state_values(self, state: State) -> torch.Tensor:
        """Values, shape ``(N,)``, for states as tensors."""
        turns, turn = self.trunk.number(*state[1:]).unique(return_inverse=True)
        return linear_outputs(self.trunk(turns).index_select(0, turn), self.head.weight_and_bias(), state.roll)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Values, shape ``(N, 1)``, for flat observations ``(N, size)``."""
        return self.state_values(self.read(observations))[:, None]
