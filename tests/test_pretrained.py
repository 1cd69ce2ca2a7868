"""Published agents: what is loaded, what is refused, and that nothing is ever executed."""

import functools
import http.server
import json
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
import safetensors.numpy

import yacht_env
from yacht_env import PretrainedError, load_pretrained
from yacht_env.cli import main
from yacht_env.game import get_game
from yacht_env.network import Architecture, NetworkPolicy
from yacht_env.pretrained import check_name, download_pretrained, load_agent, make_config, save_agent, write_index

ARCHITECTURE = Architecture((16, 8), (16,), layer_norm=True)


def make_agent(folder, name="tiny", ruleset="yacht", seed=0):
    """A network that has learned nothing, in the published format."""
    rng = np.random.default_rng(seed)
    shapes = ARCHITECTURE.shapes(get_game(ruleset))
    weights = {key: rng.normal(size=shape).astype(np.float32) for key, shape in shapes.items()}
    save_agent(folder / name, weights, make_config(name, ruleset, ARCHITECTURE, training={"seed": seed}, result={}))
    write_index(folder)
    return folder


@pytest.fixture
def agents(tmp_path):
    return make_agent(tmp_path / "agents")


def change_config(agents, change):
    path = agents / "tiny" / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))


def states(ruleset="yacht", n=300):
    env = yacht_env.YachtVectorEnv(n, ruleset)
    observations, info = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(11):
        mask = info["action_mask"]
        observations, *_, info = env.step((rng.random(mask.shape) * mask).argmax(axis=1))
    return observations, info["action_mask"]


def test_an_agent_is_loaded_from_a_folder_of_agents_or_from_its_own(agents):
    observations, masks = states()
    by_name = load_pretrained("tiny", source=agents)
    by_path = load_pretrained(agents / "tiny")
    assert by_name.name == "tiny" and by_name.config["training"] == {"seed": 0}
    np.testing.assert_array_equal(by_name(observations, masks), by_path(observations, masks))


@pytest.mark.parametrize("ruleset", yacht_env.RULESETS)
def test_a_network_plays_legal_actions_in_every_ruleset(tmp_path, ruleset):
    policy = load_pretrained("tiny", source=make_agent(tmp_path, ruleset=ruleset))
    observations, masks = states(ruleset)
    actions = policy(observations, masks)
    assert masks[np.arange(len(actions)), actions].all()
    assert isinstance(policy, yacht_env.Policy)


def test_a_network_is_evaluated_like_any_policy(agents):
    result = yacht_env.evaluate(load_pretrained("tiny", source=agents), method="estimate", n_games=100)
    assert result.policy == "tiny" and 0 < result.expected_score < result.optimum


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(format_version=2), "format version 2; this package reads 1"),
        (lambda c: c["observation"].update(layout_version=7), "layout version 1"),
        (lambda c: c["ruleset"].update(fingerprint="0" * 64), "other rules than 'yacht'"),
        (lambda c: c["ruleset"].update(name="chess"), "unknown rules 'chess'"),
        (lambda c: c["architecture"].update(kind="transformer"), "unknown architecture 'transformer'"),
        (lambda c: c["architecture"].update(hidden=[16]), "weight 'keep.1.norm.bias' is not part"),
        (lambda c: c["architecture"].update(hidden=[16, 9]), "has shape"),
        (lambda c: c["architecture"].update(hidden="16"), "expected a list of widths"),
        (lambda c: c["architecture"].update(card_hidden=[]), "expected a list of widths"),
        (lambda c: c["architecture"].update(points_unit=0), "positive number"),
        (lambda c: c["architecture"].pop("card_hidden"), "its architecture lacks .card_hidden."),
        (lambda c: c.pop("architecture"), "architecture"),
    ],
)
def test_a_config_that_does_not_fit_is_refused_by_name(agents, change, words):
    change_config(agents, change)
    with pytest.raises(PretrainedError, match=words):
        load_agent(agents / "tiny")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w.pop("keep.0.weight"), "weight 'keep.0.weight' is missing"),
        (lambda w: w.update(extra=np.zeros(3, dtype=np.float32)), "weight 'extra' is not part"),
        (
            lambda w: w.update({"card.0.bias": np.zeros(17, dtype=np.float32)}),
            r"'card.0.bias' has shape \(17,\); expected \(16,\)",
        ),
        (lambda w: w.update({"card.0.bias": np.zeros(16)}), "'card.0.bias' has type float64; expected float32"),
        (lambda w: w["card.0.bias"].fill(np.nan), "'card.0.bias' holds values that are not finite"),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(agents, change, words):
    path = agents / "tiny" / "model.safetensors"
    weights = {key: weight.copy() for key, weight in safetensors.numpy.load_file(path).items()}
    change(weights)
    path.write_bytes(safetensors.numpy.save(weights))
    with pytest.raises(PretrainedError, match=words):
        load_agent(agents / "tiny")
    with pytest.raises(PretrainedError, match="the index says"):
        load_pretrained("tiny", source=agents)


