"""Every program of docs/using-it-from.md runs as it stands there, where its library is installed."""

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "using-it-from.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.+?)$(?:(?!^## ).)*?```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
LIBRARIES = {
    "Gymnasium", "stable-baselines3", "sb3-contrib", "PettingZoo", "RLlib", "TorchRL", "Tianshou", "PyTorch", "JAX",
}  # fmt: skip
NEEDED_BY = {"yacht_env.integrations.sb3": "stable_baselines3", "yacht_env.integrations.rllib": "ray"}


def imported(code):
    """Full names of the modules that a program imports, and of the libraries that our integrations need."""
    nodes = list(ast.walk(ast.parse(code)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    return names | {NEEDED_BY.get(name, name.rpartition(".")[2]) for name in names if "integrations" in name}


def test_there_is_one_short_program_in_every_section():
    titles = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert [title for title, _ in SECTIONS] == titles and PAGE.count("```python") == len(titles)
    assert {title for title in LIBRARIES if not any(title in other for other in titles)} == set()
    assert all(len(code.splitlines()) <= 20 for _, code in SECTIONS)


@pytest.mark.parametrize(("title", "code"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_the_program_runs_as_it_stands(title, code, capsys):
    missing = sorted({name.partition(".")[0] for name in imported(code)} - {"yacht_env"})
    missing = [name for name in missing if find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    exec(compile(code, f"docs/using-it-from.md, {title}", "exec"), {"__name__": "snippet"})
    assert re.search(r"\d", capsys.readouterr().out)
