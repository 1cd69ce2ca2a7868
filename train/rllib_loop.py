"""The training loop on RLlib: a cluster, iterations, exact evaluation, checkpoints and exports.

RLlib plays and learns; everything that is kept of a run is kept as by :mod:`train.loop`, in the same folders.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from tqdm import tqdm

from agents.export import network_policy
from agents.rllib import AfterstateModule, YachtPPOLearner
from train.loop import Interrupted, save_network, steps_bar, stop_signals
from train.run import Run
from yacht_env.evaluation import Evaluation, evaluate
from yacht_env.integrations.rllib import masked_ppo
from yacht_env.integrations.sb3 import log_evaluation
from yacht_env.network import NetworkPolicy
from yacht_env.solver import solve

if TYPE_CHECKING:  # which imports this module
    from train.rllib_ppo import RLlibSettings

__all__ = ["Interrupted", "make_config", "train"]

_ROOT = Path(__file__).resolve().parents[1]
_QUIET = {"log_to_driver": False, "logging_level": "ERROR"}
_TIMERS = {"seconds_playing": "env_runner_sampling_timer", "seconds_learning": "learner_update_timer"}
_LOSSES = ("policy_loss", "vf_loss", "entropy", "curr_entropy_coeff", "default_optimizer_learning_rate")


def train(run: Run) -> Evaluation:
    """Train to the end, or until a signal asks to stop; resumes where the settings say so.

    Returns:
        The best evaluation.

    Raises:
        Interrupted: after saving, where SIGINT or SIGTERM came.
    """
    torch.set_num_threads(run.settings.threads)
    solve(run.settings.ruleset)
    with _cluster(run.settings), contextlib.closing(_Training(run)) as training:
        training.go_on()
        assert training.best is not None
        return training.best


@contextlib.contextmanager
def _cluster(settings: RLlibSettings) -> Iterator[None]:
    """A cluster of this machine alone, gone with the run; or a running one, which gets the code of this checkout."""
    if settings.address is None:
        # The processes take turns, so they may be more than there are cores.
        n_processes = settings.num_env_runners + settings.num_learners + 1
        ray.init("local", num_cpus=max(os.cpu_count() or 1, n_processes), include_dashboard=False, **_QUIET)
    else:
        code = [str(_ROOT / package) for package in ("agents", "yacht_env")]
        ray.init(settings.address, runtime_env={"py_modules": code}, **_QUIET)
    try:
        yield
    finally:
        ray.shutdown()


def make_config(settings: RLlibSettings) -> PPOConfig:
    """RLlib's PPO with these settings."""
    n_steps = settings.total_steps
    model = {"network": settings.network_kwargs, "critic": settings.critic}
    config = masked_ppo(settings.ruleset, AfterstateModule, model, reward_scale=1 / settings.points_unit)
    on_gpu = settings.device == "cuda" or (settings.device == "auto" and torch.cuda.is_available())
    config.env_runners(num_env_runners=settings.num_env_runners, num_envs_per_env_runner=settings.n_envs)
    config.learners(
        num_learners=settings.num_learners,
        num_gpus_per_learner=int(on_gpu),
        learner_class=YachtPPOLearner,
        learner_config_dict={"remove_luck": settings.remove_luck},
    )
    config.training(
        gamma=1.0,
        lambda_=settings.gae_lambda,
        lr=[[0, settings.learning_rate], [n_steps, settings.final_learning_rate]],
        entropy_coeff=[[0, settings.entropy], [int(n_steps * settings.entropy_fraction), 0.0]],
        clip_param=settings.clip_range,
        use_kl_loss=False,
        vf_loss_coeff=0.5,
        vf_clip_param=float("inf"),  # in RLlib it bounds the squared error itself
        grad_clip=0.5,
        grad_clip_by="global_norm",
        num_epochs=settings.n_epochs,
        train_batch_size_per_learner=settings.n_batch,
        minibatch_size=settings.n_minibatch,
    )
    # A lost runner is missed for some seconds of play, and a run survives any number of losses.
    config.fault_tolerance(restart_failed_env_runners=True, delay_between_env_runner_restarts_s=1.0)
    return config.debugging(seed=settings.seed, log_level="ERROR")


