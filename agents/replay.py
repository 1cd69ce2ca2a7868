"""A replay buffer that keeps states instead of observations, and knows the masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import BaseBuffer
from stable_baselines3.common.vec_env import VecNormalize

from yacht_env.game import State
from yacht_env.observation import get_observation
from yacht_env.rules import Ruleset

__all__ = ["MaskedReplaySamples", "StateReplayBuffer", "StateSamples"]

_ARRAYS = ("states", "next_states", "actions", "rewards", "dones")


class MaskedReplaySamples(NamedTuple):
    """A batch of transitions; ``N`` rows each."""

    observations: torch.Tensor  # (N, size)
    actions: torch.Tensor  # (N, 1), int64
    next_observations: torch.Tensor  # (N, size)
    next_action_masks: torch.Tensor  # (N, n_actions), bool
    dones: torch.Tensor  # (N, 1)
    rewards: torch.Tensor  # (N, 1)
    discounts: None = None


class StateSamples(NamedTuple):
    """A batch of transitions as states; all fields are int64 tensors of shape ``(N,)``."""

    state: State
    actions: torch.Tensor
    next_state: State


class StateReplayBuffer(BaseBuffer):
    """Transitions as packed states: 22 bytes each where two observations are 500, so ten million fit into memory.

    Observations and masks are made anew from the tables when a batch is drawn.

    Args:
        buffer_size: Transitions to keep, over all games.
        observation_space: Space of the flat observations.
        action_space: Space of the actions.
        device: Where batches go.
        n_envs: Games that are played side by side.
        ruleset: A name or a :class:`~yacht_env.Ruleset`.
        optimize_memory_usage: Unused; stable-baselines3 passes it.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: torch.device | str = "auto",
        n_envs: int = 1,
        ruleset: str | Ruleset = "yacht",
        optimize_memory_usage: bool = False,
    ) -> None:
        super().__init__(max(buffer_size // n_envs, 1), observation_space, action_space, device, n_envs=n_envs)
        self.observation = get_observation(ruleset, "flat")
        shape = (self.buffer_size, n_envs)
        self.states = np.zeros(shape, dtype=np.int64)
        self.next_states = np.zeros(shape, dtype=np.int64)
        self.actions = np.zeros(shape, dtype=np.uint8 if self.observation.game.n_actions < 256 else np.int32)
        self.rewards = np.zeros(shape, dtype=np.float32)
        self.dones = np.zeros(shape, dtype=bool)

    def add(  # type: ignore[override]
        self,
        obs: np.ndarray,
        next_obs: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        done: np.ndarray,
        infos: list[dict[str, Any]],
    ) -> None:
        """Add one transition of every game; arrays have a first axis of ``n_envs``."""
        pack, decode = self.observation.game.pack, self.observation.decode
        self.states[self.pos] = pack(decode(obs))
        self.next_states[self.pos] = pack(decode(next_obs))
        self.actions[self.pos] = np.asarray(action).reshape(self.n_envs)
        self.rewards[self.pos] = reward
        truncated = np.array([info.get("TimeLimit.truncated", False) for info in infos])
        self.dones[self.pos] = done & ~truncated
        self.pos += 1
        if self.pos == self.buffer_size:
            self.full = True
            self.pos = 0

    def get_state(self) -> dict[str, np.ndarray]:
        """The filled part of the buffer, for :meth:`set_state`."""
        n = self.buffer_size if self.full else self.pos
        arrays = {name: getattr(self, name)[:n] for name in _ARRAYS}
        return arrays | {"pos": np.array(self.pos), "full": np.array(self.full)}

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Fill the buffer with what :meth:`get_state` gave."""
        for name in _ARRAYS:
            saved = state[name]
            getattr(self, name)[: len(saved)] = saved
        self.pos, self.full = int(state["pos"]), bool(state["full"])

    def sample(self, batch_size: int, env: VecNormalize | None = None) -> MaskedReplaySamples:  # type: ignore[override]
        """A random batch, drawn with replacement."""
        return self._get_samples(self._draw(batch_size), env)

    def sample_states(self, batch_size: int) -> StateSamples:
        """A random batch as states, drawn with replacement."""
        rows = self._draw(batch_size)
        state, after = (self._unpack(packed.ravel()[rows]) for packed in (self.states, self.next_states))
        return StateSamples(state, self.to_torch(self.actions.ravel()[rows].astype(np.int64)), after)

    def _draw(self, n: int) -> np.ndarray:
        rows = np.random.randint(0, self.buffer_size if self.full else self.pos, size=n)
        return rows * self.n_envs + np.random.randint(0, self.n_envs, size=n)

    def _unpack(self, packed: np.ndarray) -> State:
        return State(*(self.to_torch(field) for field in self.observation.game.unpack(packed)))

    def _get_samples(self, batch_inds: np.ndarray, env: VecNormalize | None = None) -> MaskedReplaySamples:  # type: ignore[override]
        game, encode = self.observation.game, self.observation.encode
        state = game.unpack(self.states.ravel()[batch_inds])
        after = game.unpack(self.next_states.ravel()[batch_inds])
        return MaskedReplaySamples(
            self.to_torch(np.asarray(encode(state))),
            self.to_torch(self.actions.ravel()[batch_inds].astype(np.int64)[:, None]),
            self.to_torch(np.asarray(encode(after))),
            self.to_torch(game.action_mask(after).astype(bool)),
            self.to_torch(self.dones.ravel()[batch_inds].astype(np.float32)[:, None]),
            self.to_torch(self.rewards.ravel()[batch_inds][:, None]),
        )
