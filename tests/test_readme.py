"""What the README shows, run as it stands there."""

import re
from pathlib import Path

import pytest

import yacht_env

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_every_python_block_of_the_readme_runs():
    pytest.importorskip("sb3_contrib")
    names = {}
    for block in BLOCKS:
        exec(block.replace("learn(1_000_000", "learn(1_000"), names)  # one rollout is enough here
    assert names["solution"].expected_score == pytest.approx(166.95506770457, abs=1e-9)
    assert names["masks"].shape == (1024, 44)
    assert names["result"].ruleset == "yacht"


def test_the_readme_lists_every_ruleset_with_its_optimum():
    for name, ruleset in yacht_env.RULESETS.items():
        (row,) = re.findall(rf"^\| `{name}` \|.*\|$", README, re.MULTILINE)
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert int(cells[2]) == ruleset.n_boxes
        assert float(cells[3]) == pytest.approx(yacht_env.solve(ruleset).expected_score, abs=5e-4)


def test_the_readme_names_the_width_of_every_part_of_an_observation():
    layout = yacht_env.observation.get_observation("classic13", "flat").layout
    for part, where in layout.items():
        assert f"| `{part}` |" in README and where.stop > where.start
    assert yacht_env.observation.get_observation("yacht", "flat").size == 63
