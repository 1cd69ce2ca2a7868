"""The games as data: boxes, rulesets and house rules.

A :class:`Ruleset` is an ordered tuple of boxes plus the terms of the upper bonus and of the joker. Nothing else in the
package knows a game by name: the tables of :mod:`yacht_env.game` are built from this data, and the environment, the
solver and the evaluation read those tables.

A box is a :class:`Pattern` (which dice make it) and its points: a fixed number, the sum of the dice that make the
pattern (``"matched"``), or the sum of all the dice (``"sum"``). A new game is a new tuple of boxes; a new kind of box is
one new pattern class here.

Public names: :class:`Box`, :class:`Ruleset`, :class:`UpperBonus`, :class:`Joker`, the patterns, :data:`RULESETS`,
:func:`get_ruleset`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, SupportsIndex, TypeAlias

__all__ = [
    "N_DICE",
    "N_FACES",
    "ROLLS_PER_TURN",
    "RULESETS",
    "Anything",
    "Box",
    "FullHouse",
    "Joker",
    "Number",
    "OfAKind",
    "Pairs",
    "Pattern",
    "Ruleset",
    "Run",
    "UpperBonus",
    "get_ruleset",
]

N_DICE = 5
N_FACES = 6
ROLLS_PER_TURN = 3
MOST_POINTS = 10_000  # of a box, a bonus or a joker; their sums then fit the tables' int16

Counts: TypeAlias = Sequence[int]
"""How many dice show each face: ``counts[0]`` ones, ``counts[1]`` twos, and so on."""


@dataclass(frozen=True)
class Number:
    """The dice that show ``face``; never fails, since no such die counts as 0 points."""

    face: int

    def matched(self, counts: Counts) -> int | None:
        """Sum of the dice that make the pattern, or ``None`` where they do not make it."""
        return self.face * counts[self.face - 1]


@dataclass(frozen=True)
class OfAKind:
    """``n`` or more dice of one face, the highest such face; exactly ``n`` of them are the pattern."""

    n: int

    def matched(self, counts: Counts) -> int | None:
        """Sum of the dice that make the pattern, or ``None`` where they do not make it."""
        faces = [face for face, count in enumerate(counts, 1) if count >= self.n]
        return self.n * faces[-1] if faces else None


@dataclass(frozen=True)
class Pairs:
    """``n`` pairs of ``n`` different faces, the highest ones."""

    n: int

    def matched(self, counts: Counts) -> int | None:
        """Sum of the dice that make the pattern, or ``None`` where they do not make it."""
        faces = [face for face, count in enumerate(counts, 1) if count >= 2]
        return 2 * sum(faces[-self.n :]) if len(faces) >= self.n else None


@dataclass(frozen=True)
class FullHouse:
    """Three dice of one face and two of another; ``five_of_a_kind`` tells whether five of one face count too."""

    five_of_a_kind: bool = False

    def matched(self, counts: Counts) -> int | None:
        """Sum of the dice that make the pattern, or ``None`` where they do not make it."""
        shape = sorted(count for count in counts if count)
        made = shape == [2, 3] or (self.five_of_a_kind and shape == [N_DICE])
        return _sum(counts) if made else None


@dataclass(frozen=True)
class Run:
    """``length`` faces in a row, starting at ``start``, or anywhere where ``start`` is ``None``."""

    length: int
    start: int | None = None

    def matched(self, counts: Counts) -> int | None:
        """Sum of the faces of the highest such run, or ``None`` where there is none."""
        highest = N_FACES - self.length + 1
        for start in [self.start] if self.start else range(highest, 0, -1):
            faces = range(start, start + self.length)
            if all(counts[face - 1] for face in faces):
                return sum(faces)
        return None


@dataclass(frozen=True)
class Anything:
    """Any dice."""

    def matched(self, counts: Counts) -> int | None:
        """Sum of all the dice."""
        return _sum(counts)


Pattern: TypeAlias = Number | OfAKind | Pairs | FullHouse | Run | Anything


@dataclass(frozen=True)
class Box:
    """One box of the card.

    Attributes:
        name: What players call it.
        pattern: Which dice make it.
        points: A fixed number, ``"matched"`` (the sum of the dice that make the pattern) or ``"sum"`` (of all the dice).
    """

    name: str
    pattern: Pattern
    points: int | Literal["matched", "sum"]

    @property
    def is_number(self) -> bool:
        """Whether this is one of the number boxes, which count toward the upper bonus."""
        return isinstance(self.pattern, Number)

    def score(self, counts: Counts) -> int:
        """Points for the dice with these face counts, without bonus and joker."""
        matched = self.pattern.matched(counts)
        if matched is None:
            return 0
        if self.points == "matched":
            return matched
        return _sum(counts) if self.points == "sum" else self.points

    def score_as_joker(self, counts: Counts) -> int:
        """Points for five of a kind that a joker rule lets stand for the pattern."""
        if self.points == "matched":
            return self.score(counts)
        return _sum(counts) if self.points == "sum" else self.points


@dataclass(frozen=True)
class UpperBonus:
    """``points`` once the number boxes hold at least ``threshold``; paid with the box that reaches it."""

    threshold: int
    points: int


@dataclass(frozen=True)
class Joker:
    """The extra Yacht and the forced joker.

    While ``box`` holds its points, every five of a kind that is recorded, in any box, adds ``extra_points``. Once ``box``
    is filled, with its points or with 0, five of a kind must go into its number box if that is open; else into any open
    lower box, which scores as if its pattern were made; else as 0 into any open number box.
    """

    box: str = "Yacht"
    extra_points: int = 100


@dataclass(frozen=True)
class Ruleset:
    """The rules of one game: an ordered tuple of boxes, and the terms of bonus and joker.

    Attributes:
        name: A short name; it plays no part in the rules, nor in :attr:`fingerprint`.
        boxes: The boxes, in the order of the card; their positions are the numbers of the actions.
        upper_bonus: The bonus for the number boxes, or ``None``.
        joker: The joker rule, or ``None``.

    Raises:
        ValueError: for rules that make no sense (no box, a name twice, a bonus without number boxes, and so on).
    """

    name: str
    boxes: tuple[Box, ...]
    upper_bonus: UpperBonus | None = None
    joker: Joker | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "boxes", tuple(self.boxes))
        if not self.boxes:
            raise ValueError(f"ruleset {self.name!r} has no boxes; expected at least one")
        names = [box.name for box in self.boxes]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"ruleset {self.name!r} has two boxes named {twice[0]!r}; names must differ")
        for box in self.boxes:
            _check_box(box)
        faces = [box.pattern.face for box in self.boxes if isinstance(box.pattern, Number)]
        if twice_faces := sorted({face for face in faces if faces.count(face) > 1}):
            raise ValueError(f"ruleset {self.name!r} has two number boxes for face {twice_faces[0]}; expected one at most")
        if self.upper_bonus is not None:
            self._check_bonus(self.upper_bonus, faces)
        if self.joker is not None:
            self._check_joker(self.joker)

    def _check_bonus(self, bonus: UpperBonus, faces: list[int]) -> None:
        if not faces:
            raise ValueError(f"ruleset {self.name!r} has an upper bonus but no number boxes")
        if not 0 < bonus.threshold <= N_DICE * sum(faces):
            raise ValueError(
                f"ruleset {self.name!r}: bonus threshold {bonus.threshold} can't be reached; "
                f"expected 1 to {N_DICE * sum(faces)}"
            )
        _check_points(f"ruleset {self.name!r}: bonus points", bonus.points)

    def _check_joker(self, joker: Joker) -> None:
        box = next((box for box in self.boxes if box.name == joker.box), None)
        if box is None or box.pattern != OfAKind(N_DICE) or not isinstance(box.points, int):
            raise ValueError(
                f"ruleset {self.name!r}: the joker's box {joker.box!r} must be a box of the card for "
                f"{N_DICE} of a kind with fixed points"
            )
        _check_points(f"ruleset {self.name!r}: extra points", joker.extra_points)

    @property
    def box_names(self) -> tuple[str, ...]:
        """Names of the boxes, in the order of the card."""
        return tuple(box.name for box in self.boxes)

    @property
    def n_boxes(self) -> int:
        """Number of boxes, which is the number of turns of a game."""
        return len(self.boxes)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the rules, as 64 hex digits; equal rules under another name have the same."""
        rules = [
            [box.name, type(box.pattern).__name__, dataclasses.asdict(box.pattern), box.points] for box in self.boxes
        ]
        terms = [term and dataclasses.asdict(term) for term in (self.upper_bonus, self.joker)]
        content = json.dumps([N_DICE, N_FACES, ROLLS_PER_TURN, rules, *terms], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def index(self, box: int | str) -> int:
        """Position of a box that is given by name or by position.

        Raises:
            ValueError: where the card has no such box.
        """
        if isinstance(box, str):
            if box not in self.box_names:
                raise ValueError(f"ruleset {self.name!r} has no box {box!r}; its boxes are {', '.join(self.box_names)}")
            return self.box_names.index(box)
        if not isinstance(box, SupportsIndex) or not 0 <= int(box) < self.n_boxes:
            raise ValueError(f"ruleset {self.name!r} has no box {box}; expected 0 to {self.n_boxes - 1}")
        return int(box)

    def with_house_rules(
        self,
        *,
        straights: tuple[int, int] | Literal["sum"] | None = None,
        four_of_a_kind_dice: Literal[4, 5] | None = None,
        five_of_a_kind_is_full_house: bool | None = None,
    ) -> Ruleset:
        """The same game, named ``...-house``, with some of the usual house rules; ``None`` leaves a rule as it is.

        Args:
            straights: Points of the lower and of the higher straight, or ``"sum"`` for the sum of the dice.
            four_of_a_kind_dice: Whether Four of a Kind scores its four dice or all five.
            five_of_a_kind_is_full_house: Whether five dice of one face may be scored as a full house.

        Raises:
            ValueError: for a value that is none of these, or a rule about a box that the card lacks.
        """
        changes: dict[str, list[Box]] = {}
        if straights is not None:
            changes["straights"] = self._with_straights(straights)
        if four_of_a_kind_dice is not None:
            if four_of_a_kind_dice not in (4, 5):
                raise ValueError(f"four_of_a_kind_dice must be 4 or 5, got {four_of_a_kind_dice!r}")
            points: Literal["matched", "sum"] = "matched" if four_of_a_kind_dice == 4 else "sum"
            fours = [box for box in self.boxes if box.pattern == OfAKind(4)]
            changes["four_of_a_kind_dice"] = [dataclasses.replace(box, points=points) for box in fours]
        if five_of_a_kind_is_full_house is not None:
            pattern = FullHouse(five_of_a_kind=five_of_a_kind_is_full_house)
            houses = [box for box in self.boxes if isinstance(box.pattern, FullHouse)]
            changes["five_of_a_kind_is_full_house"] = [dataclasses.replace(box, pattern=pattern) for box in houses]
        for rule, boxes in changes.items():
            if not boxes:
                raise ValueError(f"ruleset {self.name!r} has no box that the house rule {rule} is about")
        changed = {box.name: box for boxes in changes.values() for box in boxes}
        card = tuple(changed.get(box.name, box) for box in self.boxes)
        return self if card == self.boxes else dataclasses.replace(self, name=f"{self.name}-house", boxes=card)

    def with_boxes(self, boxes: Iterable[int | str]) -> Ruleset:
        """The same game on a shorter card, for teaching and tests, named after the positions of its boxes.

        The upper bonus stays while the number boxes that are left can reach it, the joker while its box is left.

        Args:
            boxes: Names or positions of the boxes to keep; they stay in the order of the card.

        Raises:
            ValueError: for no box at all, or one that the card lacks.
        """
        kept = sorted({self.index(box) for box in boxes})
        if not kept:
            raise ValueError("boxes must name at least one box of the card")
        if len(kept) == self.n_boxes:
            return self
        card = tuple(self.boxes[b] for b in kept)
        most = sum(N_DICE * box.pattern.face for box in card if isinstance(box.pattern, Number))
        bonus, joker = self.upper_bonus, self.joker
        return Ruleset(
            name=f"{self.name}-{'-'.join(map(str, kept))}",
            boxes=card,
            upper_bonus=bonus if bonus is not None and most >= bonus.threshold else None,
            joker=joker if joker is not None and any(box.name == joker.box for box in card) else None,
        )

    def _with_straights(self, straights: tuple[int, int] | Literal["sum"]) -> list[Box]:
        boxes = [box for box in self.boxes if isinstance(box.pattern, Run)]
        if straights == "sum":
            return [dataclasses.replace(box, points="sum") for box in boxes]
        if not isinstance(straights, tuple) or len(straights) != len(boxes):
            raise ValueError(f"straights must be 'sum' or {len(boxes)} numbers of points, got {straights!r}")
        return [dataclasses.replace(box, points=points) for box, points in zip(boxes, straights, strict=True)]


def get_ruleset(ruleset: str | Ruleset) -> Ruleset:
    """The ruleset of this name; a :class:`Ruleset` is returned as it is.

    Raises:
        ValueError: for a name that :data:`RULESETS` lacks.
        TypeError: for anything else.
    """
    if isinstance(ruleset, Ruleset):
        return ruleset
    if not isinstance(ruleset, str):
        raise TypeError(f"ruleset must be a name or a Ruleset, got {ruleset!r}")
    if ruleset not in RULESETS:
        raise ValueError(f"unknown ruleset {ruleset!r}; expected one of {', '.join(RULESETS)}")
    return RULESETS[ruleset]


def _sum(counts: Counts) -> int:
    return sum(face * count for face, count in enumerate(counts, 1))


def _check_points(what: str, points: object) -> None:
    if type(points) is not int or not 0 <= points <= MOST_POINTS:
        raise ValueError(f"{what} are {points!r}; expected a whole number, 0 to {MOST_POINTS}")


def _check_box(box: Box) -> None:
    pattern, what = box.pattern, f"box {box.name!r}"
    ranges = {
        Number: ("face", 1, N_FACES),
        OfAKind: ("n", 1, N_DICE),
        Pairs: ("n", 1, N_DICE // 2),
        Run: ("length", 1, min(N_DICE, N_FACES)),
    }
    if not isinstance(pattern, Pattern):
        raise ValueError(f"{what}: {pattern!r} is no pattern")
    if type(pattern) in ranges:
        field, low, high = ranges[type(pattern)]
        value = getattr(pattern, field)
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{what}: {field} is {value!r}; expected {low} to {high}")
    if isinstance(pattern, Run) and pattern.start is not None:
        highest = N_FACES - pattern.length + 1
        if type(pattern.start) is not int or not 1 <= pattern.start <= highest:
            raise ValueError(f"{what}: start is {pattern.start!r}; expected 1 to {highest}")
    if isinstance(box.points, str):
        if box.points not in ("matched", "sum"):
            raise ValueError(f"{what}: points are {box.points!r}; expected a number, 'matched' or 'sum'")
    else:
        _check_points(f"{what}: points", box.points)


def _numbers(first: str = "Ones") -> tuple[Box, ...]:
    names = (first, "Twos", "Threes", "Fours", "Fives", "Sixes")
    return tuple(Box(name, Number(face), "matched") for face, name in enumerate(names, 1))


_YACHT = Ruleset(
    "yacht",
    (
        *_numbers(),
        Box("Full House", FullHouse(), "sum"),
        Box("Four of a Kind", OfAKind(4), "matched"),
        Box("Little Straight", Run(5, start=1), 30),
        Box("Big Straight", Run(5, start=2), 30),
        Box("Choice", Anything(), "sum"),
        Box("Yacht", OfAKind(5), 50),
    ),
)

_YACHT_BONUS = Ruleset(
    "yacht-bonus",
    (
        *_numbers(),
        Box("Full House", FullHouse(five_of_a_kind=True), "sum"),
        Box("Four of a Kind", OfAKind(4), "sum"),
        Box("Small Straight", Run(4), 15),
        Box("Large Straight", Run(5), 30),
        Box("Choice", Anything(), "sum"),
        Box("Yacht", OfAKind(5), 50),
    ),
    upper_bonus=UpperBonus(threshold=63, points=35),
)

_YATZY = Ruleset(
    "yatzy",
    (
        *_numbers(),
        Box("One Pair", OfAKind(2), "matched"),
        Box("Two Pairs", Pairs(2), "matched"),
        Box("Three of a Kind", OfAKind(3), "matched"),
        Box("Four of a Kind", OfAKind(4), "matched"),
        Box("Small Straight", Run(5, start=1), 15),
        Box("Large Straight", Run(5, start=2), 20),
        Box("Full House", FullHouse(), "sum"),
        Box("Chance", Anything(), "sum"),
        Box("Yatzy", OfAKind(5), 50),
    ),
    upper_bonus=UpperBonus(threshold=63, points=50),
)

_CLASSIC13 = Ruleset(
    "classic13",
    (
        *_numbers("Aces"),
        Box("Three of a Kind", OfAKind(3), "sum"),
        Box("Four of a Kind", OfAKind(4), "sum"),
        Box("Full House", FullHouse(), 25),
        Box("Small Straight", Run(4), 30),
        Box("Large Straight", Run(5), 40),
        Box("Yacht", OfAKind(5), 50),
        Box("Chance", Anything(), "sum"),
    ),
    upper_bonus=UpperBonus(threshold=63, points=35),
    joker=Joker(box="Yacht", extra_points=100),
)

RULESETS: Mapping[str, Ruleset] = MappingProxyType(
    {
        ruleset.name: ruleset
        for ruleset in (
            _YACHT,
            dataclasses.replace(_YACHT.with_house_rules(four_of_a_kind_dice=5), name="yacht-sum"),
            _YACHT_BONUS,
            dataclasses.replace(
                _YACHT.with_house_rules(four_of_a_kind_dice=5, five_of_a_kind_is_full_house=True),
                name="yacht-openspiel",
            ),
            _YATZY,
            _CLASSIC13,
        )
    }
)
"""The rulesets by name; ``"yacht"`` (the 1938 game) is the default everywhere."""
