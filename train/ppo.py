"""Train PPO with masks: ``python -m train.ppo --preset quick --seed 0``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.networks import AfterstateNetwork
from agents.ppo import AfterstateActorCriticPolicy, YachtPPO
from train.command import run_command
from train.settings import LinearSchedule, TrainSettings
from yacht_env.integrations.sb3 import YachtVecEnv

__all__ = ["PRESETS", "PPOSettings", "main"]


@dataclass(frozen=True)
class PPOSettings(TrainSettings):
    """Settings of a PPO run."""

    final_learning_rate: float = 2e-5
    """Learning rate at the end."""
    n_steps: int = 36
    """Steps of each game in a rollout."""
    batch_size: int = 4096
    """Decisions of a gradient step."""
    n_epochs: int = 4
    """Times that each rollout is gone through."""
    gae_lambda: float = 0.6
    """Weight of longer returns in the advantage."""
    remove_luck: bool = True
    """Take the luck of the dice out of the advantages; it needs the odds of fair dice."""
    clip_range: float = 0.2
    """How far the policy may move in one rollout."""
    entropy: float = 0.3
    """Entropy coefficient at the start; it falls to 0."""
    entropy_fraction: float = 0.8
    """Part of the run over which the entropy coefficient falls."""
    critic: tuple[int, ...] = (128, 128)
    """Widths of the critic's hidden layers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check(1, "n_steps", "batch_size", "n_epochs")
        self.check(0, "gae_lambda", "entropy")
        self.check_positive("clip_range", "entropy_fraction")
        self.check_widths("critic")


PRESETS = {
    "quick": PPOSettings(preset="quick"),
    "smoke": PPOSettings(preset="smoke", total_steps=40_000, n_envs=256, hidden=(32,), critic=(32,), eval_every=40_000),
    "demo": PPOSettings(preset="demo", total_steps=1_500_000, eval_every=300_000),
    "full": PPOSettings(
        preset="full",
        total_steps=20_000_000,
        hidden=(192, 192),
        critic=(192, 192),
        eval_every=2_000_000,
        checkpoint_every=4_000_000,
    ),
}


def main(args: list[str] | None = None) -> None:
    """Train from the command line."""
    run_command("ppo", PRESETS, YachtPPO, make_model, network, args)


def make_model(settings: PPOSettings, env: YachtVecEnv) -> YachtPPO:
    """A new model with these settings."""
    return YachtPPO(
        AfterstateActorCriticPolicy,
        env,
        policy_kwargs={"network_kwargs": settings.network_kwargs, "critic": list(settings.critic)},
        learning_rate=LinearSchedule(settings.learning_rate, settings.final_learning_rate),
        n_steps=settings.n_steps,
        batch_size=settings.batch_size,
        n_epochs=settings.n_epochs,
        gamma=1.0,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip_range,
        remove_luck=settings.remove_luck,
        ent_coef_schedule=LinearSchedule(settings.entropy, 0.0, settings.entropy_fraction),
        seed=settings.seed,
        device=settings.device,
    )


def network(model: Any) -> AfterstateNetwork:
    """The network that chooses the actions."""
    return model.policy.mlp_extractor.actor


if __name__ == "__main__":
    main()
