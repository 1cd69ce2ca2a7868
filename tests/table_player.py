"""Plays a game in a file at random, and says after each roll and decision how many there were; killed by a test."""

import sys
from pathlib import Path

import numpy as np

from tests.table_games import play_on
from yacht_env.table.record import Seat
from yacht_env.table.session import TableGame

if __name__ == "__main__":
    path = Path(sys.argv[1])
    game = TableGame.load(path) if path.exists() else TableGame.new("yacht", [Seat("Ada"), Seat("Bob")], path=path)
    rng, done = np.random.default_rng(), game.table.n_rolls + len(game.table.decisions)
    print(done, flush=True)
    while not game.is_over:
        play_on(game, rng, n_steps=1)
        print(game.table.n_rolls + len(game.table.decisions), flush=True)
