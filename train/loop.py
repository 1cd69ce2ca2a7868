"""The training loop that all algorithms share: evaluation, the best network, checkpoints, resumption, a progress bar."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.logger import HParam
from tqdm import tqdm

from agents.export import network_policy
from agents.networks import AfterstateNetwork
from train.run import Run
from train.settings import TrainSettings
from yacht_env.evaluation import Evaluation
from yacht_env.integrations.sb3 import ExactEvalCallback, YachtVecEnv
from yacht_env.network import NetworkPolicy
from yacht_env.pretrained import make_config, save_agent
from yacht_env.solver import solve

__all__ = ["Interrupted", "NetworkOf", "save_network", "steps_bar", "stop_signals", "train"]

MakeModel = Callable[[YachtVecEnv], BaseAlgorithm]
LoadModel = Callable[[Path, YachtVecEnv], BaseAlgorithm]
NetworkOf = Callable[[BaseAlgorithm], AfterstateNetwork]

_SECONDS_BETWEEN_BARS = 0.5
_ABOUT_THE_MACHINE = ("runs", "run_dir", "resume", "progress", "device")  # no part of what was learned


class Interrupted(Exception):
    """Training was asked to stop, and is saved."""


def train(
    run: Run, make_model: MakeModel, load_model: LoadModel, net: NetworkOf, log_interval: int = 1
) -> Evaluation:
    """Train to the end, or until a signal asks to stop; resumes where the settings say so.

    Args:
        run: The run.
        make_model: Makes a new model over the games.
        load_model: Loads a model that was saved into a file.
        net: The network of a model, which is what is measured and published.
        log_interval: What stable-baselines3 counts between logs: rollouts for PPO, finished games for DQN.

    Returns:
        The best evaluation: exact, or for large rulesets the luckiest of some estimates, which a later measurement of
        the same network will on average not quite reach.

    Raises:
        Interrupted: after saving, where SIGINT or SIGTERM came.
    """
    settings = run.settings
    torch.set_num_threads(settings.threads)
    solve(settings.ruleset)
    env = YachtVecEnv(settings.n_envs, settings.ruleset, reward_scale=1 / settings.points_unit, seed=settings.seed)
    keeper = _Keeper(run, net)
    checkpoint = run.checkpoint() if run.resuming else None
    if checkpoint is not None:
        model = load_model(checkpoint / "model.zip", env)
        keeper.restore(model, env, checkpoint)
    else:
        model = make_model(env)
    remaining = settings.total_steps - model.num_timesteps
    if remaining > 0:
        model.set_logger(run.logger(model.num_timesteps if run.resuming else 0))
        keeper.describe(model)
        callbacks = CallbackList([keeper.evaluator, keeper, _Bar(settings, keeper)])
        with stop_signals(keeper):
            model.learn(remaining, callbacks, log_interval=log_interval, reset_num_timesteps=not run.resuming)
        keeper.save()
    assert keeper.best is not None
    return keeper.best


class _Keeper(BaseCallback):
    """Keeps the best network, saves checkpoints between rollouts, and stops there when asked to."""

    def __init__(self, run: Run, net: NetworkOf) -> None:
        super().__init__()
        self.run, self.net = run, net
        settings = run.settings
        self.next_save = settings.checkpoint_every
        self.started = time.monotonic()
        self.seconds_before = 0.0  # spent in earlier parts of a resumed run
        self.eval_seconds = 0.0
        self.stop_asked = False
        self._eval_started = 0.0
        self.best: Evaluation | None = None
        self.curve: list[tuple[int, float, float]] = []  # steps, seconds of training, exact score
        self.evaluator = ExactEvalCallback(
            settings.ruleset,
            every=settings.eval_every,
            make_policy=self._policy,
            on_result=self._on_result,
            evaluate_kwargs={"n_games": settings.eval_games, "name": run.algorithm, "progress": lambda done, total: None},
        )

    @property
    def seconds(self) -> float:
        """Wall time of the whole run so far, evaluations included."""
        return self.seconds_before + time.monotonic() - self.started

    def describe(self, model: BaseAlgorithm) -> None:
        """Write the settings into TensorBoard's HParams."""
        hparams = {k: v if isinstance(v, (int, float, str, bool)) else str(v) for k, v in asdict(self.run.settings).items()}
        metrics = {"eval/expected_score": 0.0, "eval/optimality_gap": 0.0, "eval/share_of_optimum": 0.0}
        model.logger.record("hparams", HParam(hparams | {"algorithm": self.run.algorithm}, metrics))

    def save(self) -> None:
        """Write a checkpoint; a kill at any moment leaves the last whole one."""
        with self.run.new_checkpoint(self.num_timesteps) as folder:
            self.model.save(folder / "model.zip")
            buffer = getattr(self.model, "replay_buffer", None)
            if buffer is not None:
                np.savez(folder / "replay.npz", **buffer.get_state())
            (folder / "trainer.pkl").write_bytes(pickle.dumps(self._state()))

    def _state(self) -> dict[str, Any]:
        env = self.model.env
        assert isinstance(env, YachtVecEnv)
        return {
            "env": env.get_state(),
            "random": (random.getstate(), np.random.get_state(), torch.get_rng_state(), torch.cuda.get_rng_state_all()),
            "evaluator": (self.evaluator.next_at, self.evaluator.best_score),
            "best": self.best,
            "curve": list(self.curve),
            "next_save": self.next_save,
            "seconds": self.seconds,
            "eval_seconds": self.eval_seconds,
        }

    def restore(self, model: BaseAlgorithm, env: YachtVecEnv, checkpoint: Path) -> None:
        """Bring everything back to where the checkpoint was written."""
        state = pickle.loads((checkpoint / "trainer.pkl").read_bytes())
        buffer = getattr(model, "replay_buffer", None)
        if buffer is not None:
            with np.load(checkpoint / "replay.npz") as arrays:
                buffer.set_state(arrays)
        env.set_state(state["env"])
        python_state, numpy_state, torch_state, cuda_states = state["random"]
        random.setstate(python_state)
        np.random.set_state(numpy_state)
        torch.set_rng_state(torch_state)
        if len(cuda_states) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(cuda_states)
        self.evaluator.next_at, self.evaluator.best_score = state["evaluator"]
        self.best, self.curve, self.next_save = state["best"], state["curve"], state["next_save"]
        self.seconds_before, self.eval_seconds = state["seconds"], state["eval_seconds"]

    def _policy(self, model: BaseAlgorithm) -> NetworkPolicy:
        self._eval_started = time.monotonic()
        return network_policy(self.net(model), self.run.algorithm)

    def _on_result(self, result: Evaluation, is_best: bool) -> None:
        self.eval_seconds += time.monotonic() - self._eval_started
        self.curve.append((self.num_timesteps, round(self.seconds - self.eval_seconds, 1), result.expected_score))
        if is_best:
            self.best = result
            self._save_best(result)
        self.run.record(
            steps=self.num_timesteps,
            seconds=round(self.seconds, 1),
            eval_seconds=round(self.eval_seconds, 1),
            last=result.summary(),
            best=self.best.summary() if self.best else None,
        )

    def _save_best(self, result: Evaluation) -> None:
        seconds = round(self.seconds - self.eval_seconds, 1)
        policy = network_policy(self.net(self.model), self.run.algorithm)
        save_network(self.run.folder / "best", self.run, policy, self.num_timesteps, seconds, self.curve, result)

    def _on_rollout_start(self) -> None:
        if self.stop_asked:
            self.save()
            raise Interrupted
        if self.num_timesteps >= self.next_save:
            self.next_save = self.num_timesteps + self.run.settings.checkpoint_every
            self.save()

    def _on_step(self) -> bool:
        return True


