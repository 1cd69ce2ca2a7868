"""PPO for Yacht on RLlib: the networks of :mod:`agents.ppo` as a module, and its advantages without luck in the learner.

What makes the game learnable is described in :mod:`agents.ppo`; here the same is done in RLlib's own places, so that runners
and learners may stand on many machines.
"""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.connectors.learner import GeneralAdvantageEstimation
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing
from torch import nn

from agents.networks import AfterstateNetwork, RollValueNetwork
from agents.ppo import FIRST_GAIN, start_near_zero
from yacht_env.game import State
from yacht_env.integrations.rllib import MaskedPPOModule

__all__ = ["AfterstateModule", "RemoveLuck", "StandardizeAdvantages", "YachtPPOLearner"]

_CHUNK = 8192  # states whose luck is taken at a time


class AfterstateModule(MaskedPPOModule):
    """A masked PPO module with an afterstate network as actor, and a critic that values all rolls at once.

    ``model_config["network"]`` holds the arguments of :class:`~agents.networks.AfterstateNetwork`, and
    ``model_config["critic"]`` the widths of the critic's hidden layers.
    """

    def make_networks(self) -> tuple[nn.Module, nn.Module]:
        network = dict(self.model_config["network"])
        actor = AfterstateNetwork(**network, gain=FIRST_GAIN)
        critic = RollValueNetwork(network["ruleset"], self.model_config["critic"])
        start_near_zero(actor, critic)
        return actor, critic


class RemoveLuck(ConnectorV2):
    """Lessens the rewards of a learner's batch by the luck of the dice, before advantages are made of them.

    Rows are the steps of one game after another, with an extra row for the last observation of each, which the loss mask
    leaves out; so the row below a step's is what followed it.
    """

    @torch.no_grad()
    def __call__(self, *, rl_module: Any, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        part, critic = batch[DEFAULT_MODULE_ID], rl_module[DEFAULT_MODULE_ID].unwrapped().critic
        state = critic.read(part[Columns.OBS]["observations"])
        # A game's last step is followed by no dice, and the extra row by another game.
        lucky = (part[Columns.LOSS_MASK].bool() & ~part[Columns.TERMINATEDS].bool()).nonzero()[:, 0]
        rewards = part[Columns.REWARDS].clone()
        for rows in lucky.split(_CHUNK):
            after = State(*(field[rows + 1] for field in state))
            rewards[rows] -= critic.luck(state.roll[rows], part[Columns.ACTIONS][rows].long(), after)
        part[Columns.REWARDS] = rewards
        return batch


class StandardizeAdvantages(ConnectorV2):
    """Brings the advantages of the steps that were played to a mean of 0 and a deviation of 1.

    RLlib does that over all rows, and those that only hold a game's last observation get the value of another game as their
    advantage. In this game, where returns are large and what decisions differ by is small, they would decide the scale.
    """

    def __call__(self, *, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        part = batch[DEFAULT_MODULE_ID]
        advantages = part[Postprocessing.ADVANTAGES]
        played = advantages[part[Columns.LOSS_MASK].bool()]
        part[Postprocessing.ADVANTAGES] = (advantages - played.mean()) / played.std().clamp(min=1e-4)
        return batch


class YachtPPOLearner(PPOTorchLearner):
    """RLlib's PPO learner with advantages on the scale of the steps that count.

    ``learner_config_dict["remove_luck"]`` says whether the luck of the dice is taken out of them.
    """

    def build(self) -> None:
        super().build()
        if self.config.learner_config_dict["remove_luck"]:
            self._learner_connector.insert_before(GeneralAdvantageEstimation, RemoveLuck())
        self._learner_connector.insert_after(GeneralAdvantageEstimation, StandardizeAdvantages())
