"""What the training scripts have in common: from the command line to the report of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm

from train.loop import Interrupted, NetworkOf, train
from train.run import Run, report
from train.settings import TrainSettings, parse_settings
from yacht_env.integrations.sb3 import YachtVecEnv

__all__ = ["run_command"]


def run_command(
    algorithm: str,
    presets: Mapping[str, TrainSettings],
    model_class: type[BaseAlgorithm],
    make_model: Callable[[Any, YachtVecEnv], BaseAlgorithm],
    network: NetworkOf,
    args: Sequence[str] | None,
    log_interval: int = 1,
) -> None:
    """Train as the command line says; Ctrl-C ends with exit code 130, once everything is saved.

    Args:
        algorithm: Short name, which is also the script's.
        presets: Settings to start from, by name.
        model_class: The algorithm, which loads its checkpoints.
        make_model: Makes a new model from settings and games.
        network: The network of a model.
        args: The command line; ``None`` for the process's own.
        log_interval: What stable-baselines3 counts between logs: rollouts for PPO, finished games for DQN.
    """
    settings = parse_settings(presets, args, f"python -m train.{algorithm}")
    run = Run(settings, algorithm)

    def load_model(path: Path, env: YachtVecEnv) -> BaseAlgorithm:
        return model_class.load(path, env=env, device=settings.device, force_reset=False)

    try:
        report(run, train(run, partial(make_model, settings), load_model, network, log_interval))
    except Interrupted:
        print(f"saved; go on with: python -m train.{algorithm} --resume {run.folder}")
        sys.exit(130)
