"""The layers: which module may import which, and which library each may ask for.

Read from the source, so that an import inside a function counts as well.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "yacht_env"

# What each of these may import of the package: the layers, from the bottom up.
LAYERS = {
    "rules": set(),
    "dice": {"rules"},
    "move_tables": {"rules", "dice"},
    "game": {"rules", "dice", "move_tables"},
    "observation": {"rules", "dice", "move_tables", "game"},
}
TRAINING_LIBRARIES = {"torch", "stable_baselines3", "sb3_contrib", "ray", "pettingzoo", "tensorboard", "torchrl", "tianshou"}
PLOTTING_LIBRARIES = {"matplotlib"}
SCREEN_LIBRARIES = {"textual", "rich"}
ENVIRONMENTS = {"env", "vector_env"}
JUDGES = {"solver", "turn", "card_turn", "remaining", "winning"}
JUDGES |= {"evaluation", "forward_pass", "simulation", "anatomy", "distribution"}


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    """``yacht_env/integrations/sb3.py`` is ``yacht_env.integrations.sb3``; a package is named like its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def modules() -> dict[str, Path]:
    """Every module of the package, by its full name."""
    return {module_name(path): path for path in sources(PACKAGE)}


def imported_names(path: Path, tree: ast.AST | None = None) -> set[str]:
    """Full names of all that a file imports: modules, and what is taken from them (``a.b`` for ``from a import b``)."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    names = set()
    for node in ast.walk(tree or parse(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            names |= {f"{source}.{alias.name}" for alias in node.names}
    return names


def libraries(path: Path, tree: ast.AST | None = None) -> set[str]:
    """The top-level packages that a file imports."""
    return {name.partition(".")[0] for name in imported_names(path, tree)}


def owner(name: str) -> str | None:
    """The module of the package that an imported name belongs to, or ``None`` if it belongs to another package."""
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name or None


@cache
def direct(module: str) -> frozenset[str]:
    """Modules of the package that a module imports itself."""
    return frozenset(found for name in imported_names(modules()[module]) if (found := owner(name))) - {module}


def reachable(module: str) -> set[str]:
    """Modules of the package that a module imports, and that those import, and so on."""
    seen: set[str] = set()
    ahead = [module]
    while ahead:
        for found in direct(ahead.pop()) - seen:
            seen.add(found)
            ahead.append(found)
    return seen


def full(names: set[str]) -> set[str]:
    return {f"{PACKAGE}.{name}" for name in names}


class OnlyAtImport(ast.NodeTransformer):
    """Leaves the statements that run when a file is imported: no bodies of functions, nothing for type checkers alone."""

    def visit_FunctionDef(self, node):
        return None

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 (the name is that of the ast)

    def visit_If(self, node):
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return None
        return self.generic_visit(node)


def module_level(path: Path) -> ast.AST:
    return OnlyAtImport().visit(parse(path))


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_imports_only_the_layers_below_it(name):
    assert direct(f"{PACKAGE}.{name}") <= full(LAYERS[name])


@pytest.mark.parametrize("name", ["rules", "dice", "game", "solver"])
def test_rules_dice_moves_and_solver_do_without_gymnasium(name):
    module = f"{PACKAGE}.{name}"
    assert not {found for found in {module, *reachable(module)} if "gymnasium" in libraries(modules()[found])}


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_the_environment_knows_nothing_of_the_optimum(name):
    assert not reachable(f"{PACKAGE}.{name}") & full(JUDGES | {"policies", "pretrained", "report", "cli"})


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_solver_and_evaluation_know_nothing_of_the_environment(name):
    assert not reachable(f"{PACKAGE}.{name}") & full(ENVIRONMENTS | {"rendering"})


def is_app(module: str) -> bool:
    """Whether this is part of the table's screen, above its engine."""
    return module == f"{PACKAGE}.table.app" or module.startswith(f"{PACKAGE}.table.app.")


@pytest.mark.parametrize("module", sorted(modules()))
def test_only_the_app_draws_a_screen_and_the_engine_of_the_table_does_not_know_it(module):
    if is_app(module):
        return
    assert not libraries(modules()[module]) & SCREEN_LIBRARIES
    if not module.startswith(f"{PACKAGE}.cli"):
        assert not {found for found in direct(module) if is_app(found)}
    assert not {name for name in imported_names(modules()[module], module_level(modules()[module])) if is_app(name)}


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS | JUDGES | {"policies", "pretrained", "explain"}))
def test_environments_solver_and_policies_know_nothing_of_the_table(name):
    assert not {found for found in reachable(f"{PACKAGE}.{name}") if found.startswith(f"{PACKAGE}.table")}


