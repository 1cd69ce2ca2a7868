"""Many games at once: the native batch form of ``Yacht-v0``, behind ``gymnasium.make_vec``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from yacht_env.env import YachtEnv, check_settings, start_state
from yacht_env.game import Game, SingleState, State
from yacht_env.observation import Form, get_observation
from yacht_env.rendering import TableView, draw_ansi, draw_rgb
from yacht_env.rules import Ruleset
from yacht_env.view import table_view

__all__ = ["BatchStep", "FinalStates", "YachtVectorEnv"]

_NO_LIMIT = np.iinfo(np.int64).max

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
_Step = tuple[Any, npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]


class FinalStates(NamedTuple):
    """How the games ended that are over and have begun anew, ``M`` of them."""

    rows: IntArray  # which games, (M,)
    observations: Any  # with M rows
    action_mask: npt.NDArray[np.int8]  # (M, n_actions)

    def each(self) -> Iterator[tuple[int, Any]]:
        """Each of these games, and its last observation."""
        last = self.observations
        for i, row in enumerate(self.rows.tolist()):
            yield row, {key: part[i] for key, part in last.items()} if isinstance(last, dict) else last[i]


class BatchStep(NamedTuple):
    """What a step of ``N`` games brought; all arrays are new ones."""

    observations: Any  # with N rows
    rewards: npt.NDArray[np.float64]  # (N,)
    terminated: BoolArray  # (N,)
    truncated: BoolArray  # (N,)
    action_mask: npt.NDArray[np.int8]  # (N, n_actions)
    invalid: BoolArray  # (N,): whether the action was invalid
    final: FinalStates | None  # with SAME_STEP, the ends of the games that are over, where there are some


class YachtVectorEnv(VectorEnv[Any, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """``num_envs`` games of :class:`~yacht_env.env.YachtEnv`, stepped together over the same tables.

    Observations, masks, rewards and flags are those of the single environment, with a first axis of ``num_envs``. The
    random numbers come from one generator, so ``reset(seed=...)`` takes one whole number.

    Autoreset is Gymnasium's: ``NEXT_STEP`` (default) starts a new game on the step after the last, ignoring that step's
    action; ``SAME_STEP`` starts it at once and puts the last observation and info into ``info["final_obs"]`` and
    ``info["final_info"]``; ``DISABLED`` leaves it to ``reset(options={"reset_mask": ...})``.

    Args:
        num_envs: Number of games.
        ruleset: Name of a ruleset, or a :class:`~yacht_env.Ruleset`.
        observation: ``"flat"`` or ``"dict"``.
        render_mode: ``"ansi"``, ``"rgb_array"`` or ``None``; :meth:`render` gives a tuple of pictures.
        invalid_action_penalty: What an invalid action costs, in points; 0 or more.
        max_episode_steps: Steps after which a game is truncated; -1 for never.
        autoreset_mode: An :class:`~gymnasium.vector.AutoresetMode`, or its value.

    Raises:
        ValueError: naming the setting that can't be.
    """

    def __init__(
        self,
        num_envs: int = 1,
        ruleset: str | Ruleset = "yacht",
        observation: Form = "flat",
        render_mode: str | None = None,
        invalid_action_penalty: float = 1.0,
        max_episode_steps: int = 200,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be 1 or more, got {num_envs}")
        if max_episode_steps < 1 and max_episode_steps != -1:
            raise ValueError(f"max_episode_steps must be 1 or more, or -1 for no limit, got {max_episode_steps}")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {
            "render_modes": ["ansi", "rgb_array"],
            "render_fps": YachtEnv.metadata["render_fps"],
            "autoreset_mode": self.autoreset_mode,
        }
        check_settings(self.metadata, render_mode, invalid_action_penalty)
        self._observation = get_observation(ruleset, observation)
        self.game: Game = self._observation.game
        self.num_envs = num_envs
        self.single_observation_space = self._observation.space
        self.single_action_space = spaces.Discrete(self.game.n_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = render_mode
        self.invalid_action_penalty = float(invalid_action_penalty)
        self.max_episode_steps = max_episode_steps
        self._state: State | None = None
        self._steps = np.zeros(num_envs, dtype=np.int64)
        self._done = np.zeros(num_envs, dtype=bool)
        # Kept for pictures only: the points of each box, -1 while it is open, (N, B); the totals, (N,).
        self._scores: npt.NDArray[np.int64] | None = None
        self._totals = np.zeros(num_envs, dtype=np.int64)

    @property
    def state(self) -> State:
        """The decision states, arrays of shape ``(num_envs,)``.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset.
        """
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset() before anything that needs a game")
        return self._state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start games: all of them, or those in the bool array ``options["reset_mask"]``; a seed is one for all.

        The other options are those of the single environment, for every game that starts; dice that are not given are
        rolled, for each game its own.

        Raises:
            TypeError: where ``seed`` is neither a whole number nor ``None``, or the mask is no bool array.
            ValueError: where an option makes no state, or the mask has another shape or starts no game.
            gymnasium.error.ResetNeeded: where the first reset does not start every game.
        """
        if seed is not None and not isinstance(seed, (int, np.integer)):
            raise TypeError(f"seed must be one whole number for the whole batch, got {seed!r}")
        super().reset(seed=None if seed is None else int(seed))
        options = dict(options or {})
        starts = np.flatnonzero(self._reset_mask(options.pop("reset_mask", None)))
        if self._state is not None:
            self._state = State(*(field.copy() for field in self._state))  # somebody may hold the old ones
        self._start(starts, self.np_random.random(self.num_envs), options)
        info = self._info(self.game.action_mask(self.state), np.zeros(self.num_envs, dtype=bool))
        return self._observation.encode(self.state), info

    def step(self, actions: npt.ArrayLike) -> _Step:
        """Take one action in every game; ``actions`` are whole numbers, shape ``(num_envs,)``.

        Raises:
            ValueError: for another shape or type of ``actions``.
            gymnasium.error.ResetNeeded: with autoreset disabled, where a finished game was not reset.
        """
        step = self.advance(actions)
        info = self._info(step.action_mask, step.invalid)
        if step.final:
            done = step.terminated | step.truncated
            info = self._final_info(step.final, step.invalid, done) | info
            info["invalid_action"] = step.invalid & ~done  # a new game has begun there
        return step.observations, step.rewards, step.terminated, step.truncated, info

    def advance(self, actions: npt.ArrayLike) -> BatchStep:
        """:meth:`step`, without Gymnasium's dictionaries; what other libraries' batches are made of.

        Where ``N`` games take ``N`` actions: one transition, ``N`` observations and masks, and about ten passes over ``N``
        numbers for rewards and flags. Games that end or begin, one of 36, are looked after by themselves.

        Raises:
            ValueError: for another shape or type of ``actions``.
            gymnasium.error.ResetNeeded: with autoreset disabled, where a finished game was not reset.
        """
        before, choices = self.state, self._checked(actions)
        restarting = np.flatnonzero(self._done)
        if self.autoreset_mode == AutoresetMode.DISABLED and restarting.size:
            raise gymnasium.error.ResetNeeded(
                f"game {restarting[0]} is over; reset it with options={{'reset_mask': ...}}"
            )
        uniform = self.np_random.random(self.num_envs)
        self._state, points, legal = self.game.transition(before, choices, uniform)
        if self._scores is not None:
            self._keep_scores(before, choices, points, legal)
        rewards, invalid = points.astype(np.float64), ~legal
        if invalid.any():
            rewards[invalid] = -self.invalid_action_penalty
        self._steps += 1
        terminated = self._state.open_boxes == 0
        truncated = self._steps >= (self.max_episode_steps if self.max_episode_steps > 0 else _NO_LIMIT)
        if restarting.size:
            self._start(restarting, uniform, {})
            for values in (rewards, terminated, truncated, invalid):
                values[restarting] = 0
        self._done = terminated | truncated
        final = None
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._done.any():
            final = self._final_states(np.flatnonzero(self._done))
            self._start(final.rows, self.np_random.random(self.num_envs), {})
        observations, mask = self._observation.encode(self._state), self.game.action_mask(self._state)
        return BatchStep(observations, rewards, terminated, truncated, mask, invalid, final)

    def action_masks(self) -> BoolArray:
        """Canonical legal actions, bool, shape ``(num_envs, n_actions)``."""
        return self.game.action_mask(self.state).astype(bool)

    def get_state(self) -> dict[str, Any]:
        """All that decides how the games go on, for :meth:`set_state`; arrays and plain values only."""
        return {
            "rules": self.game.ruleset.fingerprint,
            "packed": self.game.pack(self.state),
            "steps": self._steps.copy(),
            "done": self._done.copy(),
            "dice": self.np_random.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from where :meth:`get_state` was called; pictures lose the points scored before.

        Raises:
            ValueError: where the state is one of other rules, or of another number of games.
        """
        if state["rules"] != self.game.ruleset.fingerprint:
            raise ValueError(f"the state is one of other rules than {self.game.ruleset.name!r}")
        if len(state["packed"]) != self.num_envs:
            raise ValueError(f"the state is one of {len(state['packed'])} games; expected {self.num_envs}")
        self._begin(np.arange(self.num_envs), self.game.unpack(state["packed"]))
        self._steps, self._done = state["steps"].copy(), state["done"].copy()
        self.np_random.bit_generator.state = state["dice"]

    def render(self) -> tuple[Any, ...] | None:
        """A picture of every game: text for ``"ansi"``, ``(H, W, 3)`` uint8 arrays for ``"rgb_array"``."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() has nothing to do; choose a render_mode, such as 'ansi', in make_vec()")
            return None
        draw = draw_ansi if self.render_mode == "ansi" else draw_rgb
        return tuple(draw(self._view(i)) for i in range(self.num_envs))

    # ------------------------------------------------------------------------------------------------------ helpers

    def _start(self, rows: IntArray, uniform: npt.NDArray[np.float64], options: dict[str, Any]) -> None:
        """Start these games; one random number for each game of the batch."""
        if options:
            games = [start_state(self.game, u, options) for u in uniform[rows]]
            fresh = State(*(np.array(field, dtype=np.int64) for field in zip(*games, strict=True)))
        else:
            fresh = self.game.start(uniform[rows])
        self._begin(rows, fresh)

    def _begin(self, rows: IntArray, fresh: State) -> None:
        """Put these states in the place of those games."""
        if len(rows) == self.num_envs:
            self._state = fresh
        else:
            for field, new in zip(self.state, fresh, strict=True):
                field[rows] = new
        self._steps[rows] = 0
        self._done[rows] = False
        if self.render_mode is not None:
            if self._scores is None:
                self._scores = np.empty((self.num_envs, self.game.n_boxes), dtype=np.int64)
            self._scores[rows] = -self.game.box_rows[fresh.open_boxes]
            self._totals[rows] = 0

    def _reset_mask(self, mask: Any) -> BoolArray:
        if mask is None:
            return np.ones(self.num_envs, dtype=bool)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] must be a bool array, got {mask!r}")
        if mask.shape != (self.num_envs,):
            raise ValueError(f"options['reset_mask'] must have shape ({self.num_envs},), got {mask.shape}")
        if not mask.any():
            raise ValueError("options['reset_mask'] is False everywhere; it must name at least one game")
        if self._state is None and not mask.all():
            raise gymnasium.error.ResetNeeded("the first reset must start every game")
        return mask

    def _checked(self, actions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or not np.issubdtype(array.dtype, np.integer):
            raise ValueError(
                f"actions must be whole numbers of shape ({self.num_envs},), got {array.dtype} of shape {array.shape}"
            )
        return array.astype(np.int64, copy=False)

    def _info(self, action_mask: npt.NDArray[np.int8], invalid: BoolArray) -> dict[str, Any]:
        return {
            "action_mask": action_mask,
            "_action_mask": np.ones(self.num_envs, dtype=bool),
            "invalid_action": invalid,
            "_invalid_action": np.ones(self.num_envs, dtype=bool),
        }

    def _final_states(self, rows: IntArray) -> FinalStates:
        finished = State(*(field[rows] for field in self.state))
        return FinalStates(rows, self._observation.encode(finished), self.game.action_mask(finished))

    def _final_info(self, final: FinalStates, invalid: BoolArray, done: BoolArray) -> dict[str, Any]:
        """The last observations and infos of the games that are over, as Gymnasium lays them out."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row, last in final.each():
            final_obs[row] = last
        masks = np.zeros((self.num_envs, self.game.n_actions), dtype=np.int8)
        masks[final.rows] = final.action_mask
        final_info = {"action_mask": masks, "invalid_action": invalid & done}
        final_info |= {f"_{key}": done.copy() for key in tuple(final_info)}
        return {
            "final_obs": final_obs,
            "_final_obs": done.copy(),
            "final_info": final_info,
            "_final_info": done.copy(),
        }

    def _keep_scores(
        self, before: State, actions: npt.NDArray[np.int64], points: npt.NDArray[np.int16], legal: BoolArray
    ) -> None:
        assert self._scores is not None
        rows = np.flatnonzero(legal & (actions >= self.game.n_holds))
        paid = self.game.bonus_paid(before, self.state)
        self._scores[rows, actions[rows] - self.game.n_holds] = (points - paid)[rows]
        self._totals = self._totals + points

    def _view(self, i: int) -> TableView:
        assert self._scores is not None
        state = SingleState(*(field[i].item() for field in self.state))
        scores = [None if points < 0 else int(points) for points in self._scores[i]]
        return table_view(self.game, state, scores, int(self._totals[i]))
