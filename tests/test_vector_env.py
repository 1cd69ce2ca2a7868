"""The batch environment: the same games as the single one, many at once."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import yacht_env
from tests.test_env import assert_same
from yacht_env.rules import RULESETS
from yacht_env.vector_env import YachtVectorEnv


class SharedDice:
    """Random numbers that both environments are given: ``random()`` for a game of its own, ``random(n)`` for a batch."""

    def __init__(self, numbers):
        self.numbers, self.next = numbers, 0

    def random(self, size=None):
        self.next += 1
        return self.numbers[self.next - 1]


def row(batch, i):
    return {key: part[i] for key, part in batch.items()} if isinstance(batch, dict) else batch[i]


def compare_games(ruleset, form, n_games, n_batch=500):
    """Step every game alone with the batch's dice and actions; a twentieth of the actions are wild ones."""
    rng = np.random.default_rng(99)
    single = yacht_env.YachtEnv(ruleset, form)
    batch = YachtVectorEnv(n_batch, ruleset, form, autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=10**6)
    for _ in range(n_games // n_batch):
        uniform = rng.random((200, n_batch))
        batch._np_random = SharedDice(uniform)
        history, actions = [batch.reset()], []
        finished_at = np.full(n_batch, 200)
        while (finished_at == 200).any():
            mask = history[-1][-1]["action_mask"]
            legal = (rng.random(mask.shape) * mask).argmax(axis=1)
            wild = rng.integers(-2, batch.game.n_actions + 2, size=n_batch)
            actions.append(np.where(rng.random(n_batch) < 0.05, wild, legal))
            batch._done[:] = False  # finished games step on beside the others; those steps are not compared
            history.append(batch.step(actions[-1]))
            finished_at = np.minimum(finished_at, np.where(history[-1][2], len(actions), 200))
        for i in range(n_batch):
            single._np_random = SharedDice(uniform[:, i])
            observation, info = single.reset()
            assert_same(observation, row(history[0][0], i))
            assert_same(info["action_mask"], history[0][1]["action_mask"][i])
            for step in range(1, finished_at[i] + 1):
                observation, reward, terminated, truncated, info = single.step(actions[step - 1][i])
                together = history[step]
                assert_same(observation, row(together[0], i))
                assert (reward, terminated, truncated) == tuple(part[i] for part in together[1:4])
                assert_same(info["action_mask"], together[4]["action_mask"][i])
                assert info["invalid_action"] == together[4]["invalid_action"][i]


@pytest.mark.parametrize("form", ["flat", "dict"])
@pytest.mark.parametrize("ruleset", RULESETS)
def test_batch_and_single_environment_agree_on_everything(ruleset, form):
    compare_games(ruleset, form, 500)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["flat", "dict"])
@pytest.mark.parametrize("ruleset", RULESETS)
def test_batch_and_single_environment_agree_on_everything_over_ten_thousand_games(ruleset, form):
    compare_games(ruleset, form, 10_000)


def legal_actions(info, rng):
    mask = info["action_mask"]
    return (rng.random(mask.shape) * mask).argmax(axis=1)


def test_make_vec_gives_the_native_batch():
    env = gymnasium.make_vec("Yacht-v0", num_envs=7, ruleset="yatzy", observation="dict")
    assert isinstance(env.unwrapped, YachtVectorEnv)
    assert env.unwrapped.max_episode_steps == 200
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert info["action_mask"].shape == (7, env.single_action_space.n)


@pytest.mark.parametrize("form", ["flat", "dict"])
@pytest.mark.parametrize("ruleset", RULESETS)
def test_observations_lie_in_the_batch_space_and_share_no_memory(ruleset, form):
    env, rng = YachtVectorEnv(16, ruleset, form), np.random.default_rng(0)
    observation, info = env.reset(seed=1)
    seen = []
    for _ in range(60):
        assert env.observation_space.contains(observation)
        arrays = [*observation.values()] if form == "dict" else [observation]
        seen.extend([*arrays, info["action_mask"], info["invalid_action"]])
        observation, reward, terminated, truncated, info = env.step(legal_actions(info, rng))
        seen.extend([reward, terminated, truncated])
    for i, array in enumerate(seen):
        assert not any(np.shares_memory(array, other) for other in seen[i + 1 : i + 40])


