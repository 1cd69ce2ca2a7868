"""Measure speed, each figure beside a yardstick of the same run: ``make bench``.

``python -m tests.benchmarks [--json] [--write]`` prints one table, or JSON; ``--write`` also renews docs/performance.md.
Machines are noisy, so ratios count, and both sides of a ratio are measured in one run, one after the other. Other
programs are measured in an environment of their own (.venv-peers), which the first run sets up.
"""

from __future__ import annotations

import os
import sys

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import dataclasses
import itertools
import json
import platform
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium
import numpy as np

import yacht_env
from tests.benchmarks.measure import REPEATS, ROOT, Row, fresh_process, install_peers, peer, rate
from tests.benchmarks.peers import random_question
from yacht_env.files import write_atomically
from yacht_env.game import get_game
from yacht_env.induction import Induction
from yacht_env.parallel import backward_induction

CARTPOLE = "CartPole-v1 of Gymnasium"


# --------------------------------------------------------------------------------------------------------------- solver

SOLVE = """
import json, resource, time, numpy
started = time.perf_counter()
import yacht_env
solution = yacht_env.solve({ruleset!r}, cache=False)
spent = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({{"spent": spent, "megabytes": peak, "value": solution.expected_score}}))
"""
SOLVE_NOTE = "NumPy alone, a process a core, see the limits; 0.4 s go by before the second process has its tables"
OPERATIONS_A_COLUMN = 6_000  # see yacht_env/induction.py
PEER_VARIANTS = {"yatzy": "yatzy-scandinavian", "classic13": "american+forced-joker"}


def solving() -> Iterator[Row]:
    """First solves in fresh processes, from the start of the interpreter to its end."""
    for ruleset in yacht_env.RULESETS:
        ours = min((fresh_process(SOLVE.format(ruleset=ruleset)) for _ in range(3)), key=lambda one: one["seconds"])
        theirs = peer("solve", PEER_VARIANTS[ruleset]) if ruleset in PEER_VARIANTS else None
        ratio = theirs["seconds"] / ours["seconds"] if theirs else None
        wanted = {"yatzy": "4 x", "classic13": "4 x", "yacht": "0.6 s"}.get(ruleset, "")
        against = f"yatzy-solver 1.0.0 (Rust, all cores): {theirs['seconds']:.1f} s" if theirs else ""
        note = SOLVE_NOTE if ratio else ""
        if ruleset in PEER_VARIANTS and theirs is None:
            note = "yatzy-solver 1.0.0 could not be installed"
        yield Row(f"solve {ruleset}, a fresh process", ours["seconds"], "s", against, ratio, wanted, note)
        if ruleset == "yatzy":
            yield Row("solve yatzy, peak memory", ours["megabytes"], "MB", wanted="500 MB")


def growth_of_solving() -> Iterator[Row]:
    """Solve time, by one process, against the number of cards with their lanes: yatzy's card cut to its first boxes."""
    full = yacht_env.RULESETS["yatzy"]
    for bonus in (None, full.upper_bonus):
        for n_boxes in range(10, full.n_boxes + 1):
            ruleset = dataclasses.replace(full.with_boxes(range(n_boxes)), upper_bonus=bonus)
            game = get_game(ruleset)
            n = int(game.reachable_lanes[1:].sum())
            started = time.perf_counter()
            backward_induction(game, processes=1)
            spent = time.perf_counter() - started
            what = f"{n_boxes} boxes {'with' if bonus else 'without'} bonus: {n:,} cards with their lanes"
            yield Row(what, spent, "s", note=f"{1e6 * spent / n:.2f} µs each")


