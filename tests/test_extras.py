"""What is said where the library of an extra is missing, and what works without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from yacht_env.extras import MissingExtraError, needs_extra

ROOT = Path(__file__).resolve().parents[1]
OPTIONAL = (
    "pygame", "matplotlib", "torch", "stable_baselines3", "sb3_contrib", "tensorboard", "pettingzoo", "ray", "textual",
    "aiohttp",
)  # fmt: skip
VIEW = "e = gymnasium.make('yacht_env:Yacht-v0', render_mode='rgb_array'); e.reset(); e.render()"
PLOT = "from yacht_env.plots import inline_svg; inline_svg(lambda axes: None)"
CURVES = "from train.results import learning_curves; learning_curves([])"

NEEDED = [
    ("pygame", "render", VIEW),
    ("matplotlib", "report", PLOT),
    ("pettingzoo", "pettingzoo", "import yacht_env.integrations.pettingzoo"),
    ("stable_baselines3", "train", "import yacht_env.integrations.sb3"),
    ("torch", "train", "import agents.export"),
    ("stable_baselines3", "train", "import train.dqn"),
    ("tensorboard", "train", "import train.run"),
    ("matplotlib", "train", CURVES),
    ("textual", "play", "from yacht_env.cli.play import *; COMMANDS['play'][1](PlayArgs())"),
    ("textual_serve", "play", "from yacht_env.cli.play import *; COMMANDS['play'][1](PlayArgs(serve=True))"),
    ("tianshou", "tianshou", "import yacht_env.integrations.tianshou"),
    ("torch", "ray", "import yacht_env.integrations.rllib"),
]


def run_without(libraries: tuple[str, ...], code: str) -> subprocess.CompletedProcess[str]:
    """Python code in a new process in which these libraries can't be imported."""
    hidden = f"import sys; sys.modules.update(dict.fromkeys({libraries})); import gymnasium\n"
    return subprocess.run([sys.executable, "-c", hidden + code], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(("library", "extra", "code"), NEEDED, ids=[f"{library}: {code}" for library, _, code in NEEDED])
def test_a_missing_library_is_named_with_the_command_that_installs_it(library, extra, code):
    if library == "tensorboard":
        pytest.importorskip("torch")
        pytest.importorskip("stable_baselines3")
    done = run_without((library,), code)
    assert done.returncode == 1
    sentence = done.stderr.splitlines()[-1].partition(": ")[2]
    assert sentence == f'{library} is not installed: run `pip install "yacht-env[{extra}]"`'


def test_a_game_is_played_drawn_as_text_and_measured_without_any_extra():
    code = """if True:
        import yacht_env
        env = gymnasium.make("Yacht-v0", render_mode="ansi")
        observation, info = env.reset(seed=0)
        done = False
        while not done:
            _, _, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
            done = terminated or truncated
        print(env.render())
        gymnasium.make_vec("Yacht-v0", num_envs=2).reset(seed=0)
        assert yacht_env.load_pretrained("dqn-yacht-quick")
        assert yacht_env.solve(yacht_env.RULESETS["yacht"].with_boxes(["Sixes"])).expected_score > 12
        import yacht_env.cli"""
    done = run_without(OPTIONAL, code)
    assert done.returncode == 0, done.stderr
    assert "Total" in done.stdout


def test_without_what_a_script_needs_its_error_is_one_of_a_missing_module():
    with pytest.raises(MissingExtraError, match="nowhere is not installed") as told, needs_extra("train"):
        import nowhere.inside  # noqa: F401
    assert isinstance(told.value, ModuleNotFoundError)
    assert told.value.name == "nowhere"


def test_other_errors_of_a_library_are_passed_on():
    with pytest.raises(OSError, match="broken"), needs_extra("train"):
        raise OSError("a broken library")
