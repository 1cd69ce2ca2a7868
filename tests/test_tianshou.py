"""The integration with Tianshou: games, masks and resets as its collectors want them."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("tianshou")

from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net

import yacht_env
from yacht_env.integrations.tianshou import YachtVenv
from yacht_env.observation import get_observation
from yacht_env.wrappers import MaskInObservation


def wrapped():
    return MaskInObservation(gymnasium.make("yacht_env:Yacht-v0"), "obs", "mask")


def collector_of(envs):
    net = Net(state_shape=63, action_shape=44, hidden_sizes=[16])
    policy = DiscreteQLearningPolicy(model=net, action_space=envs.action_space[0], eps_training=0.5, eps_inference=0.5)
    dqn = DQN(policy=policy, optim=AdamOptimizerFactory(), gamma=1.0)
    collector = Collector(dqn, envs, VectorReplayBuffer(4_000, len(envs)), exploration_noise=True)
    collector.reset()
    return collector


@pytest.mark.parametrize("make", [lambda: YachtVenv(20, seed=0), lambda: DummyVectorEnv([wrapped] * 20)])
def test_a_collector_plays_legal_actions_and_whole_games(make):
    collector = collector_of(make())
    stats = collector.collect(n_step=2_000)
    played, _ = collector.buffer.sample(0)
    assert played.obs.mask[np.arange(len(played)), played.act].all()
    masks = get_observation("yacht").game.action_mask(get_observation("yacht").decode(played.obs.obs))
    np.testing.assert_array_equal(played.obs.mask, masks)
    assert not played.obs_next.mask[played.done].any()  # the end of a game, and not the start of the next
    assert played.obs_next.mask[~played.done].any(axis=1).all()
    assert stats.n_collected_episodes > 20 and stats.lens.min() >= 12 and stats.lens.max() <= 36


def test_it_plays_the_same_games_as_the_batch_environment():
    envs, batch = YachtVenv(20, reward_scale=0.05, seed=3), yacht_env.YachtVectorEnv(20, autoreset_mode="SameStep")
    _, info = batch.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = (rng.random(info["action_mask"].shape) * info["action_mask"]).argmax(axis=1)
        seen, rewards, terminated, truncated, _ = envs.step(actions)
        expected, points, over, _, info = batch.step(actions)
        np.testing.assert_array_equal(seen.obs[~over], expected[~over])
        np.testing.assert_allclose(rewards, points / 20)
        np.testing.assert_array_equal(terminated, over)
        assert not truncated.any()


def test_some_games_are_reset_and_stepped_while_the_others_wait():
    envs = YachtVenv(5, seed=0)
    rows = np.array([1, 3])
    seen, infos = envs.reset(rows, options={"dice": [1, 1, 2, 3, 4], "open_boxes": ["Choice"]})
    assert len(infos) == 2 and seen.mask[:, -12:].sum(axis=1).tolist() == [1, 1]
    choice = envs.game.n_holds + envs.game.ruleset.index("Choice")
    seen, rewards, terminated, _, _ = envs.step(np.array([choice, choice]), rows)
    assert rewards.tolist() == [11, 11] and terminated.all() and seen.obs.shape == (2, 63)


def test_episodes_asked_for_by_number_are_played():
    stats = collector_of(YachtVenv(10, seed=0)).collect(n_episode=25)
    assert stats.n_collected_episodes == 25 and stats.returns.mean() > 10


def test_spaces_and_attributes_are_those_of_a_single_game():
    envs = YachtVenv(3, "yatzy")
    assert len(envs) == 3 and [space.n for space in envs.action_space] == [47] * 3
    assert envs.observation_space[0]["mask"].shape == (47,)
    assert envs.get_env_attr("max_episode_steps", [0, 1]) == [200, 200]
    with pytest.raises(ValueError, match="share"):
        envs.set_env_attr("max_episode_steps", 5, [0])
