"""Settings of a training run: one dataclass is the command line, the log and the record of the run."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import tyro

from yacht_env.rules import get_ruleset

__all__ = ["LinearSchedule", "TrainSettings", "parse_settings", "read_settings"]

Preset = Literal["smoke", "demo", "quick", "full"]
Settings = TypeVar("Settings", bound="TrainSettings")


@dataclass(frozen=True)
class TrainSettings:
    """Settings that all algorithms share."""

    preset: Preset = "quick"
    """Where the other settings start from: smoke (seconds), demo and quick (minutes), full (up to two hours)."""
    ruleset: str = "yacht"
    """Name of the game to learn."""
    seed: int = 0
    """Of the network, the dice and the exploration."""
    total_steps: int = 2_500_000
    """Environment steps to train for."""
    n_envs: int = 1024
    """Games that are played side by side."""
    hidden: tuple[int, ...] = (128, 128)
    """Widths of the network's hidden layers, in the part that values kept dice."""
    card_hidden: tuple[int, ...] = (64, 32)
    """The same in the part that values cards."""
    layer_norm: bool = False
    """Normalise the hidden layers."""
    points_unit: float = 20.0
    """Points that one unit of reward and of value stands for."""
    learning_rate: float = 1e-3
    """Learning rate at the start; it falls in a line."""
    final_learning_rate: float = 0.0
    """Learning rate at the end."""
    eval_every: int = 500_000
    """Environment steps between exact evaluations."""
    eval_games: int = 10_000
    """Games of an evaluation, for rulesets that are too large for an exact one."""
    checkpoint_every: int = 1_000_000
    """Environment steps between checkpoints, from which --resume goes on."""
    device: str = "auto"
    """Where the network lives: auto, cpu, cuda."""
    threads: int = 1
    """CPU threads for torch; more than one seldom helps networks of this size."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    run_dir: Path | None = None
    """Folder of this run; by default a new one in --runs, named env, algorithm, seed and time."""
    resume: Path | None = None
    """Folder of a run to go on with, under the settings that it was started with."""
    progress: bool = True
    """Show a progress bar."""

    def __post_init__(self) -> None:
        get_ruleset(self.ruleset)
        self.check(1, "total_steps", "n_envs", "eval_every", "checkpoint_every", "threads")
        self.check(0, "seed", "final_learning_rate")
        self.check(2, "eval_games")
        self.check_positive("learning_rate", "points_unit")
        self.check_widths("hidden")
        self.check_widths("card_hidden")

    def check(self, least: float, *names: str) -> None:
        """Refuse settings below ``least``, by name."""
        for name in names:
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} must be {least} or more, got {getattr(self, name)}")

    def check_positive(self, *names: str) -> None:
        """Refuse settings that are not above 0, by name."""
        for name in names:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be more than 0, got {getattr(self, name)}")

    def check_widths(self, name: str) -> None:
        """Refuse what is no list of widths of layers."""
        widths = getattr(self, name)
        if not widths or min(widths) < 1:
            raise ValueError(f"{name} must be one or more widths of layers, got {widths}")

    @property
    def network_kwargs(self) -> dict[str, Any]:
        """Arguments of the network."""
        names = ("ruleset", "hidden", "card_hidden", "points_unit", "layer_norm")
        return {name: getattr(self, name) for name in names}

    def to_json(self) -> str:
        """The settings as JSON, for the record."""
        return json.dumps(dataclasses.asdict(self), indent=2, default=str) + "\n"


@dataclass(frozen=True)
class LinearSchedule:
    """From ``start`` to ``end`` in a line over the first ``fraction`` of a run, then constant.

    Called, as stable-baselines3 does, with the progress that remains, from 1 down to 0.
    """

    start: float
    end: float
    fraction: float = 1.0

    def __call__(self, progress_remaining: float) -> float:
        done = min((1.0 - progress_remaining) / self.fraction, 1.0)
        return self.start + done * (self.end - self.start)


def parse_settings(presets: Mapping[str, Settings], args: Sequence[str] | None = None, prog: str | None = None) -> Settings:
    """Settings from the command line: those of ``--preset``, with whatever else is given changed.

    With ``--resume`` they are the ones that the run was started with; other flags are refused. ``prog`` is what the help
    calls the program.
    """
    argv = list(sys.argv[1:] if args is None else args)
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--preset")
    first.add_argument("--resume", type=Path)
    known, others = first.parse_known_args(argv)
    if known.resume is not None:
        if others or known.preset is not None:
            sys.exit("--resume takes the settings of the run that it goes on with; leave the other flags away")
        kind = type(next(iter(presets.values())))
        return dataclasses.replace(read_settings(kind, known.resume), resume=known.resume)
    default = presets.get(known.preset, next(iter(presets.values())))
    try:
        return tyro.cli(type(default), default=default, args=argv, prog=prog)
    except ValueError as error:
        sys.exit(str(error))


def read_settings(kind: type[Settings], run: Path) -> Settings:
    """The settings that a run was started with, from its folder."""
    path = run / "settings.json"
    try:
        raw = dict(json.loads(path.read_text()))
    except (OSError, TypeError, ValueError) as error:
        sys.exit(f"can't read the settings of a run in {path}: {error}")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if unknown := set(raw) - set(fields):
        sys.exit(f"{path} has settings that {kind.__name__} lacks: {', '.join(sorted(unknown))}")
    for name, value in raw.items():
        if isinstance(value, list):
            raw[name] = tuple(value)
        if name in ("runs", "run_dir", "resume") and value is not None:
            raw[name] = Path(value)
    try:
        return kind(**raw)
    except (TypeError, ValueError) as error:
        sys.exit(f"the settings in {path} make no sense: {error}")
