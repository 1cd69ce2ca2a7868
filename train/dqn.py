"""Train a masked DQN: ``python -m train.dqn --preset quick --seed 0``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from agents.dqn import AfterstateDQNPolicy, MaskedDQN
from agents.networks import AfterstateNetwork
from train.command import run_command
from train.settings import LinearSchedule, TrainSettings
from yacht_env.integrations.sb3 import YachtVecEnv

__all__ = ["PRESETS", "DQNSettings", "main"]


@dataclass(frozen=True)
class DQNSettings(TrainSettings):
    """Settings of a DQN run."""

    batch_size: int = 512
    """Transitions of a gradient step."""
    gradient_steps: int = 4
    """Gradient steps after each step of all games."""
    buffer_size: int = 1_000_000
    """Transitions that the replay buffer keeps."""
    learning_starts: int = 20_000
    """Environment steps of random play before learning."""
    tau: float = 0.05
    """How far the target network moves after each step of all games."""
    expected_updates: bool = True
    """Learn from the mean over the dice, which needs the odds of fair dice, in the place of the roll that fell."""
    exploration_start: float = 0.3
    """Share of random actions at the start; it falls in a line."""
    exploration_end: float = 0.02
    """Share of random actions at the end."""
    exploration_fraction: float = 0.8
    """Part of the run over which exploration falls."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check(1, "batch_size", "gradient_steps", "buffer_size")
        self.check(0, "learning_starts", "exploration_start", "exploration_end")
        self.check_positive("tau", "exploration_fraction")


_GAMES_A_LOG = 5_000  # a step of a thousand games finishes dozens of them, and a log takes as long as a step

PRESETS = {
    "quick": DQNSettings(preset="quick"),
    "smoke": DQNSettings(
        preset="smoke", total_steps=40_000, n_envs=256, hidden=(32,), learning_starts=5_000, eval_every=40_000
    ),
    "demo": DQNSettings(preset="demo", total_steps=1_500_000, eval_every=300_000),
    "full": DQNSettings(
        preset="full",
        total_steps=20_000_000,
        hidden=(192, 192),
        buffer_size=4_000_000,
        eval_every=2_000_000,
        checkpoint_every=4_000_000,
    ),
}


def main(args: list[str] | None = None) -> None:
    """Train from the command line."""
    # Updating the target after every step of all games is what is wanted here.
    warnings.filterwarnings("ignore", message="The number of environments used is greater than the target")
    run_command("dqn", PRESETS, MaskedDQN, make_model, network, args, log_interval=_GAMES_A_LOG)


def make_model(settings: DQNSettings, env: YachtVecEnv) -> MaskedDQN:
    """A new model with these settings."""
    return MaskedDQN(
        AfterstateDQNPolicy,
        env,
        ruleset=settings.ruleset,
        expected_updates=settings.expected_updates,
        policy_kwargs={"network_kwargs": settings.network_kwargs},
        learning_rate=LinearSchedule(settings.learning_rate, settings.final_learning_rate),
        buffer_size=settings.buffer_size,
        learning_starts=settings.learning_starts,
        batch_size=settings.batch_size,
        tau=settings.tau,
        gamma=1.0,
        train_freq=1,
        gradient_steps=settings.gradient_steps,
        target_update_interval=1,
        exploration_fraction=settings.exploration_fraction,
        exploration_initial_eps=settings.exploration_start,
        exploration_final_eps=settings.exploration_end,
        seed=settings.seed,
        device=settings.device,
    )


def network(model: Any) -> AfterstateNetwork:
    """The network that chooses the actions."""
    return model.q_net.q_net


if __name__ == "__main__":
    main()
