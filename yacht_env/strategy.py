"""Usual advice for players, tested on every position that optimal play meets.

A piece of advice is stated as a test on decision states: where it applies, and which actions follow it. It is right in a
state where one of these actions is as good as the best. States count as often as optimal play meets them.

Public names: :func:`weigh_advice`, :class:`Advice`, :class:`Verdict`, :data:`ADVICE`, :func:`strategy_page`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from yacht_env.anatomy import Decisions, Tally
from yacht_env.forward_pass import ForwardPass
from yacht_env.game import Game, State
from yacht_env.observation import get_observation
from yacht_env.player import Player
from yacht_env.policies import OptimalPolicy
from yacht_env.progress import Progress, progress_bar
from yacht_env.rules import Number, Ruleset
from yacht_env.solver import TIE, Solution, solve

__all__ = ["ADVICE", "Advice", "Verdict", "strategy_page", "weigh_advice"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


class Position:
    """A batch of states, in the words of a player.

    Args:
        game: The game.
        state: The states, shape ``(N,)``.
    """

    def __init__(self, game: Game, state: State) -> None:
        self.game = game
        self.state = state
        self.rolls_left = state.rolls_left
        self.counts = game.dice.counts[state.roll].astype(np.int64)
        self.sum = game.dice.faces[state.roll].sum(axis=1, dtype=np.int64)
        self.points = game.reward[state.lane, state.roll, game.n_holds :].astype(np.int64)
        self.open = game.box_rows[state.open_boxes].astype(bool)
        self.n_open = game.n_open[state.open_boxes]
        self.numbers = np.array([isinstance(box.pattern, Number) for box in game.ruleset.boxes])

    def is_open(self, name: str) -> BoolArray:
        """Whether a box is open, shape ``(N,)``."""
        flags: BoolArray = self.open[:, self.game.ruleset.index(name)]
        return flags

    def scores(self, name: str) -> BoolArray:
        """Whether a box is open and would score, shape ``(N,)``."""
        return self.is_open(name) & (self.points[:, self.game.ruleset.index(name)] > 0)

    def filling(self, *names: str) -> BoolArray:
        """The actions that fill one of these boxes, shape ``(N, A)``."""
        actions = np.zeros((len(self.sum), self.game.n_actions), dtype=bool)
        actions[:, [self.game.n_holds + self.game.ruleset.index(name) for name in names]] = True
        return actions

    def holding(self, counts: npt.NDArray[np.int64]) -> BoolArray:
        """The actions that hold exactly so many dice of each face, ``(N, n_faces)`` or ``(n_faces,)``; shape ``(N, A)``."""
        dice = self.game.dice
        held = np.arange(dice.n_holds)[:, None] >> np.arange(dice.n_dice) & 1
        faces = dice.faces[self.state.roll].astype(np.int64) - 1
        kept = np.einsum("hd,ndf->nhf", held, np.eye(dice.n_faces, dtype=np.int64)[faces])
        actions = np.zeros((len(faces), self.game.n_actions), dtype=bool)
        actions[:, : dice.n_holds] = (kept == np.broadcast_to(counts, (len(faces), dice.n_faces))[:, None]).all(axis=2)
        return actions


@dataclass(frozen=True)
class Advice:
    """A piece of advice.

    Attributes:
        title: It in a few words.
        meaning: How it is tested, for a reader.
        boxes: The boxes that it speaks of.
        applies: Where it applies, shape ``(N,)``.
        follows: The actions that follow it, shape ``(N, A)``.
    """

    title: str
    meaning: str
    boxes: tuple[str, ...]
    applies: Callable[[Position], BoolArray]
    follows: Callable[[Position], BoolArray]


_RUN = np.array([0, 1, 1, 1, 1, 0])
_LOW = 3  # faces up to here are low
_EARLY = 7  # open boxes from here on are many
_NUMBER_NAMES = ("Ones", "Twos", "Threes", "Fours", "Fives", "Sixes")


def _is_full_house(at: Position) -> BoolArray:
    return at.scores("Full House") & (at.rolls_left > 0)


def _nothing_but_ones(at: Position) -> BoolArray:
    others = [b for b, name in enumerate(at.game.ruleset.box_names) if name != "Ones"]
    return (
        (at.rolls_left == 0)
        & at.is_open("Ones")
        & ~(at.open & (at.points > 0))[:, others].any(axis=1)
        & (at.n_open > 1)
    )


def _low_four(at: Position) -> BoolArray:
    four = at.counts[:, :_LOW] >= 4
    numbers = np.column_stack([at.is_open(name) for name in _NUMBER_NAMES[:_LOW]])
    return (at.rolls_left == 0) & at.is_open("Four of a Kind") & (four & numbers).any(axis=1)


def _high_four(at: Position) -> BoolArray:
    four = (at.counts[:, _LOW:] == 4).any(axis=1)
    return (at.rolls_left > 0) & at.is_open("Yacht") & four


def _poor_choice(at: Position) -> BoolArray:
    choice = at.game.ruleset.index("Choice")
    patterns = ~at.numbers & (np.arange(at.game.n_boxes) != choice)
    scores = (at.open & (at.points > 0) & patterns).any(axis=1)
    return (at.rolls_left == 0) & at.is_open("Choice") & (at.open & at.numbers).any(axis=1) & (at.sum < 20) & ~scores


ADVICE: tuple[Advice, ...] = (
    Advice(
        "When nothing fits, scratch Ones first",
        "No roll is left, Ones and other boxes are open, and none of the others would score. The advice: fill Ones.",
        ("Ones",),
        _nothing_but_ones,
        lambda at: at.filling("Ones"),
    ),
    Advice(
        "Never break 2-3-4-5 for a pair",
        "The dice are 2-3-4-5 and a second one of these, a roll is left, and both straights are open. "
        "The advice: hold 2-3-4-5, or fill a box, but don't go on with fewer.",
        ("Little Straight", "Big Straight"),
        lambda at: (
            (at.rolls_left > 0)
            & at.is_open("Little Straight")
            & at.is_open("Big Straight")
            & (at.counts >= _RUN).all(axis=1)
            & (at.counts[:, [0, 5]] == 0).all(axis=1)
        ),
        lambda at: at.holding(_RUN) | at.filling(*at.game.ruleset.box_names),
    ),
    Advice(
        "Keep Choice for late",
        f"No roll is left, Choice is open, and so are at least {_EARLY - 1} other boxes. The advice: fill another box.",
        ("Choice",),
        lambda at: (at.rolls_left == 0) & at.is_open("Choice") & (at.n_open >= _EARLY),
        lambda at: at.filling(*(name for name in at.game.ruleset.box_names if name != "Choice")),
    ),
    Advice(
        "Take a Full House of 20 or more",
        "The dice are a full house worth 20 or more, the box is open, and a roll is left. The advice: take it.",
        ("Full House",),
        lambda at: _is_full_house(at) & (at.sum >= 20),
        lambda at: at.filling("Full House"),
    ),
    Advice(
        "With a Full House below 15, look for something better",
        "The dice are a full house worth less than 15, the box is open, and a roll is left. The advice: don't take it yet.",
        ("Full House",),
        lambda at: _is_full_house(at) & (at.sum < 15),
        lambda at: ~at.filling("Full House"),
    ),
    Advice(
        "Four of a Kind is a box for sixes: four sixes go there",
        "No roll is left, the dice show four sixes or five, Sixes and Four of a Kind are open, and Yacht does not score. "
        "The advice: fill Four of a Kind.",
        ("Four of a Kind", "Sixes", "Yacht"),
        lambda at: (
            (at.rolls_left == 0)
            & (at.counts[:, 5] >= 4)
            & at.is_open("Sixes")
            & at.is_open("Four of a Kind")
            & ~at.scores("Yacht")
        ),
        lambda at: at.filling("Four of a Kind"),
    ),
    Advice(
        "Four of a Kind is a box for sixes: low fours go elsewhere",
        "No roll is left, the dice show four ones, twos or threes or more, and both their number box and Four of a Kind are "
        "open. The advice: keep Four of a Kind.",
        ("Four of a Kind", "Ones", "Twos", "Threes"),
        _low_four,
        lambda at: ~at.filling("Four of a Kind"),
    ),
    Advice(
        "From four of a high face, roll for the Yacht",
        "Four of the dice show the same face, four or higher, Yacht is open, and a roll is left. The advice: hold the four.",
        ("Yacht",),
        _high_four,
        lambda at: at.holding(np.where(at.counts >= 4, 4, 0)),
    ),
    Advice(
        "Never throw a bad roll into Choice while a number box is open",
        "No roll is left, Choice and a number box are open, the dice add up to less than 20, and no other pattern scores. "
        "The advice: keep Choice.",
        ("Choice",),
        _poor_choice,
        lambda at: ~at.filling("Choice"),
    ),
    Advice(
        "Score a Big Straight that comes with the first roll",
        "The first roll of a turn is 2-3-4-5-6, and Big Straight is open. The advice: take it.",
        ("Big Straight",),
        lambda at: (at.rolls_left == at.game.rolls_per_turn - 1) & at.scores("Big Straight"),
        lambda at: at.filling("Big Straight"),
    ),
)
"""The advice that the page weighs."""


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
    lines += ["", "Made by `yacht-env strategy`."]
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
    names = [name for b, name in enumerate(game.ruleset.box_names) if open_boxes >> b & 1]
    closed = [name for name in game.ruleset.box_names if name not in names]
    card = f"only {', '.join(names)} open" if len(names) <= len(closed) else f"all open but {', '.join(closed)}"
    card = "all boxes open" if not closed else card
    rolls = "no roll left" if not rolls_left else f"{rolls_left} roll{'s' if rolls_left > 1 else ''} left"
    dice = "-".join(map(str, game.dice.faces[roll].tolist()))
    best, followed = (game.action_text(roll, int(one.argmax())) for one in (values, follows))
    return (
        f"The exception that matters most: {dice}, {rolls}, {card}. Best is to {best}; the advice ({followed}) loses "
        f"{verdict.worst_loss:.2f} points."
    )


def _anchor(title: str) -> str:
    """The name that Markdown viewers give a heading."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")
