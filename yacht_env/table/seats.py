"""Agents that sit at the table: the optimum, the simple rules, and every published agent of the same game.

An agent is handed the decision state alone, never the dice to come.

Public names: :func:`load_agent`, :class:`SeatedAgent`, :func:`agents_for`.
"""

from __future__ import annotations

import numpy as np

from yacht_env.game import SingleState
from yacht_env.observation import get_observation
from yacht_env.player import Player
from yacht_env.policies import BUILT_IN, OptimalPolicy, Policy, RandomPolicy
from yacht_env.pretrained import list_pretrained, load_pretrained
from yacht_env.progress import Progress
from yacht_env.rules import RULESETS, Ruleset, get_ruleset
from yacht_env.solver import solve
from yacht_env.table.session import TableGame

__all__ = ["SeatedAgent", "agents_for", "load_agent"]


class SeatedAgent:
    """A policy that plays at the table: its most likely action, or any one where it plays at random on purpose.

    Args:
        policy: The policy; it is given flat observations.
        ruleset: The game.
        random: Draws the actions of a random policy; unseeded by default.

    Raises:
        ValueError: where the policy belongs to another ruleset.
    """

    def __init__(self, policy: Policy, ruleset: str | Ruleset, random: np.random.Generator | None = None) -> None:
        plays_at_random = isinstance(policy, RandomPolicy)
        self._player = Player(policy, get_observation(ruleset, "flat"), deterministic=not plays_at_random)
        self._random = random or np.random.default_rng()

    def action(self, game: TableGame) -> int:
        """What the agent does now, for :meth:`TableGame.act`.

        Raises:
            ValueError: before the first roll of a turn, and where the agent plays an illegal action.
        """
        state = game.state()
        if state is None:
            raise ValueError("no dice are on the table; an agent is asked after the first roll of its turn")
        return self.choose(state)

    def choose(self, state: SingleState) -> int:
        """What the agent does in a decision state.

        Raises:
            ValueError: where the agent plays an illegal action.
        """
        return int(self._player.sample(state.batch, self._random)[0])


def load_agent(
    name: str,
    ruleset: str | Ruleset = "yacht",
    *,
    random: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> SeatedAgent:
    """The agent of a seat; ``"optimal"`` solves the ruleset, which takes seconds for the largest ones.

    Args:
        name: ``"optimal"``, ``"greedy"``, ``"random"``, or the name or folder of a published agent.
        ruleset: The game.
        random: Draws the actions of ``"random"``.
        progress: Called as a solution grows; a bar on the terminal by default.

    Raises:
        ValueError: for an unknown ruleset, or an agent that plays another one.
        PretrainedError: for an agent that can't be loaded.
    """
    rules = get_ruleset(ruleset)
    if name == "optimal":
        policy: Policy = OptimalPolicy(solve(rules, progress=progress))
    else:
        policy = BUILT_IN[name](rules) if name in BUILT_IN else load_pretrained(name)
    return SeatedAgent(policy, rules, random)


def agents_for(ruleset: str | Ruleset) -> tuple[str, ...]:
    """Names of all agents that can play this ruleset, the strongest kind first; house rules have no published ones."""
    rules = get_ruleset(ruleset)
    published = [
        name
        for name, entry in list_pretrained().items()
        if (played := RULESETS.get(entry.get("ruleset", ""))) and played.fingerprint == rules.fingerprint
    ]
    return ("optimal", *published, "greedy", "random")
