"""How good a policy is, exactly, and where it loses.

**Exact.** One pass forward through the cards, from the empty card to the full one, carries the probability that a policy
visits each decision state, and with it the mean and the mean square of the points so far. The policy is asked once for
every state that it can reach. At the end stand its expected score and standard deviation, without any simulation. A few
cards are played at a time, so the policy's batches, and the memory beside three numbers a card, stay small.

**Where the gap comes from.** With V* and Q* of the optimum, and d(s) the probability of visiting state s, the
performance-difference identity (Kakade and Langford, "Approximately optimal approximate reinforcement learning", 2002)
says that the gap is the sum of the regrets of the visited decisions::

    V* - Vpi  =  sum over s of  d(s) * (V*(s) - sum over a of pi(a | s) Q*(s, a))

so every decision has its share of the gap, and shares add up by kind of decision.

**Estimated.** Where there are too many states, games are simulated and only their regrets averaged: V* minus the mean
regret of a game is an unbiased estimate of the policy's value in which the luck of the dice cancels (V* is the control
variate), so its standard error is far below that of the scores.

Public names: :func:`evaluate`, :class:`Evaluation`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from yacht_env.dice import spread_over_rolls
from yacht_env.game import Game, State
from yacht_env.observation import Form, Observation, get_observation
from yacht_env.policies import Policy
from yacht_env.progress import Progress, progress_bar
from yacht_env.rules import Ruleset, get_ruleset
from yacht_env.solver import TIE, Solution, solve

__all__ = ["Evaluation", "evaluate"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_EXACT_STATES = 5_000_000  # "auto" is exact up to this many decision states
_CARDS = 32  # cards evaluated together; 756 decision states each
_ILLEGAL_MASS = 1e-6  # probability of illegal actions that is taken for rounding


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

    @property
    def optimality_gap(self) -> float:
        """Points a game short of the optimum."""
        return self.optimum - self.expected_score

    @property
    def share_of_optimum(self) -> float:
        """Expected score divided by the optimum."""
        return self.expected_score / self.optimum

    def to_dict(self) -> dict[str, Any]:
        """All the figures, the derived ones included, ready for JSON."""
        derived = {"optimality_gap": self.optimality_gap, "share_of_optimum": self.share_of_optimum}
        return {**dataclasses.asdict(self), **derived}


def evaluate(
    policy: Policy,
    ruleset: str | Ruleset = "yacht",
    *,
    observation: Form = "flat",
    deterministic: bool = False,
    method: Literal["auto", "exact", "estimate"] = "auto",
    all_states: bool = False,
    n_games: int = 10_000,
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
        seed: Of the simulated games.
        name: What to call the policy; its own name otherwise.
        solution: The solved ruleset, to save looking it up.
        progress: Called with (work done, work in all); a bar on the terminal by default.

    Raises:
        ValueError: where the policy plays an illegal action or returns something of another shape, naming the state;
            where it, or the solution, belongs to another ruleset; for an unknown ruleset, form or method; for less than
            two games.
    """
    solution = _checked_solution(policy, get_ruleset(ruleset), solution)
    player = _Player(policy, get_observation(solution.ruleset, observation), deterministic)
    if method not in ("auto", "exact", "estimate"):
        raise ValueError(f"method must be 'auto', 'exact' or 'estimate', got {method!r}")
    if method == "auto":
        method = "exact" if _n_states(solution) <= _EXACT_STATES else "estimate"
    label = name or getattr(policy, "name", None) or getattr(policy, "__name__", None) or type(policy).__name__
    progress = progress or progress_bar(f"evaluating {label}")
    if method == "exact":
        return _ForwardPass(solution, player, all_states).run(label, progress)
    if n_games < 2:
        raise ValueError(f"n_games must be 2 or more, got {n_games}")
    return _Simulation(solution, player, n_games, seed).run(label, progress)


def _checked_solution(policy: Policy, ruleset: Ruleset, solution: Solution | None) -> Solution:
    """The solution of the ruleset, once nothing that was passed belongs to another one."""
    game = getattr(policy, "game", None)
    if isinstance(game, Game) and game.ruleset.fingerprint != ruleset.fingerprint:
        raise ValueError(f"the policy plays {game.ruleset.name!r}; it can't be measured on {ruleset.name!r}")
    if solution is not None and solution.ruleset.fingerprint != ruleset.fingerprint:
        raise ValueError(f"the solution is one of {solution.ruleset.name!r}; expected one of {ruleset.name!r}")
    return solution or solve(ruleset)


def _n_states(solution: Solution) -> int:
    game = solution.game
    return int(np.isfinite(solution.values[1:]).sum()) * game.dice.n_rolls * game.rolls_per_turn


class _Choices(NamedTuple):
    """What a policy does in a batch of states: one row for each action that it may take."""

    row: IntArray  # index of the state
    action: IntArray
    probability: FloatArray


