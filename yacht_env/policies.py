"""Policies: what can be evaluated, and the three that need no training.

A policy is any callable that takes a batch of observations and of action masks and returns either one action a row or the
probability of every action a row. A torch model, a JAX function, a lookup table or a rule in ten lines all fit.

Public names: :class:`Policy`, :class:`RandomPolicy`, :class:`GreedyPolicy`, :class:`OptimalPolicy`,
:class:`StatePolicy`, :data:`BUILT_IN`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from yacht_env.game import Game, State, get_game
from yacht_env.observation import Form, get_observation
from yacht_env.rules import Ruleset
from yacht_env.solver import TIE, Solution, TurnModel, solve

__all__ = ["BUILT_IN", "GreedyPolicy", "OptimalPolicy", "Policy", "RandomPolicy", "StatePolicy"]


@runtime_checkable
class Policy(Protocol):
    """A way to play: ``policy(observations, action_masks)``.

    Args of the call:
        observations: A batch in the form that the policy is given, with ``N`` rows.
        action_masks: Canonical legal actions, 1 or 0, int8, shape ``(N, n_actions)``.

    Returns of the call:
        Actions, whole numbers of shape ``(N,)``; or action probabilities, floats of shape ``(N, n_actions)``.
    """

    def __call__(self, observations: Any, action_masks: npt.NDArray[np.int8], /) -> npt.NDArray[Any]:
        """Actions ``(N,)`` or action probabilities ``(N, n_actions)``."""
        ...


@runtime_checkable
class StatePolicy(Policy, Protocol):
    """A policy that can also be asked in states, which saves encoding them.

    It must answer as it would to their observations and masks.
    """

    def state_actions(self, state: State, /) -> npt.NDArray[np.int64]:
        """Actions, shape ``(N,)``, for states of shape ``(N,)``."""
        ...


class RandomPolicy:
    """Every canonical legal action with the same probability."""

    def __call__(self, observations: Any, action_masks: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
        """Action probabilities, shape ``(N, n_actions)``."""
        masks = np.asarray(action_masks, dtype=np.float64)
        return masks / masks.sum(axis=1, keepdims=True)

    def __repr__(self) -> str:
        return "RandomPolicy()"


class _ValuePolicy:
    """Takes the action of the highest value; reads both forms of observation."""

    def __init__(self, game: Game, model: TurnModel) -> None:
        self.game = game
        self.model = model

    def __call__(self, observations: Any, action_masks: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        """Actions, shape ``(N,)``."""
        form: Form = "dict" if isinstance(observations, dict) else "flat"
        state = get_observation(self.game.ruleset, form).decode(observations)
        return self.state_actions(state)

    def state_actions(self, state: State) -> npt.NDArray[np.int64]:
        """Actions for encoded states of shape ``(N,)``: filling a box before rolling on, then the lowest number."""
        values = self.model.action_values(state)
        best = values >= values.max(axis=1, keepdims=True) - TIE
        in_order = np.roll(np.arange(self.game.n_actions), -self.game.n_holds)  # boxes first, then holds
        return in_order[best[:, in_order].argmax(axis=1)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.game.ruleset.name!r})"


class GreedyPolicy(_ValuePolicy):
    """Plays each turn for its own points, as if it were the last.

    The rule: take the action with the highest expected points of the box that this turn will fill, bonus included, with
    the rest of the turn played by the same rule, and no thought of later turns. Of equal actions (within 1e-9 points) it
    fills a box rather than roll on, and takes the lowest number, so of several worthless boxes the first is scratched.

    Args:
        ruleset: A name or a :class:`~yacht_env.Ruleset`.
    """

    def __init__(self, ruleset: str | Ruleset = "yacht") -> None:
        game = get_game(ruleset)
        nothing_after = np.zeros((2**game.n_boxes, game.n_lanes))
        super().__init__(game, TurnModel(game, nothing_after))


class OptimalPolicy(_ValuePolicy):
    """Plays the exact optimum.

    Args:
        ruleset: A name or a :class:`~yacht_env.Ruleset`, which is then solved; or a :class:`~yacht_env.Solution`.
    """

    def __init__(self, ruleset: str | Ruleset | Solution = "yacht") -> None:
        self.solution = ruleset if isinstance(ruleset, Solution) else solve(ruleset)
        super().__init__(self.solution.game, self.solution.model)


BUILT_IN: Mapping[str, Callable[[Ruleset], Policy]] = MappingProxyType(
    {
        "random": lambda ruleset: RandomPolicy(),
        "greedy": GreedyPolicy,
        "optimal": OptimalPolicy,
    }
)
"""The policies that need no training, by the names that people type; each is made for a ruleset."""
