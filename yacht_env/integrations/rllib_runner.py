"""A runner for RLlib that plays all its games as one batch.

RLlib's ``SingleAgentEnvRunner`` takes each step of each game by itself through connectors, lists and episode objects, which
is most of the time where the games are as fast as these. :class:`BatchedEnvRunner` asks the module once for all games, keeps
whole arrays, and cuts them into RLlib's episodes when a fragment is full. What it returns is what RLlib's runner
returns, and so everything behind it (learners, fault tolerance, checkpoints) is RLlib's own.

Public names: :class:`BatchedEnvRunner`, :func:`cut_episodes`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from yacht_env.extras import needs_extra

with needs_extra("ray"):
    import torch
    import tree
    from ray.rllib.core.columns import Columns
    from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode
    from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer

__all__ = ["BatchedEnvRunner", "Fragment", "cut_episodes"]

_SEED_STRIDE = 1_000_003  # between the dice of a runner and those of the one that takes its place after a crash


@dataclass
class Fragment:
    """Steps of all games side by side; arrays of shape ``(T, N, ...)`` but for the observations.

    Attributes:
        observations: Array or dictionary of arrays, shape ``(T + 1, N, ...)``: before each step, and after the last.
        actions: The actions.
        rewards: The rewards.
        terminated: Whether the step ended its game.
        truncated: Whether the step cut its game short.
        starts: Whether the step only started a new game, so that its action did not count.
        model_outputs: What else the module said, by column.
    """

    observations: Any
    actions: npt.NDArray[np.int64]
    rewards: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    starts: npt.NDArray[np.bool_]
    model_outputs: dict[str, npt.NDArray[np.float32]]


def cut_episodes(fragment: Fragment) -> list[SingleAgentEpisode]:
    """The games of a fragment, each as far as the fragment holds it, as RLlib's episodes of NumPy arrays."""

    def by_game(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.ascontiguousarray(np.swapaxes(array, 0, 1))

    observations = tree.map_structure(by_game, fragment.observations)
    outputs = {key: by_game(array) for key, array in fragment.model_outputs.items()}
    actions, rewards = by_game(fragment.actions), by_game(fragment.rewards)
    terminated, truncated = by_game(fragment.terminated), by_game(fragment.truncated)
    plays = np.pad(~by_game(fragment.starts), ((0, 0), (1, 1))).astype(np.int8)
    # A game is a longest run of steps that play; with a step that only starts between any two, runs never touch.
    edges = np.diff(plays, axis=1)
    games, begins = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]

    def cut(array: npt.NDArray[Any], game: int, begin: int, end: int) -> InfiniteLookbackBuffer:
        return InfiniteLookbackBuffer(tree.map_structure(lambda part: part[game, begin:end], array))

    return [
        SingleAgentEpisode(
            observations=cut(observations, game, begin, end + 1),
            actions=cut(actions, game, begin, end),
            rewards=cut(rewards, game, begin, end),
            infos=InfiniteLookbackBuffer([{} for _ in range(begin, end + 1)]),
            extra_model_outputs={key: cut(array, game, begin, end) for key, array in outputs.items()},
            terminated=bool(terminated[game, end - 1]),
            truncated=bool(truncated[game, end - 1]),
            len_lookback_buffer=0,
        )
        for game, begin, end in zip(games.tolist(), begins.tolist(), ends.tolist(), strict=True)
    ]


