"""Experiment scripts: ``python -m train.dqn``, ``python -m train.ppo``, ``python -m train.evaluate``."""
