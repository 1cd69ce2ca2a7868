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
BOXES = (  # of the card of 13 boxes, as yatzy-solver names them
    *("ones", "twos", "threes", "fours", "fives", "sixes", "three_of_a_kind", "four_of_a_kind", "full_house"),
    *("small_straight", "large_straight", "five_of_a_kind", "chance"),
)


def solve(variant: str) -> dict[str, float]:
    """Wall time of a first solve, the import included, and the peak of the memory."""
    started = time.perf_counter()
    from yatzy_solver import Solver, Variant

    Solver.build(Variant(variant))
    return {"seconds": time.perf_counter() - started, "megabytes": _peak_megabytes()}


def random_question(rng: random.Random) -> tuple[list[int], int, list[int], int, bool]:
    """A state of the card of 13 boxes that a game can have: dice, rolls left, filled boxes, upper total, Yacht box."""
    filled = sorted(rng.sample(range(13), rng.randrange(13)))
    upper = sum((box + 1) * rng.randrange(6) for box in filled if box < 6)
    return sorted(rng.choices(range(1, 7), k=5)), rng.randrange(3), filled, upper, 11 in filled and rng.random() < 0.5


def situation_text(dice: list[int], rolls_left: int, filled: list[int], upper: int, yacht_box: bool) -> str:
    """A state in the notation of yatzy-solver."""
    names = ",".join(BOXES[box] for box in filled) or "-"
    yacht = f" | five_of_a_kind {50 * yacht_box}" if 11 in filled else ""
    return f"dice {' '.join(map(str, dice))} | rolls {rolls_left} | upper {min(upper, 63)} | filled {names}{yacht}"


def best_action() -> dict[str, float]:
    """Seconds an answer: of one state again and again, of another card each time, and batched."""
    import numpy as np
    from yatzy_solver import Solver, Variant

    variant = Variant("american+forced-joker")
    solver = Solver.build(variant)
    situation = "dice 1 2 3 4 5 | rolls 2 | upper 0 | filled -"
    started, n = time.perf_counter(), 2_000
    for _ in range(n):
        solver.best_action(situation)
    single = (time.perf_counter() - started) / n
    chance = random.Random(0)
    situations = [situation_text(*random_question(chance)) for _ in range(n)]
    started = time.perf_counter()
    for situation in situations:
        solver.best_action(situation)
    another = (time.perf_counter() - started) / n
    rng, n = np.random.default_rng(0), 20_000
    filled = rng.integers(0, 2**13 - 1, n).astype(np.uint32) & ~np.uint32(0b111111)  # no number box, so that upper is 0
    dice = np.sort(rng.integers(1, 7, (n, 5)), axis=1).astype(np.uint8)
    rolls = rng.integers(0, 3, n).astype(np.uint8)
    started = time.perf_counter()
    solver.option_values_batch(filled, np.zeros(n, np.uint16), np.zeros(n, bool), dice, rolls)
    return {"single": single, "another": another, "batched": (time.perf_counter() - started) / n}


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
