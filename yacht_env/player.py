"""Asking a policy, and checking what it answers.

Public names: :class:`Player`, :class:`Choices`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from yacht_env.game import Game, State
from yacht_env.observation import Observation
from yacht_env.policies import Policy, StatePolicy

__all__ = ["Choices", "Player"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ILLEGAL_MASS = 1e-6  # probability of illegal actions that is taken for rounding


class Choices(NamedTuple):
    """What a policy does in a batch of states: one row for each action that it may take, in the order of the states."""

    row: IntArray  # index of the state
    action: IntArray
    probability: FloatArray


class Player:
    """A policy that is asked in encoded states, and whose answers are checked.

    Args:
        policy: The policy.
        observation: The form of observation that it is given.
        deterministic: Whether it takes the most likely action where it returns probabilities.

    Raises:
        ValueError: where the policy belongs to another ruleset than the observation.
    """

    def __init__(self, policy: Policy, observation: Observation, deterministic: bool = False) -> None:
        played = getattr(policy, "game", None)
        if isinstance(played, Game) and played.ruleset.fingerprint != observation.game.ruleset.fingerprint:
            raise ValueError(
                f"the policy plays {played.ruleset.name!r}; it can't be asked about {observation.game.ruleset.name!r}"
            )
        self.policy = policy
        self.observation = observation
        self.game = observation.game
        self.deterministic = deterministic

    def choose(self, state: State) -> Choices:
        """What the policy does in these states, shape ``(N,)``.

        Raises:
            ValueError: for an illegal action or an answer of another shape or type, naming the state.
        """
        n = len(state.roll)
        answer = self._ask(state)
        if answer.shape == (n,) and np.issubdtype(answer.dtype, np.integer):
            choices = Choices(np.arange(n), answer.astype(np.int64), np.ones(n))
        elif answer.shape == (n, self.game.n_actions) and np.issubdtype(answer.dtype, np.floating):
            choices = self._from_probabilities(state, answer.astype(np.float64))
        else:
            raise ValueError(
                f"the policy returned {answer.dtype} of shape {answer.shape}; expected whole numbers of shape ({n},) "
                f"or probabilities of shape ({n}, {self.game.n_actions})"
            )
        legal = self.game.is_legal(State(*(field[choices.row] for field in state)), choices.action)
        if not legal.all():
            first = int(np.flatnonzero(~legal)[0])
            raise ValueError(
                f"the policy plays the illegal action {choices.action[first]} in {self._describe(state, choices.row[first])}"
            )
        return choices

    def _ask(self, state: State) -> npt.NDArray[Any]:
        """The policy's answer; a policy that reads states need not see them encoded."""
        if isinstance(self.policy, StatePolicy):
            return np.asarray(self.policy.state_actions(state))
        return np.asarray(self.policy(self.observation.encode(state), self.game.action_mask(state)))

    def _from_probabilities(self, state: State, probabilities: FloatArray) -> Choices:
        n = len(probabilities)
        total = probabilities.sum(axis=1)
        wrong = ~(np.abs(total - 1.0) < 1e-3) | (probabilities < 0).any(axis=1)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"the policy's probabilities in {self._describe(state, first)} are not a distribution; "
                f"they add up to {total[first]}"
            )
        # Rounding may leave a trace of probability on illegal actions; more than a trace is refused by choose().
        tiny = (probabilities < _ILLEGAL_MASS) & (self.game.action_mask(state) == 0)
        probabilities = np.where(tiny, 0.0, probabilities)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        if self.deterministic:
            return Choices(np.arange(n), probabilities.argmax(axis=1), np.ones(n))
        row, action = np.nonzero(probabilities)
        return Choices(row, action, probabilities[row, action])

    def sample(self, state: State, random: np.random.Generator) -> IntArray:
        """One action a state, drawn by the policy's probabilities; shape ``(N,)``."""
        choices = self.choose(state)
        if len(choices.row) == len(state.roll):
            return choices.action
        start = np.searchsorted(choices.row, np.arange(len(state.roll) + 1))
        cumulative = np.concatenate([[0.0], np.cumsum(choices.probability)])
        low, high = cumulative[start[:-1]], cumulative[start[1:]]
        # The random number picks a place between the bounds of its row; min keeps rounding from leaving the row.
        place = low + random.random(len(low)) * (high - low)
        picked = np.searchsorted(cumulative, place, side="right") - 1
        return choices.action[np.clip(picked, start[:-1], start[1:] - 1)]

    def play_on(self, state: State, random: np.random.Generator) -> IntArray:
        """Play games from these states to their ends; the points that they bring from here, shape ``(N,)``."""
        state = State(*(field.copy() for field in state))
        points = np.zeros(len(state.roll), dtype=np.int64)
        while (going := np.flatnonzero(state.open_boxes)).size:
            part = State(*(field[going] for field in state))
            after, gained, _ = self.game.transition(part, self.sample(part, random), random.random(len(going)))
            points[going] += gained
            for field, new in zip(state, after, strict=True):
                field[going] = new
        return points

    def _describe(self, state: State, row: int) -> str:
        game = self.game
        roll, rolls_left, lane, open_boxes = (int(field[row]) for field in state)
        names = list(game.open_names(open_boxes))
        upper = f", upper total {lane // game.n_jokers}" if game.ruleset.upper_bonus else ""
        return f"the state dice {game.dice.faces[roll].tolist()}, {rolls_left} rolls left, open {names}{upper}"
