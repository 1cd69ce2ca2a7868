"""Yacht for Tianshou: a fast vector environment over the batch environment, with masks where Tianshou looks for them.

Public names: :class:`YachtVenv`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from yacht_env.extras import needs_extra
from yacht_env.game import Game
from yacht_env.rules import Ruleset
from yacht_env.vector_env import YachtVectorEnv

with needs_extra("tianshou"):
    from tianshou.data import Batch
    from tianshou.env import BaseVectorEnv

__all__ = ["YachtVenv"]

_Infos = npt.NDArray[np.object_]
_Ids = int | list[int] | npt.NDArray[np.int64] | None  # some of the games; all of them where it is None
_Step = tuple[Batch, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], _Infos]


class YachtVenv(BaseVectorEnv):  # type: ignore[misc, unused-ignore]
    """``num_envs`` games of Yacht for Tianshou's collectors, stepped together.

    Observations are batches of ``obs`` (flat, float32, shape ``(N, size)``) and ``mask`` (bool, shape ``(N, n_actions)``),
    the names by which Tianshou's policies find a mask; no legal action is left where a game is over. It does what a
    ``DummyVectorEnv`` of as many wrapped environments does, at several times the speed.

    Args:
        num_envs: Number of games.
        ruleset: Name of a ruleset, or a :class:`~yacht_env.Ruleset`.
        reward_scale: Multiplies the rewards that the learner sees.
        invalid_action_penalty: What an invalid action costs, in points.
        seed: Of the dice; ``None`` for fresh ones. :meth:`seed` sets it later.
    """

    def __init__(
        self,
        num_envs: int = 256,
        ruleset: str | Ruleset = "yacht",
        reward_scale: float = 1.0,
        invalid_action_penalty: float = 1.0,
        seed: int | None = None,
    ) -> None:
        # The base class makes one worker a game, and there are none here; these are the attributes that others read.
        self.venv = YachtVectorEnv(
            num_envs,
            ruleset,
            invalid_action_penalty=invalid_action_penalty,
            autoreset_mode=AutoresetMode.SAME_STEP,
        )
        self.env_num = num_envs
        self.is_async = False
        self.is_closed = False
        self.reward_scale = reward_scale
        mask_space = spaces.MultiBinary(self.game.n_actions)
        self._space = spaces.Dict({"obs": self.venv.single_observation_space, "mask": mask_space})
        self.seed(seed)

    @property
    def game(self) -> Game:
        """The game that is played."""
        return self.venv.game

    def get_env_attr(self, key: str, id: _Ids = None) -> list[Any]:  # noqa: A002 (Tianshou's name)
        """An attribute, once for each game; the spaces are those of a single game."""
        spaces_by_name = {"observation_space": self._space, "action_space": self.venv.single_action_space}
        value = spaces_by_name[key] if key in spaces_by_name else getattr(self.venv, key)
        return [value] * len(self._wrap_id(id))

    def set_env_attr(self, key: str, value: Any, id: _Ids = None) -> None:  # noqa: A002
        """Set an attribute of all games; one game alone can't have its own."""
        if len(self._wrap_id(id)) != self.env_num:
            raise ValueError(f"the games of a batch share {key!r}; set it for all of them")
        setattr(self.venv, key, value)

    def seed(self, seed: int | list[int] | None = None) -> list[list[int] | None]:
        """Seed the dice, and start all games; one generator serves them all, so of a list the first seed counts."""
        first = seed[0] if isinstance(seed, list) else seed
        self.venv.reset(seed=first)
        return [None if first is None else [first]] * self.env_num

    def reset(self, env_id: _Ids = None, **kwargs: Any) -> tuple[Batch, _Infos]:
        """Start these games (all by default); observations of them, and empty infos."""
        rows = np.asarray(self._wrap_id(env_id))
        starts = np.zeros(self.env_num, dtype=bool)
        starts[rows] = True
        options = {**(kwargs.get("options") or {}), "reset_mask": starts}
        observations, info = self.venv.reset(seed=kwargs.get("seed"), options=options)
        return self._batch(observations[rows], info["action_mask"][rows]), self._infos(rows)

    def step(self, action: npt.NDArray[np.int64], id: _Ids = None) -> _Step:  # noqa: A002
        """Take these actions in these games (all by default); the others play on as well, since nobody looks at them."""
        rows = np.asarray(self._wrap_id(id))
        actions = self.venv.action_masks().argmax(axis=1)
        actions[rows] = action
        step = self.venv.advance(actions)
        if step.final:  # the batch environment has gone on to the next game
            step.observations[step.final.rows] = step.final.observations
            step.action_mask[step.final.rows] = step.final.action_mask
        batch = self._batch(step.observations[rows], step.action_mask[rows])
        rewards = step.rewards[rows] * self.reward_scale
        return batch, rewards, step.terminated[rows], step.truncated[rows], self._infos(rows)

    def render(self, **kwargs: Any) -> list[Any]:
        """Nothing: games of a batch are not shown."""
        return []

    def close(self) -> None:
        """Close the games."""
        self.venv.close()
        self.is_closed = True

    @staticmethod
    def _batch(observations: npt.NDArray[np.float32], masks: npt.NDArray[np.int8]) -> Batch:
        return Batch(obs=observations, mask=masks.astype(bool))

    @staticmethod
    def _infos(rows: npt.NDArray[np.int64]) -> _Infos:
        return np.array([{} for _ in rows], dtype=object)  # whatever an info holds costs Tianshou more than the game
