"""The rules: what dice are worth in which box, house rules, and rulesets that make no sense."""

from __future__ import annotations

import dataclasses
from itertools import combinations_with_replacement
from typing import Any

import pytest

from tests.brute_force import box_points
from yacht_env.rules import (
    RULESETS,
    Anything,
    Box,
    FullHouse,
    Joker,
    Number,
    OfAKind,
    Pairs,
    Ruleset,
    Run,
    UpperBonus,
    get_ruleset,
)

YACHT = RULESETS["yacht"]
ALL_ROLLS = tuple(combinations_with_replacement(range(1, 7), 5))

WORKED_EXAMPLES = [
    ("yacht", "3 3 3 2 2", "Full House", 13),
    ("yacht", "3 3 3 2 2", "Threes", 9),
    ("yacht", "3 3 3 2 2", "Choice", 13),
    ("yacht", "6 6 6 4 4", "Full House", 26),
    ("yacht", "6 6 6 4 4", "Sixes", 18),
    ("yacht", "6 6 6 4 4", "Fours", 8),
    ("yacht", "6 6 6 4 4", "Choice", 26),
    ("yacht", "5 5 5 3 3", "Full House", 21),
    ("yacht", "6 6 6 5 5", "Full House", 28),
    ("yacht", "6 6 6 6 2", "Four of a Kind", 24),
    ("yacht", "6 6 6 6 2", "Sixes", 24),
    ("yacht-sum", "6 6 6 6 2", "Four of a Kind", 26),
    ("yacht", "4 4 4 4 4", "Full House", 0),
    ("yacht", "4 4 4 4 4", "Four of a Kind", 16),
    ("yacht", "4 4 4 4 4", "Yacht", 50),
    ("yacht-bonus", "4 4 4 4 4", "Full House", 20),
    ("yacht-bonus", "4 4 4 4 4", "Four of a Kind", 20),
    ("yacht", "3 3 3 3 3", "Full House", 0),
    ("yacht", "3 3 3 3 3", "Four of a Kind", 12),
    ("yacht", "3 3 3 3 3", "Threes", 15),
    ("yacht", "1 4 4 4 4", "Full House", 0),
    ("yacht", "3 5 5 5 5", "Four of a Kind", 20),
    ("yacht", "3 3 5 5 5", "Full House", 21),
    ("yacht", "1 5 3 5 3", "Fives", 10),
    ("yacht", "1 2 3 4 6", "Little Straight", 0),
    ("yacht", "1 2 3 4 6", "Big Straight", 0),
    ("yacht", "1 3 4 5 6", "Little Straight", 0),
    ("yacht", "1 3 4 5 6", "Big Straight", 0),
    ("yacht-bonus", "1 2 3 3 4", "Small Straight", 15),
    ("classic13", "1 2 3 3 4", "Small Straight", 30),
    ("yacht", "2 3 4 5 6", "Big Straight", 30),
    ("yacht", "2 3 4 5 6", "Choice", 20),
    ("yacht", "1 1 3 4 6", "Choice", 15),
    ("yacht", "1 1 3 4 6", "Ones", 2),
    ("yacht", "1 1 3 4 6", "Twos", 0),
    ("classic13", "2 5 5 5 6", "Three of a Kind", 23),
    ("yatzy", "2 5 5 5 6", "Three of a Kind", 15),
    ("yatzy", "6 6 6 6 6", "Two Pairs", 0),
]


def faces(text: str) -> tuple[int, ...]:
    return tuple(int(face) for face in text.split())


def score(ruleset: Ruleset, box: str, dice: tuple[int, ...]) -> int:
    return ruleset.boxes[ruleset.index(box)].score([dice.count(face) for face in range(1, 7)])


@pytest.mark.parametrize(("ruleset", "dice", "box", "points"), WORKED_EXAMPLES)
def test_worked_example_scores_as_the_rules_say(ruleset: str, dice: str, box: str, points: int) -> None:
    assert score(RULESETS[ruleset], box, faces(dice)) == points


