"""Saved games: what is written comes back, games typed in by hand are read, and what is no game is refused in words."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.table_games import play_on, random_game
from yacht_env.rules import RULESETS
from yacht_env.table.record import GameRecord, Seat
from yacht_env.table.rules_json import rules_from_json, rules_to_json
from yacht_env.table.session import TableGame

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "saved-games.md").read_text(encoding="utf-8")
TYPED = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL).group(1))
HOUSES = [
    RULESETS["yacht"].with_house_rules(straights="sum"),
    RULESETS["yacht-bonus"].with_house_rules(five_of_a_kind_is_full_house=False),
    RULESETS["classic13"].with_boxes(range(3, 13)),
]


@pytest.mark.parametrize("ruleset", [*RULESETS.values(), *HOUSES], ids=lambda rules: rules.name)
def test_a_game_comes_back_as_it_was(tmp_path, ruleset):
    path = tmp_path / "folder" / "game.json"
    game = TableGame.new(ruleset, [Seat("Ada"), Seat("Bob", "greedy"), Seat("Čé")], path=path)
    rng = np.random.default_rng(5)
    for _ in range(6):
        play_on(game, rng, n_steps=7)
        assert GameRecord.load(path) == game.record
        again = TableGame.load(path)
        assert again.record == game.record and again.ruleset.fingerprint == ruleset.fingerprint
        assert again.state() == game.state() and again.seat == game.seat and again.commitment == game.commitment
        assert [again.view(seat) for seat in range(3)] == [game.view(seat) for seat in range(3)]


@pytest.mark.parametrize("ruleset", [*RULESETS.values(), *HOUSES], ids=lambda rules: rules.name)
def test_rules_come_back_as_they_were(ruleset):
    assert rules_from_json(json.loads(json.dumps(rules_to_json(ruleset)))) == ruleset


def test_a_game_that_was_typed_in_is_read():
    record = GameRecord.from_json(TYPED)
    table = record.replay()
    assert table.cards[0].total == 24 + 30
    assert [decision.points for decision in table.decisions] == [0, 0, 24, 30]
    house = GameRecord.from_json(
        TYPED | {"ruleset": {"base": "yacht", "straights": [15, 40], "four_of_a_kind_dice": 5}}
    )
    assert house.replay().cards[0].total == 26 + 40


def test_a_game_that_was_typed_in_may_stop_within_a_turn():
    turns = [*TYPED["turns"], {"rolls": [[1, 1, 2, 3, 4], [1, 1, 1, 2, 2]], "held": [[1, 1]]}]
    table = GameRecord.from_json(TYPED | {"turns": turns}).replay()
    assert table.turn == 3 and table.dice is not None and table.dice.rolls_left == 1


def turn(**changes):
    return TYPED | {"turns": [TYPED["turns"][0] | changes, TYPED["turns"][1]]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (turn(rolls=[[1, 6, 6, 3, 7], [6, 6, 6, 2, 2], [6, 6, 6, 6, 2]]), "turn 1 of Ada: dice must show 1 to 6"),
        (turn(rolls=[[1, 6, 6, 3], [6, 6, 6, 2, 2], [6, 6, 6, 6, 2]]), "turn 1 of Ada: dice must be 5 whole numbers"),
        (turn(held=[[5, 5], [6, 6, 6]]), "turn 1 of Ada: held 5 5 are not all among the dice 1 3 6 6 6"),
        (turn(held=[[1, 3], [6, 6, 6]]), "turn 1 of Ada: 1 3 was held, but the roll after it is 2 2 6 6 6"),
        (turn(held=[[6, 6, 6]]), "turn 1 of Ada: there are 3 rolls, and dice were held 1 times; expected 2"),
        (turn(held=[[1, 3, 6, 6, 6], [6, 6, 6]]), "turn 1 of Ada: 1 3 was held, but"),
        (turn(rolls=[], held=[]), "turn 1 of Ada: there is no roll"),
        (turn(rolls=[[1, 2, 3, 4, "5"]], held=[]), "turn 1 of Ada: rolls must be a whole number, got '5'"),
        (turn(rolls="12345"), "turn 1 of Ada: rolls must be a list, got '12345'"),
        (turn(box="Sevens"), "turn 1 of Ada: ruleset 'yacht' has no box 'Sevens'"),
        (turn(box=12), "turn 1 of Ada: ruleset 'yacht' has no box 12"),
        (turn(box="Big Straight"), "turn 2 of Ada: Big Straight is filled already"),
        (turn(box=None), "turn 1 of Ada: the first roll of this turn has fallen"),
        (turn(points=25), "turn 1 of Ada: Four of a Kind is said to bring 25 points, but brings 24"),
        (turn(seat="Bob"), "turn 1 of Ada: the seat is 'Bob'; expected 'Ada'"),
        (turn(dice=[1]), "turn 1 of Ada has the unknown key 'dice'"),
        (TYPED | {"turns": TYPED["turns"] * 7}, "turn 3 of Ada: Four of a Kind is filled already"),
        (TYPED | {"seats": []}, "there are 0 seats; expected 1 to 12"),
        (TYPED | {"seats": ["Ada", "Ada"]}, "two seats are named 'Ada'"),
        (TYPED | {"seats": [" "]}, "' ' is no name for a seat"),
        (TYPED | {"ruleset": "chess"}, "unknown ruleset 'chess'"),
        (TYPED | {"ruleset": {"base": "yacht", "straits": 3}}, "ruleset has the unknown key 'straits'"),
        (
            TYPED | {"ruleset": {"name": "x", "boxes": [{"name": "a", "pattern": "Foo"}]}},
            "pattern must be one of Number",
        ),
        (TYPED | {"ruleset": {"name": "x", "boxes": []}}, "ruleset 'x' has no boxes"),
        (TYPED | {"version": 2}, "this program reads"),
        (TYPED | {"seed": "xyz"}, "the seed 'xyz' is not written in hex digits"),
        (TYPED | {"seed": "00"}, "the seed has 1 bytes; expected 32"),
        ({"turns": []}, "the game lacks its ruleset"),
        ({"ruleset": "yacht"}, "turns must be a list, got None"),
    ],
)
def test_what_is_no_game_is_refused_naming_turn_and_value(tmp_path, content, words):
    path = tmp_path / "game.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(words)):
        GameRecord.load(path)


STRANGE = [None, True, 0, 7, 2.0, "x", [], [1], [[1]], {}, {"a": 1}, -1, 10**30, "a\ud800", float("nan")]


def nodes(value, path=()):
    """Paths of all values, single or not."""
    if path:
        yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from nodes(value[key], (*path, key))


def refusal(content):
    """The sentence by which a file is refused; an empty one where it is read."""
    try:
        GameRecord.from_json(content).replay()
    except ValueError as error:
        return str(error)
    return ""


RULES = {"name": "yacht", "base": {"base": "yacht", "straights": [1, 2]}, "data": rules_to_json(HOUSES[2])}


@pytest.mark.parametrize("ruleset", RULES.values(), ids=RULES)
def test_whatever_stands_in_a_file_is_read_or_refused_in_one_sentence(ruleset):
    content = {"ruleset": ruleset, "seats": ["A", {"name": "B", "agent": None}], "word": "w", "started": ""}
    turn = {"rolls": [[1, 2, 3, 4, 5], [1, 1, 1, 2, 3]], "held": [[1]], "box": "Choice", "points": None}
    content |= {"turns": [turn | {"box": 5}, turn | {"box": 4}], "seed": "00" * 32}
    GameRecord.from_json(content).replay()
    rng = np.random.default_rng(0)
    for path in list(nodes(content)):
        for new in (STRANGE[i] for i in rng.permutation(len(STRANGE))[:5]):
            changed = inner = json.loads(json.dumps(content))
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = new
            assert "\n" not in refusal(changed) and len(refusal(changed)) < 500


def test_a_full_card_takes_no_further_turn():
    record = random_game().record
    more = GameRecord(record.ruleset, record.seats, (*record.turns, record.turns[0]))
    with pytest.raises(ValueError, match="every box is filled; expected no further turn"):
        more.replay()


def test_the_forced_joker_is_kept_by_the_record():
    fives = [[5, 5, 5, 5, 5]]
    content = {"ruleset": "classic13", "turns": [{"rolls": fives, "box": "Yacht"}, {"rolls": fives, "box": "Chance"}]}
    with pytest.raises(ValueError, match="turn 2 of player: Chance may not be filled with 5 5 5 5 5; .* leaves Fives"):
        GameRecord.from_json(content).replay()
    content["turns"][1]["box"] = "Fives"
    assert GameRecord.from_json(content).replay().cards[0].total == 50 + 25 + 100
