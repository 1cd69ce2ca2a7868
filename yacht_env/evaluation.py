"""How good a policy is, exactly, and where it loses.

Exact evaluation passes once through all states that the policy can reach (:mod:`yacht_env.forward_pass`). Where there are
too many, games are simulated, and the optimum serves as a control variate (:mod:`yacht_env.simulation`). Either way the gap
to the optimum is taken apart (:mod:`yacht_env.anatomy`), and the distribution of the total is found
(:mod:`yacht_env.distribution`).

Public names: :func:`evaluate`, :class:`Evaluation`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from yacht_env.anatomy import Anatomy
from yacht_env.distribution import ScoreDistribution
from yacht_env.forward_pass import ForwardPass
from yacht_env.observation import Form, get_observation
from yacht_env.player import Player
from yacht_env.policies import Policy
from yacht_env.progress import Progress, progress_bar
from yacht_env.rules import Ruleset, get_ruleset
from yacht_env.simulation import Simulation
from yacht_env.solver import Solution, solve

__all__ = ["Evaluation", "evaluate"]

_EXACT_STATES = 5_000_000  # "auto" is exact up to this many decision states
_MARGIN = 1.05  # games more than a first sample says are needed for a standard error, since it errs too


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate` found.

    Attributes:
        ruleset: Name of the ruleset.
        policy: Name of the policy.
        method: ``"exact"``, or ``"estimate"`` from simulated games.
        expected_score: Expected total of a game, in points.
        standard_error: Of ``expected_score``; 0 where it is exact.
        optimum: Expected total of optimal play, exact.
        standard_deviation: Of the total of one game; from the simulated games where the method is ``"estimate"``.
        agreement: Share of the decisions met in play that are as good as the best (within 1e-9 points).
        agreement_all_states: The same share over all states of the game, each counted once, visited or not; ``None``
            unless it was asked for.
        gap_from_holds: Part of the gap lost by choosing the dice to hold when rolling on, or by rolling on at all.
        gap_from_boxes: Part of the gap lost by choosing the box to fill, or by filling one too early.
        n_states: Decision states in which the policy was asked.
        n_games: Games simulated; 0 where it is exact.
        anatomy: The gap taken apart, what each box brings, and the costliest decisions.
        distribution: Chance of every total; counted in the simulated games where the method is ``"estimate"``; ``None``
            where an exact one would take too much memory.
    """

    ruleset: str
    policy: str
    method: Literal["exact", "estimate"]
    expected_score: float
    standard_error: float
    optimum: float
    standard_deviation: float
    agreement: float
    agreement_all_states: float | None
    gap_from_holds: float
    gap_from_boxes: float
    n_states: int
    n_games: int
    anatomy: Anatomy
    distribution: ScoreDistribution | None

    @property
    def optimality_gap(self) -> float:
        """Points a game short of the optimum."""
        return self.optimum - self.expected_score

    @property
    def share_of_optimum(self) -> float:
        """Expected score divided by the optimum."""
        return self.expected_score / self.optimum

    @property
    def n_plain_games(self) -> float:
        """How many games would have to be played for the same standard error if only their totals were averaged."""
        return (self.standard_deviation / self.standard_error) ** 2 if self.standard_error else float("inf")

    def summary(self) -> dict[str, Any]:
        """The single figures, the derived ones included, ready for JSON."""
        figures = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del figures["anatomy"], figures["distribution"]
        return figures | {"optimality_gap": self.optimality_gap, "share_of_optimum": self.share_of_optimum}

    def to_dict(self) -> dict[str, Any]:
        """All that is known, ready for JSON."""
        law = self.distribution.probability.tolist() if self.distribution is not None else None
        return self.summary() | {"anatomy": self.anatomy.to_dict(), "distribution": law}


