"""Rollouts of PPO: what is found once a rollout is what the networks say of each state."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from agents.export import network_policy
from agents.ppo import AfterstateActorCriticPolicy, YachtPPO
from agents.rollout import Memo, sample_actions
from yacht_env.game import State
from yacht_env.integrations.sb3 import YachtVecEnv

N_STEPS, N_ENVS = 45, 32  # games end, and others begin


def model_of(ruleset, **kwargs):
    """A model whose networks say something of every keep and roll, unlike those that training starts with."""
    policy_kwargs = {"network_kwargs": {"ruleset": ruleset, "hidden": (16, 16)}, "critic": [16]}
    env = YachtVecEnv(N_ENVS, ruleset, reward_scale=0.05, seed=0)
    arguments = {"n_steps": N_STEPS, "batch_size": 256, "gamma": 1.0, "seed": 0} | kwargs
    model = YachtPPO(AfterstateActorCriticPolicy, env, policy_kwargs=policy_kwargs, **arguments)
    with torch.no_grad():
        for head in (model.policy.mlp_extractor.actor.head, model.policy.mlp_extractor.critic.head):
            head.own.weight.normal_()
    return model


def rollout_of(model):
    """One rollout, and what was taken off its rewards."""
    taken = []
    remove = model._remove_luck
    model._remove_luck = lambda rollout, luck: taken.append(rollout.rewards.copy()) or remove(rollout, luck)
    model.train = lambda: None
    model.learn(N_STEPS * N_ENVS)
    return model.rollout_buffer, taken[0] - model.rollout_buffer.rewards


def rows(array):
    """The steps of all games below each other."""
    return array.reshape(-1, *array.shape[2:])


@pytest.mark.parametrize("ruleset", ["yacht", "yacht-bonus", "classic13"])
def test_a_rollout_holds_what_the_networks_say(ruleset):
    model = model_of(ruleset)
    rollout, luck = rollout_of(model)
    assert rollout.episode_starts[1:].any()
    observations, masks, actions = rows(rollout.observations), rows(rollout.action_masks) > 0, rows(rollout.actions)[:, 0]
    logits = network_policy(model.policy.mlp_extractor.actor).action_values(observations, masks)
    log_probs = torch.distributions.Categorical(logits=torch.as_tensor(logits)).log_prob(torch.as_tensor(actions))
    np.testing.assert_allclose(rows(rollout.log_probs), log_probs, atol=1e-5)

    critic = model.policy.mlp_extractor.critic
    everything = torch.as_tensor(np.concatenate([observations, model._last_obs]))
    with torch.no_grad():
        state = critic.read(everything)
        of_all_rolls = critic.head(critic.trunk(critic.trunk.number(*state[1:])))
    values = of_all_rolls.gather(1, state.roll[:, None])[:, 0]
    np.testing.assert_allclose(rows(rollout.values), values[:-N_ENVS], atol=1e-5)
    keep = critic.keep[state.roll[:-N_ENVS], torch.as_tensor(actions).long()]
    expected = (critic.chances[keep] * of_all_rolls[N_ENVS:]).sum(dim=1)
    is_over = np.concatenate([rollout.episode_starts[1:], model._last_episode_starts[None]])
    np.testing.assert_allclose(rows(luck), (values[N_ENVS:] - expected).numpy() * (1 - rows(is_over)), atol=1e-5)
    after = State(*(field[N_ENVS:] for field in state))
    with torch.no_grad():
        same = critic.luck(state.roll[:-N_ENVS], torch.as_tensor(actions).long(), after)
    np.testing.assert_allclose(same, values[N_ENVS:] - expected, atol=1e-5)


@pytest.mark.parametrize("ruleset", ["yacht", "classic13"])
def test_actions_are_judged_as_by_the_base_class(ruleset):
    """Values, log-probabilities, entropies, and the gradients of all three."""
    model = model_of(ruleset)
    rollout, _ = rollout_of(model)
    batch = next(iter(rollout.get(500)))
    answers = []
    for kind in (AfterstateActorCriticPolicy, MaskableActorCriticPolicy):
        model.policy.zero_grad()
        answer = kind.evaluate_actions(model.policy, batch.observations, batch.actions.long().flatten(), batch.action_masks)
        sum(part.square().mean() for part in answer).backward()
        gradients = [parameter.grad.clone() for parameter in model.policy.parameters()]
        answers.append([part.detach() for part in answer] + gradients)
    for mine, theirs in zip(*answers, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)


def test_actions_are_drawn_by_their_probabilities(monkeypatch):
    torch.manual_seed(0)
    n, probabilities = 40_000, torch.tensor([0.0, 0.5, 0.0, 0.2, 0.3, 0.0])
    counts = sample_actions(probabilities.repeat(n, 1)).bincount(minlength=6)
    assert counts[probabilities == 0].sum() == 0
    error = (probabilities * (1 - probabilities) / n).sqrt()
    assert ((counts / n - probabilities).abs() <= 4 * error).all()
    for number, action in ((0.0, 1), (1 - 2**-24, 4)):  # the least number that is drawn, and the greatest
        monkeypatch.setattr(torch, "rand", lambda *shape, number=number, **kwargs: torch.full(shape, number))
        scaled = probabilities * torch.linspace(0.5, 1.0, 1000)[:, None]
        assert (sample_actions(scaled) == action).all()


def test_rows_are_made_once():
    made = []

    def make(numbers):
        made.extend(numbers.tolist())
        return numbers[:, None] * torch.ones(3)

    memo = Memo(make, 100, 10, torch.zeros(3))
    for numbers in ([5, 7, 5], [[7, 99], [0, 5]], [99, 0]):
        numbers = torch.tensor(numbers)
        torch.testing.assert_close(memo.rows[memo(numbers)], numbers[..., None] * torch.ones(3))
    assert sorted(made) == [0, 5, 7, 99]


def test_a_training_that_has_diverged_is_not_gone_on_with():
    model = model_of("yacht")
    with torch.no_grad():
        model.policy.mlp_extractor.actor.head.own.weight.fill_(torch.nan)
    with pytest.raises(ValueError, match="diverged"):
        model.learn(N_STEPS * N_ENVS)


def test_games_that_are_cut_short_get_what_was_to_be_expected():
    """Without masks games run into illegal actions, and end by the limit on their steps."""
    model = model_of("yacht", remove_luck=False, n_steps=8)
    model.env.venv.max_episode_steps = 3
    buffer, rewards, step = model.rollout_buffer, [], model.env.step

    def stepped(actions):
        answer = step(actions)
        rewards.append(answer[1].copy())
        return answer

    model.env.step = stepped
    model.train = lambda: None
    model.learn(8 * N_ENVS, use_masking=False)
    added = buffer.rewards - np.stack(rewards)
    ends = buffer.episode_starts[1:] > 0
    assert ends.any() and (np.abs(added[:-1][ends]) > 0).all()
    np.testing.assert_allclose(added[:-1][~ends], 0, atol=1e-6)
