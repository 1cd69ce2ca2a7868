"""Checks a built wheel the way a user meets it: in a new environment, outside the checkout, without any extra.

    python scripts/check_wheel.py dist --constraints constraints.txt

It passes when the wheel holds the package ``yacht_env`` and nothing else, when it installs with its base dependencies
alone, when a game can be played and drawn as text through ``gymnasium.make`` with no other import, and when the command
line finds the optimum. Given a folder, it also checks the sdist there, see ``check_sdist.py``; for that it is run in the
development environment. The rest needs the standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from check_sdist import check_sdist

OPTIMUM = 166.95506770457  # of the ruleset `yacht`; rounded, it is published as 166.96 (dice.now)

ABSENT = """
import importlib.util
found = [name for name in {names} if importlib.util.find_spec(name)]
assert not found, f"the wheel brings along {{found}}"
"""
EXTRAS = ("torch", "stable_baselines3", "sb3_contrib", "tensorboard", "matplotlib", "pettingzoo", "ray", "pygame")
NAMES = (*EXTRAS, "agents", "train", "tests", "models", "scripts", "examples", "docs")

GAME = """
import gymnasium
import numpy as np

env = gymnasium.make("yacht_env:Yacht-v0", render_mode="ansi")
rng = np.random.default_rng(0)
observation, info = env.reset(seed=0)
total, steps, terminated, truncated = 0.0, 0, False, False
while not (terminated or truncated):
    action = rng.choice(np.flatnonzero(info["action_mask"]))
    observation, reward, terminated, truncated, info = env.step(action)
    assert env.observation_space.contains(observation), observation
    total += reward
    steps += 1
assert terminated and not truncated, "a game of legal moves must end by itself"
assert 12 <= steps <= 36, f"{steps} steps for twelve boxes"
assert 0 <= total <= 297 and total == int(total), f"{total} points"
assert f"Total {total:.0f}" in env.render(), env.render()
print(f"played a game of {steps} steps for {total:.0f} points")
"""


def main() -> None:
    """Check the wheel that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dist", type=Path, help="a wheel, or a folder with exactly one, and the sdist")
    parser.add_argument("--constraints", type=Path, help="versions for the dependencies")
    options = parser.parse_args()

    wheel = find_one(options.dist, "*.whl")
    check_contents(wheel)
    with tempfile.TemporaryDirectory(prefix="check-wheel-") as folder:
        python, elsewhere = install(wheel, options.constraints, Path(folder))
        run = Runner(elsewhere)
        run(python, "-I", "-c", ABSENT.format(names=NAMES))
        run(python, "-I", "-c", GAME)
        command = python.with_name("yacht-env")
        run(command, "--help", quiet=True)
        check_optimum(run(command, "solve", "--json", quiet=True))
    print(f"{wheel.name}: all well")
    if options.dist.is_dir():
        check_sdist(find_one(options.dist, "*.tar.gz"), wheel, lambda folder, command: Runner(folder)(*command, quiet=True))


def find_one(dist: Path, pattern: str) -> Path:
    """The file at this path, or the only one of this pattern in this folder."""
    found = sorted(dist.glob(pattern)) if dist.is_dir() else [dist]
    if len(found) != 1:
        sys.exit(f"expected exactly one {pattern} in {dist}, found {[path.name for path in found]}")
    return found[0].resolve()


def check_contents(wheel: Path) -> None:
    """The package alone, typed, with its models, and nothing that was only lying about."""
    names = zipfile.ZipFile(wheel).namelist()
    print(*(f"  {name}" for name in names), sep="\n")
    roots = {PurePosixPath(name).parts[0] for name in names}
    unexpected = sorted(root for root in roots if root != "yacht_env" and not root.endswith(".dist-info"))
    if unexpected:
        sys.exit(f"the wheel installs more than yacht_env: {unexpected}")
    if rubbish := [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".pt", ".zip"))]:
        sys.exit(f"these do not belong into the wheel: {rubbish}")
    if "yacht_env/py.typed" not in names:
        sys.exit("the wheel lacks yacht_env/py.typed")
    if not any(name.startswith("yacht_env/models/") for name in names):
        sys.exit("the wheel lacks the published models")


def install(wheel: Path, constraints: Path | None, folder: Path) -> tuple[Path, Path]:
    """Install the wheel into a new environment; returns its Python, and an empty folder to work in."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    arguments = ["-c", str(constraints.resolve())] if constraints else []
    Runner(elsewhere)(python, "-I", "-m", "pip", "install", "--quiet", *arguments, wheel)
    return python, elsewhere


class Runner:
    """Runs commands in a folder, with nothing of the caller's Python environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        self.environment = {name: value for name, value in os.environ.items() if name not in dropped}

    def __call__(self, *command: str | Path, quiet: bool = False) -> str:
        """Run a command that must succeed; returns what it printed."""
        done = subprocess.run(
            [str(part) for part in command], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True
        )
        if done.stdout and not (quiet and done.returncode == 0):
            print(done.stdout, end="")
        if done.returncode:
            shown = " ".join(str(part) for part in command if "\n" not in str(part))
            sys.exit(f"{shown} failed with exit status {done.returncode}")
        return done.stdout


def check_optimum(output: str) -> None:
    """The expected score that the command line prints is the optimum, to nine decimals."""
    scores = list(values_of(json.loads(output), "expected_score"))
    if len(scores) != 1 or not isinstance(scores[0], float) or abs(scores[0] - OPTIMUM) > 1e-9:
        sys.exit(f"yacht-env solve --json: expected_score should be {OPTIMUM}, got {scores}")
    print(f"solved: {scores[0]}")


def values_of(data: Any, key: str) -> Iterator[Any]:
    """Every value of this key in nested JSON."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name == key:
                yield value
            else:
                yield from values_of(value, key)
    elif isinstance(data, list):
        for value in data:
            yield from values_of(value, key)


if __name__ == "__main__":
    main()
