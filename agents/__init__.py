"""Learning agents: masked DQN and PPO on stable-baselines3, their network, and the export of trained models."""

from yacht_env.extras import needs_extra

with needs_extra("train"):  # said here once, for all modules
    import stable_baselines3  # noqa: F401
    import torch  # noqa: F401
