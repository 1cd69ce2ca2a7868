"""Usual advice for players, tested on every position that optimal play meets.

Advice (:mod:`yacht_env.advice`) is right in a state where one of the actions that follow it is as good as the best. States
count as often as optimal play meets them.

Public names: :func:`weigh_advice`, :class:`Verdict`, :func:`strategy_page`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from yacht_env.advice import ADVICE, Advice, Position
from yacht_env.anatomy import Decisions, Tally
from yacht_env.forward_pass import ForwardPass
from yacht_env.game import State, rolls_left_text
from yacht_env.observation import get_observation
from yacht_env.player import Player
from yacht_env.policies import OptimalPolicy
from yacht_env.progress import Progress, progress_bar
from yacht_env.rules import Ruleset
from yacht_env.solver import TIE, Solution, solve

__all__ = ["Verdict", "strategy_page", "weigh_advice"]

FloatArray = npt.NDArray[np.float64]


@dataclass
class Verdict:
    """What came out for one piece of advice.

    Attributes:
        advice: The advice.
        n_states: Different states in which it applies.
        visits: How often a game of optimal play meets one of them.
        right: How often a game meets one in which the advice is right.
        cost: Points a game that following it there costs.
        worst_loss: The most that following it loses, weighed by how often it is met.
        worst: The state where that is, packed; -1 where it is never wrong.
    """

    advice: Advice
    n_states: int = 0
    visits: float = 0.0
    right: float = 0.0
    cost: float = 0.0
    worst_loss: float = 0.0
    worst: int = -1

    @property
    def share_right(self) -> float:
        """Share of the visits in which it is right."""
        return self.right / self.visits if self.visits else 1.0

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        names = ("n_states", "visits", "share_right", "loss_when_wrong", "cost")
        return {"advice": self.advice.title, "meaning": self.advice.meaning} | {n: getattr(self, n) for n in names}

    @property
    def loss_when_wrong(self) -> float:
        """Points that following it loses on average where it is wrong."""
        wrong = self.visits - self.right
        return self.cost / wrong if wrong > 0 else 0.0


class _Watch(Tally):
    """Weighs advice at every decision that goes by."""

    def __init__(self, solution: Solution, advice: Sequence[Advice]) -> None:
        super().__init__(solution)
        self.verdicts = [Verdict(one) for one in advice]
        self._worst_cost = [0.0 for _ in advice]

    def add(self, decisions: Decisions) -> None:
        at = Position(self.game, decisions.state)
        where = np.array([verdict.advice.applies(at) for verdict in self.verdicts]) & (decisions.weight > 0)
        rows = np.flatnonzero(where.any(axis=0))
        if not rows.size:
            return
        state = State(*(field[rows] for field in decisions.state))
        values = self.solution.model.action_values(state)
        for i, verdict in enumerate(self.verdicts):
            chosen = np.flatnonzero(where[i, rows])
            if chosen.size:
                self._weigh(
                    i,
                    verdict,
                    State(*(field[chosen] for field in state)),
                    values[chosen],
                    decisions.weight[rows[chosen]],
                )

    def _weigh(self, i: int, verdict: Verdict, state: State, values: FloatArray, weight: FloatArray) -> None:
        follows = verdict.advice.follows(Position(self.game, state))
        loss = values.max(axis=1) - np.where(follows, values, -np.inf).max(axis=1)
        verdict.n_states += len(loss)
        verdict.visits += float(weight.sum())
        verdict.right += float(weight[loss <= TIE].sum())
        verdict.cost += float((weight * np.where(loss <= TIE, 0.0, loss)).sum())
        worst = int((weight * loss).argmax())
        if loss[worst] > TIE and weight[worst] * loss[worst] > self._worst_cost[i]:
            self._worst_cost[i] = float(weight[worst] * loss[worst])
            verdict.worst_loss = float(loss[worst])
            verdict.worst = int(self.game.pack(State(*(field[worst : worst + 1] for field in state)))[0])


def weigh_advice(
    ruleset: str | Ruleset = "yacht", advice: Sequence[Advice] = ADVICE, progress: Progress | None = None
) -> list[Verdict]:
    """Test advice on every decision of optimal play.

    Args:
        ruleset: The game, with the boxes of the default one.
        advice: What to weigh; pieces about boxes that the ruleset lacks are left out.
        progress: Called with (work done, work in all); a bar on the terminal by default.

    Raises:
        ValueError: for an unknown ruleset.
    """
    solution = solve(ruleset)
    names = solution.ruleset.box_names
    watch = _Watch(solution, [one for one in advice if set(one.boxes) <= set(names)])
    player = Player(OptimalPolicy(solution), get_observation(solution.ruleset, "flat"))
    ForwardPass(solution, player, tally=watch).run(progress or progress_bar("weighing advice"))
    return watch.verdicts


_INTRODUCTION = (
    "Advice that players give each other for `{name}`, held against perfect play. Each piece is a test on positions: where "
    "it applies, and which actions follow it. It is *right* in a position where nothing is better than following it. "
    "Positions count as often as perfect play (which averages {score:.2f} points) meets them, and a *cost* is what a "
    "perfect player would lose by following the advice there. Every figure is exact."
)


def strategy_page(verdicts: Sequence[Verdict], ruleset: str | Ruleset = "yacht") -> str:
    """The verdicts as a page in Markdown."""
    solution = solve(ruleset)
    lines = [
        "# Is the usual advice right?",
        "",
        _INTRODUCTION.format(name=solution.ruleset.name, score=solution.expected_score),
        "",
        "| advice | met a game | right | loses where wrong | costs a game |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [_table_row(verdict) for verdict in verdicts]
    for verdict in verdicts:
        lines += ["", f"## {verdict.advice.title}", "", verdict.advice.meaning, "", _in_words(solution, verdict)]
    lines += ["", "Made by `make docs`; `yacht-env strategy` prints it."]
    return "\n".join(lines)


def _table_row(verdict: Verdict) -> str:
    title = verdict.advice.title
    cells = (
        f"[{title}](#{_anchor(title)})",
        f"{verdict.visits:.3f}",
        _percent(verdict.share_right),
        f"{verdict.loss_when_wrong:.2f}",
        f"{verdict.cost:.4f}",
    )
    return f"| {' | '.join(cells)} |"


def _percent(share: float) -> str:
    """A share that only says 100 % where it is whole."""
    return "100 %" if share == 1.0 else f"{min(share, 0.9999):.2%}".replace("%", " %")


def _in_words(solution: Solution, verdict: Verdict) -> str:
    if not verdict.visits:
        return "Perfect play never meets such a position."
    every = 1 / verdict.visits
    often = f"once in {every:,.0f} games" if every >= 1.5 else f"{verdict.visits:.2f} times a game"
    text = f"**{_judgement(verdict)}.** Perfect play meets {verdict.n_states:,} such positions, {often} in all. "
    if verdict.worst < 0:
        return text + "There is no exception."
    text += (
        f"The advice is right in {_percent(verdict.share_right)} of these cases; where it is wrong, it loses "
        f"{verdict.loss_when_wrong:.2f} points on average. "
    )
    return text + _exception(solution, verdict)


def _judgement(verdict: Verdict) -> str:
    steps = ((1.0, "Always right"), (0.98, "Right, with rare exceptions"), (0.9, "Right nine times in ten or more"))
    for least, words in steps:
        if verdict.share_right >= least:
            return words
    return "More often right than wrong" if verdict.share_right >= 0.5 else "More often wrong than right"


def _exception(solution: Solution, verdict: Verdict) -> str:
    game = solution.game
    state = game.unpack(np.array([verdict.worst]))
    roll, rolls_left, _, open_boxes = (int(field[0]) for field in state)
    values = solution.model.action_values(state)[0]
    follows = np.where(verdict.advice.follows(Position(game, state))[0], values, -np.inf)
    names = game.open_names(open_boxes)
    closed = [name for name in game.ruleset.box_names if name not in names]
    card = f"only {', '.join(names)} open" if len(names) <= len(closed) else f"all open but {', '.join(closed)}"
    card = "all boxes open" if not closed else card
    dice = "-".join(map(str, game.dice.faces[roll].tolist()))
    best, followed = (game.action_text(roll, int(one.argmax())) for one in (values, follows))
    return (
        f"The exception that matters most: {dice}, {rolls_left_text(rolls_left)}, {card}. "
        f"Best is to {best}; the advice ({followed}) loses {verdict.worst_loss:.2f} points."
    )


def _anchor(title: str) -> str:
    """The name that Markdown viewers give a heading."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")
