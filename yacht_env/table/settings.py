"""What a game at the table begins with: the options of ``yacht-env play`` and the fields of the start screen.

Public names: :class:`Settings`, :func:`parse_straights`, :data:`PERSON`, :data:`COACHING`, :data:`MOST_OPPONENTS`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from yacht_env.rules import Ruleset, get_ruleset
from yacht_env.table.fair_dice import FairDice
from yacht_env.table.record import Seat
from yacht_env.table.seats import agents_for

__all__ = ["COACHING", "MOST_OPPONENTS", "PERSON", "Coaching", "Settings", "parse_straights"]

Coaching: TypeAlias = Literal["off", "hints", "always"]
COACHING: tuple[Coaching, ...] = ("off", "hints", "always")
"""No coach; values when they are asked for; values all the time."""

MOST_OPPONENTS = 3
PERSON = "person"
"""The opponent that is another person at the same keyboard: ``"person"``, or ``"person:Bob"`` with a name."""


@dataclass(frozen=True)
class Settings:
    """Everything that is chosen before a game.

    Attributes:
        ruleset: Name of the ruleset.
        straights: House rule, see :meth:`~yacht_env.rules.Ruleset.with_house_rules`, as are the next two.
        four_of_a_kind_dice: House rule.
        five_of_a_kind_is_full_house: House rule.
        name: What the player is called.
        opponents: Up to three: names of agents, or :data:`PERSON`.
        coach: How much the coach says.
        word: The player's part in the dice.
        seed: A seed known beforehand: 64 hex digits, or any text, whose SHA-256 it is; ``None`` for a secret one.
    """

    ruleset: str = "yacht"
    straights: tuple[int, int] | Literal["sum"] | None = None
    four_of_a_kind_dice: Literal[4, 5] | None = None
    five_of_a_kind_is_full_house: bool | None = None
    name: str = "Player 1"
    opponents: tuple[str, ...] = ()
    coach: Coaching = "off"
    word: str = ""
    seed: str | None = None

    def rules(self) -> Ruleset:
        """The ruleset with its house rules.

        Raises:
            ValueError: for an unknown ruleset, or a house rule that it can't have.
        """
        return get_ruleset(self.ruleset).with_house_rules(
            straights=self.straights,
            four_of_a_kind_dice=self.four_of_a_kind_dice,
            five_of_a_kind_is_full_house=self.five_of_a_kind_is_full_house,
        )

    def seats(self) -> tuple[Seat, ...]:
        """The player, and then the opponents; equal names are numbered.

        Raises:
            ValueError: for too many opponents, or a name that is none.
        """
        if len(self.opponents) > MOST_OPPONENTS:
            raise ValueError(f"there are {len(self.opponents)} opponents; expected {MOST_OPPONENTS} at most")
        seats = [Seat(self.name.strip())]
        for number, opponent in enumerate(self.opponents, 2):
            kind, _, name = opponent.partition(":")
            agent = None if kind == PERSON else opponent
            wanted = (name.strip() or f"Player {number}") if agent is None else opponent.rstrip("/").rpartition("/")[2]
            seats.append(Seat(_free_name(wanted, [seat.name for seat in seats]), agent))
        return tuple(seats)

    def dice(self) -> FairDice:
        """The dice of a new game: of a fresh secret seed, or of the one that was given, and with the player's word.

        Raises:
            ValueError: for a word that is too long.
        """
        if self.seed is None:
            return FairDice.new(self.word)
        if re.fullmatch("[0-9a-fA-F]{64}", self.seed):
            return FairDice(bytes.fromhex(self.seed), self.word)
        return FairDice(hashlib.sha256(self.seed.encode()).digest(), self.word)


    def check(self) -> None:
        """Find out now what would go wrong later.

        Raises:
            ValueError: for settings that make no game, also for an agent that does not play by these rules.
        """
        rules = self.rules()
        self.dice()
        known = agents_for(rules)
        for seat in self.seats():
            if seat.agent is not None and seat.agent not in known and not Path(seat.agent).is_dir():
                raise ValueError(
                    f"opponent {seat.agent!r} does not play {rules.name}; expected {PERSON}, {PERSON}:NAME, the folder of "
                    f"an agent, or one of {', '.join(known)}"
                )


def parse_straights(text: str) -> tuple[int, int] | Literal["sum"] | None:
    """The house rule for straights in a line of text: ``""``, ``"sum"`` or ``"15 30"``.

    Raises:
        ValueError: for anything else.
    """
    words = text.replace(",", " ").split()
    if not words:
        return None
    if words == ["sum"]:
        return "sum"
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        raise ValueError(f"straights are {text!r:.80}; expected two numbers of points such as 15 30, or sum")
    return int(words[0]), int(words[1])


def _free_name(wanted: str, taken: list[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted} {number}"
    return name