def limits() -> Iterator[Row]:
    """What the machine can do, and how much of it is used."""
    game = get_game("yatzy")
    induction = Induction(game)
    n_columns = sum(piece.n_columns for layer in induction.layers for part in layer for piece in part)
    lattice, width = induction.lattice, 208
    rows, room = np.zeros((lattice.n_keeps, width)), np.zeros((lattice.n_rolls, width))
    order = np.random.default_rng(0).permutation(lattice.n_rolls)

    def operations() -> int:
        rows.take(order, axis=0, out=room, mode="clip")
        np.add(rows[: lattice.n_rolls], room, out=rows[: lattice.n_rolls])
        return lattice.n_rolls * width

    started = time.perf_counter()
    backward_induction(game, processes=1)
    used = OPERATIONS_A_COLUMN * n_columns / (time.perf_counter() - started)
    most = rate(operations, seconds=0.3)
    what = f"operations of solving yatzy: {n_columns:,} columns of {OPERATIONS_A_COLUMN:,}, one process"
    note = "a row of a cached array fetched, and added to another; the limit is the cache's bandwidth, 40 bytes an operation"
    yield Row(what, used / 1e9, "G/s", f"a loop of nothing else: {most / 1e9:.2f} G/s", used / most, note=note)

    for n in (1024, 16384):
        env = gymnasium.make_vec("Yacht-v0", num_envs=n)
        n_bytes = 4 * env.single_observation_space.shape[0] + env.single_action_space.n
        source, target = np.ones((2, n, n_bytes), dtype=np.uint8)

        def copies(source: np.ndarray = source, target: np.ndarray = target) -> int:
            np.copyto(target, source)
            return source.size

        most, used = rate(copies, seconds=0.3), n_bytes * batch_rate(env)
        against = f"copying as much: {most / 1e9:.1f} GB/s"
        note = "each state's observation and mask are products of two fetched rows; thirty shorter arrays make up the rest"
        yield Row(f"bytes written by batches of {n:,} games", used / 1e9, "GB/s", against, used / most, note=note)


def another_card_each_time(solution: yacht_env.Solution) -> float:
    """Seconds a question about one state when each is about another card, drawn at random."""
    chance = random.Random(0)
    questions = []
    for _ in range(2_000):
        dice, rolls_left, filled, upper, yacht_box = random_question(chance)
        open_boxes = [box for box in range(solution.game.n_boxes) if box not in filled]
        questions.append((dice, rolls_left, open_boxes, upper, yacht_box))
    best = float("inf")
    for _ in range(REPEATS):
        fresh = yacht_env.Solution(solution.game, solution.values)  # knows no card yet
        fresh.best_action(*questions[0])  # makes what all cards have in common
        started = time.perf_counter()
        for question in questions[1:]:
            fresh.best_action(*question)
        best = min(best, (time.perf_counter() - started) / (len(questions) - 1))
    return best


def best_actions() -> Iterator[Row]:
    """Asking a solution."""
    solution, game = yacht_env.solve("classic13"), get_game("classic13")
    theirs = peer("best_action")
    again = 1 / rate(lambda: bool(solution.best_action([1, 2, 3, 4, 5], 2) >= 0))
    notes = {
        "single": "the best actions of a card are kept; what is left reads the question",
        "another": "each turn is solved anew, as there, but by some 40 calls of NumPy, a microsecond or so each",
    }
    for what, key, seconds in (
        ("best action of one state, classic13", "single", again),
        ("best action of one state, another card each time, classic13", "another", another_card_each_time(solution)),
    ):
        against = f"yatzy-solver: {1e6 * theirs[key]:.1f} µs" if theirs else ""
        ratio = theirs[key] / seconds if theirs else None
        yield Row(what, 1e6 * seconds, "µs", against, ratio, "1 x", notes[key])
    rng, n = np.random.default_rng(0), 20_000
    dice, rolls = rng.integers(1, 7, (n, 5)), rng.integers(0, 3, n)
    open_boxes = game.box_rows[rng.integers(1, 2**7, n) << 6 | 0b111111]
    started = time.perf_counter()
    solution.action_values(dice, rolls, open_boxes)
    batched = (time.perf_counter() - started) / n
    against = f"yatzy-solver option_values_batch: {1e6 * theirs['batched']:.1f} µs" if theirs else ""
    ratio = theirs["batched"] / batched if theirs else None
    yield Row("values of all actions, 20,000 states, classic13", 1e6 * batched, "µs a state", against, ratio, "3 x")


# --------------------------------------------------------------------------------------------------------- environments


