"""Fixtures that the tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from yacht_env.game import Game, State, get_game


class Step(NamedTuple):
    """One step of many games side by side; games that are over stay in it."""

    state: State
    action: npt.NDArray[np.int64]
    reward: npt.NDArray[np.int16]
    legal: npt.NDArray[np.bool_]


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Solutions are kept in a folder of the session, never in the user's."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("YACHT_ENV_CACHE", str(folder))
        yield folder


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the table keeps its games and scores, one for each test."""
    monkeypatch.setenv("YACHT_ENV_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def played_games() -> Callable[[str], list[Step]]:
    """The steps of 200 games of a ruleset; every second game chases five of a kind, the others are played at random."""
    return cache(lambda ruleset: list(_play(get_game(ruleset), n_games=200)))


@pytest.fixture(scope="session")
def visited_states(played_games: Callable[[str], list[Step]]) -> Callable[[str], State]:
    """The states of those games in which there is something to decide, in one batch."""

    @cache
    def visited(ruleset: str) -> State:
        fields = (np.concatenate(parts) for parts in zip(*(step.state for step in played_games(ruleset)), strict=True))
        state = State(*fields)
        return State(*(field[state.open_boxes != 0] for field in state))

    return visited


def _play(game: Game, n_games: int) -> Iterator[Step]:
    rng = np.random.default_rng(1938)
    dice, box_0 = game.dice, game.n_holds
    commonest = dice.faces == (dice.counts.argmax(axis=1) + 1)[:, None]
    chasing_hold = commonest @ (1 << np.arange(dice.n_dice))
    chasing = np.arange(n_games) % 2 == 0
    state = game.start(rng.random(n_games))
    while state.open_boxes.any():
        mask = game.action_mask(state)
        anything = np.where(mask, rng.random(mask.shape), -1).argmax(axis=1)
        points = game.reward[state.lane, state.roll, box_0:]
        best_box = box_0 + np.where(mask[:, box_0:], points, -1).argmax(axis=1)
        hold = chasing_hold[state.roll]
        chase = np.where((state.rolls_left > 0) & (hold < box_0 - 1), hold, best_box)
        action = np.where(chasing, chase, anything)
        after, reward, legal = game.transition(state, action, rng.random(n_games))
        yield Step(state, action, reward, legal)
        state = after
