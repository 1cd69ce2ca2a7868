"""PPO on Ray: what the batched runner plays, learning without luck, lost processes, resumption and export."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

ray = pytest.importorskip("ray")
pytest.importorskip("ray.rllib")
torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")
pytest.importorskip("tensorboard")

from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.evaluation.postprocessing import Postprocessing
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import train.rllib_ppo
import yacht_env
from agents.export import network_policy
from agents.rllib import AfterstateModule, RemoveLuck, StandardizeAdvantages, YachtPPOLearner
from train.rllib_loop import make_config
from train.rllib_ppo import PRESETS, RLlibSettings
from yacht_env.integrations.rllib import MaskedPPOModule, MaskedYachtVectorEnv, masked_ppo, module_policy
from yacht_env.integrations.rllib_runner import BatchedEnvRunner
from yacht_env.observation import get_observation

pytestmark = pytest.mark.filterwarnings("ignore")  # RLlib's own

TINY = RLlibSettings(
    preset="smoke", total_steps=12_000, n_envs=64, n_steps=24, hidden=(16,), critic=(16,), card_hidden=(8,), batch_size=512
)


@pytest.fixture
def cluster():
    """A cluster of two worker processes on this machine, gone after the test."""
    ray.init("local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def runner(kind, n_envs=40, seed=3):
    """A runner in this process, with a network that every call makes alike."""
    config = masked_ppo("yacht", MaskedPPOModule, {"hidden": (16,)}, reward_scale=1 / 20)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=n_envs, env_runner_cls=kind).debugging(seed=seed)
    return kind(config=config, worker_index=0, num_workers=0)


def steps_of(episodes):
    """What the episodes hold, in an order that does not depend on theirs."""
    parts = [
        (
            episode.get_observations()["observations"],
            episode.get_observations()["action_mask"],
            episode.get_actions(),
            episode.get_rewards(),
            episode.get_extra_model_outputs(Columns.ACTION_DIST_INPUTS),
            np.array([episode.is_terminated, episode.is_truncated]),
        )
        for episode in episodes
    ]
    return sorted(parts, key=lambda part: part[0].tobytes() + part[2].tobytes())


def test_games_show_their_masks_and_start_again_on_the_next_step():
    env, plain = MaskedYachtVectorEnv(30, reward_scale=0.5), yacht_env.YachtVectorEnv(30)
    (seen, _), (observations, info) = env.reset(seed=4), plain.reset(seed=4)
    rng = np.random.default_rng(0)
    for _ in range(80):
        assert env.observation_space.contains(seen)
        np.testing.assert_array_equal(seen["observations"], observations)
        np.testing.assert_array_equal(seen["action_mask"], info["action_mask"])
        actions = (rng.random(info["action_mask"].shape) * info["action_mask"]).argmax(axis=1)
        seen, rewards, terminated, _, infos = env.step(actions)
        observations, points, over, _, info = plain.step(actions)
        np.testing.assert_array_equal(rewards, points * 0.5)
        np.testing.assert_array_equal(terminated, over)
        assert infos == {}


def test_the_batched_runner_plays_the_games_of_rllibs_own():
    """Greedy play with the same dice: the same episodes, cut at the same places, over several fragments."""
    batched, single = runner(BatchedEnvRunner), runner(SingleAgentEnvRunner)
    single.module.load_state_dict(batched.module.state_dict())
    for _ in range(3):
        one, two = (steps_of(r.sample(num_timesteps=700, explore=False)) for r in (batched, single))
        assert len(one) == len(two)
        for these, those in zip(one, two, strict=True):
            for a, b in zip(these[:4], those[:4], strict=True):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_allclose(these[4], those[4], rtol=1e-5)
            np.testing.assert_array_equal(these[5], those[5])


def test_explored_games_are_legal_and_their_returns_are_reported_in_points():
    batched = runner(BatchedEnvRunner)
    episodes = [episode for _ in range(4) for episode in batched.sample(num_timesteps=1000)]
    for episode in episodes:
        masks = episode.get_observations()["action_mask"][:-1]
        assert masks[np.arange(len(masks)), episode.get_actions()].all()
        logp = episode.get_extra_model_outputs(Columns.ACTION_LOGP)
        law = torch.log_softmax(torch.as_tensor(episode.get_extra_model_outputs(Columns.ACTION_DIST_INPUTS)), dim=1)
        np.testing.assert_allclose(logp, law.numpy()[np.arange(len(logp)), episode.get_actions()], atol=1e-5)
    metrics = batched.get_metrics()
    assert 12 <= float(metrics["episode_len_mean"].peek()) <= 36
    assert 20 < float(metrics["episode_return_mean"].peek()) < 120  # unlearned play, in points


def test_luck_is_the_dice_that_fell_less_those_that_were_to_be_expected():
    """With a critic that values a roll at its pips, a step's luck can be counted by hand."""
    spaces = MaskedYachtVectorEnv(1)
    module = AfterstateModule(
        observation_space=spaces.single_observation_space,
        action_space=spaces.single_action_space,
        model_config={"network": {"ruleset": "yacht", "hidden": (8,)}, "critic": (8,)},
    )
    game, decode = get_observation("yacht").game, get_observation("yacht").decode
    dice = game.dice
    pips = dice.counts @ np.arange(1, dice.n_faces + 1)
    with torch.no_grad():
        module.critic.head.shrink(0.0)
        module.critic.head.own.bias.copy_(torch.as_tensor(pips))
    episodes = runner(BatchedEnvRunner).sample(num_timesteps=2000)
    observations = np.concatenate([e.get_observations()["observations"] for e in episodes])
    actions = np.concatenate([np.append(e.get_actions(), 0) for e in episodes])
    plays = np.concatenate([np.arange(len(e) + 1) < len(e) for e in episodes])
    over = np.concatenate([(np.arange(len(e) + 1) == len(e) - 1) & e.is_terminated for e in episodes])
    batch = {
        Columns.OBS: {"observations": torch.as_tensor(observations)},
        Columns.ACTIONS: torch.as_tensor(actions),
        Columns.REWARDS: torch.zeros(len(actions)),
        Columns.LOSS_MASK: torch.as_tensor(plays),
        Columns.TERMINATEDS: torch.as_tensor(over),
    }
    RemoveLuck()(rl_module={DEFAULT_MODULE_ID: module}, batch={DEFAULT_MODULE_ID: batch})
    state, lucky = decode(observations), np.flatnonzero(plays & ~over)
    holds = actions[:, None] >> np.arange(dice.n_dice) & 1
    holds[actions >= game.n_holds] = 0  # a filled box is followed by a roll of all dice
    kept, n_free = (dice.faces[state.roll] * holds).sum(axis=1), dice.n_dice - holds.sum(axis=1)
    expected = np.zeros(len(actions))
    expected[lucky] = pips[state.roll[lucky + 1]] - (kept + (1 + dice.n_faces) / 2 * n_free)[lucky]
    np.testing.assert_allclose(-batch[Columns.REWARDS].numpy(), expected, atol=1e-4)
    assert np.abs(expected).max() > 5