def evaluate(
    policy: Policy,
    ruleset: str | Ruleset = "yacht",
    *,
    observation: Form = "flat",
    deterministic: bool = False,
    method: Literal["auto", "exact", "estimate"] = "auto",
    all_states: bool = False,
    n_games: int = 10_000,
    standard_error: float | None = None,
    seed: int = 0,
    name: str | None = None,
    solution: Solution | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure a policy against the exact optimum.

    Args:
        policy: ``policy(observations, action_masks)`` -> actions or action probabilities, batched. Probabilities must
            add up to 1 within 0.001, with less than 1e-6 on any illegal action; they are then normalised.
        ruleset: The game it plays.
        observation: The form of observation that it is given.
        deterministic: Take the most likely action where the policy returns probabilities.
        method: ``"exact"``; ``"estimate"`` from simulated games; ``"auto"`` is exact for up to five million states, as
            the named rulesets without an upper bonus have.
        all_states: Also ask the policy in states that it never reaches, for ``agreement_all_states`` (exact only).
        n_games: Games to simulate for an estimate.
        standard_error: Points; wanted of an estimate. The first ``n_games`` then tell how many are needed in all.
        seed: Of the simulated games.
        name: What to call the policy; its own name otherwise.
        solution: The solved ruleset, to save looking it up.
        progress: Called with (work done, work in all); a bar on the terminal by default.

    Raises:
        ValueError: where the policy plays an illegal action or returns something of another shape, naming the state;
            where it, or the solution, belongs to another ruleset; for an unknown ruleset, form or method; for less than
            two games, or a standard error that is not positive.
    """
    solution = _checked_solution(get_ruleset(ruleset), solution)
    player = Player(policy, get_observation(solution.ruleset, observation), deterministic)
    if method not in ("auto", "exact", "estimate"):
        raise ValueError(f"method must be 'auto', 'exact' or 'estimate', got {method!r}")
    if method == "auto":
        method = "exact" if _n_states(solution) <= _EXACT_STATES else "estimate"
    label = name or getattr(policy, "name", None) or getattr(policy, "__name__", None) or type(policy).__name__
    progress = progress or progress_bar(f"evaluating {label}")
    if method == "exact":
        return _exactly(solution, player, all_states, label, progress)
    if n_games < 2:
        raise ValueError(f"n_games must be 2 or more, got {n_games}")
    if standard_error is not None and not standard_error > 0:
        raise ValueError(f"standard_error must be more than 0 points, got {standard_error}")
    return _by_simulation(solution, player, n_games, standard_error, seed, label, progress)


def _exactly(solution: Solution, player: Player, all_states: bool, name: str, progress: Progress) -> Evaluation:
    forward = ForwardPass(solution, player, all_states)
    forward.run(progress)
    tally = forward.tally
    return Evaluation(
        ruleset=solution.ruleset.name,
        policy=name,
        method="exact",
        expected_score=forward.mean,
        standard_error=0.0,
        optimum=solution.expected_score,
        standard_deviation=forward.standard_deviation,
        agreement=tally.good / tally.met,
        agreement_all_states=forward.good_everywhere / forward.n_states if all_states else None,
        gap_from_holds=tally.lost_by_holds,
        gap_from_boxes=tally.lost_by_boxes,
        n_states=forward.n_states,
        n_games=0,
        anatomy=tally.anatomy(),
        distribution=forward.distribution,
    )


def _by_simulation(
    solution: Solution,
    player: Player,
    n_games: int,
    standard_error: float | None,
    seed: int,
    name: str,
    progress: Progress,
) -> Evaluation:
    simulation = Simulation(solution, player, seed)
    simulation.play(n_games, progress)
    if standard_error is not None and simulation.standard_error > standard_error:
        wanted = n_games * (simulation.standard_error / standard_error) ** 2 * _MARGIN
        simulation.play(int(np.ceil(wanted)) - n_games, progress)
    tally, n = simulation.tally, simulation.n_games
    return Evaluation(
        ruleset=solution.ruleset.name,
        policy=name,
        method="estimate",
        expected_score=solution.expected_score - float(simulation.regret.mean()),
        standard_error=simulation.standard_error,
        optimum=solution.expected_score,
        standard_deviation=float(simulation.score.std(ddof=1)),
        agreement=tally.good / tally.met,
        agreement_all_states=None,
        gap_from_holds=tally.lost_by_holds / n,
        gap_from_boxes=tally.lost_by_boxes / n,
        n_states=int(tally.met),
        n_games=n,
        anatomy=simulation.anatomy(),
        distribution=ScoreDistribution.from_scores(simulation.score),
    )


def _checked_solution(ruleset: Ruleset, solution: Solution | None) -> Solution:
    """The solution of the ruleset, unless that which was passed belongs to another one."""
    if solution is not None and solution.ruleset.fingerprint != ruleset.fingerprint:
        raise ValueError(f"the solution is one of {solution.ruleset.name!r}; expected one of {ruleset.name!r}")
    return solution or solve(ruleset)


def _n_states(solution: Solution) -> int:
    game = solution.game
    return int(np.isfinite(solution.values[1:]).sum()) * game.dice.n_rolls * game.rolls_per_turn