def test_next_step_starts_a_new_game_on_the_step_after_the_last_and_ignores_its_action():
    env, rng = YachtVectorEnv(64), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    done, starts = np.zeros(64, dtype=bool), 0
    for _ in range(150):
        actions = np.where(done, -5, legal_actions(info, rng))
        observation, reward, terminated, truncated, info = env.step(actions)
        assert not info["invalid_action"].any()
        assert (reward[done] == 0).all() and not (terminated | truncated)[done].any()
        assert (env.state.open_boxes[done] == env.game.all_open).all()
        assert (info["action_mask"][terminated] == 0).all()
        starts += done.sum()
        done = terminated | truncated
    assert starts > 64


def test_same_step_starts_at_once_and_hands_over_the_last_observation():
    env, rng = YachtVectorEnv(64, "classic13", autoreset_mode=AutoresetMode.SAME_STEP), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    finished = 0
    for _ in range(150):
        observation, _, terminated, _, info = env.step(legal_actions(info, rng))
        assert (env.state.open_boxes != 0).all() and info["action_mask"].any(axis=1).all()
        if not terminated.any():
            assert "final_obs" not in info
            continue
        finished += terminated.sum()
        np.testing.assert_array_equal(info["_final_obs"], terminated)
        np.testing.assert_array_equal(info["_final_info"], terminated)
        for i in np.flatnonzero(terminated):
            assert not env._observation.decode(info["final_obs"][i][None]).open_boxes[0]
            assert not info["final_info"]["action_mask"][i].any()
        assert all(last is None for last in info["final_obs"][~terminated])
    assert finished > 64


