"""PPO for Yacht, on sb3-contrib's MaskablePPO.

Two things are added to it.

**The luck of the dice is taken out of the advantages.** Most of what a game's return differs by from the value that was
expected is dice. With ``V`` the critic, and ``k`` the dice that an action keeps, the reward of each step is lessened by::

    luck = V(next state) - E[V(next state) | k]

whose mean is zero given the state and the action, whatever the critic, so the advantages stay unbiased and lose most of
their noise (a control variate; in poker the same idea is known as AIVAT, Burch, Schmid, Moravcik and Bowling, 2018). The
expectation takes the odds of fair dice and the critic's values of all rolls. They are linear in what
:class:`~agents.networks.RollValueNetwork` makes of the card, so their mean is one more output of the same pass.

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
from sb3_contrib.common.maskable.utils import is_masking_supported
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from agents.networks import AfterstateNetwork, RollValueNetwork
from agents.rollout import RolloutNetworks, mask_logits

__all__ = ["FIRST_GAIN", "AfterstateActorCriticPolicy", "YachtPPO", "start_near_zero"]


_LEAST = -80.0  # a logarithm whose exponential is still an ordinary number; below it takes far longer
FIRST_GAIN = 4.0  # logits of 1 for 5 points: greedy enough to begin with, and learned from there


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

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor, action_masks: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Values of states ``(N, 1)``, log-probabilities of actions ``(N,)``, and entropies ``(N,)``.

        The states are read once, and the probabilities normalised once, where torch's distributions do so four times.
        """
        actor, critic = self.mlp_extractor.actor, self.mlp_extractor.critic
        features = self.extract_features(obs)
        state = actor.read(features)
        log_probs = mask_logits(actor.action_values(features, state), action_masks).log_softmax(dim=1)
        entropy = -(log_probs.clamp_min(_LEAST).exp() * log_probs).sum(dim=1)
        return critic.state_values(state)[:, None], log_probs.gather(1, actions[:, None])[:, 0], entropy

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

    @torch.no_grad()
    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
        use_masking: bool = True,
    ) -> bool:
        """Fill the rollout buffer; returns whether training goes on.

        The networks are asked once about each card (:mod:`agents.rollout`), and the base class's loops over all games, three
        in each step, are left out.
        """
        if not isinstance(self.policy, AfterstateActorCriticPolicy):
            return super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps, use_masking)
        if use_masking and not is_masking_supported(env):
            raise ValueError("the environment has no action_masks(); wrap it in sb3-contrib's ActionMasker")
        self.policy.set_training_mode(False)
        rollout_buffer.reset()
        callback.on_rollout_start()
        actor, critic = self.policy.mlp_extractor.actor, self.policy.mlp_extractor.critic
        networks = RolloutNetworks(actor, critic, (n_rollout_steps + 1) * env.num_envs)
        observations, state = networks.read(self._last_obs)
        values, lucks = networks.values(state), []
        for _ in range(n_rollout_steps):
            action_masks = np.asarray(env.env_method("action_masks")) if use_masking else None
            drawn, log_probs = networks.draw(observations, state, action_masks)
            keep = critic.keep[state.roll, drawn]
            actions = drawn.cpu().numpy()
            new_obs, rewards, dones, infos = env.step(actions)
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            self._note_finished(rewards, dones, infos)
            starts = self._last_episode_starts
            rollout_buffer.add(self._last_obs, actions, rewards, starts, values, log_probs, action_masks=action_masks)
            self._last_obs, self._last_episode_starts = new_obs, dones
            observations, state = networks.read(new_obs)
            values, luck = networks.values_and_luck(state, keep)
            lucks.append(luck)
        if self.remove_luck:
            self._remove_luck(rollout_buffer, torch.stack(lucks).cpu().numpy())
        rollout_buffer.compute_returns_and_advantage(values, self._last_episode_starts)
        callback.on_rollout_end()
        return True

    def _note_finished(self, rewards: np.ndarray, dones: np.ndarray, infos: list[dict[str, Any]]) -> None:
        """Keep the records of games that ended; those that were cut short still get what was to be expected of them."""
        over = np.flatnonzero(dones)
        self._update_info_buffer([infos[i] for i in over], dones[over])
        for i in over:
            if infos[i].get("TimeLimit.truncated", False):
                last = self.policy.obs_to_tensor(infos[i]["terminal_observation"])[0]
                rewards[i] += self.gamma * self.policy.predict_values(last)[0].item()

    def _remove_luck(self, rollout: RolloutBuffer, luck: np.ndarray) -> None:
        """Lessen the rewards by the luck of the dice that fell next, ``(n_steps, n_envs)``, but for those of a new game."""
        luck = luck * (1.0 - np.concatenate([rollout.episode_starts[1:], self._last_episode_starts[None]]))
        rollout.rewards -= luck
        self.logger.record("train/luck_std", float(luck.std()))

    def train(self) -> None:
        """Take the gradient steps of one rollout."""
        if self.ent_coef_schedule is not None:
            self.ent_coef = float(self.ent_coef_schedule(self._current_progress_remaining))
        self.logger.record("train/ent_coef", self.ent_coef)
        super().train()