@pytest.mark.parametrize("ruleset", RULESETS)
def test_every_roll_scores_in_every_box_as_an_independent_referee_says(ruleset: str) -> None:
    boxes = RULESETS[ruleset].box_names
    wrong = [(b, d) for b in boxes for d in ALL_ROLLS if score(RULESETS[ruleset], b, d) != box_points(ruleset, b, d)]
    assert wrong == []


@pytest.mark.parametrize("dice", ["6 6 6 6 1", "6 6 6 6 5", "6 6 6 6 6"])
def test_four_of_a_kind_never_counts_the_fifth_die(dice: str) -> None:
    assert score(YACHT, "Four of a Kind", faces(dice)) == 24


def test_one_pair_is_the_best_pair_and_two_pairs_are_of_different_faces() -> None:
    yatzy = RULESETS["yatzy"]
    assert score(yatzy, "One Pair", (2, 2, 5, 5, 6)) == 10
    assert score(yatzy, "Two Pairs", (2, 2, 5, 5, 6)) == 14
    assert score(yatzy, "Two Pairs", (2, 2, 5, 5, 5)) == 14
    assert score(yatzy, "Two Pairs", (2, 5, 5, 5, 5)) == 0


@pytest.mark.parametrize(
    ("ruleset", "highest"), [("yacht", 297), ("yacht-sum", 303), ("yacht-bonus", 325), ("yacht-openspiel", 305)]
)
def test_highest_total_is_the_best_roll_in_every_box_and_the_bonus(ruleset: str, highest: int) -> None:
    rules = RULESETS[ruleset]
    bonus = rules.upper_bonus.points if rules.upper_bonus else 0
    assert sum(max(score(rules, box, dice) for dice in ALL_ROLLS) for box in rules.box_names) + bonus == highest


def test_boxes_are_numbered_in_the_order_of_the_card() -> None:
    assert YACHT.box_names == (
        *("Ones", "Twos", "Threes", "Fours", "Fives", "Sixes"),
        *("Full House", "Four of a Kind", "Little Straight", "Big Straight", "Choice", "Yacht"),
    )
    assert RULESETS["yatzy"].box_names[6:] == (
        *("One Pair", "Two Pairs", "Three of a Kind", "Four of a Kind"),
        *("Small Straight", "Large Straight", "Full House", "Chance", "Yatzy"),
    )
    assert RULESETS["classic13"].box_names == (
        *("Aces", "Twos", "Threes", "Fours", "Fives", "Sixes"),
        *("Three of a Kind", "Four of a Kind", "Full House", "Small Straight", "Large Straight", "Yacht", "Chance"),
    )
    assert [RULESETS[name].n_boxes for name in RULESETS] == [12, 12, 12, 12, 15, 13]


def test_a_box_is_found_by_name_or_by_position() -> None:
    assert YACHT.index("Sixes") == YACHT.index(5) == 5
    with pytest.raises(ValueError, match=r"'Chance'.*its boxes are Ones, Twos"):
        YACHT.index("Chance")
    for position in (-1, 12):
        with pytest.raises(ValueError, match=f"no box {position}; expected 0 to 11"):
            YACHT.index(position)


# --------------------------------------------------------------------------------------------------------- house rules


@pytest.mark.parametrize(
    ("straights", "little", "big"), [((15, 30), 15, 30), ((20, 20), 20, 20), ("sum", 15, 20), (None, 30, 30)]
)
def test_straights_may_be_worth_other_points(straights: Any, little: int, big: int) -> None:
    house = YACHT.with_house_rules(straights=straights)
    assert score(house, "Little Straight", (1, 2, 3, 4, 5)) == little
    assert score(house, "Big Straight", (2, 3, 4, 5, 6)) == big
    assert score(house, "Little Straight", (2, 3, 4, 5, 6)) == score(house, "Big Straight", (1, 2, 3, 4, 6)) == 0


@pytest.mark.parametrize(("dice_counted", "points"), [(4, 24), (5, 26)])
def test_four_of_a_kind_may_count_four_dice_or_five(dice_counted: Any, points: int) -> None:
    for ruleset in ("yacht", "yacht-sum"):
        house = RULESETS[ruleset].with_house_rules(four_of_a_kind_dice=dice_counted)
        assert score(house, "Four of a Kind", (6, 6, 6, 6, 2)) == points


