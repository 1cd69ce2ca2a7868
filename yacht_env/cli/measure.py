"""The commands that measure: ``yacht-env solve|evaluate|explain|odds|strategy``.

Public names: :data:`COMMANDS`, :func:`run_evaluate`, :class:`EvaluateArgs`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from yacht_env.cli.agents import is_unfinished_run, load_policies
from yacht_env.cli.commands import Commands
from yacht_env.evaluation import Evaluation, evaluate
from yacht_env.explain import explain
from yacht_env.odds import box_odds, odds_table
from yacht_env.policies import OptimalPolicy
from yacht_env.report import matches, table
from yacht_env.solver import Solution, solve
from yacht_env.strategy import strategy_page, weigh_advice

__all__ = ["COMMANDS", "EvaluateArgs", "run_evaluate"]


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
    named = [name for name in args.policies if not is_unfinished_run(name)]
    policies, ruleset = load_policies(named, args.ruleset)
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
    policies, ruleset = load_policies(args.agents, args.ruleset)
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


COMMANDS: Commands = {
    "solve": (SolveArgs, _run_solve),
    "evaluate": (EvaluateArgs, run_evaluate),
    "explain": (ExplainArgs, _run_explain),
    "odds": (OddsArgs, _run_odds),
    "strategy": (StrategyArgs, _run_strategy),
}
"""What each command is called, what it is told, and what it does."""
