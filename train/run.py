"""The folder of a training run, and its record.

A run folder holds ``settings.json`` (how it was started), ``run.json`` (command, versions, revision, results), TensorBoard's
events, ``best/`` (the best network so far in the published format) and ``checkpoints/`` (all that is needed to go on).
"""

from __future__ import annotations

import contextlib
import json
import platform
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from train.settings import TrainSettings
from yacht_env.evaluation import Evaluation
from yacht_env.extras import needs_extra
from yacht_env.files import write_atomically

with needs_extra("train"):
    from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
    from torch.utils.tensorboard import SummaryWriter

__all__ = ["Run", "report"]

_CURVES_FIRST = {
    "Exact evaluation": {
        "points short of the optimum": ["Multiline", ["eval/optimality_gap", "eval/gap_from_holds", "eval/gap_from_boxes"]],
        "expected score": ["Multiline", ["eval/expected_score"]],
        "share of the optimum": ["Multiline", ["eval/share_of_optimum"]],
    },
    "While learning": {"points a game, exploring": ["Multiline", ["rollout/ep_rew_mean"]]},
}


class Run:
    """The folder of a run.

    Args:
        settings: How the run is started, or was.
        algorithm: Short name of the algorithm.
    """

    def __init__(self, settings: TrainSettings, algorithm: str) -> None:
        self.settings = settings
        self.algorithm = algorithm
        self.resuming = settings.resume is not None
        self.folder = self._choose_folder()
        if self.resuming and self.checkpoint() is None:
            sys.exit(f"{self.folder} has no checkpoint to go on from")
        if not self.resuming:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / "settings.json", settings.to_json())
            self.record(command=shlex.join(["python", *sys.orig_argv[1:]]), **_surroundings())

    def _choose_folder(self) -> Path:
        settings = self.settings
        if settings.resume is not None:
            return settings.resume
        stamp = time.strftime("%Y%m%d-%H%M%S")
        name = f"Yacht-v0__{settings.ruleset}__{self.algorithm}__seed{settings.seed}__{stamp}"
        folder = settings.run_dir or settings.runs / name
        while settings.run_dir is None and folder.exists():  # two runs that began in the same second
            folder = folder.with_name(folder.name + "-")
        if settings.run_dir is not None and (folder / "settings.json").exists():
            # A named run that is there already is set aside, never lost.
            aside = folder.with_name(f"{folder.name}.{stamp}.{time.time_ns() % 10**9:09d}")
            folder.rename(aside)
            print(f"{folder} was there already; it is now {aside}")
        return folder

    def checkpoint(self) -> Path | None:
        """The newest whole checkpoint, or ``None``."""
        return max((self.folder / "checkpoints").glob("[0-9]*"), default=None)

    @contextlib.contextmanager
    def new_checkpoint(self, steps: int) -> Iterator[Path]:
        """A folder to write a checkpoint into, which counts only once it is whole; then the older ones go."""
        new = self.folder / "checkpoints" / "unfinished"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        yield new
        final = new.with_name(f"{steps:012d}")
        if final.exists():
            shutil.rmtree(new)  # the run has not moved since
        else:
            new.rename(final)
        for older in final.parent.glob("[0-9]*"):
            if older != final:
                shutil.rmtree(older)

    def record(self, **facts: Any) -> None:
        """Add facts to ``run.json``."""
        path = self.folder / "run.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        write_atomically(path, json.dumps(known | facts, indent=2, default=str) + "\n")

    def facts(self) -> dict[str, Any]:
        """What ``run.json`` holds."""
        return json.loads((self.folder / "run.json").read_text())

    def logger(self, first_step: int) -> Logger:
        """A logger that writes TensorBoard's events; those that a killed run left after ``first_step`` are hidden."""
        output = TensorBoardOutputFormat(str(self.folder))
        output.writer.close()
        output.writer = SummaryWriter(str(self.folder), purge_step=first_step + 1 if first_step else None)
        output.writer.add_custom_scalars(_CURVES_FIRST)
        return Logger(str(self.folder), [output])


def _surroundings() -> dict[str, Any]:
    packages = ("yacht-env", "gymnasium", "numpy", "torch", "stable-baselines3", "sb3-contrib", "ray")
    versions = {"python": platform.python_version()}
    for package in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {"versions": versions, "revision": _revision(), "started": time.strftime("%Y-%m-%dT%H:%M:%S%z")}


def _revision() -> str | None:
    """The git revision of the code, marked where it is changed; ``None`` outside a checkout."""
    here = Path(__file__).resolve().parent
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=here, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def report(run: Run, result: Evaluation) -> None:
    """Say what came out of a run, and where it lies."""
    exact = result.method == "exact"
    score = f"{result.expected_score:.3f}" + ("" if exact else f" ± {result.standard_error:.3f}")
    print(
        f"best {'exact' if exact else 'estimated'} score {score} of {result.optimum:.3f} points "
        f"({result.share_of_optimum:.2%}, {result.optimality_gap:.3f} short); the run is in {run.folder}"
    )
