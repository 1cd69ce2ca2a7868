"""Yacht for RLlib (new API stack): games whose observations hold the mask, and a PPO module that heeds it.

::

    from yacht_env.integrations.rllib import MaskedPPOModule, masked_ppo

    config = masked_ppo("yacht", MaskedPPOModule, {"hidden": (128, 128)}, reward_scale=1 / 20)
    algorithm = config.env_runners(num_env_runners=2, num_envs_per_env_runner=512).build_algo()
    algorithm.train()
    yacht_env.evaluate(module_policy(algorithm.get_module()), "yacht").expected_score

RLlib's runners know Gymnasium's vector environments, with autoreset on the *next* step, which is what the native batch
environment does. What is slow is their own work for each game and step, which
:class:`~yacht_env.integrations.rllib_runner.BatchedEnvRunner` does for all games at once.

Public names: :class:`MaskedYachtVectorEnv`, :func:`register`, :class:`MaskedPPOModule`, :func:`masked_ppo`,
:func:`module_policy`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorWrapper
from gymnasium.vector.utils import batch_space

from yacht_env.extras import needs_extra
from yacht_env.integrations.rllib_runner import BatchedEnvRunner
from yacht_env.policies import Policy
from yacht_env.rules import Ruleset
from yacht_env.vector_env import YachtVectorEnv

with needs_extra("ray"):
    import torch
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical
    from ray.rllib.core.rl_module.apis import InferenceOnlyAPI, ValueFunctionAPI
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.utils.torch_utils import FLOAT_MIN
    from ray.tune import register_env
    from torch import nn

__all__ = ["ENV_NAME", "MaskedPPOModule", "MaskedYachtVectorEnv", "masked_ppo", "module_policy", "register"]

ENV_NAME = "yacht_env/Yacht-v0"
"""What RLlib calls the games, once :func:`register` was called."""

_Step = tuple[dict[str, Any], npt.NDArray[Any], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]


class MaskedYachtVectorEnv(VectorWrapper):
    """The native batch environment with observations ``{"observations": ..., "action_mask": ...}``, as RLlib wants them.

    Args:
        num_envs: Number of games.
        reward_scale: Multiplies the rewards.
        settings: Passed on to :class:`~yacht_env.YachtVectorEnv`.
    """

    def __init__(self, num_envs: int = 1, reward_scale: float = 1.0, **settings: Any) -> None:
        super().__init__(YachtVectorEnv(num_envs, autoreset_mode=AutoresetMode.NEXT_STEP, **settings))
        self.reward_scale = reward_scale
        plain = self.env.single_observation_space
        mask = spaces.MultiBinary(int(self.env.single_action_space.n))  # type: ignore[attr-defined]
        self.single_observation_space = spaces.Dict({"observations": plain, "action_mask": mask})
        self.observation_space = batch_space(self.single_observation_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start games, as the wrapped environment does; infos are empty."""
        observations, info = self.env.reset(seed=seed, options=options)
        return {"observations": observations, "action_mask": info["action_mask"]}, {}

    def step(self, actions: Any) -> _Step:
        """Take one action in every game, shape ``(num_envs,)``; infos are empty."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        masked = {"observations": observations, "action_mask": info["action_mask"]}
        return masked, rewards * self.reward_scale, terminated, truncated, {}


def register() -> None:
    """Make :data:`ENV_NAME` known to Ray, on all machines of the cluster that it is connected to."""
    register_env(ENV_NAME, _make_env)


def _make_env(context: Mapping[str, Any]) -> MaskedYachtVectorEnv:
    return MaskedYachtVectorEnv(**context)


class MaskedPPOModule(TorchRLModule, InferenceOnlyAPI, ValueFunctionAPI):
    """An actor and a critic apart from each other, of which the actor never plays a masked action.

    ``model_config["hidden"]`` gives the widths of two plain perceptrons on flat observations; override
    :meth:`make_networks` for others. The runners get the actor alone.
    """

    actor: nn.Module
    critic: nn.Module

    def setup(self) -> None:
        """Build the networks."""
        self.action_dist_cls = TorchCategorical
        self.actor, self.critic = self.make_networks()

    def make_networks(self) -> tuple[nn.Module, nn.Module]:
        """The actor, ``(N, size)`` to logits ``(N, n_actions)``, and the critic, to values ``(N, 1)``."""
        size = self.observation_space["observations"].shape[0]
        hidden = self.model_config["hidden"]
        return _perceptron([size, *hidden, int(self.action_space.n)]), _perceptron([size, *hidden, 1])

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        observations = batch[Columns.OBS]
        logits = self.actor(observations["observations"])
        return {Columns.ACTION_DIST_INPUTS: logits.masked_fill(observations["action_mask"] == 0, FLOAT_MIN)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Values of the observations in a batch, shape ``(N,)``."""
        values: torch.Tensor = self.critic(batch[Columns.OBS]["observations"])[..., 0]
        return values

    def get_non_inference_attributes(self) -> list[str]:
        """What the runners do without."""
        return ["critic"]


def _perceptron(sizes: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for size_in, size_out in itertools.pairwise(sizes):
        layers += [nn.Linear(size_in, size_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def masked_ppo(
    ruleset: str | Ruleset,
    module_class: type[MaskedPPOModule] = MaskedPPOModule,
    model_config: Mapping[str, Any] | None = None,
    *,
    reward_scale: float = 1.0,
    batched: bool = True,
) -> PPOConfig:
    """A config of RLlib's PPO that plays Yacht with masks; everything else about it is the caller's to set.

    Args:
        ruleset: The game.
        module_class: The module that learns.
        model_config: Its ``model_config``.
        reward_scale: Multiplies the rewards that the learner sees; reported returns stay in points with ``batched``.
        batched: Whether games are played by :class:`~yacht_env.integrations.rllib_runner.BatchedEnvRunner`, which is some
            times faster than RLlib's own runner but runs no connectors and no callbacks for single steps.
    """
    register()
    config = PPOConfig().environment(ENV_NAME, env_config={"ruleset": ruleset, "reward_scale": reward_scale})
    config.env_runners(
        gym_env_vectorize_mode=gymnasium.VectorizeMode.VECTOR_ENTRY_POINT,
        env_runner_cls=BatchedEnvRunner if batched else None,
    )
    return config.rl_module(
        rl_module_spec=RLModuleSpec(module_class=module_class, model_config=dict(model_config or {"hidden": (128, 128)}))
    )


def module_policy(module: TorchRLModule) -> Policy:
    """A module as a policy that plays its most likely action, for :func:`yacht_env.evaluate` with flat observations."""

    def policy(observations: Any, action_masks: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        seen = {"observations": torch.as_tensor(observations), "action_mask": torch.as_tensor(action_masks)}
        outputs = module.forward_inference({Columns.OBS: seen})
        best: npt.NDArray[np.int64] = outputs[Columns.ACTION_DIST_INPUTS].argmax(dim=1).numpy()
        return best

    return policy