def test_rows_that_were_not_played_have_no_part_in_the_scale_of_advantages():
    advantages, played = torch.randn(200, generator=torch.Generator().manual_seed(0)), torch.arange(200) % 10 != 9
    advantages[~played] = 50.0
    batch = {Postprocessing.ADVANTAGES: advantages.clone(), Columns.LOSS_MASK: played}
    StandardizeAdvantages()(batch={DEFAULT_MODULE_ID: batch})
    scaled = batch[Postprocessing.ADVANTAGES][played]
    assert scaled.mean().item() == pytest.approx(0, abs=1e-6) and scaled.std().item() == pytest.approx(1, abs=1e-6)
    assert torch.equal(scaled.argsort(), advantages[played].argsort())


@pytest.mark.parametrize("remove_luck", [True, False])
def test_luck_goes_before_advantages_are_made_and_their_scale_comes_after(remove_luck):
    spaces = MaskedYachtVectorEnv(1)
    config = make_config(dataclasses.replace(TINY, remove_luck=remove_luck))
    learner = YachtPPOLearner(
        config=config,
        module_spec=config.get_multi_rl_module_spec(
            spaces={DEFAULT_MODULE_ID: (spaces.single_observation_space, spaces.single_action_space)}
        ),
    )
    learner.build()
    names = [type(piece).__name__ for piece in learner._learner_connector.connectors]
    luck = ["RemoveLuck"] if remove_luck else []
    assert names[-2 - len(luck) :] == [*luck, "GeneralAdvantageEstimation", "StandardizeAdvantages"]


