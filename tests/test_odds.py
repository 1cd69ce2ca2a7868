"""Odds of single boxes: against plain enumeration, and against figures that others published."""

import dataclasses
from itertools import product

import pytest

from yacht_env import RULESETS, box_odds, get_ruleset, solve
from yacht_env.odds import odds_page, odds_table


def by_name(ruleset="yacht"):
    return {box.name: box for box in box_odds(ruleset)}


@pytest.mark.parametrize("ruleset", RULESETS)
def test_one_roll_is_a_count_over_all_ways_the_dice_can_fall(ruleset):
    rules = get_ruleset(ruleset)
    hits = dict.fromkeys(rules.box_names, 0)
    for dice in product(range(1, 7), repeat=5):
        counts = [dice.count(face) for face in range(1, 7)]
        for box in rules.boxes:
            hits[box.name] += box.score(counts) > 0
    for name, box in by_name(ruleset).items():
        assert box.one_roll == pytest.approx(hits[name] / 7776, abs=1e-12)


@pytest.mark.parametrize(
    "ruleset", [pytest.param(name, marks=pytest.mark.slow if name in ("yatzy", "classic13") else ()) for name in RULESETS]
)
def test_points_are_those_of_a_card_with_that_box_alone(ruleset):
    rules = dataclasses.replace(get_ruleset(ruleset), joker=None)  # without the other boxes, every five of a kind is a joker
    solution, bonus = solve(rules), rules.upper_bonus is not None
    for name, box in by_name(ruleset).items():
        alone = solution.state_value([name], upper_total=63 if bonus else 0)
        assert box.turn_points == pytest.approx(alone, abs=1e-9)


def test_published_figures():
    odds = by_name()
    assert odds["Yacht"].turn == pytest.approx(0.0460286, abs=1e-7)  # the well-known 4.6 %
    assert odds["Little Straight"].turn == pytest.approx(5.904872 / 30, abs=1e-7)
    assert odds["Big Straight"].points_when_hit == pytest.approx(30.0)
    assert odds["Sixes"].turn_points == pytest.approx(12.638889, abs=1e-6)
    assert odds["Choice"].turn_points == pytest.approx(70 / 3, abs=1e-9)
    assert odds["Choice"].turn == 1.0
    assert odds["Full House"].turn_points == pytest.approx(6.965727, abs=1e-6)


def test_chasing_points_never_beats_chasing_the_chance():
    for box in box_odds("yatzy"):
        assert box.one_roll <= box.turn <= 1.0 + 1e-12
        assert box.turn_points <= box.turn * box.points_when_hit + 1e-9


def test_the_table_and_the_page_show_every_box():
    assert all(name in odds_table("classic13") for name in get_ruleset("classic13").box_names)
    page = odds_page(RULESETS)
    assert all(f"## `{name}`" in page for name in RULESETS)
    assert "| Yacht | 0.077 % | 4.603 % | 2.301 | 50.00 |" in page
