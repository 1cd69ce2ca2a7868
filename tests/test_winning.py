"""The chance of winning from where a match stands."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from yacht_env import ScoreDistribution, Standing, chance_of_winning, remaining_distribution
from yacht_env.distribution import Outcome
from yacht_env.rules import RULESETS

HALF = ["Fours", "Sixes", "Full House", "Big Straight", "Choice", "Yacht"]


@pytest.mark.parametrize("ruleset", ["yacht", "yatzy", "classic13"])
def test_equal_standings_are_symmetric(ruleset):
    boxes = RULESETS[ruleset].box_names[-4:]
    mine = Standing(120, boxes, upper_total=50)
    chances = chance_of_winning(mine, mine, ruleset)
    assert chances.win == pytest.approx(chances.loss, abs=1e-12)
    assert sum(chances) == pytest.approx(1, abs=1e-12)
    assert 0 < chances.draw < 0.1


def test_one_player_wins_what_the_other_loses():
    mine, other = Standing(100, HALF), Standing(125, ["Sixes", "Choice", "Yacht"], dice=[6, 6, 2, 3, 4], rolls_left=1)
    one, two = chance_of_winning(mine, other), chance_of_winning(other, mine)
    assert (one.win, one.draw, one.loss) == pytest.approx((two.loss, two.draw, two.win), abs=1e-12)


def test_the_last_box_decides_as_counted_by_hand():
    """With three sixes held and one roll of two dice, 18 points are certain, 24 have 10 of 36 ways, 30 have one."""
    mine = Standing(100, ["Sixes"], dice=[6, 6, 6, 1, 2], rolls_left=1)
    chances = chance_of_winning(mine, Standing(124, []))
    assert chances == pytest.approx((1 / 36, 10 / 36, 25 / 36), abs=1e-12)
    assert chance_of_winning(replace(mine, action=37), Standing(118, [])) == pytest.approx((0, 1, 0))


def test_totals_that_nobody_can_change():
    assert chance_of_winning(Standing(150, []), [Standing(149, []), Standing(150, [])]) == (0, 1, 0)
    assert chance_of_winning(Standing(151, []), [Standing(149, []), Standing(150, [])]) == (1, 0, 0)
    assert chance_of_winning(Standing(148, []), Standing(149, [])) == (0, 0, 1)


def test_several_opponents_agree_with_every_combination_of_totals():
    laws = [ScoreDistribution(np.array(law)) for law in ([0.2, 0.3, 0.5], [0.5, 0.5], [0.1, 0, 0.2, 0.7])]
    expected = np.zeros(3)
    for totals in product(*(range(len(law.probability)) for law in laws)):
        chance = np.prod([law.probability[total] for law, total in zip(laws, totals, strict=True)])
        best = max(totals[1:])
        expected[0 if totals[0] > best else 1 if totals[0] == best else 2] += chance
    assert laws[0].against(*laws[1:]) == pytest.approx(expected.tolist(), abs=1e-15)


def test_more_opponents_leave_fewer_wins():
    mine = Standing(100, HALF)
    one, two, three = (chance_of_winning(mine, [mine] * n) for n in (1, 2, 3))
    assert one.win > two.win > three.win
    # Players alike win alone equally often, and the other games are shared: by two, or by all three.
    assert 2 * one.win + one.draw == pytest.approx(1, abs=1e-12)
    assert two.draw < 1 - 3 * two.win < 1.5 * two.draw


def test_chances_agree_with_drawn_totals():
    standings = [Standing(100, HALF), Standing(120, HALF[:4]), Standing(90, [*HALF, "Ones", "Four of a Kind"])]
    rng, n = np.random.default_rng(1), 100_000
    totals = []
    for standing in standings:
        law = remaining_distribution(standing.open_boxes).probability
        totals.append(standing.points + rng.choice(len(law), n, p=law / law.sum()))
    best = np.maximum(totals[1], totals[2])
    counted = [(totals[0] > best).mean(), (totals[0] == best).mean(), (totals[0] < best).mean()]
    chances = chance_of_winning(standings[0], standings[1:])
    for share, chance in zip(counted, chances, strict=True):
        assert abs(share - chance) < 4 * (chance * (1 - chance) / n) ** 0.5


def test_with_the_better_hold_the_chance_is_better():
    mine = Standing(100, ["Yacht"], dice=[6, 6, 6, 6, 2], rolls_left=1)
    other = Standing(130, [])
    held, rolled = (chance_of_winning(replace(mine, action=action), other).win for action in (0b11110, 0))
    assert held == pytest.approx(1 / 6, abs=1e-12)
    assert rolled == pytest.approx(6 / 6**5, abs=1e-12)
    assert chance_of_winning(mine, other).win == held


def test_house_rules_change_the_chances():
    house = RULESETS["yacht"].with_house_rules(straights=(15, 30))
    mine, other = Standing(100, ["Little Straight"]), Standing(120, [])
    assert chance_of_winning(mine, other).win == pytest.approx(5.904872 / 30, abs=1e-7)
    assert chance_of_winning(mine, other, house) == Outcome(0, 0, 1)


@pytest.mark.parametrize("points", [-1, 1.5, "7", True])
def test_points_that_no_player_has_are_refused(points):
    with pytest.raises(ValueError, match="points must be a whole number, 0 or more"):
        Standing(points)


def test_a_match_needs_an_opponent():
    with pytest.raises(ValueError, match="at least one opponent"):
        chance_of_winning(Standing(), [])
