"""The single environment: what Gymnasium and its users may rely on."""

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import yacht_env
from yacht_env.rules import RULESETS

FORMS = ("flat", "dict")


def make(ruleset="yacht", observation="flat", **kwargs):
    return gymnasium.make("Yacht-v0", ruleset=ruleset, observation=observation, **kwargs)


def assert_same(a, b):
    """Equal observations or infos, arrays and dictionaries of arrays alike."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    else:
        np.testing.assert_array_equal(a, b)


def random_legal(info, rng):
    return int(rng.choice(np.flatnonzero(info["action_mask"])))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ruleset", RULESETS)
def test_the_checkers_of_gymnasium_and_stable_baselines3_have_nothing_to_say(ruleset, form):
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(ruleset, form).unwrapped, skip_render_check=True)
        sb3.check_env(make(ruleset, form).unwrapped)


def test_the_id_works_with_no_other_import():
    assert gymnasium.make("yacht_env:Yacht-v0").unwrapped.game.ruleset.name == "yacht"


def test_a_ruleset_may_be_given_as_data():
    rules = yacht_env.get_ruleset("yacht").with_house_rules(straights=(7, 11))
    assert make(rules).unwrapped.game.ruleset is rules


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ruleset", RULESETS)
def test_the_same_seed_gives_the_same_game(ruleset, form):
    for seed in (0, 1, 12345):
        games = []
        for _ in range(2):
            env, rng = make(ruleset, form), np.random.default_rng(7)
            observation, info = env.reset(seed=seed)
            steps = [(observation, 0.0, False)]
            while not steps[-1][2]:
                observation, reward, terminated, _, info = env.step(random_legal(info, rng))
                steps.append((observation, reward, terminated))
            games.append(steps)
        for (a, *rest_a), (b, *rest_b) in zip(*games, strict=True):
            assert_same(a, b)
            assert rest_a == rest_b


def test_other_seeds_give_other_games_and_an_unseeded_reset_goes_on():
    env = make()
    first = [tuple(env.reset(seed=seed)[0]) for seed in range(20)]
    assert len(set(first)) > 10
    env.reset(seed=0)
    assert len({tuple(env.reset()[0]) for _ in range(20)}) > 10


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("copier", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"])
def test_a_copy_in_mid_game_goes_on_identically(copier, form):
    env, rng = make("classic13", form).unwrapped, np.random.default_rng(3)
    _, info = env.reset(seed=5)
    for _ in range(9):
        info = env.step(random_legal(info, rng))[4]
    twin, terminated = copier(env), False
    while not terminated:
        action = random_legal(info, rng)
        one, two = env.step(action), twin.step(action)
        for a, b in zip(one, two, strict=True):
            assert_same(a, b)
        terminated, info = one[2], one[4]


@pytest.mark.parametrize("form", FORMS)
def test_no_array_is_shared_between_steps(form):
    env = make("classic13", form).unwrapped
    seen, rng = [], np.random.default_rng(0)
    observation, info = env.reset(seed=0)
    for _ in range(30):
        arrays = [*observation.values()] if form == "dict" else [observation]
        seen.append([np.asarray(array) for array in (*arrays, info["action_mask"])])
        observation, _, terminated, _, info = env.step(random_legal(info, rng))
        if terminated:
            observation, info = env.reset()
    flat = [array for arrays in seen for array in arrays if array.ndim]
    for i, array in enumerate(flat):
        assert array.flags.writeable
        assert not any(np.shares_memory(array, other) for other in flat[i + 1 :])


@pytest.mark.parametrize("ruleset", RULESETS)
def test_random_unmasked_play_never_raises_and_always_ends(ruleset):
    env = make(ruleset)
    env.action_space.seed(0)
    for seed in range(50):
        env.reset(seed=seed)
        for step in range(1, 1000):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                break
        assert step <= 200


@pytest.mark.parametrize("ruleset", RULESETS)
def test_random_masked_play_never_meets_an_invalid_action(ruleset):
    env = make(ruleset)
    env.action_space.seed(1)
    for seed in range(50):
        _, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            np.testing.assert_array_equal(env.unwrapped.action_masks(), info["action_mask"].astype(bool))
            _, reward, terminated, truncated, info = env.step(env.action_space.sample(mask=info["action_mask"]))
            assert not info["invalid_action"] and not truncated and reward >= 0


@pytest.mark.parametrize("action", [31, 32 + 3, -1, 44, 10**6])
def test_an_invalid_action_changes_nothing_and_costs_the_penalty(action):
    env = make(invalid_action_penalty=2.5)
    options = {"open_boxes": ["Ones", "Choice"], "dice": [1, 2, 3, 4, 6], "rolls_left": 2}
    before, info_before = env.reset(seed=0, options=options)
    after, reward, terminated, truncated, info = env.unwrapped.step(action)
    np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(info_before["action_mask"], info["action_mask"])
    assert (reward, terminated, truncated, info["invalid_action"]) == (-2.5, False, False, True)


def test_holds_are_invalid_once_no_roll_is_left():
    env = make()
    _, info = env.reset(options={"dice": [1, 2, 3, 4, 6], "rolls_left": 0})
    assert not info["action_mask"][:32].any()
    assert env.step(3)[4]["invalid_action"]


def test_another_mask_for_the_same_dice_does_the_same():
    results = []
    for mask in (0b00011, 0b10001):  # two of three equal dice and so on: dice are 4 4 4 4 4
        env = make()
        env.reset(seed=11, options={"dice": [4, 4, 4, 4, 4]})
        results.append(env.step(mask)[0])
    np.testing.assert_array_equal(*results)


def test_an_upper_total_that_no_game_has_with_these_boxes_open_is_refused():
    with pytest.raises(ValueError, match="no game has an upper total of 60"):
        make("yacht-bonus").reset(options={"upper_total": 60})


def test_an_action_that_is_no_whole_number_is_refused():
    env = make().unwrapped
    env.reset(seed=0)
    with pytest.raises(TypeError):
        env.step(3.7)
    env.step(np.array(3))
    env.step(np.array([33]))


def test_held_dice_stay_on_the_table():
    env, rng = make(observation="dict"), np.random.default_rng(0)
    for seed in range(200):
        observation, _ = env.reset(seed=seed)
        mask = int(rng.integers(0, 31))
        kept = observation["dice"][[bool(mask >> i & 1) for i in range(5)]]
        dice = env.step(mask)[0]["dice"].tolist()
        assert dice == sorted(dice)
        for face in kept:
            dice.remove(face)


def test_reset_options_start_from_any_state():
    env = make("classic13", "dict")
    options = {"dice": [6, 1, 6, 6, 2], "rolls_left": 1, "open_boxes": ["Sixes", 12], "upper_total": 45, "yacht_box": True}
    observation, _ = env.reset(options=options)
    assert observation["dice"].tolist() == [1, 2, 6, 6, 6]
    assert (observation["rolls_left"], observation["upper_total"], observation["yacht_box"]) == (1, 45, 1)
    assert np.flatnonzero(observation["open_boxes"]).tolist() == [5, 12]
    assert env.step(32 + 5)[1] == 18 + 35


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dice": [1, 2, 3]}, "dice"),
        ({"dice": [0, 1, 2, 3, 4]}, "1 to 6"),
        ({"rolls_left": 3}, "rolls_left must be 0 to 2, got 3"),
        ({"open_boxes": ["Nines"]}, "no box 'Nines'"),
        ({"open_boxes": []}, "open_boxes is empty"),
        ({"turn": 3}, "unknown reset option 'turn'"),
        ({"upper_total": -2}, "upper_total must be a whole number, 0 or more, got -2"),
    ],
)
def test_reset_options_that_no_state_has_are_refused_by_name(options, words):
    with pytest.raises(ValueError, match=words):
        make().reset(options=options)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ruleset": "yachtzee"}, "unknown ruleset 'yachtzee'"),
        ({"observation": "pixels"}, "'flat' or 'dict', got 'pixels'"),
        ({"invalid_action_penalty": -1}, "0 or more, got -1"),
        ({"invalid_action_penalty": float("nan")}, "0 or more, got nan"),
        ({"render_mode": "vr"}, "render_mode must be one of"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(settings, words):
    with pytest.raises(ValueError, match=words):
        yacht_env.YachtEnv(**settings)


def test_there_is_no_step_before_the_first_reset_nor_after_the_last_box():
    env = make().unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(options={"open_boxes": ["Choice"]})
    assert env.step(32 + 10)[2]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(32)


def test_types_are_those_that_gymnasium_asks_for():
    env = make()
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(np.int64(0))
    assert observation.dtype == np.float32
    assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)
    assert info["action_mask"].dtype == np.int8
    assert env.unwrapped.action_masks().dtype == np.bool_


@pytest.mark.parametrize("ruleset", RULESETS)
def test_the_pictures_follow_the_game(ruleset):
    pytest.importorskip("pygame")
    text, pixels = make(ruleset, render_mode="ansi"), make(ruleset, render_mode="rgb_array")
    rng = np.random.default_rng(2)
    for env in (text, pixels):
        _, info = env.reset(seed=4)
    total, terminated, frames = 0.0, False, [pixels.render()]
    while not terminated:
        action = random_legal(info, rng)
        text.step(action)
        _, reward, terminated, _, info = pixels.step(action)
        total += reward
        frames.append(pixels.render())
        assert (frames[-1] != frames[-2]).any()
    assert f"{total:.0f}" in text.render()
    assert text.render().count("Yacht") + text.render().count("Yatzy") >= 1


def test_the_human_window_opens_and_closes(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = make(render_mode="human")
    env.reset(seed=0)
    env.step(0)
    env.close()