@pytest.mark.parametrize(("allowed", "points"), [(True, 20), (False, 0)])
def test_five_of_a_kind_may_be_a_full_house_or_not(allowed: bool, points: int) -> None:
    for ruleset in ("yacht", "yacht-bonus"):
        house = RULESETS[ruleset].with_house_rules(five_of_a_kind_is_full_house=allowed)
        assert score(house, "Full House", (4, 4, 4, 4, 4)) == points
        assert score(house, "Full House", (4, 4, 4, 1, 1)) == 14


def test_house_rules_combine_and_leave_everything_else_as_it_was() -> None:
    both = YACHT.with_house_rules(four_of_a_kind_dice=5, five_of_a_kind_is_full_house=True)
    assert both.fingerprint == RULESETS["yacht-openspiel"].fingerprint
    assert YACHT.with_house_rules() == YACHT
    assert score(YACHT, "Four of a Kind", (6, 6, 6, 6, 2)) == 24


@pytest.mark.parametrize(
    ("house_rules", "message"),
    [
        ({"straights": (15,)}, r"2 numbers of points, got \(15,\)"),
        ({"straights": "double"}, "'double'"),
        ({"straights": (-1, 30)}, "points are -1"),
        ({"four_of_a_kind_dice": 3}, "must be 4 or 5, got 3"),
    ],
)
def test_a_house_rule_that_nobody_plays_is_refused(house_rules: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        YACHT.with_house_rules(**house_rules)


@pytest.mark.parametrize(
    "house_rules", [{"straights": "sum"}, {"four_of_a_kind_dice": 5}, {"five_of_a_kind_is_full_house": True}]
)
def test_a_house_rule_about_a_box_that_the_card_lacks_is_refused(house_rules: dict[str, Any]) -> None:
    choice_alone = Ruleset("choice", (Box("Choice", Anything(), "sum"),))
    with pytest.raises(ValueError, match=f"'choice' has no box that the house rule {next(iter(house_rules))}"):
        choice_alone.with_house_rules(**house_rules)


# ------------------------------------------------------------------------------------------- rules that make no sense

ONES, CHOICE = Box("Ones", Number(1), "matched"), Box("Choice", Anything(), "sum")
FIVE = Box("Yacht", OfAKind(5), 50)


@pytest.mark.parametrize(
    ("boxes", "terms", "message"),
    [
        ((), {}, "'odd' has no boxes"),
        ((CHOICE, ONES, CHOICE), {}, "two boxes named 'Choice'"),
        ((ONES, Box("Aces", Number(1), "matched")), {}, "two number boxes for face 1"),
        ((CHOICE,), {"upper_bonus": UpperBonus(63, 35)}, "upper bonus but no number boxes"),
        ((ONES,), {"upper_bonus": UpperBonus(6, 35)}, "threshold 6 can't be reached; expected 1 to 5"),
        ((ONES,), {"upper_bonus": UpperBonus(0, 35)}, "threshold 0 can't"),
        ((ONES,), {"upper_bonus": UpperBonus(3, -35)}, "bonus points are -35"),
        ((CHOICE,), {"joker": Joker("Yacht")}, "joker's box 'Yacht'"),
        ((FIVE, CHOICE), {"joker": Joker("Choice")}, "joker's box 'Choice'"),
        ((Box("Yacht", OfAKind(5), "sum"),), {"joker": Joker("Yacht")}, "joker's box 'Yacht'.* fixed points"),
        ((FIVE,), {"joker": Joker("Yacht", -100)}, "extra points are -100"),
        ((Box("Sevens", Number(7), "matched"),), {}, "'Sevens': face is 7; expected 1 to 6"),
        ((Box("Noughts", Number(0), "matched"),), {}, "'Noughts': face is 0"),
        ((Box("Six Alike", OfAKind(6), 60),), {}, "'Six Alike': n is 6; expected 1 to 5"),
        ((Box("Three Pairs", Pairs(3), "matched"),), {}, "'Three Pairs': n is 3; expected 1 to 2"),
        ((Box("Long Run", Run(6), 30),), {}, "'Long Run': length is 6; expected 1 to 5"),
        ((Box("High Run", Run(5, start=3), 30),), {}, "'High Run': start is 3; expected 1 to 2"),
        ((Box("Low Run", Run(5, start=0), 30),), {}, "'Low Run': start is 0"),
        ((Box("House", FullHouse(), "double"),), {}, "'House': points are 'double'"),  # type: ignore[arg-type]
        ((Box("House", FullHouse(), -1),), {}, "'House': points are -1; expected a whole number, 0"),
    ],
)
def test_rules_that_make_no_sense_are_refused_by_name(
    boxes: tuple[Box, ...], terms: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Ruleset("odd", boxes, **terms)


# -------------------------------------------------------------------------------------------------------- fingerprint


def test_equal_rules_have_one_fingerprint_whatever_their_name() -> None:
    rebuilt = Ruleset("mine", [dataclasses.replace(box) for box in YACHT.boxes])  # type: ignore[arg-type]
    assert rebuilt.fingerprint == YACHT.fingerprint
    assert len(bytes.fromhex(YACHT.fingerprint)) == 32


def test_every_change_of_the_rules_changes_the_fingerprint() -> None:
    classic = RULESETS["classic13"]
    variants = [
        *RULESETS.values(),
        YACHT.with_house_rules(straights=(15, 30)),
        YACHT.with_house_rules(straights="sum"),
        YACHT.with_house_rules(five_of_a_kind_is_full_house=True),
        dataclasses.replace(YACHT, boxes=YACHT.boxes[::-1]),
        dataclasses.replace(YACHT, boxes=YACHT.boxes[1:]),
        dataclasses.replace(YACHT, boxes=(dataclasses.replace(YACHT.boxes[0], name="Aces"), *YACHT.boxes[1:])),
        dataclasses.replace(classic, joker=None),
        dataclasses.replace(classic, joker=Joker("Yacht", 0)),
        dataclasses.replace(classic, upper_bonus=None),
        dataclasses.replace(classic, upper_bonus=UpperBonus(62, 35)),
        dataclasses.replace(classic, upper_bonus=UpperBonus(63, 36)),
    ]
    assert len({ruleset.fingerprint for ruleset in variants}) == len(variants)


def test_a_ruleset_is_got_by_name_or_as_it_is() -> None:
    assert get_ruleset("yatzy") is RULESETS["yatzy"]
    assert get_ruleset(YACHT) is YACHT
    with pytest.raises(ValueError, match="unknown ruleset 'yahtzee'; expected one of yacht, yacht-sum"):
        get_ruleset("yahtzee")
    with pytest.raises(TypeError, match="got 5"):
        get_ruleset(5)  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------------------------- short cards


def test_a_short_card_keeps_its_boxes_in_order() -> None:
    short = YACHT.with_boxes(["Yacht", 0, "Choice"])
    assert short.box_names == ("Ones", "Choice", "Yacht")
    assert short.name == "yacht-0-10-11"
    assert short.boxes == tuple(YACHT.boxes[b] for b in (0, 10, 11))
    assert YACHT.with_boxes(YACHT.box_names) is YACHT


def test_a_short_card_keeps_the_bonus_and_the_joker_that_it_can_earn() -> None:
    classic = RULESETS["classic13"]
    assert classic.with_boxes(["Fives", "Sixes", "Yacht"]).upper_bonus is None  # 55 points at most
    kept = classic.with_boxes(["Fours", "Fives", "Sixes", "Chance"])
    assert kept.upper_bonus == classic.upper_bonus and kept.joker is None
    assert classic.with_boxes(["Sixes", "Yacht"]).joker == classic.joker


def test_a_short_card_of_no_box_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one box"):
        YACHT.with_boxes([])
    with pytest.raises(ValueError, match="no box 'Chance'"):
        YACHT.with_boxes(["Chance"])
