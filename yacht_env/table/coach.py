"""The coach: what every choice is worth, what the last decision lost, and who is likely to win.

Public names: :class:`Coach`.
"""

from __future__ import annotations

from yacht_env.explain import Explanation, explain
from yacht_env.progress import Progress
from yacht_env.rules import Ruleset, get_ruleset
from yacht_env.solver import Solution, solve
from yacht_env.table.outlook import Chances, chances_of_winning
from yacht_env.table.review import ReviewedDecision, review_decisions
from yacht_env.table.session import TableGame

__all__ = ["Coach"]


class Coach:
    """Knows the optimum of one ruleset; it is solved on the first question, or by :meth:`prepare`.

    Args:
        ruleset: The game.
    """

    def __init__(self, ruleset: str | Ruleset) -> None:
        self.ruleset = get_ruleset(ruleset)
        self._solution: Solution | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the ruleset is solved, so that answers come at once."""
        return self._solution is not None

    def prepare(self, progress: Progress | None = None) -> Solution:
        """Solve the ruleset, which takes seconds for the largest ones, the first time.

        Args:
            progress: Called with (work done, work in all); a bar on the terminal by default.
        """
        if self._solution is None:
            self._solution = solve(self.ruleset, progress=progress)
        return self._solution

    def choices(self, game: TableGame) -> Explanation | None:
        """Every choice of the seat to move with its exact value, the best first; ``None`` before the first roll."""
        state = game.state()
        if state is None:
            return None
        self.prepare()
        return explain(
            game.game.dice.faces[state.roll].tolist(),
            state.rolls_left,
            game.game.open_names(state.open_boxes),
            self.ruleset,
            upper_total=int(game.game.upper_total(state.lane)),
            yacht_box=bool(game.game.yacht_box(state.lane)),
        )

    def last_decision(self, game: TableGame, seat: int | None = None) -> ReviewedDecision | None:
        """The last decision with what it lost and what would have been better; ``None`` before the first one.

        Args:
            game: The game.
            seat: Whose decision; by default that of whoever made the last one.
        """
        decisions = game.table.decisions
        if not decisions:
            return None
        whose = decisions[-1].seat if seat is None else seat
        reviewed = review_decisions(self.prepare(), [one for one in decisions if one.seat == whose])
        return reviewed[-1] if reviewed else None

    def chances_of_winning(self, game: TableGame, progress: Progress | None = None) -> Chances | None:
        """The chances of every seat to win; ``None`` for a player alone.

        Args:
            game: The game.
            progress: Called as a longer answer is worked out; a bar on the terminal by default.
        """
        if len(game.seats) < 2:
            return None
        return chances_of_winning(game.table, self.prepare(), progress=progress)

    def expected_total(self, game: TableGame, seat: int) -> float:
        """Points in hand and those still to come under optimal play, with the dice on the table."""
        solution, card = self.prepare(), game.table.cards[seat]
        state = game.state(seat)
        if state is None:
            return card.total + float(solution.values[card.open_boxes, card.lane])
        return card.total + float(solution.state_action_values(state.batch).max())
