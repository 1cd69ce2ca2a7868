"""PPO for Yacht, on sb3-contrib's MaskablePPO.

Two things are added to it: the actor is an :class:`~agents.networks.AfterstateNetwork`, and the entropy coefficient
follows a schedule. Most of the noise of a game is the dice and not the decisions, so a policy that settles early stays
where it settled: a large entropy bonus that falls to 0 keeps all actions in play until their differences are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from agents.networks import AfterstateNetwork, mlp

__all__ = ["AfterstateActorCriticPolicy", "EntropyScheduledPPO"]


_FIRST_GAIN = 4.0  # logits of 1 for 5 points: greedy enough to begin with, and learned from there


class _ActorAndCritic(nn.Module):
    """In the place of stable-baselines3's MLP extractor: the logits themselves, and the critic's last layer."""

    def __init__(self, size: int, n_actions: int, critic: list[int], network_kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.actor = AfterstateNetwork(**network_kwargs, gain=_FIRST_GAIN)
        self.critic = nn.Sequential(*mlp([size, *critic]), nn.ReLU())
        self.latent_dim_pi = n_actions
        self.latent_dim_vf = critic[-1]

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.actor(features), self.critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        return self.actor(features)

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        return self.critic(features)


class AfterstateActorCriticPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's policy with an afterstate network as actor, and a critic of its own.

    Args:
        network_kwargs: Arguments of the actor's network.
        critic: Widths of the critic's hidden layers.
        args: As for the base class.
        kwargs: As for the base class.
    """

    def __init__(self, *args: Any, network_kwargs: dict[str, Any], critic: list[int], **kwargs: Any) -> None:
        self.network_kwargs = network_kwargs
        self.critic_sizes = list(critic)
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        n_actions = int(self.action_space.n)  # type: ignore[attr-defined]
        self.mlp_extractor = _ActorAndCritic(self.features_dim, n_actions, self.critic_sizes, self.network_kwargs)  # type: ignore[assignment]
        self.action_net = nn.Identity()
        self.value_net = nn.Linear(self.critic_sizes[-1], 1)
        with torch.no_grad():  # to begin with, only the points of the boxes tell actions apart
            head = self.mlp_extractor.actor.head  # type: ignore[union-attr]
            for layer in (head.own, *([head.shared[-1]] if head.shared else [])):
                layer.weight.mul_(0.01)
                layer.bias.zero_()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        own = {"network_kwargs": self.network_kwargs, "critic": self.critic_sizes}
        return super()._get_constructor_parameters() | own


class EntropyScheduledPPO(MaskablePPO):
    """MaskablePPO whose ``ent_coef`` may follow a schedule of the progress that remains (1 to 0).

    Args:
        args: As for the base class.
        ent_coef_schedule: Entropy coefficient as a function of the progress that remains.
        kwargs: As for the base class.
    """

    def __init__(self, *args: Any, ent_coef_schedule: Callable[[float], float] | None = None, **kwargs: Any) -> None:
        self.ent_coef_schedule = ent_coef_schedule
        super().__init__(*args, **kwargs)

    def train(self) -> None:
        """Take the gradient steps of one rollout."""
        if self.ent_coef_schedule is not None:
            self.ent_coef = float(self.ent_coef_schedule(self._current_progress_remaining))
        self.logger.record("train/ent_coef", self.ent_coef)
        super().train()
