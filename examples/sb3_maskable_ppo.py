"""MaskablePPO from the box on Yacht-v0, with nothing but the names of stable-baselines3 and sb3-contrib.

    python examples/sb3_maskable_ppo.py                   # games in this process (DummyVecEnv)
    python examples/sb3_maskable_ppo.py --envs subproc    # each game in a process of its own (SubprocVecEnv)
    python examples/sb3_maskable_ppo.py --envs fast       # the batch environment (YachtVecEnv)

All three are the same game; masks are found by the method ``action_masks``, with no wrapper. On the batch
300,000 steps ended at an exact score of 121.028 (72.5 % of the optimum), in 17 seconds.
"""

import argparse
import time

from gymnasium.wrappers import TransformReward
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

import yacht_env
from yacht_env.integrations.sb3 import YachtVecEnv, model_policy

POINTS_UNIT = 20.0  # rewards are divided by this


def make_envs(kind: str, n_envs: int, seed: int) -> VecEnv:
    """The games, in one of the three ways."""
    if kind == "fast":
        return YachtVecEnv(n_envs, reward_scale=1 / POINTS_UNIT, seed=seed)
    return make_vec_env(
        "yacht_env:Yacht-v0",
        n_envs,
        seed=seed,
        wrapper_class=TransformReward,
        wrapper_kwargs={"func": lambda points: points / POINTS_UNIT},
        vec_env_cls={"dummy": DummyVecEnv, "subproc": SubprocVecEnv}[kind],
    )


def main(arguments: list[str] | None = None) -> float:
    """Train from the command line; returns the exact score."""
    parser = argparse.ArgumentParser(description="MaskablePPO on Yacht-v0")
    parser.add_argument("--envs", choices=["dummy", "subproc", "fast"], default="dummy")
    parser.add_argument("--n-envs", type=int, help="default: 8, and 256 for fast")
    parser.add_argument("--total-steps", type=int, help="default: 100,000, and 300,000 for fast")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    fast = args.envs == "fast"
    n_envs, total_steps = args.n_envs or (256 if fast else 8), args.total_steps or (300_000 if fast else 100_000)

    envs, judge = make_envs(args.envs, n_envs, args.seed), make_vec_env("yacht_env:Yacht-v0", seed=args.seed + 1)
    rollout = {"n_steps": 36, "batch_size": 9 * n_envs} if fast else {"n_steps": 144, "batch_size": 36 * n_envs}
    settings = {"gamma": 1.0, "gae_lambda": 0.3, "ent_coef": 0.05, "learning_rate": 1e-3, "n_epochs": 4}
    model = MaskablePPO("MlpPolicy", envs, seed=args.seed, **rollout, **settings)
    # Some games now and then, as with any environment; they say roughly what the exact score below says exactly.
    evaluation = MaskableEvalCallback(judge, n_eval_episodes=20, eval_freq=max(total_steps // n_envs // 4, 1))
    started = time.perf_counter()
    model.learn(total_steps, callback=evaluation)
    envs.close()
    result = yacht_env.evaluate(model_policy(model), "yacht")
    print(f"{model.num_timesteps:,} steps in {time.perf_counter() - started:.0f} s")
    print(f"{result.expected_score:.3f} of {result.optimum:.3f} points, {result.share_of_optimum:.1%}")
    return result.expected_score


if __name__ == "__main__":
    main()
