"""From a run to a published agent, its card, and the README's table."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

import train.ppo
from agents.export import main as export_main
from agents.export import model_card
from train.results import learning_curves, read_configs, renewed, results_table
from yacht_env import load_pretrained


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "some-run"
    flags = ["--preset", "smoke", "--total-steps", "4000", "--no-progress", "--run-dir", str(folder)]
    train.ppo.main(flags)
    return folder


@pytest.fixture
def models(run, tmp_path):
    export_main([str(run), "tiny-yacht", "--models", str(tmp_path / "models"), "--method", "estimate", "--games", "200"])
    return tmp_path / "models"


def test_an_exported_agent_plays_as_the_best_of_its_run(run, models):
    agent, best = load_pretrained("tiny-yacht", source=models), load_pretrained(run / "best")
    for key, weight in best.weights.items():
        np.testing.assert_array_equal(agent.weights[key], weight)
    assert agent.name == "tiny-yacht"
    assert agent.config["result"]["n_games"] == 200


def test_nothing_about_the_machine_is_published(run, models):
    for path in models.rglob("*.*"):
        assert str(run.parent).encode() not in path.read_bytes()


def test_the_card_says_what_the_config_says(models):
    config = json.loads((models / "tiny-yacht" / "config.json").read_text())
    card = (models / "tiny-yacht" / "README.md").read_text()
    assert card == model_card(config)
    assert f"{config['result']['expected_score']:.3f}" in card
    assert f"{config['parameters']:,}" in card
    assert 'load_pretrained("tiny-yacht")' in card


def test_a_name_that_is_none_is_refused_before_anything_is_written(run, tmp_path):
    with pytest.raises(SystemExit, match="no name for an agent"):
        export_main([str(run), "../up", "--models", str(tmp_path / "models")])
    assert not (tmp_path / "up").exists() and not (tmp_path / "models").exists()


def test_a_run_without_a_network_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="can't read"):
        export_main([str(tmp_path), "name"])


def test_the_results_are_renewed_between_their_marks(models):
    configs = read_configs(models)
    table = results_table(configs)
    assert "[`tiny-yacht`](models/tiny-yacht/README.md)" in table
    readme = "before\n<!-- results: made by python -m train.results -->\nold\n<!-- end of results -->\nafter\n"
    new = renewed(readme, table)
    assert table in new and "old" not in new
    assert new.startswith("before\n") and new.endswith("\nafter\n")
    assert renewed(new, table) == new
    with pytest.raises(ValueError, match="lacks the marks"):
        renewed("nothing here", table)


def test_the_learning_curves_are_a_picture(models):
    pytest.importorskip("matplotlib")
    assert learning_curves(read_configs(models)).startswith(b"\x89PNG")