def test_an_agent_for_house_rules_needs_the_same_rules(tmp_path):
    rules = yacht_env.get_ruleset("yacht").with_house_rules(straights="sum")
    make_agent(tmp_path, ruleset=rules)
    assert load_pretrained("tiny", source=tmp_path, ruleset=rules).game.ruleset == rules
    with pytest.raises(PretrainedError, match="unknown rules 'yacht-house'"):
        load_pretrained("tiny", source=tmp_path)
    with pytest.raises(PretrainedError, match="other rules than 'yacht'"):
        load_pretrained("tiny", source=tmp_path, ruleset="yacht")


def test_a_name_that_is_not_there_is_refused_with_those_that_are(agents):
    with pytest.raises(PretrainedError, match=r"no agent 'big' in .*; it has: tiny"):
        load_pretrained("big", source=agents)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"[" * 100_000, b'{"a": 1}', b'{"../up": {"files": {}}}'])
def test_an_index_that_is_none_is_refused(agents, content):
    (agents / "index.json").write_bytes(content)
    with pytest.raises(PretrainedError, match=r"index\.json"):
        load_pretrained("tiny", source=agents)


class Boom:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


def test_a_pickle_in_place_of_the_weights_is_never_executed(agents):
    import pickle

    (agents / "tiny" / "model.safetensors").write_bytes(pickle.dumps(Boom()))
    with pytest.raises(PretrainedError, match="no safetensors file"):
        load_agent(agents / "tiny")


def mutate(content, rng):
    """A file with some bytes changed, cut off, repeated or put in."""
    data = bytearray(content)
    kind = rng.randrange(5)
    spot = rng.randrange(min(len(data), 2_000) if rng.random() < 0.7 else len(data))  # most are in the header
    if kind == 0:
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        data[spot] ^= 1 << rng.randrange(8)
    elif kind == 2:
        del data[spot : spot + rng.choice([1, 8, 1000, len(data)])]
    elif kind == 3:
        data[spot:spot] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 8, 100])))
    else:
        data[spot:spot] = rng.choice([b"9" * 30, b"-1", b"null", b"1e999", b'"', b"[" * 2000, b"\xff" * 7 + b"\x7f"])
    return bytes(data)


def check_mutants(agents, n_mutants):
    """Every mutant is refused with our error, or loads a network that plays legally."""
    rng, folder = random.Random(0), agents / "tiny"
    originals = {file: (folder / file).read_bytes() for file in ("config.json", "model.safetensors")}
    observations, masks = states(n=20)
    refused = 0
    for _ in range(n_mutants):
        file = rng.choice(list(originals))
        (folder / file).write_bytes(mutate(originals[file], rng))
        try:
            policy = load_agent(folder)
        except PretrainedError:
            refused += 1
        else:
            assert isinstance(policy, NetworkPolicy)
            with np.errstate(all="ignore"):
                actions = policy(observations, masks)
            assert masks[np.arange(len(actions)), actions].all()
        (folder / file).write_bytes(originals[file])
        with pytest.raises(PretrainedError, match="the index says") if _differs(folder, originals) else _nothing():
            load_pretrained("tiny", source=agents)
    assert n_mutants / 4 < refused < n_mutants


def _differs(folder, originals):
    return any((folder / file).read_bytes() != content for file, content in originals.items())


def _nothing():
    import contextlib

    return contextlib.nullcontext()


def test_mutated_files_are_refused_or_harmless(agents):
    check_mutants(agents, 500)


@pytest.mark.slow
def test_ten_thousand_mutated_files_are_refused_or_harmless(agents):
    check_mutants(agents, 10_000)


# ------------------------------------------------------------------------------------------------------ over the network


class Handler(http.server.SimpleHTTPRequestHandler):
    truncate = False

    def copyfile(self, source, outputfile):
        data = source.read()
        outputfile.write(data[: len(data) // 2] if self.truncate and b"<html" not in data else data)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(agents):
    handler = type("OneHandler", (Handler,), {})
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(agents)))
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    httpd.handler = handler
    yield httpd
    httpd.shutdown()
    httpd.server_close()


