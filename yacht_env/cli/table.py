"""The commands around the table: ``yacht-env verify|review|replay|sheet|watch``.

Public names: :data:`COMMANDS`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from yacht_env.cli.agents import agent_folder
from yacht_env.cli.commands import Commands
from yacht_env.policies import BUILT_IN
from yacht_env.pretrained import load_pretrained
from yacht_env.rendering import draw_ansi
from yacht_env.rules import RULESETS, Ruleset, get_ruleset
from yacht_env.table.record import GameRecord
from yacht_env.table.replay import replay_steps
from yacht_env.table.review import review
from yacht_env.table.seats import SeatedAgent
from yacht_env.table.sheet import sheet_page
from yacht_env.table.verify import verify
from yacht_env.table.watch import watch

__all__ = ["COMMANDS"]


@dataclass(frozen=True)
class VerifyArgs:
    """Check a saved game: derive every roll from its seed again, and find every value that was changed since."""

    game: tyro.conf.Positional[Path]
    """File of the game."""
    commitment: str | None = None
    """The commitment that was shown before the game, if you noted it."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class ReviewArgs:
    """Judge a game decision by decision: points by luck, points lost by decisions, and the costliest of these."""

    game: tyro.conf.Positional[Path]
    """File of a saved game, or of one that was typed in by hand (docs/saved-games.md)."""
    json: bool = False
    """Print JSON: every decision with its value, its loss, and the luck of the roll before it."""


@dataclass(frozen=True)
class ReplayArgs:
    """Show a game again, roll by roll and decision by decision; Enter goes on."""

    game: tyro.conf.Positional[Path]
    """File of the game."""
    json: bool = False
    """Print the steps as JSON, without pictures."""


@dataclass(frozen=True)
class SheetArgs:
    """Print a score sheet for paper (HTML): yacht-env sheet --players 4 > sheet.html."""

    ruleset: str = "yacht"
    """Name of the ruleset."""
    players: int = 4
    """Columns for players."""


@dataclass(frozen=True)
class WatchArgs:
    """Watch an agent play, in a window (needs the extra "render") or in the terminal."""

    agent: tyro.conf.Positional[str] = "optimal"
    """random, greedy, optimal, the name of a published agent, or the folder of an agent or a training run."""
    ruleset: str | None = None
    """Name of the ruleset; by default that of the agent, or yacht."""
    games: int = 1
    """Games to play."""
    fps: float = 1.0
    """Pictures a second."""
    seed: int | None = None
    """Of the dice; a different one every time by default."""
    ansi: bool = False
    """Show the game as text in the terminal."""
    json: bool = False
    """Print the totals as JSON."""


def _run_verify(args: VerifyArgs) -> None:
    found = verify(args.game, args.commitment)
    print(json.dumps(found.to_dict(), indent=2) if args.json else found)
    if not found.is_verified:
        sys.exit(1)


def _run_review(args: ReviewArgs) -> None:
    judged = review(GameRecord.load(args.game))
    print(json.dumps(judged.to_dict(), indent=2) if args.json else judged)


def _run_replay(args: ReplayArgs) -> None:
    steps = list(replay_steps(GameRecord.load(args.game)))
    if args.json:
        print(json.dumps([{"seat": step.seat, "turn": step.turn, "text": step.text} for step in steps], indent=2))
        return
    waits = sys.stdin.isatty() and sys.stdout.isatty()
    for i, step in enumerate(steps, 1):
        print(f"step {i} of {len(steps)}, turn {step.turn}: {step.text}\n\n{draw_ansi(step.view)}")
        if waits and i < len(steps):
            try:
                input("Enter goes on, Ctrl-C ends. ")
            except EOFError:
                return


def _run_sheet(args: SheetArgs) -> None:
    print(sheet_page(args.ruleset, args.players), end="")


def _run_watch(args: WatchArgs) -> None:
    agent, ruleset = _load_agent(args.agent, args.ruleset)
    mode: Literal["ansi", "human"] = "ansi" if args.ansi else "human"
    totals = watch(agent, ruleset, n_games=args.games, fps=args.fps, seed=args.seed, mode=mode)
    if args.json:
        print(json.dumps({"agent": args.agent, "ruleset": ruleset.name, "totals": totals}))
        return
    for i, total in enumerate(totals, 1):
        print(f"game {i}: {total} points")


def _load_agent(name: str, ruleset: str | None) -> tuple[SeatedAgent, Ruleset]:
    if name in BUILT_IN:
        rules = get_ruleset(ruleset or next(iter(RULESETS)))
        return SeatedAgent(BUILT_IN[name](rules), rules), rules
    network = load_pretrained(agent_folder(name))
    rules = get_ruleset(ruleset) if ruleset else network.game.ruleset
    return SeatedAgent(network, rules), rules


COMMANDS: Commands = {
    "verify": (VerifyArgs, _run_verify),
    "review": (ReviewArgs, _run_review),
    "replay": (ReplayArgs, _run_replay),
    "sheet": (SheetArgs, _run_sheet),
    "watch": (WatchArgs, _run_watch),
}
"""What each command is called, what it is told, and what it does."""
