"""Train PPO on a Ray cluster, with RLlib: ``python -m train.rllib_ppo --num-env-runners 2 --seed 0``.

The settings are those of :mod:`train.ppo`, and those that say how the work is shared out; see docs/rllib.md.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from dataclasses import dataclass

from train.ppo import PRESETS as PPO_PRESETS
from train.ppo import PPOSettings
from train.run import Run, report
from train.settings import parse_settings

__all__ = ["PRESETS", "RLlibSettings", "main"]

_NEEDS = (
    "train.rllib_ppo needs RLlib and {missing!r} is missing. In an environment of its own, without constraints.txt "
    '(RLlib pins its own Gymnasium), run: pip install -e ".[train,ray]"'
)


@dataclass(frozen=True)
class RLlibSettings(PPOSettings):
    """Settings of a PPO run on RLlib."""

    n_envs: int = 512
    """Games that each runner plays side by side."""
    num_env_runners: int = 2
    """Processes that play games; with 0 the process of the command plays too."""
    num_learners: int = 0
    """Processes that learn, each from its part of every batch; with 0 the process of the command learns."""
    address: str | None = None
    """Ray cluster to train on: host:port, or auto for the one of this machine; by default a new one, for this run alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check(0, "num_env_runners", "num_learners")
        if self.n_minibatch < 1:
            raise ValueError(f"batch_size must be num_learners ({self.num_learners}) or more, got {self.batch_size}")

    @property
    def n_batch(self) -> int:
        """Decisions that each learner gets of a rollout."""
        return self.n_steps * self.n_envs * max(self.num_env_runners, 1) // max(self.num_learners, 1)

    @property
    def n_minibatch(self) -> int:
        """Decisions that each learner takes of a gradient step."""
        return min(self.batch_size // max(self.num_learners, 1), self.n_batch)


_DIFFERENT = {"quick": {"total_steps": 5_000_000}, "smoke": {"n_envs": 128}}
PRESETS = {  # those of train.ppo, but for the games of a runner
    name: RLlibSettings(**vars(preset) | {"n_envs": RLlibSettings.n_envs} | _DIFFERENT.get(name, {}))
    for name, preset in PPO_PRESETS.items()
}


def main(args: list[str] | None = None) -> None:
    """Train from the command line; Ctrl-C ends with exit code 130, once everything is saved."""
    settings = parse_settings(PRESETS, args, "python -m train.rllib_ppo")
    try:
        from train.rllib_loop import Interrupted, train
    except ModuleNotFoundError as error:
        sys.exit(_NEEDS.format(missing=error.name))
    if settings.resume is not None:  # the cluster may have another address than before
        settings = dataclasses.replace(settings, address=os.environ.get("RAY_ADDRESS", settings.address))
    run = Run(settings, "rllib_ppo")
    try:
        report(run, train(run))
    except Interrupted:
        print(f"saved; go on with: python -m train.rllib_ppo --resume {run.folder}")
        sys.exit(130)


if __name__ == "__main__":
    main()
