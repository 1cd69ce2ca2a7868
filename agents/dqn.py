"""DQN that respects action masks everywhere, on stable-baselines3's.

stable-baselines3's DQN knows no masks. :class:`MaskedDQN` brings them into the warm-up, the exploration (with a coin of
its own for every game), the greedy choice and the target; the rest of the loop is stable-baselines3's. The masks are
read off the observations, so ``predict(observations)`` never plays an illegal move, with or without masks at hand.

By default the targets are expected ones (:mod:`agents.backup`): the mean over the dice of the best value of what
follows, for the box that was filled, or for all ways to keep the dice that were on the table. With ``expected_updates``
off, the agent learns from nothing but the transitions it saw, by double Q-learning (van Hasselt, Guez and Silver, 2016):
the online network picks the next action among the legal ones, the target network values it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch.nn import functional

from agents.backup import DiceBackup
from agents.networks import AfterstateNetwork
from agents.replay import MaskedReplaySamples, StateReplayBuffer, StateSamples
from yacht_env.game import State
from yacht_env.observation import get_observation
from yacht_env.rules import Ruleset

__all__ = ["AfterstateDQNPolicy", "MaskedDQN"]

_ILLEGAL = -1e9  # below every value, and finite, as a game that is over has no legal action at all


class _AfterstateQNetwork(QNetwork):
    def __init__(self, *args: Any, network_kwargs: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.network_kwargs = network_kwargs
        self.q_net = AfterstateNetwork(**network_kwargs)  # type: ignore[assignment]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"network_kwargs": self.network_kwargs}


class AfterstateDQNPolicy(DQNPolicy):
    """stable-baselines3's DQN policy with :class:`~agents.networks.AfterstateNetwork` inside.

    Args:
        network_kwargs: Arguments of the network.
        args: As for the base class.
        kwargs: As for the base class.
    """

    def __init__(self, *args: Any, network_kwargs: dict[str, Any], **kwargs: Any) -> None:
        self.network_kwargs = network_kwargs
        super().__init__(*args, **kwargs)

    def make_q_net(self) -> QNetwork:
        """A fresh Q network."""
        net_args = self._update_features_extractor(self.net_args, features_extractor=None)
        return _AfterstateQNetwork(**net_args, network_kwargs=self.network_kwargs).to(self.device)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"network_kwargs": self.network_kwargs}


class MaskedDQN(DQN):
    """Double DQN with masks; see the module.

    Args:
        policy: As for the base class.
        env: As for the base class, with flat observations.
        ruleset: A name or a :class:`~yacht_env.Ruleset`: the game that the observations are about.
        expected_updates: Whether targets are means over the dice, for which the policy has to be
            :class:`AfterstateDQNPolicy`, and ``gamma`` 1; else they are single samples, as usual.
        kwargs: As for the base class.
    """

    def __init__(
        self, policy: Any, env: Any, ruleset: str | Ruleset = "yacht", expected_updates: bool = True, **kwargs: Any
    ) -> None:
        self.ruleset = ruleset
        self.expected_updates = expected_updates
        kwargs.setdefault("replay_buffer_class", StateReplayBuffer)
        kwargs.setdefault("replay_buffer_kwargs", {"ruleset": ruleset})
        super().__init__(policy, env, **kwargs)

    def _setup_model(self) -> None:
        super()._setup_model()
        if not self.expected_updates:
            return
        network = self.q_net.q_net
        if not isinstance(network, AfterstateNetwork):
            raise ValueError(f"expected updates need the policy AfterstateDQNPolicy, got {type(self.policy).__name__}")
        if self.gamma != 1.0:
            raise ValueError(f"expected updates are undiscounted: gamma must be 1, got {self.gamma}")
        self.backup = DiceBackup(get_observation(self.ruleset).game, network.points_unit).to(self.device)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "backup"]

    def legal_actions(self, observations: np.ndarray) -> np.ndarray:
        """Canonical legal actions, read off flat observations ``(N, size)``; bool, shape ``(N, n_actions)``."""
        observation = get_observation(self.ruleset, "flat")
        return observation.game.action_mask(observation.decode(observations)).astype(bool)

    def predict(
        self,
        observation: np.ndarray | dict[str, np.ndarray],
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...] | None]:
        """The best legal actions; unless ``deterministic``, each game explores with the exploration rate."""
        batch = np.atleast_2d(np.asarray(observation))
        masks = self.legal_actions(batch) if action_masks is None else np.atleast_2d(action_masks).astype(bool)
        self.policy.set_training_mode(False)
        with torch.no_grad():
            values = self.q_net(torch.as_tensor(batch, device=self.device))
            legal = torch.as_tensor(masks, device=self.device)
            actions = values.masked_fill(~legal, _ILLEGAL).argmax(dim=1).cpu().numpy()
        if not deterministic:
            explore = np.random.random(len(batch)) < self.exploration_rate
            actions = np.where(explore, _random_legal(masks), actions)
        return (actions if np.ndim(observation) > 1 else actions[0]), state

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        assert isinstance(self._last_obs, np.ndarray)
        if self.num_timesteps < learning_starts:
            actions = _random_legal(self.legal_actions(self._last_obs))
        else:
            actions, _ = self.predict(self._last_obs)
        return actions, actions

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Take gradient steps on batches from the replay buffer."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        losses = []
        for _ in range(gradient_steps):
            if self.expected_updates:
                loss = self._expected_loss(self.replay_buffer.sample_states(batch_size))  # type: ignore[union-attr]
            else:
                loss = self._sampled_loss(self.replay_buffer.sample(batch_size))  # type: ignore[union-attr, arg-type]
            losses.append(loss.detach())
            self.policy.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.q_net.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", torch.stack(losses).mean().item())

    def _sampled_loss(self, data: MaskedReplaySamples) -> torch.Tensor:
        """Squared error against what followed."""
        with torch.no_grad():
            illegal = ~data.next_action_masks
            best = self.q_net(data.next_observations).masked_fill(illegal, _ILLEGAL).argmax(dim=1, keepdim=True)
            next_values = self.q_net_target(data.next_observations).gather(1, best)
            target = data.rewards + (1 - data.dones) * self.gamma * next_values
        values = self.q_net(data.observations).gather(1, data.actions)
        return functional.mse_loss(values, target)  # Huber would pull values toward the median, away from rare Yachts

    def _expected_loss(self, data: StateSamples) -> torch.Tensor:
        """Squared error against the mean over the dice.

        A box that was filled counts once; where dice were held, the squares are averaged over all ways to hold them, since
        one pass gives the targets of all.
        """
        network, target_network, game = self.q_net.q_net, self.q_net_target.q_net, self.backup.game
        state, actions, after = data
        turns, turn = network.trunk.number(*after[1:]).unique(return_inverse=True)
        once = State(turns, *network.trunk.parts(turns))  # each turn once; the rolls play no part
        expected = self.backup(target_network.afterstate_values(once), once)
        holds = (actions < game.n_holds).nonzero()[:, 0]
        keeps = network.afterstate[state.roll[holds], : game.n_holds - 1]
        values = network.keep_values(State(*(field[holds] for field in state))).gather(1, keeps)
        hold_loss = (values - expected[turn[holds]].gather(1, keeps)).square().mean(dim=1).sum()
        boxes = (actions >= game.n_holds).nonzero()[:, 0]
        cards = network.card_values(after.lane[boxes], after.open_boxes[boxes])
        box_loss = (cards - expected[turn[boxes], 0]).square().sum()
        return (hold_loss + box_loss) / len(actions)


def _random_legal(masks: np.ndarray) -> np.ndarray:
    """One legal action a row, each with the same probability."""
    return (np.random.random(masks.shape) * masks).argmax(axis=1)
