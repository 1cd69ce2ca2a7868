"""Measure speed, each figure beside a yardstick of the same run: ``python -m tests.benchmarks [--json]``.

Machines are noisy, so the ratio to the yardstick is what counts. The yardstick of the environments is Gymnasium's own
CartPole, at the same number of games.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import gymnasium
import numpy as np

import yacht_env
from yacht_env.rules import RULESETS

SECONDS = 1.0  # that each measurement lasts, at least
REPEATS = 3  # of which the best counts


def rate(work: Callable[[], int], seconds: float = SECONDS, repeats: int = REPEATS) -> float:
    """Units of work a second; ``work`` does some and returns how many."""
    best = 0.0
    for _ in range(repeats):
        done, started = 0, time.perf_counter()
        while (spent := time.perf_counter() - started) < seconds:
            done += work()
        best = max(best, done / spent)
    return best


def batch_steps(env: gymnasium.vector.VectorEnv, legal: bool) -> Callable[[], int]:
    """Steps of a batch; the actions were drawn before, so that only the environment is measured."""
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    actions = rng.integers(0, env.single_action_space.n, size=env.num_envs)

    def one_step() -> int:
        nonlocal actions, info
        _, _, _, _, info = env.step(actions)
        return env.num_envs

    def one_legal_step() -> int:
        # The first legal action; finding it is counted, and costs little beside the step.
        nonlocal info
        _, _, _, _, info = env.step(info["action_mask"].argmax(axis=1))
        return env.num_envs

    return one_legal_step if legal else one_step


def environment_rows() -> list[tuple[str, float, str, float | None]]:
    rows: list[tuple[str, float, str, float | None]] = []
    for n in (1024, 16384):
        yardstick = rate(batch_steps(gymnasium.make_vec("CartPole-v1", num_envs=n), legal=False))
        rows.append((f"CartPole-v1 (Gymnasium), {n} games", yardstick, "steps/s", None))
        for ruleset in RULESETS:
            env = gymnasium.make_vec("Yacht-v0", num_envs=n, ruleset=ruleset)
            speed = rate(batch_steps(env, legal=True))
            rows.append((f"Yacht-v0 {ruleset}, {n} games, with observations and masks", speed, "steps/s", speed / yardstick))
    return rows


def single_row() -> tuple[str, float, str, float | None]:
    env = yacht_env.YachtEnv()
    _, info = env.reset(seed=0)

    def steps() -> int:
        nonlocal info
        for _ in range(1000):
            _, _, terminated, _, info = env.step(info["action_mask"].argmax())
            if terminated:
                _, info = env.reset()
        return 1000

    return ("Yacht-v0 yacht, one game, unwrapped", rate(steps), "steps/s", None)


def solve_rows() -> list[tuple[str, float, str, float | None]]:
    rows: list[tuple[str, float, str, float | None]] = []
    for ruleset in RULESETS:
        started = time.perf_counter()
        yacht_env.solve(ruleset, cache=False)
        rows.append((f"solve {ruleset}", time.perf_counter() - started, "s", None))
    return rows


def evaluation_rows() -> list[tuple[str, float, str, float | None]]:
    rows: list[tuple[str, float, str, float | None]] = []
    policies = {"greedy": yacht_env.GreedyPolicy(), "random": yacht_env.RandomPolicy()}
    for name, policy in policies.items():
        started = time.perf_counter()
        yacht_env.evaluate(policy)
        rows.append((f"evaluate the {name} policy exactly, yacht", time.perf_counter() - started, "s", None))
    return rows


def main() -> None:
    """Print the table, or JSON."""
    rows = [*environment_rows(), single_row(), *solve_rows(), *evaluation_rows()]
    if "--json" in sys.argv[1:]:
        keys = ("what", "value", "unit", "ratio")
        print(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
        return
    width = max(len(row[0]) for row in rows)
    for what, value, unit, ratio in rows:
        figure = f"{value:,.0f}" if unit == "steps/s" else f"{value:.3f}"
        print(f"{what:<{width}}  {figure:>12} {unit:<8}" + (f"  {ratio:.2f} x CartPole" if ratio else ""))


if __name__ == "__main__":
    main()
