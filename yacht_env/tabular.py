"""A short card as plain tables of states, actions, probabilities and rewards, for tabular methods.

The form is the one that Gymnasium's toy text environments call ``P``.

Public names: :func:`transition_table`, :class:`TransitionTable`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yacht_env.dice import roll_probabilities
from yacht_env.game import Game, State, get_game
from yacht_env.rules import Ruleset

__all__ = ["TransitionTable", "transition_table"]

IntArray = npt.NDArray[np.int64]

_MOST_BOXES = 3


@dataclass(frozen=True, eq=False)
class TransitionTable:
    """Every decision state of a game, and what every canonical action leads to.

    ``S`` states are numbered from 0; ``T`` transitions are sorted by state, then by action.

    Attributes:
        game: The game.
        packed: The states as :meth:`yacht_env.game.Game.pack` packs them, shape ``(S,)``, ascending.
        first: Probability of starting in each state, shape ``(S,)``; adds up to 1.
        state: Of each transition, shape ``(T,)``.
        action: Of each transition, shape ``(T,)``.
        probability: Of each transition; those of one state and action add up to 1.
        next_state: Of each transition; the state itself where the game is over.
        reward: Of each transition, in points.
        terminated: Whether the game is over.
    """

    game: Game
    packed: IntArray
    first: npt.NDArray[np.float64]
    state: IntArray
    action: IntArray
    probability: npt.NDArray[np.float64]
    next_state: IntArray
    reward: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.packed)

    def index(self, state: State) -> IntArray:
        """Numbers of states, shape ``(N,)``.

        Raises:
            KeyError: for a state that no game has.
        """
        packed = self.game.pack(state)
        place = np.minimum(np.searchsorted(self.packed, packed), self.n_states - 1)
        if (self.packed[place] != packed).any():
            raise KeyError(f"no game has the state {packed[self.packed[place] != packed][0]}")
        return place

    def P(self, state: int) -> dict[int, list[tuple[float, int, float, bool]]]:  # noqa: N802 (Gymnasium's name)
        """``P[state]`` of Gymnasium's toy text: for each action a list of (probability, next state, reward, terminated)."""
        rows = slice(*np.searchsorted(self.state, [state, state + 1]).tolist())
        ways: dict[int, list[tuple[float, int, float, bool]]] = {}
        columns = (self.action, self.probability, self.next_state, self.reward, self.terminated)
        for action, *way in zip(*(column[rows].tolist() for column in columns), strict=True):
            ways.setdefault(action, []).append(tuple(way))
        return ways


def transition_table(ruleset: str | Ruleset) -> TransitionTable:
    """The tables of a short card, as :meth:`yacht_env.Ruleset.with_boxes` makes one.

    Raises:
        ValueError: for a card of more than three boxes, whose tables would not fit into memory.
    """
    game = get_game(ruleset)
    if game.n_boxes > _MOST_BOXES:
        raise ValueError(f"ruleset {game.ruleset.name!r} has {game.n_boxes} boxes; expected {_MOST_BOXES} at most")
    states = _all_states(game)
    packed = game.pack(states)
    n = len(packed)
    row, action = np.nonzero(game.action_mask(states))
    before = State(*(field[row] for field in states))
    keep = game.keep[before.roll, action]
    # One row for each roll that an action may lead to; a box that ends the game leads nowhere else.
    after, reward, _ = game.transition(before, action, np.zeros(len(row)))
    over = after.open_boxes == 0
    chances = roll_probabilities(game.dice)
    way, roll = _ways_on(chances, np.where(over, -1, keep))
    ends = np.flatnonzero(over)
    moved = State(roll, *(field[way] for field in after[1:]))
    order = np.argsort(np.concatenate([way, ends]), kind="stable")

    def both(going: npt.NDArray[np.generic], ending: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return np.concatenate([going, ending])[order]

    where = np.concatenate([way, ends])[order]
    next_state = np.searchsorted(packed, game.pack(moved))
    start = np.zeros(n)
    opening = game.start(np.zeros(1))
    rolls = np.arange(game.dice.n_rolls)
    first = State(rolls, *(np.full_like(rolls, field[0]) for field in opening[1:]))
    start[np.searchsorted(packed, game.pack(first))] = game.dice.probability
    return TransitionTable(
        game=game,
        packed=packed,
        first=start,
        state=row[where],
        action=action[where],
        probability=both(chances[keep[way], roll], np.ones(len(ends))).astype(np.float64),
        next_state=both(next_state, row[ends]).astype(np.int64),
        reward=reward[where].astype(np.float64),
        terminated=over[where],
    )


def _ways_on(chances: npt.NDArray[np.float64], keep: IntArray) -> tuple[IntArray, IntArray]:
    """Every roll that each keep may lead to: the position in ``keep``, and the roll; nothing where a keep is -1."""
    rolls_of = [np.flatnonzero(row) for row in chances]
    positions = np.flatnonzero(keep >= 0)
    rolls = [rolls_of[k] for k in keep[positions].tolist()]
    return np.repeat(positions, [len(some) for some in rolls]), np.concatenate(rolls)


def _all_states(game: Game) -> State:
    """All decision states that a game can have, sorted as they pack."""
    open_boxes, lane = np.nonzero(game.reachable_lanes)
    cards = np.flatnonzero(open_boxes)
    card, rolls_left, roll = (
        grid.ravel() for grid in np.meshgrid(cards, range(game.rolls_per_turn), range(game.dice.n_rolls), indexing="ij")
    )
    states = State(roll, rolls_left, lane[card].astype(np.int64), open_boxes[card].astype(np.int64))
    order = np.argsort(game.pack(states))
    return State(*(field[order] for field in states))