class _Training:
    """A run in progress: RLlib's algorithm, and what is known of it so far."""

    def __init__(self, run: Run) -> None:
        self.run, self.settings = run, run.settings
        self.algorithm: Algorithm = make_config(self.settings).build_algo()
        self.steps = 0
        self.next_eval, self.next_save = self.settings.eval_every, self.settings.checkpoint_every
        self.seconds = self.eval_seconds = 0.0
        self.best: Evaluation | None = None
        self.curve: list[tuple[int, float, float]] = []  # steps, seconds of training, exact score
        self.stop_asked = False
        if run.resuming:
            self._restore(run.checkpoint())
        self.logger = run.logger(self.steps)

    def close(self) -> None:
        """Stop the runners and the learners."""
        self.algorithm.stop()

    def go_on(self) -> None:
        """Train until the steps are done."""
        if self.steps >= self.settings.total_steps:
            return
        bar = steps_bar(self.settings, self.steps)
        with stop_signals(self), bar:
            while self.steps < self.settings.total_steps:
                self._iterate()
                bar.update(self.steps - bar.n)
                if self.stop_asked:
                    self.save()
                    raise Interrupted
            self.evaluate()
        self.save()

    def _iterate(self) -> None:
        """One rollout and the learning from it; then whatever is due."""
        started = time.monotonic()
        result = self.algorithm.train()
        elapsed = time.monotonic() - started
        self.seconds += elapsed
        played = int(result["env_runners"].get("num_env_steps_sampled", 0))
        self.steps += played
        self._log(result, played / elapsed)
        if self.next_eval <= self.steps < self.settings.total_steps:
            self.next_eval = self.steps + self.settings.eval_every
            self.evaluate()
        if self.next_save <= self.steps < self.settings.total_steps:
            self.next_save = self.steps + self.settings.checkpoint_every
            self.save()

    def _log(self, result: dict[str, Any], steps_per_second: float) -> None:
        group = self.algorithm.env_runner_group
        self.logger.record("time/fps", steps_per_second)
        self.logger.record("time/healthy_runners", group.num_healthy_remote_workers())
        self.logger.record("time/runner_restarts", group.num_remote_worker_restarts())
        for key, name in _TIMERS.items():
            if name in result["timers"]:
                self.logger.record(f"time/{key}", float(result["timers"][name]))
        if "episode_return_mean" in result["env_runners"]:
            self.logger.record("rollout/ep_rew_mean", float(result["env_runners"]["episode_return_mean"]))
        losses = result.get("learners", {}).get("default_policy", {})
        for key in _LOSSES:
            if key in losses:
                self.logger.record(f"train/{key}", float(losses[key]))
        self.logger.dump(self.steps)

    def policy(self) -> NetworkPolicy:
        """The network as it is now, in the published format."""
        return network_policy(self.algorithm.get_module().actor, self.run.algorithm)

    def evaluate(self) -> None:
        """Measure the network exactly, log that, and keep it where it is the best so far."""
        started = time.monotonic()
        policy, settings = self.policy(), self.settings
        result = evaluate(policy, settings.ruleset, n_games=settings.eval_games, progress=lambda done, total: None)
        log_evaluation(self.logger, result, self.steps)
        self.curve.append((self.steps, round(self.seconds, 1), result.expected_score))
        if self.best is None or result.expected_score > self.best.expected_score:
            self.best = result
            self._export(self.run.folder / "best", policy, result)
        self.eval_seconds += time.monotonic() - started
        self.run.record(
            steps=self.steps,
            seconds=round(self.seconds + self.eval_seconds, 1),
            eval_seconds=round(self.eval_seconds, 1),
            last=result.summary(),
            best=self.best.summary(),
        )
        score = f"{result.expected_score:.3f} ({result.share_of_optimum:.2%})"
        tqdm.write(f"{self.steps:>10,} steps {self.seconds:7.0f} s   score {score}")

    def _export(self, folder: Path, policy: NetworkPolicy, result: Evaluation | None) -> None:
        save_network(folder, self.run, policy, self.steps, round(self.seconds, 1), self.curve, result)

    def save(self) -> None:
        """Write a checkpoint, with the network as it is beside it; a kill at any moment leaves the last whole one."""
        with self.run.new_checkpoint(self.steps) as folder:
            self.algorithm.save_to_path(str((folder / "rllib").resolve()))
            (folder / "trainer.pkl").write_bytes(pickle.dumps(self._state()))
            self._export(folder / "policy", self.policy(), None)

    def _state(self) -> dict[str, Any]:
        names = ("steps", "next_eval", "next_save", "seconds", "eval_seconds", "best", "curve")
        return {name: getattr(self, name) for name in names}

    def _restore(self, checkpoint: Path) -> None:
        """Go on from a checkpoint: networks, optimiser and schedules are as they were; the games are new ones."""
        self.algorithm.restore_from_path(str((checkpoint / "rllib").resolve()))
        vars(self).update(pickle.loads((checkpoint / "trainer.pkl").read_bytes()))
