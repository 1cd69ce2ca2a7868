"""Rulesets in saved games: a name, a name with house rules, or the whole rules as data.

Public names: :func:`rules_to_json`, :func:`rules_from_json`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

from yacht_env.rules import RULESETS, Box, Joker, Pattern, Ruleset, UpperBonus, get_ruleset
from yacht_env.table.reading import expect, expect_keys

__all__ = ["rules_from_json", "rules_to_json"]

_PATTERNS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Pattern)}
_HOUSE_RULES = ("straights", "four_of_a_kind_dice", "five_of_a_kind_is_full_house")


def rules_to_json(ruleset: Ruleset) -> str | dict[str, Any]:
    """The name of a named ruleset; anything else box by box, so that it can be read without this program."""
    named = RULESETS.get(ruleset.name)
    if named == ruleset:
        return ruleset.name
    boxes = [
        {
            "name": box.name,
            "pattern": type(box.pattern).__name__,
            **dataclasses.asdict(box.pattern),
            "points": box.points,
        }
        for box in ruleset.boxes
    ]
    bonus, joker = (term and dataclasses.asdict(term) for term in (ruleset.upper_bonus, ruleset.joker))
    return {"name": ruleset.name, "boxes": boxes, "upper_bonus": bonus, "joker": joker}


def rules_from_json(value: Any) -> Ruleset:
    """The ruleset that is meant: ``"yacht"``, ``{"base": "yacht", "straights": [15, 30]}``, or the whole data.

    Raises:
        ValueError: naming what can't be read, or rules that make no sense.
    """
    if isinstance(value, str):
        return get_ruleset(value)
    rules = expect(value, dict, "ruleset")
    if "base" in rules:
        return _with_house_rules(rules)
    expect_keys(rules, ("name", "boxes", "upper_bonus", "joker"), "ruleset")
    boxes = tuple(_box(box) for box in expect(rules.get("boxes"), list, "ruleset: boxes"))
    bonus, joker = rules.get("upper_bonus"), rules.get("joker")
    try:
        return Ruleset(
            expect(rules.get("name"), str, "ruleset: name"),
            boxes,
            None if bonus is None else _bonus(expect(bonus, dict, "ruleset: upper_bonus")),
            None if joker is None else Joker(**expect(joker, dict, "ruleset: joker")),
        )
    except TypeError as error:
        raise ValueError(f"ruleset: its bonus or joker can't be read: {error}") from error


def _bonus(value: dict[str, Any]) -> UpperBonus:
    return UpperBonus(**{key: expect(number, int, f"upper_bonus: {key}") for key, number in value.items()})


def _box(value: Any) -> Box:
    box = dict(expect(value, dict, "each box of the ruleset"))
    name, kind, points = (box.pop(key, None) for key in ("name", "pattern", "points"))
    if not isinstance(kind, str) or kind not in _PATTERNS:
        raise ValueError(f"box {name!r}: pattern must be one of {', '.join(_PATTERNS)}, got {kind!r:.80}")
    if type(points) not in (int, str):
        raise ValueError(f"box {name!r}: points must be a whole number, 'matched' or 'sum', got {points!r:.80}")
    if "five_of_a_kind" in box:
        expect(box["five_of_a_kind"], bool, f"box {name!r}: five_of_a_kind")
    try:
        return Box(expect(name, str, "the name of a box"), _PATTERNS[kind](**box), points)
    except TypeError as error:
        raise ValueError(f"box {name!r}: {error}") from error


def _with_house_rules(rules: dict[str, Any]) -> Ruleset:
    expect_keys(rules, ("base", *_HOUSE_RULES), "ruleset")
    chosen = {rule: rules[rule] for rule in _HOUSE_RULES if rule in rules}
    if "five_of_a_kind_is_full_house" in chosen:
        expect(chosen["five_of_a_kind_is_full_house"], bool, "ruleset: five_of_a_kind_is_full_house")
    if isinstance(chosen.get("straights"), list):
        chosen["straights"] = tuple(chosen["straights"])
    return get_ruleset(expect(rules["base"], str, "ruleset: base")).with_house_rules(**chosen)
