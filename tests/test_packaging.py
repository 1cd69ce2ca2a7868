"""What is published: the metadata, the extras, and the tested set of versions."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import yacht_env

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
PINS = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]


LOWEST = (ROOT / "constraints-lowest.txt").read_text().splitlines()


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    """Distributions that requirements name: ``ray`` for ``ray[rllib]>=2``."""
    return {canonical(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}


def test_the_wheel_holds_the_package_alone():
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["yacht_env"]
    assert wheel["force-include"] == {"models": "yacht_env/models"}


def test_base_dependencies_stay_small():
    assert names(PROJECT["project"]["dependencies"]) == {
        "gymnasium", "numpy", "platformdirs", "safetensors", "tqdm", "tyro",
    }  # fmt: skip


def test_the_extras_are_the_promised_ones():
    assert set(EXTRAS) == {
        "train", "play", "render", "report", "pettingzoo", "ray", "torchrl", "tianshou", "dev",
    }  # fmt: skip


@pytest.mark.parametrize("pin", PINS)
def test_a_constraint_is_one_exact_version_of_a_public_release(pin):
    assert re.fullmatch(r"[\w.-]+==\d[\w.]*", pin)


def test_the_tested_set_is_sorted_and_names_nothing_twice():
    pinned = [canonical(pin.partition("==")[0]).replace("-", "_") for pin in PINS]
    assert pinned == sorted(set(pinned))


def test_the_tested_set_covers_everything_that_setup_installs():
    apart = {"ray", "torchrl", "tianshou"}  # in environments of their own
    extras = [wish for extra, wishes in EXTRAS.items() if extra not in apart for wish in wishes]
    asked = names(PROJECT["project"]["dependencies"] + extras)
    assert asked <= names(PINS)


def test_the_lowest_set_is_that_of_the_lower_bounds():
    """All that users can ask for has a lower bound, and is tested at it; but for torch, as the list says."""
    extras = [wish for extra in ("train", "play", "render", "report", "pettingzoo") for wish in EXTRAS[extra]]
    bounds = dict(wish.split(">=") for wish in PROJECT["project"]["dependencies"] + extras)
    pins = dict(line.split("==") for line in LOWEST if line and not line.startswith("#"))
    pinned = {canonical(name): [int(part) for part in pin.split(".")] for name, pin in pins.items()}
    assert {canonical(name) for name in bounds} == pinned.keys()
    for name, bound in bounds.items():
        lowest = [int(part) for part in bound.split(".")]
        lowest += [0] * (3 - len(lowest))
        assert pinned[canonical(name)] == lowest or name == "torch"
    assert f"torch=={pins['torch']}" in PINS


def test_the_version_is_one_fact():
    stated = PROJECT["project"]["version"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert cited == stated
    assert version("yacht-env") == yacht_env.__version__ == stated
