"""Yacht for several players, as a PettingZoo environment of the AEC kind.

The players take turns, each on a card of their own. A turn lasts up to three rolls and ends when a box is filled; then the
next player rolls. Everyone sees the others' totals and open boxes. A game of one is, step for step and seed for seed,
``Yacht-v0``.

Public names: :func:`env`, :func:`raw_env`, :class:`YachtAECEnv`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding

from yacht_env.extras import needs_extra
from yacht_env.game import Game, SingleState
from yacht_env.observation import get_observation
from yacht_env.rendering import TableView, Window, draw_ansi, draw_rgb
from yacht_env.rules import Ruleset
from yacht_env.view import table_view

with needs_extra("pettingzoo"):
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers

__all__ = ["YachtAECEnv", "env", "raw_env"]

Reward: TypeAlias = Literal["points", "outcome"]


def env(
    num_players: int = 2,
    ruleset: str | Ruleset = "yacht",
    reward: Reward = "points",
    render_mode: str | None = None,
) -> AECEnv[str, dict[str, Any], int | None]:
    """The environment with PettingZoo's usual wrappers: an action outside the mask ends the game with -1 for its player.

    Arguments are those of :class:`YachtAECEnv`.
    """
    wrapped: AECEnv[str, dict[str, Any], int | None] = raw_env(num_players, ruleset, reward, render_mode)
    wrapped = wrappers.TerminateIllegalWrapper(wrapped, illegal_reward=-1)
    wrapped = wrappers.AssertOutOfBoundsWrapper(wrapped)
    return wrappers.OrderEnforcingWrapper(wrapped)


def raw_env(
    num_players: int = 2,
    ruleset: str | Ruleset = "yacht",
    reward: Reward = "points",
    render_mode: str | None = None,
) -> YachtAECEnv:
    """The environment without wrappers."""
    return YachtAECEnv(num_players, ruleset, reward, render_mode)


class YachtAECEnv(AECEnv):  # type: ignore[misc, type-arg, unused-ignore]
    """Several cards, one set of dice.

    **Observation** of a player: a dictionary of ``observation`` and ``action_mask`` (int8, shape ``(n_actions,)``; all 0
    while another player is to move). ``observation`` is float32 in [0, 1]: first the flat observation of ``Yacht-v0`` for
    the player's own card; then the own total; then, for each other player in the order in which they move next, their
    total and which of their boxes are open; then the lead over the best of them. Totals are divided by a bound on the
    total of a game; the lead is divided by twice the bound, plus a half. A player who waits sees the dice on the table.

    **Reward**: ``"points"`` as they are scored; or ``"outcome"``, at the end: 1 for the only winner, 0 for those who share
    the first place, -1 for the others (a game of one has no loser: 1).

    **Invalid actions** change nothing and score nothing, as in ``Yacht-v0``, but without a penalty.

    Args:
        num_players: How many play, 1 or more.
        ruleset: A name or a :class:`~yacht_env.Ruleset`.
        reward: What is rewarded.
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` (a window) or ``None``; pictures show the card of the player
            to move.

    Raises:
        ValueError: for less than one player, or an unknown ruleset, reward or render mode.
    """

    metadata: dict[str, Any] = {
        "name": "yacht_v0",
        "render_modes": ["ansi", "rgb_array", "human"],
        "is_parallelizable": False,
        "render_fps": 4,
    }

    def __init__(
        self,
        num_players: int = 2,
        ruleset: str | Ruleset = "yacht",
        reward: Reward = "points",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        if num_players < 1:
            raise ValueError(f"num_players must be 1 or more, got {num_players}")
        if reward not in ("points", "outcome"):
            raise ValueError(f"reward must be 'points' or 'outcome', got {reward!r}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be one of {self.metadata['render_modes']} or None, got {render_mode!r}")
        self._observation = get_observation(ruleset, "flat")
        self.game: Game = self._observation.game
        self.reward = reward
        self.render_mode = render_mode
        self.possible_agents = [f"player_{i}" for i in range(num_players)]
        self._highest = float(self.game.reward[:, :, self.game.n_holds :].max(axis=(0, 1)).sum())
        self._size = self._observation.size + 1 + (num_players - 1) * (1 + self.game.n_boxes) + (num_players > 1)
        self.action_spaces = {agent: spaces.Discrete(self.game.n_actions) for agent in self.possible_agents}
        self.observation_spaces = {agent: self._space() for agent in self.possible_agents}
        self._random: np.random.Generator | None = None
        self._window: Window | None = None

    def _space(self) -> spaces.Dict:
        return spaces.Dict(
            {
                "observation": spaces.Box(0.0, 1.0, shape=(self._size,), dtype=np.float32),
                "action_mask": spaces.Box(0, 1, shape=(self.game.n_actions,), dtype=np.int8),
            }
        )

    def observation_space(self, agent: str) -> spaces.Dict:
        """The space of a player's observations; the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The space of a player's actions; the same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game; ``seed`` starts the dice anew, as in ``Yacht-v0``. There are no ``options``."""
        if seed is not None or self._random is None:
            self._random, _ = seeding.np_random(seed)
        game, n = self.game, len(self.possible_agents)
        self.agents = self.possible_agents[:]
        self.totals = dict.fromkeys(self.agents, 0)
        self._cards = [SingleState(0, game.rolls_per_turn - 1, 0, game.all_open)] * n
        self._scores: list[list[int | None]] = [[None] * game.n_boxes for _ in range(n)]
        self._player = 0
        self._last_hold: tuple[int, int] | None = None
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.agent_selection = self.agents[0]
        self._first_roll(self._random.random())
        self._update_infos()

    def _first_roll(self, uniform: float) -> None:
        """The first roll of the turn of the player to move."""
        roll = int(self.game.roll(np.zeros(1, dtype=np.int64), np.array([uniform]))[0])
        self._cards[self._player] = self._cards[self._player]._replace(roll=roll, rolls_left=self.game.rolls_per_turn - 1)

    def step(self, action: int | None) -> None:
        """Take the action of the player to move; ``None`` for one whose game is over."""
        if self._random is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step")
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            self._was_dead_step(action)
            return
        if action is None:
            raise ValueError(f"action must be a whole number while the game goes on, got {action!r}")
        agent, before, uniform = self.agent_selection, self._cards[self._player], self._random.random()
        after, points, legal = self.game.move(before, int(action), uniform)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        if legal:
            self._cards[self._player] = after
            if action < self.game.n_holds:
                self._last_hold = (before.roll, int(action))
            else:
                self._fill(agent, before, int(action), points, uniform)
        self._update_infos()
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def _fill(self, agent: str, before: SingleState, action: int, points: int, uniform: float) -> None:
        """The turn is over: note the points, and pass the dice on."""
        self._last_hold = None
        self.totals[agent] += points
        paid = int(self.game.bonus_paid(before, self._cards[self._player]))
        self._scores[self._player][action - self.game.n_holds] = points - paid
        if self.reward == "points":
            self.rewards[agent] = float(points)
        if all(card.open_boxes == 0 for card in self._cards):
            self.terminations = dict.fromkeys(self.agents, True)
            if self.reward == "outcome":
                self.rewards = self._outcomes()
        self._player = (self._player + 1) % len(self.possible_agents)
        self.agent_selection = self.possible_agents[self._player]
        if self._cards[self._player].open_boxes:
            self._first_roll(uniform)

    def _outcomes(self) -> dict[str, float]:
        best = max(self.totals.values())
        winners = [agent for agent, total in self.totals.items() if total == best]
        return {agent: (1.0 if len(winners) == 1 else 0.0) if agent in winners else -1.0 for agent in self.agents}

    def _mask(self, agent: str) -> npt.NDArray[np.int8]:
        if agent != self.agent_selection or self.terminations.get(agent, True):
            return np.zeros(self.game.n_actions, dtype=np.int8)
        return self.game.action_mask(self._cards[self._player])

    def _update_infos(self) -> None:
        self.infos = {agent: {"action_mask": self._mask(agent)} for agent in self.agents}

    def observe(self, agent: str) -> dict[str, Any]:
        """What a player sees; see the class."""
        me, n = self.possible_agents.index(agent), len(self.possible_agents)
        table = self._cards[self._player]
        own = self._cards[me]._replace(roll=table.roll, rolls_left=table.rolls_left)
        totals = [self.totals[other] for other in self.possible_agents]
        parts = [self._observation.encode_one(own), [totals[me] / self._highest]]
        others = [(me + i) % n for i in range(1, n)]
        for other in others:
            parts += [[totals[other] / self._highest], self.game.box_rows[self._cards[other].open_boxes]]
        if others:
            lead = totals[me] - max(totals[other] for other in others)
            parts.append([lead / (2 * self._highest) + 0.5])
        return {"observation": np.concatenate(parts).astype(np.float32), "action_mask": self._mask(agent)}

    def render(self) -> Any:
        """A picture of the table of the player to move, with all totals below it where it is text."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() has nothing to do; choose a render_mode, such as 'ansi'")
            return None
        if self.render_mode == "ansi":
            totals = ", ".join(f"{agent} {total}" for agent, total in self.totals.items())
            return f"{draw_ansi(self._view())}\n{self.agent_selection} is to move; totals: {totals}\n"
        if self.render_mode == "rgb_array":
            return draw_rgb(self._view())
        self._window = self._window or Window()
        self._window.show(self._view(), fps=self.metadata["render_fps"])
        return None

    def _view(self) -> TableView:
        held = self.game.dice.held_faces(*self._last_hold).tolist() if self._last_hold else []
        total = self.totals[self.agent_selection]
        return table_view(self.game, self._cards[self._player], self._scores[self._player], total, held)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None
