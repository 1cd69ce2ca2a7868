"""Matches between policies: every player has a card and dice of their own, and the highest total wins.

The policies see their own cards alone, so players may play side by side, and what comes out agrees with the chances that
:meth:`yacht_env.ScoreDistribution.against` gives exactly for two of them.

Public names: :func:`play_match`, :class:`MatchResult`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yacht_env.observation import Form, get_observation
from yacht_env.player import Player
from yacht_env.policies import Policy
from yacht_env.rules import Ruleset

__all__ = ["MatchResult", "play_match"]


@dataclass(frozen=True, eq=False)
class MatchResult:
    """How the games of a match ended.

    Attributes:
        players: Names of the players.
        totals: Their totals, shape ``(n_games, n_players)``.
    """

    players: tuple[str, ...]
    totals: npt.NDArray[np.int64]

    @property
    def wins(self) -> dict[str, int]:
        """Games that each player won alone."""
        return self._count(self._is_first & (self._n_first == 1))

    @property
    def draws(self) -> dict[str, int]:
        """Games in which each player shared the first place."""
        return self._count(self._is_first & (self._n_first > 1))

    @property
    def losses(self) -> dict[str, int]:
        """Games in which another player had more."""
        return self._count(~self._is_first)

    @property
    def _is_first(self) -> npt.NDArray[np.bool_]:
        first: npt.NDArray[np.bool_] = self.totals == self.totals.max(axis=1, keepdims=True)
        return first

    @property
    def _n_first(self) -> npt.NDArray[np.int64]:
        return self._is_first.sum(axis=1, keepdims=True)

    def _count(self, games: npt.NDArray[np.bool_]) -> dict[str, int]:
        return dict(zip(self.players, games.sum(axis=0).tolist(), strict=True))

    def __str__(self) -> str:
        width = max(len(name) for name in self.players)
        lines = [f"{'player':<{width}}  {'wins':>8}  {'draws':>8}  {'losses':>8}  {'mean':>8}"]
        means = dict(zip(self.players, self.totals.mean(axis=0).tolist(), strict=True))
        for name in self.players:
            counts = f"{self.wins[name]:>8}  {self.draws[name]:>8}  {self.losses[name]:>8}"
            lines.append(f"{name:<{width}}  {counts}  {means[name]:8.2f}")
        return "\n".join(lines)


def play_match(
    policies: Mapping[str, Policy],
    n_games: int,
    ruleset: str | Ruleset = "yacht",
    *,
    seed: int = 0,
    observation: Form = "flat",
) -> MatchResult:
    """Play a match.

    Args:
        policies: The players by name; the same policy may play under two names.
        n_games: Games to play.
        ruleset: The game.
        seed: Of the dice, and of the choices of policies that return probabilities; each player's are independent.
        observation: The form of observation that the policies are given.

    Raises:
        ValueError: for no player or no game; where a policy plays an illegal action.
    """
    if not policies:
        raise ValueError("policies must name at least one player")
    if n_games < 1:
        raise ValueError(f"n_games must be 1 or more, got {n_games}")
    encoding = get_observation(ruleset, observation)
    players = [Player(policy, encoding) for policy in policies.values()]
    streams = np.random.SeedSequence(seed).spawn(len(policies))
    totals = [
        player.play_on(encoding.game.start(random.random(n_games)), random)
        for player, random in zip(players, map(np.random.default_rng, streams), strict=True)
    ]
    return MatchResult(tuple(policies), np.column_stack(totals))
