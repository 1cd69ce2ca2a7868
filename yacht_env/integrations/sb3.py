"""Yacht for stable-baselines3: a fast ``VecEnv`` over the batch environment, and exact evaluation as a callback.

Public names: :class:`YachtVecEnv`, :class:`ExactEvalCallback`, :func:`log_evaluation`, :func:`model_policy`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from yacht_env.evaluation import Evaluation, evaluate
from yacht_env.extras import needs_extra
from yacht_env.game import Game
from yacht_env.observation import Form
from yacht_env.policies import Policy
from yacht_env.rules import Ruleset
from yacht_env.vector_env import BatchStep, FinalStates, YachtVectorEnv

with needs_extra("train"):
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

__all__ = ["ExactEvalCallback", "YachtVecEnv", "log_evaluation", "model_policy"]

_EVAL_FIGURES = (
    "expected_score",
    "optimality_gap",
    "share_of_optimum",
    "agreement",
    "gap_from_holds",
    "gap_from_boxes",
)


_COSTLIEST = 5  # decisions that are written out after each evaluation


class YachtVecEnv(VecEnv):
    """``num_envs`` games of Yacht for stable-baselines3 and sb3-contrib.

    Finished games start again at once; their infos hold ``terminal_observation``, ``TimeLimit.truncated`` and ``episode``
    (return and length, as ``Monitor`` writes them), so no wrapper is needed. ``env_method("action_masks")`` answers with
    one bool array of shape ``(num_envs, n_actions)``, which is what MaskablePPO stacks.

    Args:
        num_envs: Number of games.
        ruleset: Name of a ruleset, or a :class:`~yacht_env.Ruleset`.
        observation: ``"flat"`` or ``"dict"``.
        reward_scale: Multiplies the rewards that the learner sees; episode returns stay in points.
        invalid_action_penalty: What an invalid action costs, in points.
        seed: Of the dice; ``None`` for fresh ones. :meth:`seed` sets it later.
    """

    def __init__(
        self,
        num_envs: int = 1024,
        ruleset: str | Ruleset = "yacht",
        observation: Form = "flat",
        reward_scale: float = 1.0,
        invalid_action_penalty: float = 1.0,
        seed: int | None = None,
    ) -> None:
        self.venv = YachtVectorEnv(
            num_envs,
            ruleset,
            observation,
            invalid_action_penalty=invalid_action_penalty,
            autoreset_mode=AutoresetMode.SAME_STEP,
        )
        self.reward_scale = reward_scale
        super().__init__(num_envs, self.venv.single_observation_space, self.venv.single_action_space)
        self._no_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]  # of games that go on
        self._first_seed = seed
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, dtype=np.int64)
        self._masks = np.ones((num_envs, self.game.n_actions), dtype=bool)
        self._actions: npt.NDArray[np.int64] = np.zeros(num_envs, dtype=np.int64)

    @property
    def game(self) -> Game:
        """The game that is played."""
        return self.venv.game

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the dice at the next reset; one generator serves all games."""
        self._first_seed = seed
        return [seed] * self.num_envs

    def reset(self) -> VecEnvObs:
        """Start all games, with the options of ``set_options`` if there are any; shape ``(num_envs, ...)``."""
        options = self._options[0]
        if any(other != options for other in self._options):
            raise ValueError("the games of a batch share their reset options; pass one dictionary")
        observations, info = self.venv.reset(seed=self._first_seed, options=options or None)
        self._first_seed = None
        self._reset_options()
        self._masks = info["action_mask"].astype(bool)
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, dtype=np.int64)
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return observations

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        """Remember the actions, shape ``(num_envs,)``."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Take the remembered actions."""
        step = self.venv.advance(self._actions)
        self._masks = step.action_mask.view(np.bool_)  # 0 and 1, in an array that nobody else has
        self._returns += step.rewards
        self._lengths += 1
        infos = self._no_infos.copy()
        if step.final:
            self._report_episodes(step, step.final, infos)
        dones = step.terminated | step.truncated
        return step.observations, (step.rewards * self.reward_scale).astype(np.float32), dones, infos

    def _report_episodes(self, step: BatchStep, final: FinalStates, infos: list[dict[str, Any]]) -> None:
        """Fill in the infos of the games that are over, and count anew for those that have begun."""
        over = final.rows
        cut_short = (step.truncated & ~step.terminated)[over].tolist()
        episodes = zip(final.each(), self._returns[over].tolist(), self._lengths[over].tolist(), cut_short, strict=True)
        for (game, last), total, length, is_cut_short in episodes:
            infos[game] = {
                "terminal_observation": last,
                "TimeLimit.truncated": is_cut_short,
                "episode": {"r": total, "l": length, "t": 0.0},
            }
        self._returns[over] = 0.0
        self._lengths[over] = 0

    def close(self) -> None:
        """Close the games."""
        self.venv.close()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Canonical legal actions, bool, shape ``(num_envs, n_actions)``."""
        return self._masks

    # VecEnv asks its games one by one; here they share every attribute.

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The attribute, once for each game; ``action_masks`` is a method that all have."""
        value = self.action_masks if attr_name == "action_masks" else getattr(self.venv, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of all games; one game alone can't have its own."""
        if len(list(self._get_indices(indices))) != self.num_envs:
            raise ValueError(f"the games of a batch share {attr_name!r}; set it for all of them")
        setattr(self.venv, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """Call a method; ``action_masks`` answers with one row for each game, others with one answer repeated."""
        rows = list(self._get_indices(indices))
        if method_name == "action_masks":
            return self._masks if len(rows) == self.num_envs else self._masks[rows]  # type: ignore[return-value]
        answer = getattr(self.venv, method_name)(*args, **kwargs)
        return [answer for _ in rows]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """``Monitor`` counts as present, since the infos hold what it writes."""
        return [issubclass(Monitor, wrapper_class) for _ in self._get_indices(indices)]

    def has_attr(self, attr_name: str) -> bool:
        """Whether the games have the attribute."""
        return attr_name == "action_masks" or hasattr(self.venv, attr_name)

    # For training that goes on after an interruption.

    def get_state(self) -> dict[str, Any]:
        """All that decides how the games go on: states, statistics and the dice; for :meth:`set_state`."""
        return {
            "venv": self.venv.get_state(),
            "first_seed": self._first_seed,
            "returns": self._returns.copy(),
            "lengths": self._lengths.copy(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from where :meth:`get_state` was called, with the same number of games."""
        self.venv.set_state(state["venv"])
        self._first_seed = state["first_seed"]
        self._returns = state["returns"].copy()
        self._lengths = state["lengths"].copy()
        self._masks = self.venv.action_masks()


def model_policy(model: BaseAlgorithm) -> Policy:
    """A stable-baselines3 or sb3-contrib model as a policy that plays its best action.

    Masks are passed to models whose ``predict`` takes ``action_masks`` (MaskablePPO, and the agents here); another model
    gets observations alone, and has to find legal actions by itself.
    """
    masked = "action_masks" in inspect.signature(model.predict).parameters
    predict: Callable[..., Any] = model.predict

    def policy(observations: Any, action_masks: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        kwargs = {"action_masks": action_masks.astype(bool)} if masked else {}
        actions, _ = predict(observations, deterministic=True, **kwargs)
        return np.asarray(actions, dtype=np.int64)

    return policy


def log_evaluation(logger: Logger, result: Evaluation, steps: int) -> None:
    """Log an evaluation as :class:`ExactEvalCallback` says, at so many environment steps."""
    figures = result.summary()
    for key in (*_EVAL_FIGURES, *(("standard_error",) if result.method == "estimate" else ())):
        logger.record(f"eval/{key}", figures[key])
    for roll, lost in zip(("first", "second", "last"), result.anatomy.by_roll, strict=True):
        logger.record(f"gap_by_roll/after_{roll}", lost)
    for kind, lost in result.anatomy.by_kind.items():
        logger.record(f"gap_by_kind/{kind.replace(' ', '_')}", lost)
    for output in logger.output_formats:
        if isinstance(output, TensorBoardOutputFormat):
            text = "\n\n".join(map(str, result.anatomy.costliest[:_COSTLIEST]))
            output.writer.add_text("eval/costliest_decisions", text, steps)
    logger.dump(steps)


class ExactEvalCallback(BaseCallback):
    """Measures the model exactly while it learns, and says when it is the best so far.

    Logs ``eval/expected_score``, ``eval/optimality_gap``, ``eval/share_of_optimum``, ``eval/agreement``, and the gap's parts
    ``eval/gap_from_holds`` and ``eval/gap_from_boxes``, in points; finer parts under ``gap_by_roll`` and ``gap_by_kind``;
    and, in TensorBoard, the five costliest decisions as text. Evaluates before the first rollout that starts ``every`` or
    more steps after the last evaluation, and at the end of training.

    Args:
        ruleset: The game.
        every: Environment steps between evaluations.
        observation: The form of observation that the model reads.
        make_policy: Makes a policy of the model; :func:`model_policy` by default.
        on_result: Called with each result and whether it is the best so far.
        evaluate_kwargs: Passed on to :func:`yacht_env.evaluate`.
    """

    def __init__(
        self,
        ruleset: str | Ruleset = "yacht",
        every: int = 1_000_000,
        observation: Form = "flat",
        make_policy: Callable[[BaseAlgorithm], Policy] = model_policy,
        on_result: Callable[[Evaluation, bool], None] | None = None,
        evaluate_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.ruleset = ruleset
        self.every = every
        self.observation: Form = observation
        self.make_policy = make_policy
        self.on_result = on_result
        self.evaluate_kwargs = dict(evaluate_kwargs or {})
        self.next_at = every
        self.best_score = -np.inf
        self.last: Evaluation | None = None

    def evaluate_now(self) -> Evaluation:
        """Measure the model as it is, log the figures, and report them."""
        policy = self.make_policy(self.model)
        result = evaluate(policy, self.ruleset, observation=self.observation, **self.evaluate_kwargs)
        log_evaluation(self.logger, result, self.num_timesteps)
        is_best = result.expected_score > self.best_score
        self.best_score = max(self.best_score, result.expected_score)
        self.last = result
        if self.on_result is not None:
            self.on_result(result, is_best)
        return result

    def _on_training_start(self) -> None:
        if self.num_timesteps == 0:
            self.next_at = self.every  # the model starts anew

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.next_at:
            self.next_at = self.num_timesteps + self.every
            self.evaluate_now()

    def _on_training_end(self) -> None:
        self.evaluate_now()

    def _on_step(self) -> bool:
        return True
