"""``Yacht-v0``: one game of Yacht as a Gymnasium environment."""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from yacht_env.game import Game, SingleState
from yacht_env.observation import Form, get_observation
from yacht_env.rendering import TableView, Window, draw_ansi, draw_rgb
from yacht_env.rules import Ruleset
from yacht_env.view import table_view

__all__ = ["YachtEnv", "start_state"]

_STATE_OPTIONS = ("dice", "rolls_left", "open_boxes", "upper_total", "yacht_box")


class YachtEnv(gymnasium.Env[Any, np.int64]):
    """One player fills a card of Yacht for as many points as they can.

    ## Description
    Five dice, up to three rolls a turn, any dice held between the rolls; then one open box of the card is filled, with
    its points or with zero. The game ends when every box is filled. Which boxes there are, and what they bring, is the
    ruleset (:data:`yacht_env.RULESETS`).

    ## Action space
    ``Discrete(n_holds + n_boxes)``, which is ``Discrete(44)`` for the default game. ``a < 32`` holds the dice whose bits are
    set in ``a`` (bit *i* is the *i*-th die shown; the dice are always sorted) and rolls the others; ``32 + b`` fills box
    ``b``. ``info["action_mask"]`` (int8) and :meth:`action_masks` (bool) mark the canonical legal actions: one hold mask
    for each distinct set of dice to keep, none when no roll is left, the boxes that the rules allow. Another mask that
    keeps the same dice does the same. Anything else is invalid: it changes nothing, costs ``invalid_action_penalty``, and
    sets ``info["invalid_action"]``.

    ## Observation space
    ``observation="flat"``: a float32 vector in [0, 1] with named slices; ``observation="dict"``: the raw numbers. See
    :mod:`yacht_env.observation`.

    ## Rewards
    The points of the box that is filled, with any bonus that it earns; 0 for a hold. The rewards of a game add up to its
    final total.

    ## Starting state
    An empty card after a random first roll. ``reset(options=...)`` starts elsewhere: any of ``dice``, ``rolls_left``,
    ``open_boxes`` (names or positions), ``upper_total`` and ``yacht_box``; dice that are not given are rolled.

    ## Episode end
    Terminated when the card is full. ``gymnasium.make`` truncates after 200 steps, so that an agent that plays invalid
    actions for ever also ends; a game of valid actions on twelve boxes has at most 36.

    Args:
        ruleset: Name of a ruleset, or a :class:`~yacht_env.Ruleset`.
        observation: ``"flat"`` or ``"dict"``.
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or ``None``.
        invalid_action_penalty: What an invalid action costs, in points; 0 or more.

    Raises:
        ValueError: for an unknown ruleset, observation form or render mode, or a negative penalty.
    """

    metadata = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 4}

    def __init__(
        self,
        ruleset: str | Ruleset = "yacht",
        observation: Form = "flat",
        render_mode: str | None = None,
        invalid_action_penalty: float = 1.0,
    ) -> None:
        check_settings(self.metadata, render_mode, invalid_action_penalty)
        self._observation = get_observation(ruleset, observation)
        self.game: Game = self._observation.game
        self.observation_space = self._observation.space
        self.action_space = spaces.Discrete(self.game.n_actions)
        self.render_mode = render_mode
        self.invalid_action_penalty = float(invalid_action_penalty)
        self._state: SingleState | None = None
        self._scores: list[int | None] = [None] * self.game.n_boxes
        self._total = 0
        self._last_hold: tuple[int, int] | None = None  # roll and action, where the last action held dice
        self._window: Window | None = None

    @property
    def state(self) -> SingleState:
        """The decision state.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset.
        """
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset() before anything that needs a game")
        return self._state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a game; see the class for ``options``."""
        super().reset(seed=seed)
        self._state = start_state(self.game, self.np_random.random(), options)
        open_boxes = self._state.open_boxes
        self._scores = [None if open_boxes >> b & 1 else 0 for b in range(self.game.n_boxes)]
        self._total = 0
        self._last_hold = None
        if self.render_mode == "human":
            self._show()
        info = {"action_mask": self.game.action_mask(self._state), "invalid_action": False}
        return self._observation.encode_one(self._state), info

    def step(self, action: np.int64 | int | npt.NDArray[np.int64]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action, a whole number (or an array of just one); see the class.

        Raises:
            TypeError: where the action is no whole number.
            gymnasium.error.ResetNeeded: where there is no game to go on with.
        """
        try:
            choice = operator.index(action)
        except TypeError:
            if not isinstance(action, np.ndarray):
                raise
            choice = operator.index(action.item())
        before = self.state
        if not before.open_boxes:
            raise gymnasium.error.ResetNeeded("the game is over; call reset() before the next step")
        after, points, legal = self.game.move(before, choice, self.np_random.random())
        self._state = after
        if legal:
            self._last_hold = (before.roll, choice) if choice < self.game.n_holds else None
            if choice >= self.game.n_holds:
                self._keep_score(before, choice, points)
        if self.render_mode == "human":
            self._show()
        return (
            self._observation.encode_one(after),
            float(points) if legal else -self.invalid_action_penalty,
            not after.open_boxes,
            False,
            {"action_mask": self.game.action_mask(after), "invalid_action": not legal},
        )

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Canonical legal actions, bool, shape ``(n_actions,)``; the name that sb3-contrib looks for."""
        return self.game.action_mask(self.state).astype(bool)

    def render(self) -> Any:
        """A picture of the table: text for ``"ansi"``, an ``(H, W, 3)`` uint8 array for ``"rgb_array"``, else ``None``."""
        if self.render_mode == "ansi":
            return draw_ansi(self._view())
        if self.render_mode == "rgb_array":
            return draw_rgb(self._view())
        if self.render_mode is None:
            gymnasium.logger.warn("render() has nothing to do; choose a render_mode, such as 'ansi', in make()")
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _keep_score(self, before: SingleState, action: int, points: int) -> None:
        self._total += points
        if self.game.ruleset.upper_bonus:
            points -= int(self.game.bonus_paid(before, self.state))
        self._scores[action - self.game.n_holds] = points

    def _view(self) -> TableView:
        held = self.game.dice.held_faces(*self._last_hold).tolist() if self._last_hold else []
        return table_view(self.game, self.state, self._scores, self._total, held)

    def _show(self) -> None:
        if self._window is None:
            self._window = Window()
        self._window.show(self._view(), fps=self.metadata["render_fps"])


def check_settings(metadata: dict[str, Any], render_mode: str | None, invalid_action_penalty: float) -> None:
    """Refuse settings that neither environment can serve; see :class:`YachtEnv`."""
    if render_mode is not None and render_mode not in metadata["render_modes"]:
        raise ValueError(f"render_mode must be one of {metadata['render_modes']} or None, got {render_mode!r}")
    if not invalid_action_penalty >= 0:
        raise ValueError(f"invalid_action_penalty must be 0 or more, got {invalid_action_penalty!r}")


def start_state(game: Game, uniform: float, options: dict[str, Any] | None = None) -> SingleState:
    """The state that a game starts from; see :class:`YachtEnv` for ``options``.

    Raises:
        ValueError: for an unknown option, or one that no state has.
    """
    start = game.start_one(uniform)
    if not options:
        return start
    options = dict(options)
    if unknown := set(options) - set(_STATE_OPTIONS):
        raise ValueError(f"unknown reset option {sorted(unknown)[0]!r}; expected some of {', '.join(_STATE_OPTIONS)}")
    options.setdefault("dice", game.dice.faces[start.roll])
    options.setdefault("rolls_left", game.rolls_per_turn - 1)
    state = SingleState(*(field.item() for field in game.encode_state(**options)))
    if not game.reachable_lanes[state.open_boxes, state.lane]:
        raise ValueError(f"no game has an upper total of {options['upper_total']} with these boxes open")
    return state
