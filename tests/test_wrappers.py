"""The wrapper that puts the mask beside the observation."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from yacht_env.wrappers import MaskInObservation


@pytest.mark.parametrize("form", ["flat", "dict"])
def test_observation_and_mask_are_those_of_the_game_without_a_wrapper(form):
    plain = gymnasium.make("yacht_env:Yacht-v0", observation=form)
    wrapped = MaskInObservation(gymnasium.make("yacht_env:Yacht-v0", observation=form), "obs", "mask")
    rng, over = np.random.default_rng(0), False
    expected, info = plain.reset(seed=3)
    seen, _ = wrapped.reset(seed=3)
    while not over:
        assert seen.keys() == {"obs", "mask"} and wrapped.observation_space.contains(seen)
        np.testing.assert_equal(seen["obs"], expected)
        np.testing.assert_array_equal(seen["mask"], info["action_mask"])
        action = rng.choice(np.flatnonzero(seen["mask"]))
        expected, _, over, _, info = plain.step(action)
        seen, *_ = wrapped.step(action)
    assert not seen["mask"].any()  # nothing is legal once the game is over


def test_the_checker_of_gymnasium_has_nothing_to_say():
    check_env(MaskInObservation(gymnasium.make("yacht_env:Yacht-v0").unwrapped), skip_render_check=True)


def test_settings_that_cannot_be_are_named():
    with pytest.raises(ValueError, match="different names, both are 'mask'"):
        MaskInObservation(gymnasium.make("yacht_env:Yacht-v0"), "mask", "mask")
    with pytest.raises(ValueError, match="expected an environment with discrete actions and action_masks"):
        MaskInObservation(gymnasium.make("CartPole-v1"))


def test_a_wrapped_environment_is_made_again_from_its_spec():
    again = gymnasium.make(MaskInObservation(gymnasium.make("yacht_env:Yacht-v0"), "obs", "mask").spec)
    assert again.reset(seed=0)[0].keys() == {"obs", "mask"}
