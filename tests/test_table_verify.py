"""Verifying a saved game: a game as it was saved is verified, and every value that is changed is found."""

import copy
import json

import numpy as np
import pytest

from tests.table_games import play_on, random_game
from yacht_env.rules import RULESETS
from yacht_env.table.fair_dice import FairDice
from yacht_env.table.record import GameRecord, Seat, seal
from yacht_env.table.session import TableGame
from yacht_env.table.verify import verify, verify_content

HOUSE = RULESETS["yacht"].with_house_rules(straights=(15, 30), four_of_a_kind_dice=5)


def leaves(value, path=()):
    """Paths of all single values."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    else:
        yield path


def at(content, path):
    for key in path:
        content = content[key]
    return content


def other_values(value, rng):
    """Values that could stand in its place: near ones of the same kind, and ones of other kinds."""
    strange = [None, True, False, 0, 1, -1, 2.5, "", "x", [], {}, 10**30]
    if type(value) is int:
        strange += [value + 1, value - 1, float(value), int(rng.integers(1, 7))]
    if isinstance(value, str):
        i = int(rng.integers(len(value))) if value else 0
        strange += [value + " ", value[:-1], value.upper(), value.swapcase()]
        strange += [value[:i] + ("0" if value[i : i + 1] != "0" else "1") + value[i + 1 :]]
    return [new for new in strange if type(new) is not type(value) or new != value]


@pytest.mark.parametrize("ruleset", ["yacht", "classic13", HOUSE], ids=lambda rules: getattr(rules, "name", rules))
def test_a_game_is_verified_finished_or_not(tmp_path, ruleset):
    path = tmp_path / "game.json"
    game = TableGame.new(ruleset, [Seat("Ada"), Seat("Bob")], dice=FairDice.new("Öl 骰"), path=path)
    assert verify(path).is_verified
    play_on(game, np.random.default_rng(1), n_steps=25)
    found = verify(path)
    assert found.is_verified and not found.is_over and found.n_rolls == game.table.n_rolls > 0
    play_on(game, np.random.default_rng(2))
    assert verify(path, game.commitment).is_verified and verify(path).is_over
    assert "still going on" not in str(verify(path))


@pytest.mark.parametrize("ruleset", ["yacht", HOUSE], ids=lambda rules: getattr(rules, "name", rules))
def test_a_thousand_single_values_are_changed_and_all_are_found(ruleset):
    content = random_game(ruleset, ("Ada", "Bob")).record.to_json()
    content = json.loads(json.dumps(content))
    assert verify_content(content).is_verified
    rng = np.random.default_rng(3)
    paths = list(leaves(content))
    for path in paths:  # each value at least once, the rest at random
        assert_found(content, path, rng)
    for i in rng.integers(len(paths), size=max(1000 - len(paths), 200)):
        assert_found(content, paths[i], rng)


def assert_found(content, path, rng):
    changed = copy.deepcopy(content)
    new = other_values(at(content, path), rng)
    new = new[rng.integers(len(new))]
    at(changed, path[:-1])[path[-1]] = new
    found = verify_content(changed)
    assert not found.is_verified and found.differences, (path, new)


def test_values_that_are_taken_away_added_or_swapped_are_found():
    content = random_game("yacht", ("Ada", "Bob")).record.to_json()
    for key in content:
        assert not verify_content({k: v for k, v in content.items() if k != key}).is_verified, key
    assert not verify_content(content | {"comment": ""}).is_verified
    assert not verify_content(content | {"turns": content["turns"][:-1]}).is_verified
    assert not verify_content(content | {"seats": content["seats"][::-1]}).is_verified


def test_a_changed_roll_is_named_even_where_the_seal_is_made_anew():
    game = random_game("yacht", ("Ada", "Bob"))
    content = game.record.to_json()
    content["turns"][2]["rolls"], content["turns"][2]["held"] = [[6, 6, 6, 6, 6]], []
    content["turns"][2]["box"], content["turns"][2]["points"] = "Yacht", 50
    content["turns"] = content["turns"][:3]
    content["seal"] = seal(content, game.dice.seed)
    (difference,) = verify_content(content).differences
    assert difference.startswith("turn 2 of Ada, roll 1: the seed gives ")
    assert difference.endswith("the file says 6 6 6 6 6")


def test_another_seed_than_the_one_that_was_committed_to_is_found(tmp_path):
    game = random_game(path=tmp_path / "game.json")
    assert not verify(tmp_path / "game.json", "00" * 32).is_verified
    content = game.record.to_json() | {"commitment": "00" * 32}
    content["seal"] = seal(content, game.dice.seed)
    assert "the SHA-256 of the seed is" in verify_content(content).differences[0]


def test_a_game_without_seed_is_not_verified():
    content = GameRecord(RULESETS["yacht"], (Seat("Ada"),)).to_json()
    assert "no seed" in str(verify_content(content))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1, "a": 2}', "\x00", "[" * 100_000, "1" * 5000, '"\ud800"'])
def test_what_is_no_game_is_said_to_be_none(tmp_path, text):
    path = tmp_path / "game.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    found = verify(path)
    assert not found.is_verified and str(found).startswith("NOT verified")
    with pytest.raises(ValueError, match=r"game\.json: the file can't be read|game\.json: the file must be an object"):
        GameRecord.load(path)
