"""Where the points go: the gap to the optimum taken apart, what each box brings, and the costliest decisions.

With V* and Q* of the optimum, and d(s) the probability of visiting state s, the performance-difference identity (Kakade
and Langford, "Approximately optimal approximate reinforcement learning", 2002) says that the gap is the sum of the regrets
of the visited decisions::

    V* - Vpi  =  sum over s, a of  d(s) pi(a | s) (V*(s) - Q*(s, a))

so every decision has its share of the gap, and the shares add up however they are sorted: by the turn, by the roll that
the decision follows, or by kind. For the kinds a regret is split once more. An action either rolls on or fills a box; if
``K*(s, a)`` is the value of the best action of the same kind, then::

    V*(s) - Q*(s, a)  =  (V*(s) - K*(s, a))  +  (K*(s, a) - Q*(s, a))

where the first part was lost by rolling on or not, the second by the dice that were held or the box that was filled. By
box, a turn's losses count for the box that it ended with.

Public names: :class:`Anatomy`, :class:`BoxRecord`, :class:`CostlyDecision`, :class:`Tally`, :class:`Decisions`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from yacht_env.game import Game, State, rolls_left_text
from yacht_env.solver import TIE, Solution, best_actions

__all__ = ["KINDS", "Anatomy", "BoxRecord", "CostlyDecision", "Decisions", "Tally"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

KINDS = ("whether to roll on", "which dice to hold", "which box to fill")
"""The kinds of decisions that the gap is sorted by."""

_N_COSTLIEST = 100


@dataclass(frozen=True)
class BoxRecord:
    """What a policy makes of one box.

    Attributes:
        name: Name of the box.
        expected_points: Points that it brings to a game on average, extra points of a joker included, the upper bonus not.
        scratch_rate: Share of the games in which it is filled and brings nothing.
        filled_in_turn: Chance of being filled in each turn; adds up to 1.
    """

    name: str
    expected_points: float
    scratch_rate: float
    filled_in_turn: tuple[float, ...]

    @property
    def mean_turn(self) -> float:
        """The turn, counted from 1, in which it is filled on average."""
        return float(np.arange(1, len(self.filled_in_turn) + 1) @ np.array(self.filled_in_turn))


@dataclass(frozen=True)
class CostlyDecision:
    """A decision that costs a policy points.

    Attributes:
        dice: Faces on the table, ascending.
        rolls_left: Rolls left in the turn.
        open_boxes: Names of the open boxes.
        upper_total: Points in the number boxes, where the ruleset has an upper bonus.
        yacht_box: Whether the Yacht box holds its points, where the ruleset has a joker.
        visit_probability: Chance of meeting this state in a game (an estimate where the evaluation is one).
        action: What the policy does.
        action_probability: With which probability it does that here.
        best_action: What would have been best; of equal ones the lowest number.
        loss: Points that the action loses against the best.
        cost: Points that it costs on average a game: ``visit_probability * action_probability * loss``.
        action_text: The action in words.
        best_text: The best action in words.
    """

    dice: tuple[int, ...]
    rolls_left: int
    open_boxes: tuple[str, ...]
    upper_total: int | None
    yacht_box: bool | None
    visit_probability: float
    action: int
    action_probability: float
    best_action: int
    loss: float
    cost: float
    action_text: str
    best_text: str

    def __str__(self) -> str:
        dice, rolls = " ".join(map(str, self.dice)), rolls_left_text(self.rolls_left)
        return (
            f"{dice}, {rolls}, open: {', '.join(self.open_boxes)}: {self.action_text} instead of {self.best_text} "
            f"loses {self.loss:.3f} points, {self.cost:.5f} a game"
        )


@dataclass(frozen=True)
class Anatomy:
    """The gap taken apart; see the module. All parts are points a game, and each breakdown adds up to the gap.

    Attributes:
        by_turn: By turn, the first one first.
        by_roll: By the roll that the decision follows: the first, the second, the last.
        by_kind: By kind of decision, see :data:`KINDS`.
        by_box: By the box that the turn ended with, by name.
        boxes: What each box brings, in the order of the card.
        upper_bonus: Points that the upper bonus brings on average; 0 where there is none.
        costliest: The decisions that cost the most, the costliest first; at most a hundred.
    """

    by_turn: tuple[float, ...]
    by_roll: tuple[float, ...]
    by_kind: dict[str, float]
    by_box: dict[str, float]
    boxes: tuple[BoxRecord, ...]
    upper_bonus: float
    costliest: tuple[CostlyDecision, ...]

    def to_dict(self) -> dict[str, Any]:
        """All the figures, ready for JSON."""
        return dataclasses.asdict(self)


class Decisions(NamedTuple):
    """A batch of decisions: one row for each action that may be taken in a state, with ``N`` rows."""

    state: State
    action: IntArray
    probability: FloatArray  # of the action in its state
    weight: FloatArray  # how often state and action are met in a game
    regret: FloatArray  # V* - Q*
    of_kind: FloatArray  # the part of the regret that is lost against the best action of the same kind


class Tally:
    """Sums over decisions, from which an :class:`Anatomy` is made.

    Args:
        solution: The solved ruleset.
    """

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.game: Game = solution.game
        n = self.game.n_boxes
        self.by_turn = np.zeros(n)
        self.by_roll = np.zeros(self.game.rolls_per_turn)
        self.by_kind = np.zeros(len(KINDS))
        self.by_box = np.zeros(n)
        self.filled = np.zeros((n, n))  # turn, box
        self.points = np.zeros(n)
        self.scratched = np.zeros(n)
        self.upper_bonus = 0.0
        self.lost_by_holds = 0.0
        self.lost_by_boxes = 0.0
        self.good = 0.0
        self.met = 0.0
        self._costly = np.zeros((0, 5))  # cost, action, probability, weight, regret
        self._costly_states = np.zeros(0, dtype=np.int64)

    def add(self, decisions: Decisions) -> None:
        """Count a batch of decisions."""
        state, action, _, weight, regret, of_kind = decisions
        lost = weight * regret
        is_box = action >= self.game.n_holds
        self.by_turn += np.bincount(self._turn(state), lost, minlength=len(self.by_turn))
        roll = self.game.rolls_per_turn - 1 - state.rolls_left
        self.by_roll += np.bincount(roll, lost, minlength=len(self.by_roll))
        self.by_kind[0] += weight @ (regret - of_kind)
        self.by_kind[1:] += np.bincount(is_box, weight * of_kind, minlength=2)
        holds, boxes = np.bincount(is_box, lost, minlength=2)
        self.lost_by_holds += float(holds)
        self.lost_by_boxes += float(boxes)
        self.good += float(weight[regret <= TIE].sum())
        self.met += float(weight.sum())

    def add_filled(self, state: State, action: IntArray, weight: FloatArray, lost: FloatArray) -> None:
        """Count boxes that are filled at the end of a turn; ``lost`` is what the turn has lost, times ``weight``."""
        box, turn, n = action - self.game.n_holds, self._turn(state), self.game.n_boxes
        points = self.game.reward[state.lane, state.roll, action].astype(np.float64)
        closed = state._replace(lane=self.game.next_lane[state.lane, state.roll, action].astype(np.int64))
        bonus = self.game.bonus_paid(state, closed)
        self.upper_bonus += float(weight @ bonus)
        points -= bonus
        self.filled += np.bincount(turn * n + box, weight, minlength=n * n).reshape(n, n)
        self.points += np.bincount(box, weight * points, minlength=n)
        self.scratched += np.bincount(box, weight * (points == 0), minlength=n)
        self.by_box += np.bincount(box, lost, minlength=n)

    def _turn(self, state: State) -> IntArray:
        turn: IntArray = self.game.n_boxes - self.game.n_open[state.open_boxes]
        return turn

    def add_costly(self, decisions: Decisions) -> None:
        """Let decisions compete for being the costliest; each state and action must come once only."""
        lost = decisions.weight * decisions.regret
        floor = self._costly[-1, 0] if len(self._costly) == _N_COSTLIEST else TIE
        rows = np.flatnonzero(lost > floor)
        if not rows.size:
            return
        if len(rows) > _N_COSTLIEST:
            rows = rows[np.argpartition(lost[rows], -_N_COSTLIEST)[-_N_COSTLIEST:]]
        state, action, probability, weight, regret, _ = decisions
        new = np.column_stack([lost[rows], action[rows], probability[rows], weight[rows], regret[rows]])
        self._costly = np.concatenate([self._costly, new])
        packed = self.game.pack(State(*(field[rows] for field in state)))
        self._costly_states = np.concatenate([self._costly_states, packed])
        order = np.argsort(-self._costly[:, 0], kind="stable")[:_N_COSTLIEST]
        self._costly, self._costly_states = self._costly[order], self._costly_states[order]

    def anatomy(self, n_games: float = 1.0) -> Anatomy:
        """The result, where all weights added up over this many games."""
        names = self.game.ruleset.box_names
        return Anatomy(
            by_turn=_floats(self.by_turn / n_games),
            by_roll=_floats(self.by_roll / n_games),
            by_kind=dict(zip(KINDS, _floats(self.by_kind / n_games), strict=True)),
            by_box=dict(zip(names, _floats(self.by_box / n_games), strict=True)),
            boxes=tuple(
                BoxRecord(
                    name,
                    float(self.points[b] / n_games),
                    float(self.scratched[b] / n_games),
                    _floats(self.filled[:, b] / n_games),
                )
                for b, name in enumerate(names)
            ),
            upper_bonus=self.upper_bonus / n_games,
            costliest=tuple(self._costliest(n_games)),
        )

    def _costliest(self, n_games: float) -> list[CostlyDecision]:
        game = self.game
        states = game.unpack(self._costly_states)
        best = best_actions(self.solution.model.action_values(states))
        decisions = []
        for i, (cost, action, probability, weight, regret) in enumerate(self._costly.tolist()):
            roll, rolls_left, lane, open_boxes = (int(field[i]) for field in states)
            decisions.append(
                CostlyDecision(
                    dice=tuple(game.dice.faces[roll].tolist()),
                    rolls_left=rolls_left,
                    open_boxes=game.open_names(open_boxes),
                    upper_total=int(game.upper_total(lane)) if game.ruleset.upper_bonus else None,
                    yacht_box=bool(game.yacht_box(lane)) if game.ruleset.joker else None,
                    visit_probability=weight / probability / n_games,
                    action=int(action),
                    action_probability=probability,
                    best_action=int(best[i]),
                    loss=regret,
                    cost=cost / n_games,
                    action_text=game.action_text(roll, int(action)),
                    best_text=game.action_text(roll, int(best[i])),
                )
            )
        return decisions


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.tolist())