class BatchedEnvRunner(SingleAgentEnvRunner):
    """RLlib's runner of single-agent games, with all games in one batch, for modules without a memory.

    Samples of whole episodes, and of random actions, are left to RLlib's runner. Connectors between games and module are
    not run, nor are callbacks for single steps and episodes. Returns are reported in points, whatever the environment
    multiplies the rewards by (its ``reward_scale``).
    """

    _needs_initial_reset: bool

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._observations: Any = None
        self._over = np.zeros(self.num_envs, dtype=bool)  # games that start anew with the next step
        self._returns, self._lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=np.int64)
        # Length and return of the newest finished games, until they are reported.
        self._finished: deque[tuple[int, float]] = deque(maxlen=self.config.metrics_num_episodes_for_smoothing)

    def _sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[SingleAgentEpisode]:
        if num_timesteps is None or random_actions:
            self._observations = None  # its games are others; the next sample here begins with new ones
            return super()._sample(
                num_timesteps=num_timesteps,
                num_episodes=num_episodes,
                explore=explore,
                random_actions=random_actions,
                force_reset=force_reset or num_episodes is None,
            )
        if force_reset or self._needs_initial_reset or self._observations is None:
            self._reset_games()
        fragment = self._play(num_timesteps, explore)
        n_steps, n_games = int((~fragment.starts).sum()), int((fragment.terminated | fragment.truncated).sum())
        self._log_env_steps(metric=self._metrics_num_env_steps_sampled, num_steps=n_steps)
        self._increase_sampled_metrics(n_steps, n_games)
        return cut_episodes(fragment)

    def _reset_games(self) -> None:
        """Start all games; a runner that takes over in the middle of a run rolls other dice than it began with."""
        first = self._needs_initial_reset and self._seed is not None
        seed = self._seed + _SEED_STRIDE * self._weights_seq_no if first else None
        self._observations, _ = self._try_env_reset(seed=seed)
        self._over[:] = False
        self._returns[:], self._lengths[:] = 0.0, 0
        self._needs_initial_reset = False

    def _play(self, num_timesteps: int, explore: bool) -> Fragment:
        """Step all games until they have played so many steps in all."""
        observations, steps, n_played = [self._observations], [], 0
        while n_played < num_timesteps:
            actions, outputs = self._act(explore)
            # A step that fails ends the process, and Ray restarts it.
            self._observations, rewards, terminated, truncated, _ = self._try_env_step(actions)
            steps.append((actions, rewards, terminated, truncated, self._over, outputs))
            observations.append(self._observations)
            n_played += int((~self._over).sum())
            self._count(rewards, terminated | truncated)
        columns = tree.map_structure(lambda *parts: np.stack(parts), *steps)
        return Fragment(tree.map_structure(lambda *parts: np.stack(parts), *observations), *columns)

    @torch.no_grad()
    def _act(self, explore: bool) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[np.float32]]]:
        """The module's actions for the games as they stand, shape ``(N,)``, and what PPO's loss has to know of them."""
        seen = tree.map_structure(lambda part: torch.as_tensor(part, device=self._device), self._observations)
        batch = {Columns.OBS: seen}
        if explore:
            logits = self.module.forward_exploration(batch)[Columns.ACTION_DIST_INPUTS]
            law = self.module.get_exploration_action_dist_cls().from_logits(logits)
        else:
            logits = self.module.forward_inference(batch)[Columns.ACTION_DIST_INPUTS]
            law = self.module.get_inference_action_dist_cls().from_logits(logits).to_deterministic()
        actions = law.sample()
        outputs = {Columns.ACTION_DIST_INPUTS: logits.cpu().numpy()}
        if explore:
            outputs[Columns.ACTION_LOGP] = law.logp(actions).cpu().numpy()
        return actions.cpu().numpy(), outputs

    def _count(self, rewards: npt.NDArray[np.float64], over: npt.NDArray[np.bool_]) -> None:
        """Keep the returns and lengths of games up to date, and note those that are over."""
        self._returns += rewards
        self._lengths += ~self._over
        rows = np.flatnonzero(over)
        points = self._returns[rows] / getattr(self.env.env, "reward_scale", 1.0)
        self._finished.extend(zip(self._lengths[rows].tolist(), points.tolist(), strict=True))
        self._returns[rows], self._lengths[rows] = 0.0, 0
        self._over = over

    def get_metrics(self) -> Any:
        """What RLlib's runner reports, for the games that were finished since the last report."""
        for length, points in self._finished:
            self._log_episode_metrics(length, points, 0.0)
        self._finished.clear()
        return super().get_metrics()