class _Player:
    """A policy that is asked in encoded states, and whose answers are checked."""

    def __init__(self, policy: Policy, observation: Observation, deterministic: bool) -> None:
        self.policy = policy
        self.observation = observation
        self.game = observation.game
        self.deterministic = deterministic

    def choose(self, state: State) -> _Choices:
        n = len(state.roll)
        answer = np.asarray(self.policy(self.observation.encode(state), self.game.action_mask(state)))
        if answer.shape == (n,) and np.issubdtype(answer.dtype, np.integer):
            choices = _Choices(np.arange(n), answer.astype(np.int64), np.ones(n))
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

    def _from_probabilities(self, state: State, probabilities: FloatArray) -> _Choices:
        n = len(probabilities)
        if self.deterministic:
            return _Choices(np.arange(n), probabilities.argmax(axis=1), np.ones(n))
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
        row, action = np.nonzero(probabilities)
        return _Choices(row, action, probabilities[row, action])

    def _describe(self, state: State, row: int) -> str:
        game = self.game
        roll, rolls_left, lane, open_boxes = (int(field[row]) for field in state)
        names = [name for b, name in enumerate(game.ruleset.box_names) if open_boxes >> b & 1]
        upper = f", upper total {lane // game.n_jokers}" if game.ruleset.upper_bonus else ""
        return f"the state dice {game.dice.faces[roll].tolist()}, {rolls_left} rolls left, open {names}{upper}"


class _Tally:
    """Sums of regrets and of good decisions, weighted by how often the decisions are met."""

    def __init__(self, n_holds: int) -> None:
        self.n_holds = n_holds
        self.lost_by_holds = 0.0
        self.lost_by_boxes = 0.0
        self.good = 0.0
        self.met = 0.0
        self.n_states = 0
        self.good_everywhere = 0.0

    def add(self, action: IntArray, regret: FloatArray, weight: FloatArray) -> None:
        lost = weight * regret
        is_box = action >= self.n_holds
        self.lost_by_boxes += float(lost[is_box].sum())
        self.lost_by_holds += float(lost[~is_box].sum())
        self.good += float(weight[regret <= TIE].sum())
        self.met += float(weight.sum())


class _ForwardPass:
    """The exact evaluation; see the module."""

    def __init__(self, solution: Solution, player: _Player, all_states: bool) -> None:
        self.solution = solution
        self.game: Game = solution.game
        self.player = player
        self.all_states = all_states
        self.tally = _Tally(self.game.n_holds)
        # Probability of starting a turn on a card, and that times the points so far and their square.
        self.moments = np.zeros((3, 2**self.game.n_boxes, self.game.n_lanes))
        self.moments[0, self.game.all_open, 0] = 1.0

    def run(self, name: str, progress: Progress) -> Evaluation:
        reachable = np.isfinite(self.solution.values)
        done, total = 0, int(reachable[1:].sum())
        for layer in range(self.game.n_boxes, 0, -1):
            in_layer = reachable & (self.game.n_open == layer)[:, None]
            wanted = in_layer if self.all_states else in_layer & (self.moments[0] > 0)
            open_boxes, lane = np.nonzero(wanted)
            done += int(in_layer.sum()) - len(lane)
            for i in range(0, len(lane), _CARDS):
                self._play_turns(open_boxes[i : i + _CARDS], lane[i : i + _CARDS])
                done += len(lane[i : i + _CARDS])
                progress(done, total)
        progress(total, total)  # the last cards may be out of the policy's reach
        return self._result(name)

    def _play_turns(self, open_boxes: IntArray, lane: IntArray) -> None:
        game, dice, n_cards = self.game, self.game.dice, len(lane)
        tables = self.solution.model.tables(open_boxes, lane)
        rolls, columns = (grid.ravel() for grid in np.indices((dice.n_rolls, n_cards)))
        # The three moments of each card travel side by side, as 3 L lanes: shape (R, 3 L), and (K, 3 L) for keeps.
        met = dice.probability[:, None] * self.moments[:, open_boxes, lane].reshape(1, -1)
        for rolls_left in range(game.rolls_per_turn - 1, -1, -1):
            met_cells = met.reshape(-1, 3, n_cards)
            asked = np.arange(rolls.size) if self.all_states else np.flatnonzero(met_cells[:, 0].ravel() > 0)
            if not asked.size:
                return  # the turn is over everywhere
            roll, column = rolls[asked], columns[asked]
            state = State(roll, np.full_like(roll, rolls_left), lane[column], open_boxes[column])
            choices = self.player.choose(state)
            weights = met_cells[roll, :, column][choices.row].T * choices.probability
            chosen = State(*(field[choices.row] for field in state))
            best = tables.roll_values(game, rolls_left)[chosen.roll, column[choices.row]]
            value = self.solution.model.values_of(tables, rolls_left, chosen, column[choices.row], choices.action)
            regret = np.maximum(best - value, 0.0)
            self.tally.add(choices.action, regret, weights[0])
            self.tally.n_states += len(roll)
            self.tally.good_everywhere += float(choices.probability[regret <= TIE].sum())
            self._fill_boxes(chosen, choices.action, weights)
            met = self._roll_on(chosen.roll, column[choices.row], choices.action, weights, n_cards)

    def _fill_boxes(self, state: State, action: IntArray, weights: FloatArray) -> None:
        """Move the mass of the decisions that fill a box on to the cards of the next turn."""
        rows = np.flatnonzero(action >= self.game.n_holds)
        state, action = State(*(field[rows] for field in state)), action[rows]
        mass, points, squares = weights[:, rows]
        reward = self.game.reward[state.lane, state.roll, action].astype(np.float64)
        after = state.open_boxes & ~(1 << (action - self.game.n_holds))
        card = after * self.game.n_lanes + self.game.next_lane[state.lane, state.roll, action]
        moved = (mass, points + reward * mass, squares + 2 * reward * points + reward**2 * mass)
        cards, where = np.unique(card, return_inverse=True)
        for moment, weight in zip(self.moments, moved, strict=True):
            moment.reshape(-1)[cards] += np.bincount(where, weight, minlength=len(cards))

    def _roll_on(
        self, roll: IntArray, column: IntArray, action: IntArray, weights: FloatArray, n_cards: int
    ) -> FloatArray:
        """Roll the dice of the decisions that hold some; shape ``(R, 3 L)``."""
        dice = self.game.dice
        rows = np.flatnonzero(action < self.game.n_holds)
        keep = dice.hold_keep[roll[rows], action[rows]]
        cell = keep * (3 * n_cards) + column[rows]
        size = dice.n_keeps * 3 * n_cards
        mass = sum(np.bincount(cell + i * n_cards, weights[i, rows], minlength=size) for i in range(3))
        return spread_over_rolls(dice, np.asarray(mass, dtype=np.float64).reshape(dice.n_keeps, 3 * n_cards))

    def _result(self, name: str) -> Evaluation:
        tally = self.tally
        _, mean, square = self.moments[:, 0].sum(axis=1)
        return Evaluation(
            ruleset=self.game.ruleset.name,
            policy=name,
            method="exact",
            expected_score=float(mean),
            standard_error=0.0,
            optimum=self.solution.expected_score,
            standard_deviation=float(np.sqrt(max(square - mean**2, 0.0))),
            agreement=tally.good / tally.met,
            agreement_all_states=tally.good_everywhere / tally.n_states if self.all_states else None,
            gap_from_holds=tally.lost_by_holds,
            gap_from_boxes=tally.lost_by_boxes,
            n_states=tally.n_states,
            n_games=0,
        )


