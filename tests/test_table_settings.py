"""What a game at the table begins with, from the command line and from the start screen."""

from __future__ import annotations

import hashlib

import pytest
import tyro

from yacht_env.cli.play import PlayArgs
from yacht_env.rules import RULESETS
from yacht_env.table.settings import MOST_OPPONENTS, Settings, parse_straights


def parsed(*args: str) -> PlayArgs:
    return tyro.cli(PlayArgs, args=list(args))


def test_the_options_name_the_game_the_house_rules_and_who_plays():
    args = parsed(
        "--ruleset", "yacht-bonus", "--straights", "15 35", "--four-of-a-kind-dice", "4",
        "--opponents", "greedy", "person:Bob", "--name", "Ada", "--coach", "always", "--word", "xyzzy",
    )  # fmt: skip
    settings = args.settings()
    house = RULESETS["yacht-bonus"].with_house_rules(straights=(15, 35), four_of_a_kind_dice=4)
    assert settings.rules() == house
    assert [(seat.name, seat.agent) for seat in settings.seats()] == [("Ada", None), ("greedy", "greedy"), ("Bob", None)]
    assert settings.coach == "always" and settings.dice().word == "xyzzy"


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--ruleset", "yatzy", "--opponents", "optimal", "person:Bob B", "random", "--seed", "-1", "--word", "--help"],
        ["--straights", "sum", "--five-of-a-kind-is-full-house", "True", "--name", "a 'quoted' \"name\"", "--light"],
        ["--four-of-a-kind-dice", "5", "--coach", "hints", "--seed", "$(echo)"],
    ],
)
def test_a_served_table_begins_with_the_same_settings(args):
    if "-1" in args:  # values that look like options are written with =
        args = [*args[: args.index("--seed")], "--seed=-1", "--word=--help"]
    given = parsed(*args)
    assert parsed(*given.command_line()).settings() == given.settings()
    assert parsed(*given.command_line()).light == given.light


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--ruleset", "chess"], "unknown ruleset 'chess'"),
        (["--straights", "many"], "expected two numbers of points"),
        (["--opponents", "chess"], "'chess' does not play yacht; expected person"),
        (["--opponents", "ppo-yacht", "--straights", "sum"], "'ppo-yacht' does not play yacht-house"),
        (["--opponents", "a", "b", "c", "d"], "4 opponents; expected 3 at most"),
        (["--name", ""], "is no name for a seat"),
        (["--word", "x" * 201], "201 characters"),
    ],
)
def test_a_value_that_makes_no_game_is_named(args, words):
    with pytest.raises(ValueError, match=words):
        parsed(*args).settings()


def test_equal_names_are_numbered():
    names = [seat.name for seat in Settings(name="greedy", opponents=("greedy",) * MOST_OPPONENTS).seats()]
    assert names == ["greedy", "greedy 2", "greedy 3", "greedy 4"]


def test_a_seed_is_64_hex_digits_or_any_text():
    assert Settings(seed="ab" * 32).dice().seed == b"\xab" * 32
    assert Settings(seed="abc").dice().seed == hashlib.sha256(b"abc").digest()
    assert Settings().dice().seed != Settings().dice().seed


@pytest.mark.parametrize(("text", "rule"), [("", None), (" sum ", "sum"), ("15 30", (15, 30)), ("15, 30", (15, 30))])
def test_straights_in_a_line_of_text(text, rule):
    assert parse_straights(text) == rule