def batch_rate(env: gymnasium.vector.VectorEnv, seconds: float = 1.0) -> float:
    """Steps a second of a batch under random actions, legal ones where there are masks; choosing them is not counted."""
    rng = np.random.default_rng(0)
    n, n_actions = env.num_envs, int(env.single_action_space.n)
    orders = itertools.cycle([rng.permutation(n_actions) for _ in range(100)])
    _, info = env.reset(seed=0)
    best = 0.0
    for _ in range(REPEATS):
        steps, spent = 0, 0.0
        while spent < seconds:
            order = next(orders)  # the first legal action in an order that changes from step to step
            masks = info.get("action_mask")
            actions = rng.integers(0, n_actions, n) if masks is None else order[masks.take(order, axis=1).argmax(axis=1)]
            started = time.perf_counter()
            _, _, _, _, info = env.step(actions)
            spent += time.perf_counter() - started
            steps += n
        best = max(best, steps / spent)
    return best


def batches() -> Iterator[Row]:
    """The batch environment, with observations, masks, rewards and autoreset, on one core."""
    for n in (1024, 16384):
        yardstick = batch_rate(gymnasium.make_vec("CartPole-v1", num_envs=n))
        for ruleset in yacht_env.RULESETS:
            env = gymnasium.make_vec("Yacht-v0", num_envs=n, ruleset=ruleset)
            speed = batch_rate(env)
            width = env.single_observation_space.shape[0]
            wanted = "5 M steps/s, 0.67 x" if ruleset == "yacht" else ""
            n_bytes = 4 * width + int(env.single_action_space.n)
            note = f"writes {n_bytes} bytes a step, where CartPole writes 16"
            if n * n_bytes > 2**20:
                note += f": {n * n_bytes / 1e6:.1f} MB in all, which no second-level cache holds"
            against = f"{CARTPOLE}: {yardstick / 1e6:.1f} M"
            yield Row(f"Yacht-v0 {ruleset}, {n:,} games", speed, "steps/s", against, speed / yardstick, wanted, note)


def growth_of_batches() -> Iterator[Row]:
    """Steps a second against the number of games."""
    for power in range(0, 17, 2):
        env = gymnasium.make_vec("Yacht-v0", num_envs=2**power)
        speed = batch_rate(env, seconds=0.5)
        yield Row(f"Yacht-v0 yacht, a batch of {2**power:,}", speed, "steps/s")


def masked_play(env: gymnasium.Env) -> Callable[[], int]:
    """A thousand steps of random legal play."""
    _, info = env.reset(seed=0)
    draw = np.random.default_rng(0).random(1000).tolist()

    def steps() -> int:
        nonlocal info
        for number in draw:
            legal = info["action_mask"].nonzero()[0]
            _, _, terminated, _, info = env.step(legal[int(number * len(legal))])
            if terminated:
                _, info = env.reset()
        return len(draw)

    return steps


def single() -> Iterator[Row]:
    """One game, unwrapped."""
    speed = rate(masked_play(yacht_env.YachtEnv()))
    blackjack = gymnasium.make("Blackjack-v1").unwrapped

    def hands() -> int:
        blackjack.reset(seed=0)
        for _ in range(1000):
            if blackjack.step(0)[2]:
                blackjack.reset()
        return 1000

    wanted = "200,000 steps/s; 1 x"
    note = "63 observed numbers and a mask take one and a half of the five microseconds; a random number and Python the rest"
    pyhtzee = peer("pyhtzee")
    for name, found in (("pyhtzee", pyhtzee), ("OpenSpiel 2.0.2 yacht", peer("open_spiel"))):
        theirs = found["steps_per_second"] if found else None
        against = f"{name}: {theirs:,.0f}" if theirs else f"{name} could not be installed"
        yield Row("Yacht-v0 yacht, one game", speed, "steps/s", against, speed / theirs if theirs else None, wanted, note)
    theirs = rate(hands)
    yield Row("Yacht-v0 yacht, one game", speed, "steps/s", f"Blackjack-v1: {theirs:,.0f}", speed / theirs, wanted, note)
    if pyhtzee:
        env = gymnasium.make_vec("Yacht-v0", num_envs=1024)
        batched = batch_rate(env)
        ratio = batched / pyhtzee["steps_per_second"]
        against = f"pyhtzee: {pyhtzee['steps_per_second']:,.0f}"
        note = "about 35 calls of NumPy a step of the batch; larger batches come nearer to the memory's bandwidth"
        yield Row("Yacht-v0 yacht, 1,024 games", batched, "steps/s", against, ratio, "100 x", note)


# ----------------------------------------------------------------------------------------------------------- evaluation

