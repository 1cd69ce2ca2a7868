"""The command line: ``yacht-env solve``, ``yacht-env evaluate``, ``yacht-env models``.

Public names: :func:`main`, :func:`run_evaluate`, :class:`EvaluateArgs`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from yacht_env.evaluation import Evaluation, evaluate
from yacht_env.policies import GreedyPolicy, OptimalPolicy, Policy, RandomPolicy
from yacht_env.pretrained import PretrainedError, download_pretrained, list_pretrained, load_pretrained
from yacht_env.report import table
from yacht_env.rules import RULESETS, Ruleset, get_ruleset
from yacht_env.solver import solve

__all__ = ["EvaluateArgs", "main", "run_evaluate"]

_SIMPLE: dict[str, Callable[[Ruleset], Policy]] = {
    "random": lambda ruleset: RandomPolicy(),
    "greedy": GreedyPolicy,
    "optimal": OptimalPolicy,
}


@dataclass(frozen=True)
class SolveArgs:
    """Solve a ruleset exactly: the expected total of optimal play, and what each box is worth alone."""

    ruleset: str = "yacht"
    """Name of the ruleset."""
    cache: bool = True
    """Take the solution from the cache folder where it lies there, and keep it there."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class EvaluateArgs:
    """Measure policies against the exact optimum."""

    policies: tyro.conf.Positional[tuple[str, ...]] = ("random", "greedy")
    """random, greedy, optimal, names of published agents, or folders of agents or training runs."""
    ruleset: str | None = None
    """Name of the ruleset; by default that of the agents, or yacht."""
    method: Literal["auto", "exact", "estimate"] = "auto"
    """Exact, or estimated from simulated games; auto is exact where the states are few."""
    games: int = 10_000
    """Games of an estimate."""
    seed: int = 0
    """Of the simulated games."""
    all_states: bool = False
    """Also count the agreement over all states, visited or not."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class ModelsListArgs:
    """List published agents."""

    source: str | None = None
    """Folder or URL of agents; by default those of the package."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class ModelsDownloadArgs:
    """Fetch a published agent from a URL, check it, and keep it."""

    name: tyro.conf.Positional[str]
    """Name of the agent."""
    source: str
    """URL of a folder of agents."""
    folder: Path | None = None
    """Where to keep it; by default the user's cache folder."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class ModelsArgs:
    """List or fetch published agents."""

    command: (
        Annotated[ModelsListArgs, tyro.conf.subcommand("list")]
        | Annotated[ModelsDownloadArgs, tyro.conf.subcommand("download")]
    ) = field(default_factory=ModelsListArgs)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; errors that a user can mend end it with one sentence and exit code 2."""
    command: Any = tyro.cli(
        Annotated[SolveArgs, tyro.conf.subcommand("solve")]
        | Annotated[EvaluateArgs, tyro.conf.subcommand("evaluate")]
        | Annotated[ModelsArgs, tyro.conf.subcommand("models")],
        prog="yacht-env",
        description="The dice game Yacht: its exact optimum, and agents measured against it.",
        args=args,
        config=(tyro.conf.OmitSubcommandPrefixes,),
    )
    run: dict[type, Callable[[Any], object]] = {
        SolveArgs: _run_solve,
        EvaluateArgs: run_evaluate,
        ModelsArgs: lambda models: run[type(models.command)](models.command),
        ModelsListArgs: _run_models_list,
        ModelsDownloadArgs: _run_models_download,
    }
    try:
        run[type(command)](command)
    except (ValueError, PretrainedError) as error:
        print(f"yacht-env: {error}", file=sys.stderr)
        sys.exit(2)


def _run_solve(args: SolveArgs) -> None:
    started = time.perf_counter()
    solution = solve(args.ruleset, cache=args.cache)
    seconds = time.perf_counter() - started
    names = solution.ruleset.box_names
    alone = {name: solution.state_value([name]) for name in names}
    if args.json:
        facts = {
            "ruleset": solution.ruleset.name,
            "expected_score": solution.expected_score,
            "one_box_left": alone,
            "seconds": round(seconds, 3),
        }
        print(json.dumps(facts, indent=2))
        return
    print(f"{solution.ruleset.name}: optimal play averages {solution.expected_score:.9f} points ({seconds:.2f} s)\n")
    print("with one box left, a turn is worth")
    for name, value in alone.items():
        print(f"  {name:<{max(map(len, names))}}  {value:9.6f}")


def run_evaluate(args: EvaluateArgs) -> list[Evaluation]:
    """Evaluate the named policies, print the table or JSON, and return the results.

    Raises:
        ValueError: for an unknown ruleset, or agents of different ones.
        PretrainedError: for an agent that can't be loaded.
    """
    named = [name for name in args.policies if not _is_unfinished_run(name)]
    agents = {name: load_pretrained(_agent_folder(name)) for name in named if name not in _SIMPLE}
    rulesets = {agent.game.ruleset.name for agent in agents.values()} | ({args.ruleset} if args.ruleset else set())
    if len(rulesets) > 1:
        raise ValueError(f"these policies play different rulesets: {', '.join(sorted(rulesets))}; name those of one")
    ruleset = get_ruleset(rulesets.pop() if rulesets else next(iter(RULESETS)))
    solution = solve(ruleset)
    results = []
    for name in named:
        policy = agents.get(name) or _SIMPLE[name](ruleset)
        is_published = name in agents and _agent_folder(name) == name
        label = agents[name].name if is_published else Path(name).name
        result = evaluate(
            policy,
            ruleset,
            method=args.method,
            all_states=args.all_states,
            n_games=args.games,
            seed=args.seed,
            name=label,
            solution=solution,
        )
        results.append(result)
    print(json.dumps([result.to_dict() for result in results], indent=2) if args.json else table(results))
    return results


def _agent_folder(name: str) -> str:
    """A training run stands for the best network that it keeps."""
    best = Path(name) / "best"
    return str(best) if best.is_dir() else name


def _is_unfinished_run(name: str) -> bool:
    """Whether this is a training run that has no network yet; then says that it is left out."""
    unfinished = (Path(name) / "settings.json").is_file() and not (Path(name) / "best").is_dir()
    if unfinished:
        print(f"yacht-env: {name} has no network yet; it is left out", file=sys.stderr)
    return unfinished


def _run_models_list(args: ModelsListArgs) -> None:
    index = list_pretrained(args.source)
    if args.json:
        print(json.dumps(index, indent=2))
        return
    for name, entry in index.items():
        print(f"{name:<20} {entry.get('ruleset', '')}")
    if not index:
        print("no agents")


def _run_models_download(args: ModelsDownloadArgs) -> None:
    folder = download_pretrained(args.name, args.source, args.folder)
    print(json.dumps({"name": args.name, "folder": str(folder)}) if args.json else f"{args.name} is in {folder}")
