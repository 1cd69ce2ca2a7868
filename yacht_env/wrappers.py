"""Wrappers of the environment, for libraries that look for things in another place.

Public names: :class:`MaskInObservation`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

__all__ = ["MaskInObservation"]


class MaskInObservation(gymnasium.ObservationWrapper[dict[str, Any], np.int64, Any], RecordConstructorArgs):
    """Puts the action mask beside the observation, for libraries that read masks there and not in ``info``.

    Observations become a dictionary of the environment's own observation and of the mask (int8, shape ``(n_actions,)``,
    1 for legal). Tianshou wants the names ``obs`` and ``mask``, for example; the default names are those of PettingZoo.

    Args:
        env: An environment with discrete actions and a method ``action_masks``, such as ``Yacht-v0``.
        observation_key: What the observation is called in the dictionary.
        mask_key: What the mask is called.

    Raises:
        ValueError: where both have the same name, or the environment has no masks.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, np.int64],
        observation_key: str = "observation",
        mask_key: str = "action_mask",
    ) -> None:
        RecordConstructorArgs.__init__(self, observation_key=observation_key, mask_key=mask_key)
        super().__init__(env)
        if observation_key == mask_key:
            raise ValueError(f"observation and mask need different names, both are {mask_key!r}")
        if not isinstance(env.action_space, spaces.Discrete) or not env.has_wrapper_attr("action_masks"):
            raise ValueError(f"expected an environment with discrete actions and action_masks(), got {env}")
        self._keys = observation_key, mask_key
        mask_space = spaces.MultiBinary(int(env.action_space.n))
        self.observation_space = spaces.Dict({observation_key: env.observation_space, mask_key: mask_space})

    def observation(self, observation: Any) -> dict[str, Any]:
        """The observation and the mask that belongs to it, by name."""
        mask: npt.NDArray[np.bool_] = self.env.get_wrapper_attr("action_masks")()
        return dict(zip(self._keys, (observation, mask.astype(np.int8)), strict=True))
