"""The integration with stable-baselines3: the fast VecEnv, and exact evaluation while learning."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor

import yacht_env
from yacht_env.integrations.sb3 import ExactEvalCallback, YachtVecEnv, model_policy


def play(env, n_steps, seed=0):
    """Steps of legal random play: (observations, masks, actions, rewards, dones, infos)."""
    rng, observations = np.random.default_rng(seed), env.reset()
    for _ in range(n_steps):
        masks = get_action_masks(env)
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        after, rewards, dones, infos = env.step(actions)
        yield observations, masks, actions, rewards, dones, infos
        observations = after


def test_episodes_report_their_return_length_and_last_observation():
    env = YachtVecEnv(50, "classic13", reward_scale=0.05, seed=0)
    returns, lengths, n_finished = np.zeros(50), np.zeros(50, dtype=int), 0
    for _, _, _, rewards, dones, infos in play(env, 120):
        returns, lengths = returns + rewards / 0.05, lengths + 1
        for i in np.flatnonzero(dones):
            assert infos[i]["episode"]["r"] == pytest.approx(returns[i], abs=1e-3)
            assert infos[i]["episode"]["l"] == lengths[i]
            assert infos[i]["TimeLimit.truncated"] is False
            assert env.observation_space.contains(infos[i]["terminal_observation"])
            returns[i], lengths[i], n_finished = 0, 0, n_finished + 1
        assert not any(infos[i] for i in np.flatnonzero(~dones))
    assert n_finished > 50


def test_it_plays_the_same_games_as_the_batch_environment():
    env, batch = YachtVecEnv(20, seed=3), yacht_env.YachtVectorEnv(20, autoreset_mode="SameStep")
    expected, _ = batch.reset(seed=3)
    for observations, _, actions, rewards, _, _ in play(env, 60):
        np.testing.assert_array_equal(observations, expected)
        expected, points, *_ = batch.step(actions)
        np.testing.assert_array_equal(rewards, points.astype(np.float32))


def test_masks_are_found_by_sb3_contrib_and_belong_to_the_observations():
    env = YachtVecEnv(30, "yatzy", seed=0)
    assert is_masking_supported(env)
    decode, game = env.venv._observation.decode, env.game
    for observations, masks, *_ in play(env, 50):
        np.testing.assert_array_equal(masks, game.action_mask(decode(observations)).astype(bool))
    assert env.env_method("action_masks", indices=[2, 5]).shape == (2, game.n_actions)


def test_it_counts_as_monitored_and_shares_attributes():
    env = YachtVecEnv(3)
    assert env.env_is_wrapped(Monitor) == [True] * 3
    assert env.get_attr("max_episode_steps") == [200] * 3
    with pytest.raises(ValueError, match="share"):
        env.set_attr("max_episode_steps", 5, indices=[0])


def test_truncation_is_told_apart_from_the_end():
    env = YachtVecEnv(2, seed=0)
    env.reset()
    for _ in range(200):
        _, _, dones, infos = env.step(np.full(2, 31))
    assert dones.all() and all(info["TimeLimit.truncated"] for info in infos)


def test_games_go_on_identically_from_a_saved_state():
    env, twin = YachtVecEnv(20, seed=0), YachtVecEnv(20)
    list(play(env, 30))
    twin.set_state(env.get_state())
    rng = np.random.default_rng(1)
    for _ in range(50):
        masks = get_action_masks(env)
        np.testing.assert_array_equal(masks, get_action_masks(twin))
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        for a, b in zip(env.step(actions)[:3], twin.step(actions)[:3], strict=True):
            np.testing.assert_array_equal(a, b)


def test_maskable_ppo_from_the_box_is_measured_exactly_while_it_learns():
    results = []
    callback = ExactEvalCallback(every=2_000, on_result=lambda result, is_best: results.append((result, is_best)))
    model = MaskablePPO("MlpPolicy", YachtVecEnv(32, seed=0), n_steps=32, batch_size=256, n_epochs=1, seed=0)
    model.learn(4_000, callback=callback)
    assert len(results) >= 2
    assert results[0][1] and all(result.method == "exact" for result, _ in results)
    assert callback.best_score == max(result.expected_score for result, _ in results)


def test_the_anatomy_of_the_gap_goes_to_tensorboard(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    results = []
    callback = ExactEvalCallback(every=10**9, on_result=lambda result, is_best: results.append(result))
    model = MaskablePPO("MlpPolicy", YachtVecEnv(8, seed=0), n_steps=8, n_epochs=1, seed=0, tensorboard_log=str(tmp_path))
    model.learn(64, callback=callback)
    events = accumulator.EventAccumulator(str(next(tmp_path.iterdir())))
    events.Reload()
    by_roll = [events.Scalars(f"gap_by_roll/after_{roll}")[-1].value for roll in ("first", "second", "last")]
    by_kind = [events.Scalars(tag)[-1].value for tag in events.Tags()["scalars"] if tag.startswith("gap_by_kind/")]
    gap = results[-1].optimality_gap
    assert sum(by_roll) == pytest.approx(gap, rel=1e-5) and sum(by_kind) == pytest.approx(gap, rel=1e-5)
    assert len(by_kind) == 3
    text = events.Tensors("eval/costliest_decisions/text_summary")[-1].tensor_proto.string_val[0].decode()
    assert text == "\n\n".join(map(str, results[-1].anatomy.costliest[:5])) and text.count("instead of") == 5


def test_the_single_environment_works_with_sb3s_own_names():
    env = make_vec_env("yacht_env:Yacht-v0", n_envs=2, seed=0)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=16, n_epochs=1).learn(64)
    policy = model_policy(model)
    observations, info = yacht_env.YachtVectorEnv(40).reset(seed=0)
    actions = policy(observations, info["action_mask"])
    assert info["action_mask"][np.arange(40), actions].all()


def test_reset_options_reach_the_games():
    env = YachtVecEnv(4, "yacht", "dict")
    env.set_options({"dice": [1, 2, 3, 4, 6], "open_boxes": ["Choice"]})
    assert env.reset()["dice"].tolist() == [[1, 2, 3, 4, 6]] * 4
    assert env.reset()["open_boxes"].sum() == 4 * 12  # options are for one reset
    env.set_options([{"rolls_left": 0}, {}, {}, {}])
    with pytest.raises(ValueError, match="share their reset options"):
        env.reset()