EVALUATE = """
import json, resource, time, numpy as np, yacht_env
from yacht_env.network import Architecture, NetworkPolicy
shape, game = Architecture({hidden}, (64, 32)), yacht_env.game.get_game("yacht")
rng = np.random.default_rng(0)
weights = {{k: (rng.normal(size=s) / s[-1] ** 0.5).astype(np.float32) for k, s in shape.shapes(game).items()}}
network = NetworkPolicy("yacht", shape, weights)
yacht_env.solve("yacht")
before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
result = yacht_env.evaluate(network, "yacht", all_states=True)
spent = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({{"spent": spent, "megabytes": (peak - before) / 1024, "states": result.n_states}}))
"""


def evaluating() -> Iterator[Row]:
    """Exact evaluation, the anatomy and the distribution included; every state is asked about."""
    for hidden in ((64, 64), (128, 128), (256, 256), (512, 512)):
        found = fresh_process(EVALUATE.format(hidden=hidden))
        wanted = "10 s" if hidden == (256, 256) else ""
        what = f"evaluate a {hidden[0]}-{hidden[1]} network in all {found['states']:,} states of yacht"
        yield Row(what, found["spent"], "s", wanted=wanted, note="choosing among 44 values in each state; see the growth")
        if wanted:
            yield Row(f"{what}, memory above the solution", found["megabytes"], "MB", wanted="1,000 MB")


def estimating() -> Iterator[Row]:
    """Games that an estimate needs, against plain simulation to the same error."""
    for name in ("greedy", *yacht_env.pretrained.list_pretrained()):
        policy = yacht_env.GreedyPolicy() if name == "greedy" else yacht_env.load_pretrained(name)
        result = yacht_env.evaluate(policy, policy.game.ruleset, method="estimate", n_games=20_000)
        ratio = result.n_plain_games / result.n_games
        against = f"plain simulation to ± {result.standard_error:.3f}: {result.n_plain_games:,.0f} games"
        yield Row(f"estimate {name} on {result.ruleset}", result.n_games, "games", against, ratio, "10 x")


# ------------------------------------------------------------------------------------------------------------- training


def training() -> Iterator[Row]:
    """What the environment takes of PPO's rollouts, and how fast rollouts and trainers are."""
    try:
        import torch
        from stable_baselines3.common.callbacks import CallbackList
        from stable_baselines3.common.env_util import make_vec_env

        from train.dqn import PRESETS as DQN
        from train.dqn import make_model as make_dqn
        from train.ppo import PRESETS as PPO
        from train.ppo import make_model as make_ppo
        from yacht_env.integrations.sb3 import YachtVecEnv
    except ModuleNotFoundError as error:
        yield Row("training", 0, "", note=f"left out, since {error.name} is missing")
        return
    torch.set_num_threads(1)

    def rollout(env: object, preset: str = "quick") -> tuple[float, float]:
        """Steps a second of a rollout, and the environment's share of its time."""
        model = make_ppo(PPO[preset], env)
        spent = 0.0
        step = model.env.step

        def timed(actions: np.ndarray) -> object:
            nonlocal spent
            started = time.perf_counter()
            answer = step(actions)
            spent += time.perf_counter() - started
            return answer

        model.env.step = timed
        _, callback = model._setup_learn(10**9, CallbackList([]))
        model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)  # the first one touches new memory
        spent, started = 0.0, time.perf_counter()
        model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
        whole = time.perf_counter() - started
        return model.n_steps * model.n_envs / whole, spent / whole

    speed, share = rollout(YachtVecEnv(1024, reward_scale=0.05, seed=0))
    plain, plain_share = rollout(make_vec_env("yacht_env:Yacht-v0", n_envs=1024, seed=0))
    once = "asking networks once about each card made rollouts four times as fast, and left the environment a larger share"
    note = f"{100 * plain_share:.0f} % with DummyVecEnv; {once}"
    yield Row("the environment's share of a PPO rollout, quick preset", 100 * share, "%", wanted="3 %", note=note)
    cold = "after the networks' passes its tables are out of the caches, and it takes three times as long as by itself"
    yield Row("a step of 1,024 games in that rollout", 1024e6 * share / speed, "µs", note=cold)
    _, full = rollout(YachtVecEnv(1024, reward_scale=0.05, seed=0), "full")
    yield Row("the same with the networks of the full preset", 100 * full, "%", wanted="3 %", note=note)
    against = f"stable-baselines3's DummyVecEnv: {plain:,.0f}"
    note = "the rest are lookups of what the networks said, draws and copies, the same on both sides"
    yield Row("collecting a PPO rollout, 1,024 games", speed, "steps/s", against, speed / plain, "5 x", note)
    for name, make, settings, n in (("PPO", make_ppo, PPO["quick"], 110_000), ("DQN", make_dqn, DQN["quick"], 80_000)):
        speeds = []
        for env in (
            YachtVecEnv(1024, reward_scale=0.05, seed=0),
            make_vec_env("yacht_env:Yacht-v0", n_envs=1024, seed=0),
        ):
            model = make(settings, env)
            started = time.perf_counter()
            model.learn(n)
            speeds.append(model.num_timesteps / (time.perf_counter() - started))
        against = f"the same with DummyVecEnv: {speeds[1]:,.0f}"
        yield Row(f"training {name}, quick preset, one core", speeds[0], "steps/s", against, speeds[0] / speeds[1])


