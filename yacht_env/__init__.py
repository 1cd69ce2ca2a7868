"""Yacht as a Gymnasium environment, with its exact optimum and exact evaluation.

``import yacht_env`` registers ``Yacht-v0``::

    import gymnasium, yacht_env

    env = gymnasium.make("Yacht-v0", ruleset="yacht")
    batch = gymnasium.make_vec("Yacht-v0", num_envs=1024)
    solution = yacht_env.solve("yacht")
    result = yacht_env.evaluate(yacht_env.GreedyPolicy(), "yacht")
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import gymnasium

from yacht_env.explain import explain  # not later: its module, once imported, would take its name
from yacht_env.policies import GreedyPolicy, OptimalPolicy, Policy, RandomPolicy
from yacht_env.rules import RULESETS, Ruleset, get_ruleset
from yacht_env.solver import Solution, solve

if TYPE_CHECKING:
    from yacht_env.distribution import ScoreDistribution
    from yacht_env.env import YachtEnv
    from yacht_env.evaluation import Evaluation, evaluate
    from yacht_env.match import MatchResult, play_match
    from yacht_env.network import NetworkPolicy
    from yacht_env.odds import box_odds
    from yacht_env.pretrained import PretrainedError, load_pretrained
    from yacht_env.remaining import remaining_distribution
    from yacht_env.vector_env import YachtVectorEnv
    from yacht_env.winning import Standing, chance_of_winning

__all__ = [
    "RULESETS",
    "Evaluation",
    "GreedyPolicy",
    "MatchResult",
    "NetworkPolicy",
    "OptimalPolicy",
    "Policy",
    "PretrainedError",
    "RandomPolicy",
    "Ruleset",
    "ScoreDistribution",
    "Solution",
    "Standing",
    "YachtEnv",
    "YachtVectorEnv",
    "box_odds",
    "chance_of_winning",
    "evaluate",
    "explain",
    "get_ruleset",
    "load_pretrained",
    "play_match",
    "remaining_distribution",
    "solve",
]

__version__ = "0.1.0"

# Names whose modules are imported when they are first asked for, so that a solve need not wait for them.
_MODULE_OF = {
    "Evaluation": "evaluation",
    "MatchResult": "match",
    "NetworkPolicy": "network",
    "PretrainedError": "pretrained",
    "ScoreDistribution": "distribution",
    "Standing": "winning",
    "YachtEnv": "env",
    "YachtVectorEnv": "vector_env",
    "box_odds": "odds",
    "chance_of_winning": "winning",
    "evaluate": "evaluation",
    "load_pretrained": "pretrained",
    "play_match": "match",
    "remaining_distribution": "remaining",
}


def __getattr__(name: str) -> Any:
    """What is imported only now: one of those names, or a module of the package."""
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    if name.isidentifier() and not name.startswith("_") and importlib.util.find_spec(f"{__name__}.{name}"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


gymnasium.register(
    id="Yacht-v0",
    entry_point="yacht_env.env:YachtEnv",
    vector_entry_point="yacht_env.vector_env:YachtVectorEnv",
    max_episode_steps=200,
)
