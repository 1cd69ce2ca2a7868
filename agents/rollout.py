"""The networks of PPO while a rollout is collected, when their weights stay as they are.

A rollout meets the same cards again and again, with other dice on the table, and what the perceptrons say of a card does
not depend on the dice. So it is found once in a rollout (:class:`Memo`), and then picked by the dice; what depends on the
weights alone is found once, too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional

from agents.layers import linear_outputs
from agents.networks import AfterstateNetwork, RollValueNetwork
from yacht_env.game import State

__all__ = ["Memo", "RolloutNetworks", "mask_logits", "sample_actions"]

_TINY = 1e-30  # where rounding has drawn an action of no probability
_ILLEGAL = -1e8  # finite, so that no probability times its logarithm is undefined


class Memo:
    """Remembers rows that belong to numbers, and makes those that it is asked for the first time.

    Args:
        make: Gives the rows, shape ``(N, width)``, of different numbers, shape ``(N,)``.
        n_numbers: How many numbers there are, from 0 on.
        n_rows: How many different ones are asked for at most.
        like: A tensor of the type and on the device of the rows, whose last axis is as wide.
    """

    def __init__(
        self, make: Callable[[torch.Tensor], torch.Tensor], n_numbers: int, n_rows: int, like: torch.Tensor
    ) -> None:
        self.make = make
        self.n = 0  # rows that are made
        self.place = torch.full((n_numbers,), -1, dtype=torch.int32, device=like.device)
        self.rows = like.new_empty((min(n_numbers, n_rows), like.shape[-1]))

    def __call__(self, numbers: torch.Tensor) -> torch.Tensor:
        """Which of ``rows`` belong to the numbers, in their shape."""
        places = self.place[numbers]
        new = numbers[places < 0].unique()
        if len(new) == 0:
            return places
        stop = self.n + len(new)
        self.place[new] = torch.arange(self.n, stop, dtype=torch.int32, device=new.device)
        self.rows[self.n : stop] = self.make(new)
        self.n = stop
        return self.place[numbers]


class RolloutNetworks:
    """An actor and a critic, for ``n_states`` states at most; gives what the modules give, with no gradients.

    Args:
        actor: The actor.
        critic: The critic.
        n_states: How many states there are in a rollout.
    """

    @torch.no_grad()
    def __init__(self, actor: AfterstateNetwork, critic: RollValueNetwork, n_states: int) -> None:
        self.actor, self.critic = actor, critic
        keep_head, self.value_head = actor.head.weight_and_bias(), critic.head_of_keeps()
        n_turns, n_cards, n_boxes = actor.trunk.n_inputs, actor.card_trunk.n_inputs, len(actor.closed_box)

        def keep_values(turns: torch.Tensor) -> torch.Tensor:
            return functional.linear(actor.trunk(turns), *keep_head)

        def card_values(cards: torch.Tensor) -> torch.Tensor:
            return actor.values_of_cards(cards)[:, None]

        self.keeps = Memo(keep_values, n_turns, n_states, keep_head[1])
        self.cards = Memo(card_values, n_cards, n_states * n_boxes, actor.card_head.bias)
        self.hidden = Memo(critic.trunk, n_turns, n_states, self.value_head[0])

    def read(self, observations: np.ndarray) -> tuple[torch.Tensor, State]:
        """Observations as a tensor, ``(N, size)``, and the states behind them."""
        tensor = torch.as_tensor(observations, device=self.keeps.rows.device)
        return tensor, self.actor.read(tensor)

    def draw(
        self, observations: torch.Tensor, state: State, masks: np.ndarray | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """An action of each game and its log-probability, both of shape ``(N,)``."""
        probabilities = mask_logits(self.logits(observations, state), masks).softmax(dim=1)
        actions = sample_actions(probabilities)
        log_probs = probabilities.gather(1, actions[:, None])[:, 0].clamp_min(_TINY).log()
        if log_probs.isnan().any():
            raise ValueError("the policy's probabilities are no numbers any more: the training has diverged")
        return actions, log_probs

    def logits(self, observations: torch.Tensor, state: State) -> torch.Tensor:
        """Logits of all actions, shape ``(N, n_actions)``; masks are the caller's."""
        actor = self.actor
        turns = self.keeps(actor.turns(state))
        holds = actor.hold_values(self.keeps.rows, turns, state)
        cards = self.cards(actor.card_trunk.number(None, *actor.after_boxes(state)))
        boxes = self.cards.rows.view(-1).index_select(0, cards.view(-1)).view(cards.shape)
        return torch.cat([holds, boxes + actor.box_points(observations)], dim=1)

    def values(self, state: State) -> torch.Tensor:
        """Values of states, shape ``(N,)``."""
        return self.values_and_luck(state, self.critic.first_roll_keep + state.roll)[0]

    def values_and_luck(self, state: State, keep: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Values of states, and by how much each beats the mean over the dice.

        Args:
            state: The states, as tensors of shape ``(N,)``.
            keep: The keeps that they came of, shape ``(N,)``.
        """
        cards = self.hidden(self.critic.trunk.number(*state[1:]))
        hidden = self.hidden.rows.index_select(0, cards)
        values = linear_outputs(hidden, self.value_head, self.critic.first_roll_keep + state.roll)
        return values, values - linear_outputs(hidden, self.value_head, keep)


def mask_logits(logits: torch.Tensor, masks: torch.Tensor | np.ndarray | None) -> torch.Tensor:
    """Logits with those of illegal actions so low that their probability is 0, shape ``(N, n_actions)``."""
    if masks is None:
        return logits
    return logits.masked_fill(torch.as_tensor(masks, device=logits.device) == 0, _ILLEGAL)


def sample_actions(probabilities: torch.Tensor) -> torch.Tensor:
    """One action a row, shape ``(N,)``, drawn by one random number each."""
    below = probabilities.cumsum(dim=1)
    number = torch.rand(len(below), 1, device=below.device) * below[:, -1:]  # always less than the sum, rounded as it is
    return (below <= number).sum(dim=1)