def save_network(
    folder: Path,
    run: Run,
    policy: NetworkPolicy,
    steps: int,
    seconds: float,
    curve: Sequence[tuple[int, float, float]],
    result: Evaluation | None,
) -> None:
    """Write a network in the published format, with what is known of its training and, once measured, its score."""
    facts = run.facts()
    training = {
        "algorithm": run.algorithm,
        "settings": {k: v for k, v in json.loads(run.settings.to_json()).items() if k not in _ABOUT_THE_MACHINE},
        "steps": steps,
        "seconds": seconds,
        "revision": facts["revision"],
        "versions": facts["versions"],
    }
    ruleset, figures = run.settings.ruleset, result.summary() if result else {}
    config = make_config(f"{run.algorithm}-{ruleset}", ruleset, policy.architecture, training=training, result=figures)
    config |= {"parameters": policy.n_parameters, "curve": list(curve)}
    save_agent(folder, policy.weights, config)


def steps_bar(settings: TrainSettings, steps: int) -> tqdm:
    """A progress bar over the steps of a run, of which some are done."""
    return tqdm(
        total=settings.total_steps,
        initial=steps,
        unit="step",
        unit_scale=True,
        dynamic_ncols=True,
        mininterval=_SECONDS_BETWEEN_BARS,
        disable=not settings.progress,
    )


class _Bar(BaseCallback):
    """A progress bar with the current exact score."""

    def __init__(self, settings: TrainSettings, keeper: _Keeper) -> None:
        super().__init__()
        self.settings, self.keeper = settings, keeper
        self.bar: Any = None

    def _on_training_start(self) -> None:
        self.bar = steps_bar(self.settings, self.num_timesteps)

    def _on_step(self) -> bool:
        self.bar.update(self.num_timesteps - self.bar.n)
        return True

    def _on_rollout_start(self) -> None:
        last = self.keeper.evaluator.last
        if last is not None:
            self.bar.set_postfix_str(f"exact score {last.expected_score:.2f} ({last.share_of_optimum:.2%})", refresh=False)

    def _on_training_end(self) -> None:
        self.bar.close()


@contextlib.contextmanager
def stop_signals(keeper: Any) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) sets ``keeper.stop_asked``, for the next safe point; the second one stops at once."""

    def ask(signum: int, frame: Any) -> None:
        keeper.stop_asked = True
        signal.signal(signum, signal.default_int_handler)
        print("\nstopping after this rollout, and saving ...", file=sys.stderr)

    old = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