class _Simulation:
    """The control-variate estimate; see the module. All games play their turns side by side."""

    def __init__(self, solution: Solution, player: _Player, n_games: int, seed: int) -> None:
        self.solution = solution
        self.game: Game = solution.game
        self.player = player
        self.n_games = n_games
        self.random = np.random.default_rng(seed)
        self.tally = _Tally(self.game.n_holds)
        self.regret = np.zeros(n_games)
        self.score = np.zeros(n_games)

    def run(self, name: str, progress: Progress) -> Evaluation:
        game = self.game
        state = game.start(self.random.random(self.n_games))
        for turn in range(game.n_boxes):
            state = self._play_turn(state)
            progress(turn + 1, game.n_boxes)
        regret = float(self.regret.mean())
        return Evaluation(
            ruleset=game.ruleset.name,
            policy=name,
            method="estimate",
            expected_score=self.solution.expected_score - regret,
            standard_error=float(self.regret.std(ddof=1)) / self.n_games**0.5,
            optimum=self.solution.expected_score,
            standard_deviation=float(self.score.std(ddof=1)),
            agreement=self.tally.good / self.tally.met,
            agreement_all_states=None,
            gap_from_holds=self.tally.lost_by_holds / self.n_games,
            gap_from_boxes=self.tally.lost_by_boxes / self.n_games,
            n_states=int(self.tally.met),
            n_games=self.n_games,
        )

    def _play_turn(self, state: State) -> State:
        """Play one turn in every game; returns the states after the next turn's first roll."""
        turn_card = state.open_boxes.copy()
        for _ in range(self.game.rolls_per_turn):
            rows = np.flatnonzero(state.open_boxes == turn_card)
            if not rows.size:
                break  # every game has filled its box
            part = State(*(field[rows] for field in state))
            action = self._sample(part)
            values = self.solution.model.action_values(part)
            regret = values.max(axis=1) - values[np.arange(len(rows)), action]
            self.tally.add(action, regret, np.ones(len(rows)))
            self.regret[rows] += regret
            after, points, _ = self.game.transition(part, action, self.random.random(len(rows)))
            self.score[rows] += points
            for field, new in zip(state, after, strict=True):
                field[rows] = new
        return state

    def _sample(self, state: State) -> IntArray:
        choices = self.player.choose(state)
        if len(choices.row) == len(state.roll):
            return choices.action
        start = np.searchsorted(choices.row, np.arange(len(state.roll) + 1))
        cumulative = np.concatenate([[0.0], np.cumsum(choices.probability)])
        low, high = cumulative[start[:-1]], cumulative[start[1:]]
        # The random number picks a place between the bounds of its row; min keeps rounding from leaving the row.
        place = low + self.random.random(len(low)) * (high - low)
        picked = np.searchsorted(cumulative, place, side="right") - 1
        return choices.action[np.clip(picked, start[:-1], start[1:] - 1)]