def test_advance_is_step_without_dictionaries():
    one, other = (YachtVectorEnv(300, autoreset_mode=AutoresetMode.SAME_STEP) for _ in range(2))
    _, info = one.reset(seed=5)
    other.reset(seed=5)
    n_final = 0
    for _ in range(40):
        actions = info["action_mask"].argmax(axis=1)
        actions[::7] = 31  # holds all dice, which is no roll
        observations, rewards, terminated, truncated, info = one.step(actions)
        step = other.advance(actions)
        for ours, theirs in zip(step[:4], (observations, rewards, terminated, truncated), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(step.action_mask, info["action_mask"])
        assert (step.final is None) == ("final_obs" not in info)
        if step.final is None:
            np.testing.assert_array_equal(step.invalid, info["invalid_action"])
            continue
        n_final += len(step.final.rows)
        np.testing.assert_array_equal(step.final.rows, np.flatnonzero(info["_final_obs"]))
        np.testing.assert_array_equal(step.final.observations, np.stack(info["final_obs"][step.final.rows]))
        np.testing.assert_array_equal(step.final.action_mask, info["final_info"]["action_mask"][step.final.rows])
    assert n_final > 200


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_states_that_somebody_holds_never_change(mode):
    env = YachtVectorEnv(50, "classic13", autoreset_mode=mode)
    _, info = env.reset(seed=1)
    held = []
    for _ in range(45):
        held.append((env.state, [field.copy() for field in env.state]))
        _, _, terminated, _, info = env.step(info["action_mask"].argmax(axis=1))
        if mode == AutoresetMode.DISABLED and terminated.any():
            _, info = env.reset(options={"reset_mask": terminated})
    for state, copies in held:
        for field, copy in zip(state, copies, strict=True):
            np.testing.assert_array_equal(field, copy)


def test_disabled_leaves_finished_games_to_the_user():
    env, rng = YachtVectorEnv(8, autoreset_mode=AutoresetMode.DISABLED), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    terminated = np.zeros(8, dtype=bool)
    while not terminated.any():
        _, _, terminated, _, info = env.step(legal_actions(info, rng))
    with pytest.raises(gymnasium.error.ResetNeeded, match="is over"):
        env.step(np.zeros(8, dtype=np.int64))
    before = env.state
    env.reset(options={"reset_mask": terminated})
    assert (env.state.open_boxes[terminated] == env.game.all_open).all()
    np.testing.assert_array_equal(env.state.roll[~terminated], before.roll[~terminated])
    env.step(legal_actions({"action_mask": env.action_masks()}, rng))


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_games_are_truncated_after_max_episode_steps(mode):
    env = YachtVectorEnv(3, max_episode_steps=5, autoreset_mode=mode)
    env.reset(seed=0)
    flags = [env.step(np.full(3, -1))[2:4] for _ in range(5)]
    assert not any(terminated.any() for terminated, _ in flags)
    assert [truncated.all() for _, truncated in flags] == [False] * 4 + [True]


def test_the_same_seed_gives_the_same_games():
    def play(seed):
        env, rng = YachtVectorEnv(32), np.random.default_rng(0)
        observation, info = env.reset(seed=seed)
        trace = [observation]
        for _ in range(50):
            observation, *_, info = env.step(legal_actions(info, rng))
            trace.append(observation)
        return np.array(trace)

    np.testing.assert_array_equal(play(0), play(0))
    assert (play(0) != play(1)).any()


def test_games_go_on_identically_from_a_saved_state():
    env, twin, rng = YachtVectorEnv(32), YachtVectorEnv(32), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    for _ in range(17):
        _, _, _, _, info = env.step(legal_actions(info, rng))
    twin.set_state(env.get_state())
    for _ in range(60):
        actions = legal_actions(info, rng)
        one, two = env.step(actions), twin.step(actions)
        for a, b in zip(one, two, strict=True):
            assert_same(a, b)
        info = one[4]
    with pytest.raises(ValueError, match="32 games; expected 8"):
        YachtVectorEnv(8).set_state(env.get_state())
    with pytest.raises(ValueError, match="other rules than 'yatzy'"):
        YachtVectorEnv(32, "yatzy").set_state(env.get_state())


def test_pictures_start_afresh_from_a_saved_state():
    env = YachtVectorEnv(1)
    _, info = env.reset(seed=0)
    env.step([env.single_action_space.n - 2])
    twin = YachtVectorEnv(1, render_mode="ansi")
    twin.set_state(env.get_state())
    assert "Turn 2 of 12" in twin.render()[0]


def test_the_limit_of_steps_may_be_set_later():
    env = YachtVectorEnv(2, max_episode_steps=-1)
    env.reset(seed=0)
    env.max_episode_steps = 1
    assert env.step([0, 0])[3].all()


def test_no_limit_is_no_limit():
    env = YachtVectorEnv(2, max_episode_steps=-1)
    env.reset(seed=np.int64(3))
    assert not any(env.step(np.full(2, -1))[3].any() for _ in range(300))


@pytest.mark.parametrize(
    ("actions", "words"),
    [(np.zeros(3, dtype=int), r"shape \(4,\)"), (np.zeros(4), "float64"), (np.zeros((4, 1), dtype=int), r"\(4, 1\)")],
)
def test_actions_of_another_shape_or_type_are_refused(actions, words):
    env = YachtVectorEnv(4)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=words):
        env.step(actions)


def test_settings_that_make_no_sense_are_refused():
    for settings in ({"num_envs": 0}, {"max_episode_steps": 0}, {"autoreset_mode": "sometimes"}, {"render_mode": "human"}):
        with pytest.raises(ValueError, match="0|sometimes|human"):
            YachtVectorEnv(**{"num_envs": 2, **settings})
    with pytest.raises(TypeError, match="one whole number"):
        YachtVectorEnv(2).reset(seed=[1, 2])
    with pytest.raises(TypeError, match="bool array"):
        YachtVectorEnv(2).reset(options={"reset_mask": [True, False]})


def test_pictures_come_one_a_game():
    env, rng = YachtVectorEnv(3, "yacht-bonus", render_mode="ansi"), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    totals = np.zeros(3)
    for _ in range(25):
        _, rewards, terminated, _, info = env.step(legal_actions(info, rng))
        totals += rewards
        if terminated.any():
            break
    for total, text in zip(totals, env.render(), strict=True):
        assert f"{total:.0f}" in text
