"""Games at the table for the tests, played at random."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from yacht_env.rules import Ruleset
from yacht_env.table.fair_dice import FairDice
from yacht_env.table.record import Seat
from yacht_env.table.session import TableGame


def play_on(game: TableGame, rng: np.random.Generator, n_steps: int | None = None) -> TableGame:
    """Play a game at random, to its end or for so many rolls and decisions."""
    while not game.is_over and n_steps != 0:
        state = game.state()
        if state is None:
            game.roll()
        else:
            game.act(int(rng.choice(np.flatnonzero(game.game.action_mask(state)))))
        n_steps = None if n_steps is None else n_steps - 1
    return game


def random_game(
    ruleset: str | Ruleset = "yacht", names: tuple[str, ...] = ("Ada",), seed: int = 0, path: Path | None = None
) -> TableGame:
    """A finished game, the same one for the same seed but for its date."""
    rng = np.random.default_rng(seed)
    game = TableGame.new(ruleset, [Seat(name) for name in names], dice=FairDice(rng.bytes(32), "word"), path=path)
    return play_on(game, rng)
