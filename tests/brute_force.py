"""The rules and the optimum once more, written in another way: a referee and a recursion in plain Python.

Nothing here imports the package. Dice are tuples of faces, cards are sets of names, values are dictionaries, and the
chances come from counting all the ordered ways in which dice can fall. It is far too slow for a whole game and meant for
refereeing games and for cards of one or two boxes.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

Dice = tuple[int, ...]

FACE = {"Ones": 1, "Aces": 1, "Twos": 2, "Threes": 3, "Fours": 4, "Fives": 5, "Sixes": 6}
BONUS = {"yacht-bonus": 35, "yatzy": 50, "classic13": 35}
GRANTED_TO_A_JOKER = {"Full House": 25, "Small Straight": 30, "Large Straight": 40}


class Card(NamedTuple):
    """What matters of a card: the open boxes, points in the number boxes, points in the Yacht box (``None`` if open)."""

    open: frozenset[str]
    upper: int = 0
    yacht: int | None = None


def box_points(game: str, box: str, dice: Dice) -> int:
    """Points of five dice in a box of a game by name, without bonus and joker."""
    if box in FACE:
        return FACE[box] * dice.count(FACE[box])
    total = sum(dice)
    alike = {n: max((face for face in dice if dice.count(face) >= n), default=0) for n in (2, 3, 4, 5)}
    if box in ("Choice", "Chance"):
        return total
    if box in ("Yacht", "Yatzy"):
        return 50 if alike[5] else 0
    if box == "One Pair":
        return 2 * alike[2]
    if box == "Two Pairs":
        pairs = [face for face in set(dice) if dice.count(face) >= 2]
        return 2 * sum(pairs) if len(pairs) == 2 else 0
    if box == "Three of a Kind":
        return 0 if not alike[3] else 3 * alike[3] if game == "yatzy" else total
    if box == "Four of a Kind":
        return 0 if not alike[4] else 4 * alike[4] if game in ("yacht", "yatzy") else total
    if box == "Full House":
        three_and_two = sorted(dice.count(face) for face in set(dice)) == [2, 3]
        if not three_and_two and not (alike[5] and game in ("yacht-bonus", "yacht-openspiel")):
            return 0
        return 25 if game == "classic13" else total
    return straight_points(game, box, set(dice))


def straight_points(game: str, box: str, faces: set[int]) -> int:
    """Points of dice that show these faces in one of the straights."""
    if box in ("Little Straight", "Big Straight"):
        return 30 if faces == ({1, 2, 3, 4, 5} if box == "Little Straight" else {2, 3, 4, 5, 6}) else 0
    if game == "yatzy":
        exact = {"Small Straight": ({1, 2, 3, 4, 5}, 15), "Large Straight": ({2, 3, 4, 5, 6}, 20)}
        return exact[box][1] if faces == exact[box][0] else 0
    length = {"Small Straight": 4, "Large Straight": 5}[box]
    if not any(faces >= set(range(first, first + length)) for first in range(1, 8 - length)):
        return 0
    return {"yacht-bonus": {4: 15, 5: 30}, "classic13": {4: 30, 5: 40}}[game][length]


def is_joker(game: str, card: Card, dice: Dice) -> bool:
    """Whether these dice are five of a kind after the Yacht box of ``classic13`` was filled."""
    return game == "classic13" and card.yacht is not None and len(set(dice)) == 1


def legal_boxes(game: str, card: Card, dice: Dice) -> frozenset[str]:
    """Boxes that may be filled with these dice."""
    if not is_joker(game, card, dice):
        return card.open
    own_number = frozenset(box for box in card.open if FACE.get(box) == dice[0])
    lower = frozenset(box for box in card.open if box not in FACE)
    return own_number or lower or card.open


def fill(game: str, card: Card, dice: Dice, box: str) -> tuple[int, Card]:
    """Points that a box brings, with the bonus and the extra Yacht, and the card after it."""
    joker = is_joker(game, card, dice)
    written = GRANTED_TO_A_JOKER[box] if joker and box in GRANTED_TO_A_JOKER else box_points(game, box, dice)
    brought, upper, yacht = written, card.upper, card.yacht
    if joker and card.yacht == 50:
        brought += 100
    if game in BONUS and box in FACE:
        upper += written
        if upper >= 63 > card.upper:
            brought += BONUS[game]
    if game == "classic13" and box == "Yacht":
        yacht = written
    return brought, Card(card.open - {box}, min(upper, 63), yacht)


ROLLS = Counter(tuple(sorted(dice)) for dice in product(range(1, 7), repeat=5))
KEEPS = {roll: {kept for n in range(5) for kept in combinations(roll, n)} for roll in ROLLS}
AFTER = {
    kept: Counter(tuple(sorted(kept + rolled)) for rolled in product(range(1, 7), repeat=5 - len(kept)))
    for kept in set().union(*KEEPS.values())
}


def mean(ways: Counter[Dice], values: dict[Dice, float]) -> float:
    """Mean value of the rolls, each as often as there are ways to roll it."""
    return sum(n * values[roll] for roll, n in ways.items()) / ways.total()


@cache
def best_mean(game: str, card: Card) -> float:
    """Expected points still to come with best play, at the start of a turn."""
    if not card.open:
        return 0.0
    filled: dict[Dice, float] = {}
    for roll in ROLLS:
        after = [fill(game, card, roll, box) for box in legal_boxes(game, card, roll)]
        filled[roll] = max(points + best_mean(game, rest) for points, rest in after)
    values = filled
    for _ in range(2):
        kept = {keep: mean(ways, values) for keep, ways in AFTER.items()}
        values = {roll: max(filled[roll], *(kept[keep] for keep in KEEPS[roll])) for roll in ROLLS}
    return mean(ROLLS, values)


Law = dict[int, float]
"""Chance of each number of points."""


def mixed(parts: list[tuple[float, Law]]) -> Law:
    """The distributions, each with its weight, as one."""
    law: Law = Counter()
    for weight, part in parts:
        for points, chance in part.items():
            law[points] += weight * chance
    return law


@cache
def best_law(game: str, card: Card, order: tuple[str, ...]) -> Law:
    """Distribution of the points still to come with best play, at the start of a turn.

    Of equal choices, filling a box goes before rolling on, a box before those after it in ``order``, and of keeps the one
    with fewer sixes, then fewer fives, and so on.
    """
    if not card.open:
        return {0: 1.0}
    filled, values = {}, {}
    for roll in ROLLS:
        after = [fill(game, card, roll, box) for box in order if box in legal_boxes(game, card, roll)]
        worth = [points + best_mean(game, rest) for points, rest in after]
        values[roll] = max(worth)
        points, rest = next(end for end, value in zip(after, worth, strict=True) if value > max(worth) - 1e-9)
        filled[roll] = {points + more: chance for more, chance in best_law(game, rest, order).items()}
    best_filled, laws = dict(values), dict(filled)
    for _ in range(2):
        kept = {keep: mean(ways, values) for keep, ways in AFTER.items()}
        chosen = {}
        for roll in ROLLS:
            best = max(kept[keep] for keep in KEEPS[roll])
            if best > best_filled[roll] + 1e-9:
                equal = [keep for keep in KEEPS[roll] if kept[keep] > best - 1e-9]
                chosen[roll] = min(equal, key=lambda keep: [keep.count(face) for face in range(6, 0, -1)])
        after_keep = {
            keep: mixed([(n / AFTER[keep].total(), laws[roll]) for roll, n in AFTER[keep].items()])
            for keep in set(chosen.values())
        }
        values = {roll: kept[chosen[roll]] if roll in chosen else best_filled[roll] for roll in ROLLS}
        laws = {roll: after_keep[chosen[roll]] if roll in chosen else filled[roll] for roll in ROLLS}
    return mixed([(n / ROLLS.total(), laws[roll]) for roll, n in ROLLS.items()])
