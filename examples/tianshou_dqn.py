"""Masked double DQN with Tianshou: past the greedy policy in 400,000 steps.

    python examples/tianshou_dqn.py --total-steps 400000 --seed 0

ended at an exact score of 156.075 of 166.955 points (93.5 %; random play has 37.2, the greedy policy 152.6), in 3.7 minutes
of one core's time. ``YachtVenv`` is the batch of games as one of Tianshou's vector environments, with masks where its
policies find them; network, policy, buffer, collector and trainer are Tianshou's.
"""

import argparse
import time
from typing import Any

import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.trainer import OffPolicyTrainerParams
from torch import nn

import yacht_env
from yacht_env.integrations.tianshou import YachtVenv

POINTS_UNIT = 20.0  # rewards are divided by this


class QNetwork(nn.Module):
    """Values of all actions.

    There is one output for each set of dice that may be kept and for each box, and the dice on the table choose which of
    them are the values of the actions; so what is learned about a set of dice holds wherever they lie. Points of a box are
    known, and added.
    """

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.observation = yacht_env.observation.get_observation("yacht")
        game, layout = self.observation.game, self.observation.layout
        self.card = slice(layout["rolls_left"].start, layout["open_boxes"].stop)
        self.points, self.points_scale = layout["points"], self.observation.points_scale / POINTS_UNIT
        self.output_of_action = torch.tensor(game.afterstate)  # (n_rolls, n_actions)
        hidden = nn.Linear(self.card.stop - self.card.start, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        self.net = nn.Sequential(*hidden, nn.Linear(width, game.n_afterstates))

    def forward(self, obs: np.ndarray, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        """Values, shape ``(N, n_actions)``, in units of 20 points; and the state, as Tianshou expects."""
        observations = torch.as_tensor(obs, dtype=torch.float32)
        roll = torch.as_tensor(self.observation.decode(obs).roll)
        values = self.net(observations[:, self.card]).gather(1, self.output_of_action[roll])
        points = observations[:, self.points] * self.points_scale
        return values + nn.functional.pad(points, (values.shape[1] - points.shape[1], 0)), state


def train(args: argparse.Namespace) -> DiscreteQLearningPolicy:
    """Train, and return the policy."""
    np.random.seed(args.seed)  # noqa: NPY002 (Tianshou explores with the global generator)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    envs = YachtVenv(args.n_envs, reward_scale=1 / POINTS_UNIT, seed=args.seed)
    spaces = {"observation_space": envs.observation_space[0], "action_space": envs.action_space[0]}
    policy = DiscreteQLearningPolicy(model=QNetwork(), **spaces)
    n_updates = args.total_steps // args.n_envs * args.n_updates
    optimizer = AdamOptimizerFactory(lr=args.learning_rate).with_lr_scheduler_factory(
        LRSchedulerFactoryLinear(max_epochs=1, epoch_num_steps=n_updates, collection_step_num_env_steps=1)
    )
    algorithm = DQN(policy=policy, optim=optimizer, gamma=1.0, target_update_freq=args.target_every)
    # Tianshou would look through the whole buffer for NaN after every step.
    collector = Collector(
        algorithm,
        envs,
        VectorReplayBuffer(args.buffer_size, args.n_envs),
        exploration_noise=True,
        raise_on_nan_in_buffer=False,
    )
    collector.reset()
    started = time.perf_counter()

    def explore(epoch: int, step: int) -> None:
        """Exploration falls from one action in two to one in fifty over the first half."""
        policy.set_eps_training(max(0.5 * (1.0 - 2.0 * step / args.total_steps), 0.02))

    params = OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=args.total_steps,
        collection_step_num_env_steps=args.n_envs,
        update_step_num_gradient_steps_per_sample=args.n_updates / args.n_envs,
        batch_size=args.batch_size,
        training_fn=explore,
        verbose=False,
        show_progress=False,
    )
    algorithm.run_training(params)
    print(f"{args.total_steps:,} steps in {time.perf_counter() - started:.0f} s")
    return policy


def exact_score(policy: DiscreteQLearningPolicy) -> float:
    """What the greedy policy is worth, without simulation."""

    @torch.no_grad()
    def greedy(observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        return policy(Batch(obs=Batch(obs=observations, mask=action_masks), info=Batch())).act

    return yacht_env.evaluate(greedy, "yacht").expected_score


def main(arguments: list[str] | None = None) -> float:
    """Train from the command line; returns the exact score."""
    parser = argparse.ArgumentParser(description="masked DQN with Tianshou on Yacht-v0")
    defaults = {"seed": 0, "total_steps": 400_000, "n_envs": 256, "n_updates": 2, "batch_size": 1024}
    defaults |= {"buffer_size": 200_000, "target_every": 50, "learning_rate": 1e-3}
    for name, default in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    policy = train(parser.parse_args(arguments))
    score, optimum = exact_score(policy), yacht_env.solve("yacht").expected_score
    print(f"{score:.3f} of {optimum:.3f} points, {score / optimum:.1%}")
    return score


if __name__ == "__main__":
    main()
