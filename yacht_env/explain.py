"""One position, choice by choice: what each is worth, and what it loses.

Public names: :func:`explain`, :class:`Explanation`, :class:`Choice`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from yacht_env.game import State, rolls_left_text
from yacht_env.observation import get_observation
from yacht_env.player import Player
from yacht_env.policies import Policy
from yacht_env.rules import Ruleset
from yacht_env.solver import TIE, solve

__all__ = ["Choice", "Explanation", "explain"]


@dataclass(frozen=True)
class Choice:
    """One canonical action.

    Attributes:
        action: Its number.
        text: It in words.
        points: Points that it scores at once; 0 for holding dice.
        value: Expected points from here to the end of the game, if play is optimal afterwards.
        loss: By how much the best action is better.
        chosen_by: Names of the policies that choose it (as their most likely action).
    """

    action: int
    text: str
    points: int
    value: float
    loss: float
    chosen_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """All choices of a position, the best first.

    Attributes:
        ruleset: Name of the ruleset.
        dice: Faces, ascending.
        rolls_left: Rolls left in the turn.
        open_boxes: Names of the open boxes.
        value: Expected points from here under optimal play.
        choices: The choices.
    """

    ruleset: str
    dice: tuple[int, ...]
    rolls_left: int
    open_boxes: tuple[str, ...]
    value: float
    choices: tuple[Choice, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        rolls = rolls_left_text(self.rolls_left)
        lines = [
            f"{self.ruleset}: {' '.join(map(str, self.dice))}, {rolls}; open: {', '.join(self.open_boxes)}",
            "",
            f"{'choice':<24}  {'points':>6}  {'value':>8}  {'loss':>7}",
        ]
        for choice in self.choices:
            points = str(choice.points) if choice.text.startswith("fill") else ""
            mark = "best" if choice.loss <= TIE else f"{-choice.loss:7.3f}"
            by = f"  <- {', '.join(choice.chosen_by)}" if choice.chosen_by else ""
            lines.append(f"{choice.text:<24}  {points:>6}  {choice.value:8.3f}  {mark:>7}{by}")
        return "\n".join(lines)


def explain(
    dice: Sequence[int],
    rolls_left: int,
    open_boxes: Iterable[int | str] | None = None,
    ruleset: str | Ruleset = "yacht",
    *,
    upper_total: int = 0,
    yacht_box: bool = False,
    policies: Mapping[str, Policy] | None = None,
) -> Explanation:
    """Every choice of a position with its exact value.

    Args:
        dice: Faces in any order.
        rolls_left: Rolls left in this turn.
        open_boxes: Names or positions of the open boxes; ``None`` is all of them.
        ruleset: The game.
        upper_total: Points in the number boxes, where the ruleset has an upper bonus.
        yacht_box: Whether the Yacht box holds its points, where the ruleset has a joker.
        policies: Policies to ask too, by name; they read flat observations.

    Raises:
        ValueError: naming the value that no position has; where a policy belongs to another ruleset.
    """
    solution = solve(ruleset)
    game = solution.game
    open_boxes = list(open_boxes) if open_boxes is not None else None
    values = solution.action_values(dice, rolls_left, open_boxes, upper_total, yacht_box)
    state = State(*(field[None] for field in game.encode_state(dice, rolls_left, open_boxes, upper_total, yacht_box)))
    roll, _, lane, open_bits = (int(field[0]) for field in state)
    observation = get_observation(game.ruleset, "flat")
    asked = {
        name: int(Player(policy, observation, deterministic=True).choose(state).action[0])
        for name, policy in (policies or {}).items()
    }
    best = float(values.max())
    canonical = np.flatnonzero(game.action_mask(state)[0])
    choices = [
        Choice(
            action=action,
            text=game.action_text(roll, action),
            points=int(game.reward[lane, roll, action]),
            value=float(values[action]),
            loss=max(best - float(values[action]), 0.0),
            chosen_by=tuple(name for name, chosen in asked.items() if _same(game.afterstate[roll], chosen, action)),
        )
        for action in canonical.tolist()
    ]
    return Explanation(
        ruleset=game.ruleset.name,
        dice=tuple(game.dice.faces[roll].tolist()),
        rolls_left=int(rolls_left),
        open_boxes=game.open_names(open_bits),
        value=best,
        choices=tuple(sorted(choices, key=lambda choice: (-choice.value, choice.action))),
    )


def _same(afterstates: np.ndarray, chosen: int, action: int) -> bool:
    """Whether two actions leave the same behind, as two masks do that hold equal dice."""
    return bool(afterstates[chosen] == afterstates[action])
