"""Estimated evaluation: simulated games, of which only the regrets are averaged.

V* minus the mean regret of a game is an unbiased estimate of the policy's value in which the luck of the dice cancels (V*
is the control variate), so its standard error is far below that of the scores.

Public names: :class:`Simulation`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from yacht_env.anatomy import Anatomy, Decisions, Tally
from yacht_env.game import Game, State
from yacht_env.player import Player
from yacht_env.progress import Progress
from yacht_env.solver import TIE, Solution

__all__ = ["Simulation"]

FloatArray = npt.NDArray[np.float64]

_GAMES = 100_000  # games that play their turns side by side


class Simulation:
    """Simulated games of one policy; see the module.

    Args:
        solution: The solved ruleset.
        player: The policy.
        seed: Of the dice, and of the choices of a policy that returns probabilities.
    """

    def __init__(self, solution: Solution, player: Player, seed: int) -> None:
        self.solution = solution
        self.game: Game = solution.game
        self.player = player
        self.random = np.random.default_rng(seed)
        self.tally = Tally(solution)
        self.regret = np.zeros(0)
        self.score = np.zeros(0, dtype=np.int64)
        self._losses: list[npt.NDArray[np.void]] = []

    @property
    def n_games(self) -> int:
        """Games played so far."""
        return len(self.regret)

    @property
    def standard_error(self) -> float:
        """Of the estimate of the expected score."""
        return float(self.regret.std(ddof=1)) / self.n_games**0.5

    def play(self, n_games: int, progress: Progress) -> None:
        """Play so many games more."""
        done, total = 0, n_games * self.game.n_boxes
        for start in range(0, n_games, _GAMES):
            n = min(_GAMES, n_games - start)
            state, regret, score = self.game.start(self.random.random(n)), np.zeros(n), np.zeros(n, dtype=np.int64)
            for _ in range(self.game.n_boxes):
                self._play_turn(state, regret, score)
                done += n
                progress(done, total)
            self.regret, self.score = np.concatenate([self.regret, regret]), np.concatenate([self.score, score])

    def _play_turn(self, state: State, regret: FloatArray, score: npt.NDArray[np.int64]) -> None:
        """Play one turn in every game; the arrays are changed."""
        game = self.game
        turn_card, lost = state.open_boxes.copy(), np.zeros(len(regret))
        for _ in range(game.rolls_per_turn):
            rows = np.flatnonzero(state.open_boxes == turn_card)
            if not rows.size:
                break  # every game has filled its box
            part = State(*(field[rows] for field in state))
            action = self.player.sample(part, self.random)
            values = self.solution.model.action_values(part)
            is_box = action >= game.n_holds
            best = values.max(axis=1)
            of_kind = np.where(is_box, values[:, game.n_holds :].max(axis=1), values[:, : game.n_holds].max(axis=1))
            value = values[np.arange(len(rows)), action]
            ones = np.ones(len(rows))
            decisions = Decisions(part, action, ones, ones, best - value, of_kind - value)
            self.tally.add(decisions)
            self._losses.append(_losses(game, decisions))
            lost[rows] += best - value
            boxes = np.flatnonzero(is_box)
            filled = State(*(field[boxes] for field in part))
            self.tally.add_filled(filled, action[boxes], ones[boxes], lost[rows[boxes]])
            after, points, _ = game.transition(part, action, self.random.random(len(rows)))
            score[rows] += points
            for field, new in zip(state, after, strict=True):
                field[rows] = new
        regret += lost

    def anatomy(self) -> Anatomy:
        """Where the points went, an average over the games."""
        losses = np.concatenate(self._losses)
        _, first, times = np.unique(losses[["state", "action"]], return_index=True, return_counts=True)
        state, action, regret = (losses[name][first] for name in ("state", "action", "regret"))
        weight = times.astype(np.float64)
        self.tally.add_costly(
            Decisions(self.game.unpack(state), action, np.ones(len(first)), weight, regret, np.zeros(len(first)))
        )
        return self.tally.anatomy(self.n_games)


def _losses(game: Game, decisions: Decisions) -> npt.NDArray[np.void]:
    """The decisions that lose something, as records."""
    rows = np.flatnonzero(decisions.regret > TIE)
    losses = np.empty(len(rows), dtype=[("state", np.int64), ("action", np.int64), ("regret", np.float64)])
    losses["state"] = game.pack(State(*(field[rows] for field in decisions.state)))
    losses["action"], losses["regret"] = decisions.action[rows], decisions.regret[rows]
    return losses