def test_the_scheme_of_the_dice_needs_nothing_but_python():
    assert libraries(modules()[f"{PACKAGE}.table.fair_dice"]) <= set(sys.stdlib_module_names) | {PACKAGE}
    assert direct(f"{PACKAGE}.table.fair_dice") == full({"rules"})


@pytest.mark.parametrize("module", sorted(modules()))
def test_nothing_but_the_integrations_imports_an_integration(module):
    if not module.startswith(f"{PACKAGE}.integrations"):
        assert not {found for found in direct(module) if found.startswith(f"{PACKAGE}.integrations")}


@pytest.mark.parametrize("module", sorted(modules()))
def test_only_the_integrations_import_training_libraries(module):
    if not module.startswith(f"{PACKAGE}.integrations."):
        assert not libraries(modules()[module]) & TRAINING_LIBRARIES


@pytest.mark.parametrize("module", sorted(modules()))
def test_only_plots_draw_with_matplotlib_and_not_when_they_are_imported(module):
    if module != f"{PACKAGE}.plots":
        assert not libraries(modules()[module]) & PLOTTING_LIBRARIES
    assert not libraries(modules()[module], module_level(modules()[module])) & PLOTTING_LIBRARIES


@pytest.mark.parametrize("module", sorted(modules()))
def test_pygame_is_imported_only_when_something_is_drawn(module):
    path = modules()[module]
    if module != f"{PACKAGE}.rendering":
        assert "pygame" not in libraries(path)
    assert "pygame" not in libraries(path, module_level(path))


@pytest.mark.parametrize("module", sorted(modules()))
def test_the_package_does_without_agents_and_training_scripts(module):
    assert not libraries(modules()[module]) & {"agents", "train", "tests"}


@pytest.mark.parametrize("path", sources("agents"), ids=module_name)
def test_agents_know_nothing_of_the_training_scripts(path):
    assert not libraries(path) & {"train", "tests"}


@pytest.mark.parametrize("module", sorted(modules()))
def test_modules_import_each_other_by_name_and_not_through_the_package(module):
    inner = module.partition(".")[2]
    if inner and "." not in inner:  # the package itself and the integrations are exempt
        assert PACKAGE not in direct(module)


@pytest.mark.parametrize("module", sorted(modules()))
def test_every_library_that_the_package_needs_is_a_declared_dependency(module):
    if module.startswith(f"{PACKAGE}.integrations.") or is_app(module):
        return
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {requirement.partition(">=")[0].replace("-", "_") for requirement in project["dependencies"]}
    path = modules()[module]
    assert libraries(path, module_level(path)) <= declared | set(sys.stdlib_module_names) | {PACKAGE}


@pytest.mark.parametrize("module", sorted(modules()))
def test_numbers_of_rolls_and_keeps_come_from_the_dice(module):
    """No 252 rolls and no 462 keeps: other dice are a change in rules, dice and game alone."""
    if module in full({"rules", "dice", "game", "rendering"}):  # a picture has pixels and colours of its own
        return
    numbers = {
        node.value: node.lineno
        for node in ast.walk(parse(modules()[module]))
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value in {252, 462, 6**5}
    }
    assert not numbers


def test_importing_the_package_loads_neither_a_training_library_nor_pygame():
    unwanted = sorted(TRAINING_LIBRARIES | {"pygame"})
    code = f"import sys, {PACKAGE}; print([name for name in {unwanted} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_package_imports_its_modules_when_they_are_asked_for() -> None:
    code = """
import sys, yacht_env
assert "yacht_env.evaluation" not in sys.modules and "yacht_env.vector_env" not in sys.modules
assert yacht_env.rendering.__name__ == "yacht_env.rendering"
for name in yacht_env.__all__:
    assert getattr(yacht_env, name) is not None and name in dir(yacht_env)
assert not any(hasattr(yacht_env, name) for name in ("nonsense", "a.b", "_private"))
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
