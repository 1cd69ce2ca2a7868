"""The command line: ``yacht-env solve|evaluate|explain|odds|strategy|models``.

Public names: :func:`main`, :func:`run_evaluate`, :class:`EvaluateArgs`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from yacht_env.evaluation import Evaluation, evaluate
from yacht_env.explain import explain
from yacht_env.extras import MissingExtraError
from yacht_env.odds import box_odds, odds_table
from yacht_env.policies import GreedyPolicy, OptimalPolicy, Policy, RandomPolicy
from yacht_env.pretrained import PretrainedError, download_pretrained, list_pretrained, load_pretrained
from yacht_env.report import matches, table
from yacht_env.rules import RULESETS, Ruleset, get_ruleset
from yacht_env.solver import Solution, solve
from yacht_env.strategy import strategy_page, weigh_advice

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
    standard_error: float | None = None
    """Points; simulate as many games as an estimate needs for this standard error."""
    all_states: bool = False
    """Also count the agreement over all states, visited or not."""
    json: bool = False
    """Print JSON: everything that is known, the distributions and the costliest decisions included."""
    report: Path | None = None
    """Also write a page with plots into this file (HTML); needs the extra "report"."""
    pictures: Path | None = None
    """Also write the plots into this folder (PNG); needs the extra "report"."""


@dataclass(frozen=True)
class ExplainArgs:
    """Every choice of a position with its exact value, and what agents would do there."""

    dice: tuple[int, ...]
    """The five faces, in any order."""
    rolls_left: int = 0
    """Rolls left in the turn: 0, 1 or 2."""
    open: tuple[str, ...] | None = None
    """Names or positions of the open boxes; by default all are open."""
    ruleset: str | None = None
    """Name of the ruleset; by default that of the agents, or yacht."""
    upper_total: int = 0
    """Points in the number boxes, where the ruleset has an upper bonus."""
    yacht_box: bool = False
    """Whether the Yacht box holds its points, where the ruleset has a joker."""
    agents: tuple[str, ...] = ()
    """Also say what these do: random, greedy, optimal, names or folders of agents, or training runs."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class OddsArgs:
    """The exact odds of every box by itself: in one roll, over a turn that is played for it, and its points."""

    ruleset: str = "yacht"
    """Name of the ruleset."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class StrategyArgs:
    """Test the usual advice on every position that optimal play meets; prints a page in Markdown."""

    ruleset: str = "yacht"
    """Name of the ruleset."""
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
        | Annotated[ExplainArgs, tyro.conf.subcommand("explain")]
        | Annotated[OddsArgs, tyro.conf.subcommand("odds")]
        | Annotated[StrategyArgs, tyro.conf.subcommand("strategy")]
        | Annotated[ModelsArgs, tyro.conf.subcommand("models")],
        prog="yacht-env",
        description="The dice game Yacht: its exact optimum, and agents measured against it.",
        args=args,
        config=(tyro.conf.OmitSubcommandPrefixes,),
    )
    run: dict[type, Callable[[Any], object]] = {
        SolveArgs: _run_solve,
        EvaluateArgs: run_evaluate,
        ExplainArgs: _run_explain,
        OddsArgs: _run_odds,
        StrategyArgs: _run_strategy,
        ModelsArgs: lambda models: run[type(models.command)](models.command),
        ModelsListArgs: _run_models_list,
        ModelsDownloadArgs: _run_models_download,
    }
    try:
        run[type(command)](command)
    except (ValueError, OSError, PretrainedError, MissingExtraError) as error:
        if isinstance(error, BrokenPipeError):  # whoever read the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
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
    policies, ruleset = _load_policies(named, args.ruleset)
    solution = solve(ruleset)
    settings: dict[str, Any] = {
        "method": args.method,
        "all_states": args.all_states,
        "n_games": args.games,
        "standard_error": args.standard_error,
        "seed": args.seed,
        "solution": solution,
    }
    results = [evaluate(policy, ruleset, name=label, **settings) for label, policy in policies.items()]
    print(_as_json(results) if args.json else table(results))
    if results and (args.report or args.pictures):
        _write_report(args, results, solution)
    return results


def _load_policies(names: Sequence[str], ruleset: str | None) -> tuple[dict[str, Policy], Ruleset]:
    """Policies by what to call them, and the ruleset that they all play."""
    agents = {name: load_pretrained(_agent_folder(name)) for name in names if name not in _SIMPLE}
    rulesets = {agent.game.ruleset.name for agent in agents.values()} | ({ruleset} if ruleset else set())
    if len(rulesets) > 1:
        raise ValueError(f"these policies play different rulesets: {', '.join(sorted(rulesets))}; name those of one")
    rules = get_ruleset(rulesets.pop() if rulesets else next(iter(RULESETS)))
    policies: dict[str, Policy] = {}
    for name in names:
        is_published = name in agents and _agent_folder(name) == name
        label = agents[name].name if is_published else Path(name).resolve().name
        label = label if label not in policies else name  # two folders of one name are told apart by their paths
        policies[label] = agents[name] if name in agents else _SIMPLE[name](rules)
    return policies, rules


def _as_json(results: Sequence[Evaluation]) -> str:
    against: dict[str, Any] = {result.policy: {} for result in results}
    for (mine, theirs), outcome in matches(results).items():
        against[mine][theirs] = outcome._asdict()
    return json.dumps([result.to_dict() | {"against": against[result.policy]} for result in results], indent=2)


def _write_report(args: EvaluateArgs, results: Sequence[Evaluation], solution: Solution) -> None:
    from yacht_env.html_report import write_report
    from yacht_env.plots import write_pictures

    optimum = evaluate(OptimalPolicy(solution), solution.ruleset, n_games=args.games, solution=solution).distribution
    if args.report:
        write_report(args.report, results, solution.ruleset, optimum)
        print(f"the report is in {args.report}", file=sys.stderr)
    if args.pictures:
        write_pictures(args.pictures, results, solution.ruleset, optimum)
        print(f"the pictures are in {args.pictures}", file=sys.stderr)


def _run_explain(args: ExplainArgs) -> None:
    policies, ruleset = _load_policies(args.agents, args.ruleset)
    open_boxes = [int(box) if box.isdecimal() else box for box in args.open] if args.open is not None else None
    position = explain(
        args.dice,
        args.rolls_left,
        open_boxes,
        ruleset,
        upper_total=args.upper_total,
        yacht_box=args.yacht_box,
        policies=policies,
    )
    print(json.dumps(position.to_dict(), indent=2) if args.json else position)


def _run_odds(args: OddsArgs) -> None:
    odds = box_odds(args.ruleset)
    print(json.dumps([asdict(box) for box in odds], indent=2) if args.json else odds_table(args.ruleset))


def _run_strategy(args: StrategyArgs) -> None:
    verdicts = weigh_advice(args.ruleset)
    if not args.json:
        print(strategy_page(verdicts, args.ruleset))
        return
    print(json.dumps([verdict.to_dict() for verdict in verdicts], indent=2))


def _agent_folder(name: str) -> str:
    """A training run stands for the best network that it keeps."""
    best = Path(name).resolve() / "best"
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
