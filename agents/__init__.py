"""Learning agents: masked DQN and PPO on stable-baselines3, their network, and the export of trained models."""
