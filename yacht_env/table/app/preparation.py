"""Work that takes seconds (agents, solutions, the review), done in a thread while the table stays responsive.

Public names: :class:`Preparation`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from yacht_env.pretrained import PretrainedError
from yacht_env.progress import Progress
from yacht_env.table.app.opponents import Opponents
from yacht_env.table.coach import Coach
from yacht_env.table.outlook import Chances, chances_of_winning
from yacht_env.table.review import Review, review
from yacht_env.table.seats import load_agent
from yacht_env.table.session import TableGame

__all__ = ["Preparation"]


class _Stopped(Exception):
    """The table was left while something was worked out."""


class Preparation:
    """Does one thing after another in a worker of a widget, and tells the widget by messages.

    Args:
        widget: Who asks; it gets the messages.
        game: The game.
        opponents: Receives the agents.
        coach: Receives the solution.
    """

    class Progressed(Message):
        """There is news of the work that is going on: a line of text."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class Ready(Message):
        """One thing is done; ask for the next."""

    class Failed(Message):
        """One thing can't be done: a sentence that says why."""

        def __init__(self, sentence: str) -> None:
            self.sentence = sentence
            super().__init__()

    def __init__(self, widget: Widget, game: TableGame, opponents: Opponents, coach: Coach) -> None:
        self._widget = widget
        self._game = game
        self._opponents = opponents
        self._coach = coach
        self._is_working = False
        self.review: Review | None = None
        self.chances: Chances | None = None
        self._chances_of: int | None = None  # rolls and decisions of the position that they belong to

    def go_on(self, *, needs_coach: bool, needs_review: bool) -> None:
        """Start the next thing that is wanted, unless something is going on; the widget calls again when it is ready."""
        if self._is_working:
            return
        work: Callable[[], None] | None = None
        if self._opponents.to_load and not self._game.is_over:
            work = self._load_agent
        elif (needs_coach or needs_review) and not self._coach.is_ready:
            work = self._solve
        elif needs_review and self.review is None:
            work = self._review
        elif needs_coach and len(self._game.seats) > 1 and self._chances_of != self._position:
            work = self._weigh
        if work is not None:
            self._is_working = True
            self._widget.run_worker(self._guarded(work), thread=True, group="preparation")

    def done(self) -> None:
        """To be called on :class:`Ready` and :class:`Failed`."""
        self._is_working = False

    def _guarded(self, work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except _Stopped:
                return
            except (ValueError, OSError, PretrainedError) as error:
                self._widget.post_message(self.Failed(str(error)))
            else:
                self._widget.post_message(self.Ready())

        return run

    def _load_agent(self) -> None:
        seat = self._opponents.to_load[0]
        name = self._game.seats[seat].agent
        assert name is not None
        # Of the seed's hash, so that random opponents repeat with the dice, and say nothing about them.
        entropy = int.from_bytes(hashlib.sha256(b"agents" + self._game.dice.seed).digest())
        random = np.random.default_rng([entropy, seat])
        progress = self._progress(f"{name} gets ready")
        self._opponents.seat(seat, load_agent(name, self._game.ruleset, random=random, progress=progress))

    def _solve(self) -> None:
        self._coach.prepare(self._progress(f"The coach works out {self._game.ruleset.name}"))

    def _review(self) -> None:
        progress = self._progress("The game is being judged")
        self.review = review(self._game.record, solution=self._coach.prepare(), progress=progress)

    @property
    def _position(self) -> int:
        return self._game.table.n_rolls + len(self._game.table.decisions)

    def _weigh(self) -> None:
        self._chances_of = self._position
        table = self._game.record.replay()  # of its own: the game may go on meanwhile
        self.chances = chances_of_winning(table, self._coach.prepare(), progress=self._progress(""))

    def _progress(self, what: str) -> Progress:
        """Tells the widget in whole percents how far it is, where there is something to say, and stops the work with it."""
        worker, shown = get_current_worker(), -1

        def update(done: int, total: int) -> None:
            nonlocal shown
            if worker.is_cancelled:
                raise _Stopped
            percent = 100 * done // max(total, 1)
            if what and percent != shown:
                shown = percent
                self._widget.post_message(self.Progressed(f"{what} … {percent} %"))

        return update
