"""Measure trained agents beside random, greedy and optimal play: ``python -m train.evaluate RUN...``."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence

import tyro

from yacht_env.cli import EvaluateArgs, run_evaluate
from yacht_env.pretrained import PretrainedError

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Print one table; without agents, that of the policies that need no training."""
    asked = tyro.cli(
        EvaluateArgs, args=args, default=EvaluateArgs(policies=()), description=__doc__, prog="python -m train.evaluate"
    )
    policies = dict.fromkeys(("random", "greedy", *asked.policies))
    try:
        run_evaluate(dataclasses.replace(asked, policies=tuple(policies)))
    except (ValueError, PretrainedError) as error:
        sys.exit(f"train.evaluate: {error}")


if __name__ == "__main__":
    main()
