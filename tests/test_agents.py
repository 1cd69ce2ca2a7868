"""The learning agents: masks everywhere, and networks that mean the same with and without torch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

from agents.backup import DiceBackup
from agents.dqn import AfterstateDQNPolicy, MaskedDQN
from agents.export import network_policy, network_weights
from agents.networks import AfterstateNetwork
from agents.ppo import AfterstateActorCriticPolicy, YachtPPO
from agents.replay import StateReplayBuffer
from yacht_env.dice import dice_tables, roll_probabilities
from yacht_env.game import State, get_game
from yacht_env.integrations.sb3 import YachtVecEnv
from yacht_env.observation import get_observation
from yacht_env.rules import RULESETS


def some_states(ruleset, n=200, steps=25):
    """Observations and masks in mid-game."""
    env, rng = YachtVecEnv(n, ruleset, seed=0), np.random.default_rng(0)
    observations = env.reset()
    for _ in range(steps):
        observations = env.step((rng.random(env.action_masks().shape) * env.action_masks()).argmax(axis=1))[0]
    return observations, env.action_masks()


def tensors(state):
    return State(*(torch.as_tensor(field) for field in state))


def dqn(n_envs=64, ruleset="yacht", **kwargs):
    policy_kwargs = {"network_kwargs": {"ruleset": ruleset, "hidden": (16,)}}
    defaults = {"buffer_size": 5_000, "learning_starts": 500, "batch_size": 64, "gamma": 1.0, "train_freq": 1, "seed": 0}
    defaults["expected_updates"] = False
    env = YachtVecEnv(n_envs, ruleset, reward_scale=0.05, seed=0)
    return MaskedDQN(AfterstateDQNPolicy, env, ruleset=ruleset, policy_kwargs=policy_kwargs, **defaults | kwargs)


def ppo(ruleset="yacht", **kwargs):
    policy_kwargs = {"network_kwargs": {"ruleset": ruleset, "hidden": (16,)}, "critic": [16]}
    env = YachtVecEnv(64, ruleset, reward_scale=0.05, seed=0)
    defaults = {"n_steps": 16, "batch_size": 256, "n_epochs": 2, "gamma": 1.0, "seed": 0}
    return YachtPPO(AfterstateActorCriticPolicy, env, policy_kwargs=policy_kwargs, **defaults | kwargs)


@pytest.mark.parametrize("gain", [None, 3.0])
@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("ruleset", RULESETS)
def test_a_network_gives_the_same_values_with_and_without_torch(ruleset, layer_norm, gain):
    network = AfterstateNetwork(ruleset, (32, 16), layer_norm=layer_norm, gain=gain)
    observations, masks = some_states(ruleset)
    with torch.no_grad():
        expected = network(torch.as_tensor(observations)).numpy()
    values = network_policy(network).action_values(observations, masks)
    np.testing.assert_allclose(values[masks], expected[masks], atol=1e-5)
    assert (values[~masks] == -np.inf).all()


def test_values_depend_on_what_is_kept_and_not_on_what_is_thrown_away():
    network, observation = AfterstateNetwork("yacht", (32,)), get_observation("yacht", "flat")
    state = observation.game.encode_state([[1, 2, 6, 6, 6], [3, 4, 6, 6, 6]], [2, 2], ["Sixes", "Choice"])
    with torch.no_grad():
        values = network(torch.as_tensor(observation.encode(state))).numpy()
    assert values[0, 0b11100] == pytest.approx(values[1, 0b11100], abs=1e-6)
    assert values[0, 0b11101] != pytest.approx(values[1, 0b11101], abs=1e-6)


def test_a_snapshot_is_not_changed_by_later_training():
    network = AfterstateNetwork("yacht", (8,))
    before = network_weights(network)
    kept = {key: weight.copy() for key, weight in before.items()}
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1.0)
    for key in kept:
        np.testing.assert_array_equal(before[key], kept[key])


@pytest.mark.parametrize("expected_updates", [True, False])
@pytest.mark.parametrize("ruleset", ["yacht", "classic13"])
def test_dqn_never_plays_an_illegal_action_while_it_learns(ruleset, expected_updates):
    model = dqn(ruleset=ruleset, expected_updates=expected_updates, exploration_initial_eps=0.5, exploration_final_eps=0.5)
    step, n_steps = model.env.step, 0

    def checked(actions):
        nonlocal n_steps
        n_steps += 1
        assert model.env.action_masks()[np.arange(len(actions)), actions].all()
        return step(actions)

    model.env.step = checked
    model.learn(4_000)
    assert n_steps > 60


def test_every_game_tosses_its_own_exploration_coin():
    model = dqn()
    observations, masks = some_states("yacht")
    greedy, _ = model.predict(observations, deterministic=True)
    model.exploration_rate = 0.5
    explored, _ = model.predict(observations)
    assert 0.2 < (explored != greedy).mean() < 0.6
    assert masks[np.arange(len(greedy)), greedy].all() and masks[np.arange(len(explored)), explored].all()


def test_one_observation_gives_one_action():
    model = dqn()
    observations, masks = some_states("yacht")
    action, _ = model.predict(observations[0], deterministic=True)
    assert np.ndim(action) == 0 and masks[0, action]


def test_the_target_takes_the_best_legal_action_only():
    """Illegal actions are made worth a thousand; a target that looked at them would run away."""
    model = dqn(learning_rate=1e-6)
    model.learn(1_000)
    with torch.no_grad():
        for net in (model.q_net, model.q_net_target):
            for parameter in net.parameters():
                parameter.zero_()
    data = model.replay_buffer.sample(256)
    legal_boxes = data.next_action_masks[:, model.env.game.n_holds :].any(dim=1)
    assert legal_boxes[data.dones.flatten() == 0].all()
    targets = []
    original = torch.nn.functional.mse_loss
    try:
        torch.nn.functional.mse_loss = lambda values, target: targets.append(target) or original(values, target)
        with torch.no_grad():
            # Filling a box that is already filled would be worth the most; no target may reach that.
            model.q_net_target.q_net.card_head.bias[:] = 1000.0
            model.q_net.q_net.card_head.bias[:] = -1000.0
        model.train(1, 256)
    finally:
        torch.nn.functional.mse_loss = original
    # The online network prefers holds wherever one is legal; boxes are forced only when no roll is left.
    forced = (targets[0] > 500).flatten()
    assert 0 < forced.float().mean() < 0.7


def test_the_odds_are_those_of_all_ways_the_dice_can_fall():
    dice, chances = dice_tables(), roll_probabilities(dice_tables())
    for keep in range(0, dice.n_keeps, 7):
        start, n = dice.outcome_start[keep], dice.n_outcomes[keep]
        expected = np.bincount(dice.next_roll[start : start + n], minlength=dice.n_rolls) / n
        np.testing.assert_allclose(chances[keep], expected, atol=1e-12)


@pytest.mark.parametrize("ruleset", RULESETS)
def test_a_backup_is_the_mean_over_the_dice_of_the_best_legal_action(ruleset):
    game, rng, n = get_game(ruleset), np.random.default_rng(0), 40
    outputs = rng.normal(size=(n, game.n_afterstates)).astype(np.float32)
    open_boxes = rng.integers(0, game.all_open + 1, n)
    open_boxes[0] = 0
    rolls_left = np.where(open_boxes == 0, 0, rng.integers(0, game.rolls_per_turn, n))
    lane = game.lane(open_boxes, rng.integers(0, game.upper_threshold + 1, n), rng.random(n) < 0.5)
    states = tensors(State(np.zeros_like(lane), rolls_left, lane, open_boxes))
    got = DiceBackup(game, 20.0)(torch.tensor(outputs), states).numpy()
    rolls = np.arange(game.dice.n_rolls)
    for i in range(n):
        states = State(rolls, *(np.full_like(rolls, field[i]) for field in (rolls_left, lane, open_boxes)))
        values = outputs[i][game.afterstate] + game.reward[lane[i]] / 20.0
        best = np.where(game.action_mask(states) > 0, values, -np.inf).max(axis=1) if open_boxes[i] else np.zeros(len(rolls))
        np.testing.assert_allclose(got[i], (roll_probabilities(game.dice) @ best)[: got.shape[1]], atol=1e-4)


@pytest.mark.parametrize("ruleset", ["yacht", "classic13"])
def test_an_expected_update_compares_with_the_mean_over_the_dice(ruleset):
    model = dqn(expected_updates=True, ruleset=ruleset)
    model.learn(2_000)
    data, observation = model.replay_buffer.sample_states(40), get_observation(ruleset, "flat")
    game, chances = observation.game, roll_probabilities(observation.game.dice)
    states, after = (State(*(field.numpy() for field in part)) for part in (data.state, data.next_state))
    rolls, losses = np.arange(game.dice.n_rolls), []
    with torch.no_grad():
        values = model.q_net(torch.as_tensor(observation.encode(states))).numpy()
        for i, action in enumerate(data.actions.tolist()):
            next_states = State(rolls, *(np.full_like(rolls, field[i]) for field in after[1:]))
            target = np.zeros(len(rolls))
            if after.open_boxes[i]:
                target = model.q_net_target(torch.as_tensor(observation.encode(next_states))).numpy()
                target = np.where(game.action_mask(next_states), target, -np.inf).max(axis=1)
            actions = [action] if action >= game.n_holds else range(game.n_holds - 1)
            points = 0.05 * game.reward[states.lane[i], states.roll[i], action]
            expected = chances[game.keep[states.roll[i], actions]] @ target + points
            losses.append(np.mean((values[i, actions] - expected) ** 2))
        assert model._expected_loss(data).item() == pytest.approx(np.mean(losses), rel=1e-4)


def test_the_replay_buffer_gives_back_what_was_put_in():
    env = YachtVecEnv(8, "yacht-bonus", seed=0)
    buffer = StateReplayBuffer(8 * 40, env.observation_space, env.action_space, "cpu", 8, ruleset="yacht-bonus")
    rng, observations, kept = np.random.default_rng(0), env.reset(), []
    for _ in range(40):
        masks = env.action_masks()
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        after, rewards, dones, infos = env.step(actions)
        last = after.copy()
        for i in np.flatnonzero(dones):
            last[i] = infos[i]["terminal_observation"]
        buffer.add(observations, last, actions, rewards, dones, infos)
        kept.append((observations, actions, last, dones, rewards))
        observations = after
    everything = np.arange(8 * 40)
    samples = buffer._get_samples(everything)
    expected = [np.concatenate(parts) for parts in zip(*kept, strict=True)]
    for got, put in zip((samples[0], samples[1], samples[2], samples[4], samples[5]), expected, strict=True):
        np.testing.assert_allclose(got.numpy().squeeze(), put, atol=1e-6)
    assert samples.next_action_masks.any(dim=1)[samples.dones.flatten() == 0].all()


def test_a_truncated_game_is_no_end_to_the_learner():
    env = YachtVecEnv(1)
    buffer = StateReplayBuffer(4, env.observation_space, env.action_space, "cpu", 1)
    o = env.reset()
    buffer.add(o, o, np.array([0]), np.array([0.0]), np.array([True]), [{"TimeLimit.truncated": True}])
    buffer.add(o, o, np.array([0]), np.array([0.0]), np.array([True]), [{"TimeLimit.truncated": False}])
    assert buffer.dones[:2, 0].tolist() == [False, True]


def test_ppo_starts_almost_even_over_holds_and_lowers_its_entropy_coefficient():
    seen = []

    def schedule(remaining):
        seen.append(remaining)
        return 0.3 * remaining

    model = ppo(ent_coef_schedule=schedule)
    model.learn(64 * 16 * 3)
    assert seen == sorted(seen, reverse=True) and len(seen) == 3
    assert model.ent_coef == pytest.approx(0.3 * seen[-1])


def test_ppo_never_plays_an_illegal_action_while_it_learns():
    model = ppo()
    step = model.env.step
    model.env.step = lambda actions: _check(model.env, actions) or step(actions)
    model.learn(64 * 16 * 2)
    observations, masks = some_states("yacht")
    actions, _ = model.predict(observations, deterministic=True, action_masks=masks)
    policy = network_policy(model.policy.mlp_extractor.actor)
    np.testing.assert_array_equal(actions, policy(observations, masks))


def _check(env, actions):
    assert env.action_masks()[np.arange(len(actions)), actions].all()


def rollout_of(model):
    """One rollout of a fresh model, whose networks have learned nothing since: its buffer, and what was taken off."""
    taken, remove = [], model._remove_luck

    def remove_and_tell(rollout, luck):
        before = rollout.rewards.copy()
        remove(rollout, luck)
        taken.extend([before, before - rollout.rewards])

    model._remove_luck = remove_and_tell
    model.train = lambda: None
    model.learn(model.n_steps * model.n_envs)
    return model.rollout_buffer, *taken


def test_the_luck_that_is_removed_is_what_the_dice_brought_beyond_their_mean():
    model = ppo(n_steps=40)
    with torch.no_grad():
        model.policy.mlp_extractor.critic.head.own.weight.normal_()
    rollout, _, luck = rollout_of(model)
    assert abs(luck.mean()) < 4 * luck.std() / luck.size**0.5  # fair dice bring none on average
    observation = get_observation("yacht", "flat")
    game, dice, values = observation.game, observation.game.dice, model.policy.predict_values
    n_ends = 0
    for step in range(39):
        for env in (0, 33, 63):
            if rollout.episode_starts[step + 1, env]:
                assert luck[step, env] == 0
                n_ends += 1
                continue
            before = observation.decode(rollout.observations[step, env][None])
            after = observation.decode(rollout.observations[step + 1, env][None])
            keep = game.keep[before.roll[0], int(rollout.actions[step, env, 0])]
            start, n = dice.outcome_start[keep], dice.n_outcomes[keep]
            all_falls = after._replace(roll=dice.next_roll[start : start + n].astype(np.int64))
            falls = observation.encode(State(*(np.broadcast_to(field, n) for field in all_falls)))
            with torch.no_grad():
                mean = values(torch.as_tensor(falls)).mean().item()
                value = values(torch.as_tensor(rollout.observations[step + 1, env][None])).item()
            assert luck[step, env] == pytest.approx(value - mean, abs=1e-4)
    assert n_ends > 0


def test_luck_stays_where_it_is_when_asked():
    model = ppo(remove_luck=False)
    model._remove_luck = None
    model.learn(64 * 16)


def test_what_needs_the_agents_own_policies_says_so():
    env = YachtVecEnv(4)
    with pytest.raises(ValueError, match="expected updates need the policy AfterstateDQNPolicy, got DQNPolicy"):
        MaskedDQN("MlpPolicy", env, gamma=1.0)
    with pytest.raises(ValueError, match="gamma must be 1, got 0.99"):
        MaskedDQN(AfterstateDQNPolicy, env, policy_kwargs={"network_kwargs": {"ruleset": "yacht", "hidden": (8,)}})
    with pytest.raises(ValueError, match="removing luck needs the policy AfterstateActorCriticPolicy"):
        YachtPPO("MlpPolicy", env, n_steps=8)


def test_sampled_targets_and_luck_left_in_work_with_plain_policies():
    MaskedDQN("MlpPolicy", YachtVecEnv(64), expected_updates=False, learning_starts=100, buffer_size=2_000).learn(400)
    YachtPPO("MlpPolicy", YachtVecEnv(64), remove_luck=False, n_steps=8, batch_size=64).learn(64 * 8)