def url(server):
    return f"http://127.0.0.1:{server.server_address[1]}"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("YACHT_ENV_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_agent_is_fetched_once_then_taken_from_the_cache(server, agents, cache):
    observations, masks = states()
    first = load_pretrained("tiny", source=url(server))
    times = {path: path.stat().st_mtime_ns for path in cache.rglob("tiny/*")}
    assert len(times) == 2
    again = load_pretrained("tiny", source=url(server))
    assert times == {path: path.stat().st_mtime_ns for path in cache.rglob("tiny/*")}
    np.testing.assert_array_equal(first(observations, masks), again(observations, masks))
    assert first.weights.keys() == load_agent(agents / "tiny").weights.keys()


def test_a_truncated_file_is_refused_and_nothing_is_left(server, cache):
    server.handler.truncate = True
    with pytest.raises(PretrainedError, match="bytes came|no JSON|can't reach"):
        load_pretrained("tiny", source=url(server))
    assert not cache.exists() or not any(path.is_file() for path in cache.rglob("*"))


def test_an_altered_file_is_refused_and_nothing_is_left(server, agents, cache):
    path = agents / "tiny" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    with pytest.raises(PretrainedError, match=r"model\.safetensors has sha256 .*; the index says"):
        load_pretrained("tiny", source=url(server))
    assert not list(cache.rglob("tiny/*")) and not list(cache.rglob(".*"))


def test_a_missing_file_is_refused_with_the_servers_answer(server, agents, cache):
    (agents / "tiny" / "model.safetensors").unlink()
    with pytest.raises(PretrainedError, match="the server answered 404"):
        load_pretrained("tiny", source=url(server))
    assert not list(cache.rglob("tiny/*"))


def test_a_damaged_cache_is_fetched_again(server, cache):
    load_pretrained("tiny", source=url(server))
    (kept,) = cache.rglob("tiny/model.safetensors")
    kept.write_bytes(b"damaged")
    load_pretrained("tiny", source=url(server))
    assert len(kept.read_bytes()) > 1000


def test_an_agent_in_the_cache_needs_no_network(server, cache):
    load_pretrained("tiny", source=url(server))
    address = url(server)
    server.shutdown()
    server.server_close()
    assert load_pretrained("tiny", source=address).name == "tiny"
    (kept,) = cache.rglob("tiny/config.json")
    kept.write_text("{}")
    with pytest.raises(PretrainedError, match="can't reach"):
        load_pretrained("tiny", source=address)


def test_being_offline_is_said(cache):
    with pytest.raises(PretrainedError, match=r"can't reach .*is this machine online\?"):
        load_pretrained("tiny", source="http://127.0.0.1:9")
    with pytest.raises(PretrainedError, match="no http or https address"):
        load_pretrained("tiny", source="file:///etc")
    for address in ("http://bad host", "http://127.0.0.1:port"):
        with pytest.raises(PretrainedError, match="can't reach"):
            load_pretrained("tiny", source=address)


@pytest.mark.parametrize("name", ["../up", "a b", "", ".hidden", "x" * 300])
def test_a_name_that_is_no_folder_is_refused_before_anything_is_written(tmp_path, name):
    with pytest.raises(PretrainedError, match="is no name for an agent"):
        check_name(name)
    with pytest.raises(PretrainedError):
        load_pretrained(name, source=make_agent(tmp_path))


def test_a_folder_in_the_working_directory_does_not_stand_in_for_a_published_agent(agents, monkeypatch):
    monkeypatch.chdir(agents)
    with pytest.raises(PretrainedError, match="no agent 'tiny'"):
        load_pretrained("tiny")


def test_the_command_line_lists_and_downloads(server, cache, tmp_path, capsys):
    main(["models", "list", "--source", url(server)])
    assert "tiny" in capsys.readouterr().out
    main(["models", "download", "tiny", "--source", url(server), "--folder", str(tmp_path / "kept"), "--json"])
    assert json.loads(capsys.readouterr().out)["folder"] == str(tmp_path / "kept" / "tiny")
    assert download_pretrained("tiny", url(server), tmp_path / "kept") == tmp_path / "kept" / "tiny"


@pytest.mark.parametrize("name", yacht_env.pretrained.list_pretrained())
def test_every_published_agent_is_as_its_card_says(name):
    policy = load_pretrained(name)
    card = policy.config["result"]
    ruleset = policy.game.ruleset.name
    if card["method"] == "exact" and not policy.game.ruleset.upper_bonus:
        assert yacht_env.evaluate(policy, ruleset).expected_score == pytest.approx(card["expected_score"], abs=1e-3)
    else:
        estimate = yacht_env.evaluate(policy, ruleset, method="estimate", n_games=4_000, seed=11)
        error = (estimate.standard_error**2 + card["standard_error"] ** 2) ** 0.5
        assert abs(estimate.expected_score - card["expected_score"]) < 4 * error


PLAY_A_MILLION = """
import sys
sys.modules["torch"] = None  # importing it fails
import gymnasium, numpy as np, yacht_env
policy = yacht_env.load_pretrained({name!r})
mode = gymnasium.vector.AutoresetMode.SAME_STEP
envs = gymnasium.make_vec("Yacht-v0", num_envs=4096, ruleset=policy.game.ruleset, autoreset_mode=mode)
observations, info = envs.reset(seed=0)
decisions = 0
while decisions < 1_000_000:
    actions = policy(observations, info["action_mask"])
    assert info["action_mask"][np.arange(len(actions)), actions].all()
    observations, _, _, _, info = envs.step(actions)
    assert not info["invalid_action"].any()
    decisions += len(actions)
print(decisions)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", yacht_env.pretrained.list_pretrained())
def test_a_million_decisions_without_torch_and_without_an_illegal_action(name):
    code = PLAY_A_MILLION.format(name=name)
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert int(answer.stdout) >= 1_000_000
