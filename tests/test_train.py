"""The trainers: presets, records, and runs that go on after a stop."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")
pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import train.dqn
import train.ppo
import train.rllib_ppo
from train.evaluate import main as evaluate_main
from train.run import Run
from train.settings import LinearSchedule, parse_settings
from yacht_env import load_pretrained

TRAINERS = {"dqn": train.dqn, "ppo": train.ppo}
TINY = ["--preset", "smoke", "--total-steps", "12000", "--n-envs", "64", "--no-progress", "--eval-every", "7000"]
TINY += ["--checkpoint-every", "2000"]
SMALL_DQN = ["--learning-starts", "1000", "--buffer-size", "5000", "--batch-size", "128"]
SMALL_PPO = ["--n-steps", "12", "--batch-size", "256", "--n-epochs", "2"]
FLAGS = {"dqn": [*TINY, *SMALL_DQN], "ppo": [*TINY, *SMALL_PPO]}


def command(algorithm, *args):
    return [sys.executable, "-m", f"train.{algorithm}", *args]


def environment():
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def scalars(folder, tag):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(tag)]


def finished(folder):
    return json.loads((folder / "run.json").read_text())


@pytest.mark.parametrize("algorithm", TRAINERS)
def test_a_run_leaves_its_record_its_curves_and_its_best_network(algorithm, tmp_path, capsys):
    TRAINERS[algorithm].main([*FLAGS[algorithm], "--runs", str(tmp_path), "--seed", "5"])
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith(f"Yacht-v0__yacht__{algorithm}__seed5__")
    settings, facts = json.loads((folder / "settings.json").read_text()), finished(folder)
    assert settings["seed"] == 5 and settings["total_steps"] == 12_000
    assert facts["command"] and facts["versions"]["torch"] and "revision" in facts
    agent = load_pretrained(folder / "best")
    assert agent.config["result"]["expected_score"] == facts["best"]["expected_score"]
    gap = scalars(folder, "eval/optimality_gap")
    assert len(gap) == 2 and gap[-1][0] >= 12_000
    assert scalars(folder, "eval/expected_score")[-1][1] == pytest.approx(facts["last"]["expected_score"], abs=1e-3)
    assert facts["best"]["expected_score"] > 40
    assert str(folder) in capsys.readouterr().out
    evaluate_main([str(folder)])
    table = capsys.readouterr().out
    assert folder.name in table and f"{facts['best']['expected_score']:.3f}" in table


@pytest.mark.parametrize("algorithm", TRAINERS)
def test_a_killed_run_goes_on_as_if_nothing_had_happened(algorithm, tmp_path):
    """SIGKILL after some checkpoint, then --resume: the same curves and network as a run that was left alone."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(command(algorithm, *FLAGS[algorithm], "--run-dir", str(whole)), check=True, env=environment())
    process = subprocess.Popen(command(algorithm, *FLAGS[algorithm], "--run-dir", str(killed)), env=environment())
    deadline = time.monotonic() + 120
    while not list(killed.glob("checkpoints/[0-9]*")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert finished(killed).get("steps", 0) < 12_000, "it was over before it could be killed"
    subprocess.run(command(algorithm, "--resume", str(killed)), check=True, env=environment())
    for tag in ("eval/expected_score", "eval/optimality_gap"):
        assert scalars(killed, tag) == scalars(whole, tag)
    one, two = load_pretrained(whole / "best"), load_pretrained(killed / "best")
    for key, weight in one.weights.items():
        np.testing.assert_array_equal(weight, two.weights[key])


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", TRAINERS)
def test_a_run_killed_again_and_again_at_random_moments_goes_on(algorithm, tmp_path):
    """SIGKILL at any moment, while it starts, learns, evaluates or saves; the curves are those of a run left alone."""
    rng, longer = np.random.default_rng(7), {"12000": "60000", "7000": "20000"}
    flags = [longer.get(flag, flag) for flag in FLAGS[algorithm]]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(command(algorithm, *flags, "--run-dir", str(whole)), check=True, env=environment())
    arguments, kills = [*flags, "--run-dir", str(killed)], 0
    while True:
        process = subprocess.Popen(command(algorithm, *arguments), env=environment())
        started = time.monotonic()
        while not list(killed.glob("checkpoints/[0-9]*")):  # nothing to go on from before the first
            assert process.poll() is None and time.monotonic() - started < 120
            time.sleep(0.02)
        wait = rng.uniform(0.0, 8.0) if kills < 6 else 600.0
        try:
            assert process.wait(timeout=wait) == 0
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            arguments = ["--resume", str(killed)]
    assert kills >= 2
    assert scalars(killed, "eval/expected_score") == scalars(whole, "eval/expected_score")
    one, two = load_pretrained(whole / "best"), load_pretrained(killed / "best")
    for key, weight in one.weights.items():
        np.testing.assert_array_equal(weight, two.weights[key])


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path):
    folder = tmp_path / "run"
    flags = [*FLAGS["dqn"], "--run-dir", str(folder), "--total-steps", "10000000", "--eval-every", "10000000"]
    process = subprocess.Popen(command("dqn", *flags), env=environment(), stdout=subprocess.PIPE, text=True)
    while not list(folder.glob("checkpoints/[0-9]*")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"--resume {folder}" in out
    assert len(list(folder.glob("checkpoints/[0-9]*/model.zip"))) == 1


def test_the_same_seed_gives_the_same_network(tmp_path):
    for name in ("a", "b"):
        train.ppo.main([*FLAGS["ppo"], "--run-dir", str(tmp_path / name), "--total-steps", "3000"])
    one, two = (load_pretrained(tmp_path / name / "best").weights for name in ("a", "b"))
    for key in one:
        np.testing.assert_array_equal(one[key], two[key])


def test_a_named_run_that_is_there_already_is_set_aside(tmp_path):
    for _ in range(2):
        train.ppo.main([*FLAGS["ppo"], "--run-dir", str(tmp_path / "run"), "--total-steps", "1000"])
    assert len(list(tmp_path.iterdir())) == 2


def test_a_finished_run_is_left_as_it_is_by_resume(tmp_path, capsys):
    folder = tmp_path / "run"
    train.ppo.main([*FLAGS["ppo"], "--run-dir", str(folder), "--total-steps", "3000"])
    before, first = scalars(folder, "eval/expected_score"), capsys.readouterr().out
    train.ppo.main(["--resume", str(folder)])
    assert scalars(folder, "eval/expected_score") == before
    assert capsys.readouterr().out == first


def test_settings_that_are_none_are_refused_on_resume(tmp_path):
    for content in ("[1]", "3", '{"seed": "x"}', '{"ruleset": "chess"}', '{"colour": 1}'):
        (tmp_path / "settings.json").write_text(content)
        with pytest.raises(SystemExit, match="settings"):
            train.dqn.main(["--resume", str(tmp_path)])


def test_an_unfinished_checkpoint_does_not_count(tmp_path):
    run = Run(train.ppo.PRESETS["smoke"].__class__(run_dir=tmp_path / "run"), "ppo")
    assert run.checkpoint() is None
    with contextlib.suppress(KeyboardInterrupt), run.new_checkpoint(10) as folder:
        (folder / "model.zip").write_text("half")
        raise KeyboardInterrupt
    assert run.checkpoint() is None
    for steps in (20, 1_000):
        with run.new_checkpoint(steps):
            pass
    assert run.checkpoint().name == "000000001000"
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1


@pytest.mark.parametrize("algorithm", TRAINERS)
def test_presets_are_where_the_settings_start_from(algorithm):
    presets = TRAINERS[algorithm].PRESETS
    for name, preset in presets.items():
        assert preset.preset == name
        assert parse_settings(presets, ["--preset", name]) == preset
    changed = parse_settings(presets, ["--preset", "smoke", "--hidden", "8", "4", "--seed", "3"])
    assert (changed.hidden, changed.seed, changed.n_envs) == ((8, 4), 3, presets["smoke"].n_envs)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--ruleset", "chess"], "unknown ruleset 'chess'"),
        (["--total-steps", "0"], "total_steps must be 1 or more, got 0"),
        (["--learning-rate", "-1"], "learning_rate must be more than 0, got -1"),
        (["--points-unit", "0"], "points_unit must be more than 0"),
        (["--hidden", "0"], "hidden must be one or more widths of layers"),
        (["--gradient-steps", "0"], "gradient_steps must be 1 or more"),
        (["--exploration-fraction", "0"], "exploration_fraction must be more than 0"),
        (["--seed", "-1"], "seed must be 0 or more"),
        (["--resume=/nowhere", "--preset=full"], "leave the other flags away"),
        (["--resume", "/nowhere"], "can't read the settings"),
        (["--resume", "/nowhere", "--seed", "1"], "leave the other flags away"),
    ],
)
def test_settings_that_make_no_sense_end_with_one_sentence(flags, words, capsys):
    with pytest.raises(SystemExit) as stop:
        train.dqn.main(flags)
    assert words in str(stop.value) + capsys.readouterr().err


def test_a_schedule_falls_in_a_line_and_then_stays():
    schedule = LinearSchedule(0.3, 0.1, fraction=0.5)
    assert [schedule(remaining) for remaining in (1.0, 0.75, 0.5, 0.2, 0.0)] == pytest.approx([0.3, 0.2, 0.1, 0.1, 0.1])


def test_without_ray_the_rllib_trainer_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "train.rllib_loop", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SystemExit, match=r"needs RLlib.*pip install -e \"\.\[train,ray\]\""):
        train.rllib_ppo.main(["--preset", "smoke", "--run-dir", str(tmp_path / "run")])
    assert not (tmp_path / "run").exists()
