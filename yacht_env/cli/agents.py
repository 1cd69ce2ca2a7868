"""Agents as people name them on the command line.

Public names: :func:`load_policies`, :func:`agent_folder`, :func:`is_unfinished_run`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from yacht_env.policies import BUILT_IN, Policy
from yacht_env.pretrained import load_pretrained
from yacht_env.rules import RULESETS, Ruleset, get_ruleset

__all__ = ["agent_folder", "is_unfinished_run", "load_policies"]


def load_policies(names: Sequence[str], ruleset: str | None) -> tuple[dict[str, Policy], Ruleset]:
    """Policies by what to call them, and the ruleset that they all play."""
    agents = {name: load_pretrained(agent_folder(name)) for name in names if name not in BUILT_IN}
    rulesets = {agent.game.ruleset.name for agent in agents.values()} | ({ruleset} if ruleset else set())
    if len(rulesets) > 1:
        raise ValueError(f"these policies play different rulesets: {', '.join(sorted(rulesets))}; name those of one")
    rules = get_ruleset(rulesets.pop() if rulesets else next(iter(RULESETS)))
    policies: dict[str, Policy] = {}
    for name in names:
        is_published = name in agents and agent_folder(name) == name
        label = agents[name].name if is_published else Path(name).resolve().name
        label = label if label not in policies else name  # two folders of one name are told apart by their paths
        policies[label] = agents[name] if name in agents else BUILT_IN[name](rules)
    return policies, rules


def agent_folder(name: str) -> str:
    """A training run stands for the best network that it keeps."""
    best = Path(name).resolve() / "best"
    return str(best) if best.is_dir() else name


def is_unfinished_run(name: str) -> bool:
    """Whether this is a training run that has no network yet; then says that it is left out."""
    unfinished = (Path(name) / "settings.json").is_file() and not (Path(name) / "best").is_dir()
    if unfinished:
        print(f"yacht-env: {name} has no network yet; it is left out", file=sys.stderr)
    return unfinished
