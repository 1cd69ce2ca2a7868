"""PPO for Yacht, on sb3-contrib's MaskablePPO.

Two things are added to it.

**The luck of the dice is taken out of the advantages.** Most of what a game's return differs by from the value that was
expected is dice. With ``V`` the critic, and ``k`` the dice that an action keeps, the reward of each step is lessened by::

    luck = V(next state) - E[V(next state) | k]

whose mean is zero given the state and the action, whatever the critic, so the advantages stay unbiased and lose most of
their noise (a control variate; in poker the same idea is known as AIVAT, Burch, Schmid, Moravcik and Bowling, 2018). The
expectation takes the odds of fair dice and the critic's values of all rolls, which
:class:`~agents.networks.RollValueNetwork` gives in the pass that values the roll that fell.

**The actor** is an :class:`~agents.networks.AfterstateNetwork`, and the entropy coefficient follows a schedule: a policy
that settles early stays where it settled, so a large bonus that falls to 0 keeps all actions in play until their
differences are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from agents.networks import AfterstateNetwork, RollValueNetwork
from yacht_env.game import State

__all__ = ["FIRST_GAIN", "AfterstateActorCriticPolicy", "YachtPPO", "start_near_zero"]


FIRST_GAIN = 4.0  # logits of 1 for 5 points: greedy enough to begin with, and learned from there
_CHUNK = 8192  # states whose luck is taken at a time, 252 values each


@torch.no_grad()
def start_near_zero(actor: AfterstateNetwork, critic: RollValueNetwork) -> None:
    """To begin with, only the points of the boxes tell actions apart."""
    actor.head.shrink(0.01)
    actor.card_head.weight.mul_(0.01)
    critic.head.shrink(0.01)


class _ActorAndCritic(nn.Module):
    """In the place of stable-baselines3's MLP extractor: the logits themselves, and the values."""

    def __init__(self, n_actions: int, critic: list[int], network_kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.actor = AfterstateNetwork(**network_kwargs, gain=FIRST_GAIN)
        self.critic = RollValueNetwork(network_kwargs["ruleset"], critic)
        self.latent_dim_pi = n_actions
        self.latent_dim_vf = 1

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.actor(features), self.critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        return self.actor(features)

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        return self.critic(features)


class AfterstateActorCriticPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's policy with an afterstate network as actor, and a critic that values all rolls at once.

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
        self.mlp_extractor = _ActorAndCritic(n_actions, self.critic_sizes, self.network_kwargs)  # type: ignore[assignment]
        self.action_net = nn.Identity()
        self.value_net = nn.Identity()
        start_near_zero(self.mlp_extractor.actor, self.mlp_extractor.critic)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        own = {"network_kwargs": self.network_kwargs, "critic": self.critic_sizes}
        return super()._get_constructor_parameters() | own


class YachtPPO(MaskablePPO):
    """MaskablePPO whose advantages are free of the luck of the dice, and whose entropy bonus may follow a schedule.

    Args:
        args: As for the base class.
        ent_coef_schedule: Entropy coefficient as a function of the progress that remains (1 to 0).
        remove_luck: Whether the luck of the dice is taken out of the advantages, for which the policy has to be
            :class:`AfterstateActorCriticPolicy`.
        kwargs: As for the base class.
    """

    def __init__(
        self,
        *args: Any,
        ent_coef_schedule: Callable[[float], float] | None = None,
        remove_luck: bool = True,
        **kwargs: Any,
    ) -> None:
        self.ent_coef_schedule = ent_coef_schedule
        self.remove_luck = remove_luck
        super().__init__(*args, **kwargs)

    def _setup_model(self) -> None:
        super()._setup_model()
        if self.remove_luck and not isinstance(self.policy, AfterstateActorCriticPolicy):
            name = type(self.policy).__name__
            raise ValueError(f"removing luck needs the policy AfterstateActorCriticPolicy, got {name}")

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
        use_masking: bool = True,
    ) -> bool:
        """Fill the rollout buffer; returns whether training goes on."""
        goes_on = super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps, use_masking)
        if goes_on and self.remove_luck:
            luck = self._luck(rollout_buffer)
            rollout_buffer.rewards -= luck
            with torch.no_grad():
                last_values = self.policy.predict_values(torch.as_tensor(self._last_obs, device=self.device))
            rollout_buffer.compute_returns_and_advantage(last_values, self._last_episode_starts)
            self.logger.record("train/luck_std", float(luck.std()))
        return goes_on

    @torch.no_grad()
    def _luck(self, rollout: RolloutBuffer) -> np.ndarray:
        """By how much each step's dice beat what was to be expected, shape ``(n_steps, n_envs)``."""
        critic: RollValueNetwork = self.policy.mlp_extractor.critic
        n_steps, n_envs = rollout.rewards.shape
        seen = np.concatenate([rollout.observations, self._last_obs[None]])
        state = critic.read(torch.as_tensor(seen.reshape(-1, seen.shape[-1]), device=self.device))
        actions = torch.as_tensor(rollout.actions, device=self.device).long().ravel()
        luck = []
        for start in range(0, len(actions), _CHUNK):
            part = slice(start, start + _CHUNK)
            after = State(*(field[n_envs:][part] for field in state))  # one step of all games later
            luck.append(critic.luck(state.roll[:-n_envs][part], actions[part], after))
        same_game = 1.0 - np.concatenate([rollout.episode_starts[1:], self._last_episode_starts[None]])
        return torch.cat(luck).cpu().numpy().reshape(n_steps, n_envs) * same_game

    def train(self) -> None:
        """Take the gradient steps of one rollout."""
        if self.ent_coef_schedule is not None:
            self.ent_coef = float(self.ent_coef_schedule(self._current_progress_remaining))
        self.logger.record("train/ent_coef", self.ent_coef)
        super().train()
