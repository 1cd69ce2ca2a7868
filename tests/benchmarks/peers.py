"""Measures the peers, in an environment of their own: ``python peers.py WHAT``, which prints one JSON object.

Run by the interpreter of that environment; it must not import this project.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time

SECONDS = 1.0


def solve(variant: str) -> dict[str, float]:
    """Wall time of a first solve, the import included, and the peak of the memory."""
    started = time.perf_counter()
    from yatzy_solver import Solver, Variant

    Solver.build(Variant(variant))
    return {"seconds": time.perf_counter() - started, "megabytes": _peak_megabytes()}


def best_action() -> dict[str, float]:
    """Seconds an answer, single and batched."""
    import numpy as np
    from yatzy_solver import Solver, Variant

    variant = Variant("american+forced-joker")
    solver = Solver.build(variant)
    situation = "dice 1 2 3 4 5 | rolls 2 | upper 0 | filled -"
    started, n = time.perf_counter(), 2_000
    for _ in range(n):
        solver.best_action(situation)
    single = (time.perf_counter() - started) / n
    rng, n = np.random.default_rng(0), 20_000
    filled = rng.integers(0, 2**13 - 1, n).astype(np.uint32) & ~np.uint32(0b111111)  # no number box, so that upper is 0
    dice = np.sort(rng.integers(1, 7, (n, 5)), axis=1).astype(np.uint8)
    rolls = rng.integers(0, 3, n).astype(np.uint8)
    started = time.perf_counter()
    solver.option_values_batch(filled, np.zeros(n, np.uint16), np.zeros(n, bool), dice, rolls)
    return {"single": single, "batched": (time.perf_counter() - started) / n}


def pyhtzee() -> dict[str, float]:
    """Steps a second of random play."""
    from pyhtzee import Pyhtzee

    rng, game, n, started = random.Random(0), Pyhtzee(), 0, time.perf_counter()
    while time.perf_counter() - started < SECONDS:
        for _ in range(100):
            if game.is_finished():
                game = Pyhtzee()
            game.take_action(rng.choice(game.get_possible_actions()))
        n += 100
    return {"steps_per_second": n / (time.perf_counter() - started)}


def open_spiel() -> dict[str, float]:
    """Steps a second of random play of ``yacht``; each chance node and each decision is a step."""
    import pyspiel

    game, rng, n, started = pyspiel.load_game("yacht(players=1)"), random.Random(0), 0, time.perf_counter()
    state = game.new_initial_state()
    while time.perf_counter() - started < SECONDS:
        for _ in range(100):
            if state.is_terminal():
                state = game.new_initial_state()
            state.apply_action(rng.choice(state.legal_actions()))
        n += 100
    return {"steps_per_second": n / (time.perf_counter() - started)}


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    measures = {"solve": solve, "best_action": best_action, "pyhtzee": pyhtzee, "open_spiel": open_spiel}
    print(json.dumps(measures[name](*arguments)))
