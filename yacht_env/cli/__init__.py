"""The command line: ``yacht-env solve``, ``evaluate``, ``review`` and others; ``yacht-env --help`` lists them.

Public names: :func:`main`, :func:`run_evaluate`, :class:`EvaluateArgs`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any

import tyro
from gymnasium.error import DependencyNotInstalled

from yacht_env.cli import measure, models, play, table
from yacht_env.cli.measure import EvaluateArgs, run_evaluate
from yacht_env.extras import MissingExtraError
from yacht_env.pretrained import PretrainedError

__all__ = ["EvaluateArgs", "main", "run_evaluate"]

_COMMANDS = {**measure.COMMANDS, **models.COMMANDS, **play.COMMANDS, **table.COMMANDS}
_NEEDS = {"matplotlib": 'reports need matplotlib: pip install "yacht-env[report]"'}  # by library that may be missing


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; errors that a user can mend end it with one sentence and exit code 2."""
    kinds = [Annotated[kind, tyro.conf.subcommand(name)] for name, (kind, _) in _COMMANDS.items()]
    any_of_them: Any = reduce(or_, kinds)
    command: Any = tyro.cli(
        any_of_them,
        prog="yacht-env",
        description="The dice game Yacht: its exact optimum, agents measured against it, and a table to play at.",
        args=args,
        config=(tyro.conf.OmitSubcommandPrefixes,),
    )
    run = dict(_COMMANDS.values())
    try:
        run[type(command)](command)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError, PretrainedError, DependencyNotInstalled, MissingExtraError) as error:
        if isinstance(error, BrokenPipeError):  # whoever read the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        _stop(str(error))
    except ModuleNotFoundError as error:
        if error.name not in _NEEDS:
            raise
        _stop(_NEEDS[error.name])


def _stop(sentence: str) -> None:
    print(f"yacht-env: {sentence}", file=sys.stderr)
    sys.exit(2)
