"""Measuring: rates, fresh processes, and the environment of the peers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".venv-peers"
PEER_PACKAGES = ("yatzy-solver==1.0.0", "pyhtzee", "open_spiel==2.0.2")

SECONDS = 1.0  # that each measurement lasts, at least
REPEATS = 3  # of which the best counts


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        what: What was measured.
        value: The figure.
        unit: Its unit.
        against: What it is compared with; empty where it stands alone.
        ratio: How many times better than that.
        wanted: The ratio, or the figure, that is aimed at; empty where there is none.
        note: What limits it, or why there is no figure.
    """

    what: str
    value: float
    unit: str
    against: str = ""
    ratio: float | None = None
    wanted: str = ""
    note: str = ""


def rate(work: Callable[[], int], seconds: float = SECONDS, repeats: int = REPEATS) -> float:
    """Units of work a second; ``work`` does some and returns how many."""
    best = 0.0
    for _ in range(repeats):
        done, started = 0, time.perf_counter()
        while (spent := time.perf_counter() - started) < seconds:
            done += work()
        best = max(best, done / spent)
    return best


def fresh_process(code: str) -> dict[str, float]:
    """Run code in a new interpreter, which prints one JSON object; adds ``seconds``, from start to end."""
    started = time.perf_counter()
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return {"seconds": time.perf_counter() - started} | json.loads(answer.stdout.splitlines()[-1])


def peer(*arguments: str) -> dict[str, float] | None:
    """What :mod:`tests.benchmarks.peers` measures; ``None`` where that peer can't be installed or run."""
    python = PEERS / "bin" / "python"
    script = Path(__file__).with_name("peers.py")
    try:
        answer = subprocess.run([python, script, *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return json.loads(answer.stdout.splitlines()[-1])


def install_peers() -> None:
    """Make the environment of the peers, one package at a time; those that can't be had are left out."""
    if not (PEERS / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
    for package in PEER_PACKAGES:
        subprocess.run([PEERS / "bin" / "pip", "install", "-q", package], check=False, capture_output=True)