# ---------------------------------------------------------------------------------------------------------------- output

SECTIONS: dict[str, Callable[[], Iterator[Row]]] = {
    "Solving": solving,
    "Asking a solution": best_actions,
    "Batches of games": batches,
    "One game": single,
    "Evaluating": evaluating,
    "Estimating": estimating,
    "Training": training,
    "Limits": limits,
    "How solving grows": growth_of_solving,
    "How batches grow": growth_of_batches,
}


def figure(row: Row) -> str:
    """The value to read."""
    value = f"{row.value:,.0f}" if row.value >= 1000 else f"{row.value:.3g}"
    return f"{value} {row.unit}"


def text(rows: dict[str, list[Row]]) -> str:
    """The table for a terminal."""
    width = max(len(row.what) for part in rows.values() for row in part)
    lines = []
    for section, part in rows.items():
        lines += ["", section]
        for row in part:
            ratio = f"{row.ratio:8.2f} x  {row.against}" if row.ratio else ""
            lines.append(f"  {row.what:<{width}}  {figure(row):>20}  {ratio}".rstrip())
    return "\n".join(lines)


def page(rows: dict[str, list[Row]]) -> str:
    """docs/performance.md."""
    lines = [
        "# Performance",
        "",
        "Made by `make bench`. Machines are noisy: what counts are the ratios, whose sides were measured in the same run.",
        "",
        f"Machine: {_machine()}. Versions: {_versions()}.",
    ]
    for section, part in rows.items():
        lines += ["", f"## {section}", "", (SECTIONS[section].__doc__ or "").strip(), ""]
        lines += ["| what | figure | ratio | against | wanted | limit or remark |", "|---|--:|--:|---|---|---|"]
        for row in part:
            ratio = f"{row.ratio:.2f} x" if row.ratio else ""
            lines.append(f"| {row.what} | {figure(row)} | {ratio} | {row.against} | {row.wanted} | {row.note} |")
    return "\n".join(lines) + "\n"


def _versions() -> str:
    return f"Python {platform.python_version()}, NumPy {np.__version__}, Gymnasium {gymnasium.__version__}"


def _machine() -> str:
    try:
        models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = models[0].partition(":")[2].strip()
    except (OSError, IndexError):
        model = platform.processor() or "unknown"
    return f"{model}, {os.cpu_count()} cores"


def main() -> None:
    """Measure, and print the table or JSON."""
    install_peers()
    chosen = [name for name in SECTIONS if not (wanted := _wanted()) or name.lower() in wanted]
    rows = {}
    for section in chosen:
        print(f"{section} ...", file=sys.stderr)
        rows[section] = list(SECTIONS[section]())
    if "--json" in sys.argv[1:]:
        print(json.dumps({section: [dataclasses.asdict(row) for row in part] for section, part in rows.items()}, indent=2))
    else:
        print(text(rows))
    if "--write" in sys.argv[1:]:
        write_atomically(ROOT / "docs" / "performance.md", page(rows))


def _wanted() -> set[str]:
    """Sections named on the command line, in lower case; none means all."""
    return {argument.lower() for argument in sys.argv[1:] if not argument.startswith("--")}


if __name__ == "__main__":
    main()