def test_a_killed_runner_is_replaced_and_training_goes_on(cluster):
    algorithm = make_config(TINY).build_algo()
    try:
        group, played = algorithm.env_runner_group, []

        def processes():
            return group.foreach_env_runner(lambda worker: os.getpid(), local_env_runner=False)

        played.append(algorithm.train()["env_runners"]["num_env_steps_sampled"])
        before = processes()
        assert len(before) == 2 and os.getpid() not in before
        os.kill(before[0], signal.SIGKILL)
        deadline = time.monotonic() + 60
        while not (group.num_healthy_remote_workers() == 2 and before[0] not in processes()):
            assert time.monotonic() < deadline
            result = algorithm.train()
            played.append(result["env_runners"]["num_env_steps_sampled"])
        result = algorithm.train()
        played.append(result["env_runners"]["num_env_steps_sampled"])
        assert min(played) >= TINY.n_batch  # the other runner played for both
        assert result["env_runners"]["num_env_steps_sampled_lifetime"] == sum(played)  # schedules hang on this
        learner = algorithm.learner_group.get_weights()[DEFAULT_MODULE_ID]
        for weights in group.foreach_env_runner(lambda worker: worker.module.get_state(), local_env_runner=True):
            assert weights and all(np.array_equal(weight, learner[key]) for key, weight in weights.items())
    finally:
        algorithm.stop()


FLAGS = ["--preset", "smoke", "--n-envs", "64", "--n-steps", "24", "--no-progress", "--eval-every", "10000"]
FLAGS += ["--checkpoint-every", "6000", "--total-steps", "30000", "--num-env-runners", "2"]


def scalars(folder, tag):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(tag)]


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory):
    """A run of two runners that Ctrl-C stopped after its first checkpoint: its folder, and what it said."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    command = [sys.executable, "-m", "train.rllib_ppo", *FLAGS, "--run-dir", str(folder)]
    surroundings = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, text=True)
    while not list(folder.glob("checkpoints/[0-9]*")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    return folder, out


def checkpoint_of(folder):
    (found,) = folder.glob("checkpoints/[0-9]*")
    return found


def test_the_exported_policy_has_exactly_the_score_of_the_module(stopped_run):
    checkpoint = checkpoint_of(stopped_run[0])
    module = RLModule.from_checkpoint(checkpoint / "rllib" / "learner_group" / "learner" / "rl_module" / DEFAULT_MODULE_ID)
    exported = yacht_env.load_pretrained(checkpoint / "policy")
    of_module, of_export = yacht_env.evaluate(module_policy(module)), yacht_env.evaluate(exported)
    assert of_module.method == of_export.method == "exact"
    assert of_export.expected_score == pytest.approx(of_module.expected_score, abs=1e-9)
    assert of_export.expected_score > 30
    for key, weight in network_policy(module.actor).weights.items():
        np.testing.assert_array_equal(weight, exported.weights[key])


def test_a_stopped_run_goes_on_from_its_checkpoint(stopped_run, capsys):
    folder, said = stopped_run
    assert f"--resume {folder}" in said
    steps = int(checkpoint_of(folder).name)
    assert 6000 <= steps < 30_000
    train.rllib_ppo.main(["--resume", str(folder)])
    facts = json.loads((folder / "run.json").read_text())
    assert facts["steps"] >= 30_000 and facts["versions"]["ray"]
    entropy = scalars(folder, "train/curr_entropy_coeff")  # RLlib's own count of steps decides it
    assert {step for step, _ in entropy} > {steps} and len({step for step, _ in entropy}) == len(entropy)
    for step, value in entropy:
        assert value == pytest.approx(max(0.0, 0.3 * (1 - step / 24_000)), abs=1e-4)
    score = scalars(folder, "eval/expected_score")
    assert score[-1][0] == facts["steps"] and score[-1][1] == pytest.approx(facts["last"]["expected_score"], abs=1e-3)
    best = yacht_env.load_pretrained(folder / "best")
    assert yacht_env.evaluate(best).expected_score == facts["best"]["expected_score"]
    assert f"{facts['best']['expected_score']:.3f}" in capsys.readouterr().out


def test_presets_are_where_the_settings_start_from():
    for name, preset in PRESETS.items():
        assert preset.preset == name and preset.n_minibatch <= preset.n_batch


def test_learners_share_a_batch():
    settings = RLlibSettings(num_env_runners=4, num_learners=2, n_envs=100, n_steps=10, batch_size=1000)
    assert (settings.n_batch, settings.n_minibatch) == (2000, 500)
    with pytest.raises(ValueError, match=r"batch_size must be num_learners \(8\) or more, got 4"):
        RLlibSettings(num_learners=8, batch_size=4)
