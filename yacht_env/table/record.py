"""Everything that a saved game holds, and its JSON; docs/saved-games.md describes the format.

Public names: :class:`GameRecord`, :class:`Seat`, :func:`read_json`, :func:`seal`.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from yacht_env.files import write_atomically
from yacht_env.game import Game, get_game
from yacht_env.rules import Ruleset
from yacht_env.table.fair_dice import FairDice
from yacht_env.table.reading import expect, expect_keys, integers, parse
from yacht_env.table.rules_json import rules_from_json, rules_to_json
from yacht_env.table.state import TableState, Turn

__all__ = ["FORMAT", "MOST_NAME", "MOST_SEATS", "VERSION", "GameRecord", "Seat", "read_json", "seal"]

FORMAT, VERSION = "yacht-env game", 1
MOST_SEATS = 12
MOST_NAME = 40
"""Characters that the name of a seat may have."""

_MOST_BYTES = 2**20  # no game is near this; a larger file is not read
_KEYS = (
    "format", "version", "program", "started", "ruleset", "rules_sha256", "seats", "commitment", "word", "seed", "turns",
    "seal",
)  # fmt: skip
_SEAT_KEYS = ("name", "agent")
_TURN_KEYS = ("seat", "rolls", "held", "box", "points")


@dataclass(frozen=True)
class Seat:
    """Who sits at the table.

    Attributes:
        name: What they are called; no other seat has the same name.
        agent: ``None`` for a person; else ``"optimal"``, ``"greedy"``, ``"random"``, or the name or folder of a published
            agent.

    Raises:
        ValueError: for an empty name, or one that is too long or does not fit on one line.
    """

    name: str
    agent: str | None = None

    def __post_init__(self) -> None:
        if not self.name.strip() or len(self.name) > MOST_NAME or not self.name.isprintable():
            raise ValueError(f"{self.name!r:.80} is no name for a seat; expected 1 to {MOST_NAME} printable characters")


@dataclass(frozen=True)
class GameRecord:
    """A game, finished or not.

    Attributes:
        ruleset: The rules, house rules included.
        seats: Who plays, in the order of play.
        turns: The turns so far, see :class:`~yacht_env.table.state.TableState`.
        dice: The seed and the word behind the dice; ``None`` for a game that was typed in by hand.
        started: When it began, ISO 8601; ``""`` where nobody knows.
        program: What wrote it; ``""`` for a game that was typed in by hand.

    Raises:
        ValueError: for no seat, too many seats, or two of one name.
    """

    ruleset: Ruleset
    seats: tuple[Seat, ...]
    turns: tuple[Turn, ...] = ()
    dice: FairDice | None = None
    started: str = ""
    program: str = ""

    def __post_init__(self) -> None:
        if not 1 <= len(self.seats) <= MOST_SEATS:
            raise ValueError(f"there are {len(self.seats)} seats; expected 1 to {MOST_SEATS}")
        names = [seat.name for seat in self.seats]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two seats are named {twice[0]!r}; names must differ")

    @property
    def game(self) -> Game:
        """The tables of the rules."""
        return get_game(self.ruleset)

    def replay(self) -> TableState:
        """The table after all turns.

        Raises:
            ValueError: naming turn and value where the turns are no possible game.
        """
        state = TableState(self.game, [seat.name for seat in self.seats])
        state.replay(self.turns)
        return state

    def to_json(self) -> dict[str, Any]:
        """The content of a saved game, with its seal where there is a seed."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "program": self.program,
            "started": self.started,
            "ruleset": rules_to_json(self.ruleset),
            "rules_sha256": self.ruleset.fingerprint,
            "seats": [{"name": seat.name, "agent": seat.agent} for seat in self.seats],
        }
        if self.dice is not None:
            content |= {"commitment": self.dice.commitment, "word": self.dice.word, "seed": self.dice.seed.hex()}
        content["turns"] = [self._turn_json(i, turn) for i, turn in enumerate(self.turns)]
        return content if self.dice is None else content | {"seal": seal(content, self.dice.seed)}

    def _turn_json(self, i: int, turn: Turn) -> dict[str, Any]:
        return {
            "seat": self.seats[i % len(self.seats)].name,
            "rolls": [list(roll) for roll in turn.rolls],
            "held": [list(held) for held in turn.held],
            "box": None if turn.box is None else self.ruleset.box_names[turn.box],
            "points": turn.points,
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> GameRecord:
        """The game in the content of a file, saved or typed in by hand; the turns may still be impossible.

        Raises:
            ValueError: naming what can't be read.
        """
        expect_keys(content, _KEYS, "the game")
        found = content.get("format", FORMAT), content.get("version", VERSION)
        if found != (FORMAT, VERSION):
            raise ValueError(f"format and version are {found!r:.80}; this program reads {(FORMAT, VERSION)}")
        if "ruleset" not in content:
            raise ValueError("the game lacks its ruleset; expected a name such as 'yacht'")
        ruleset = rules_from_json(content["ruleset"])
        if content.get("rules_sha256", ruleset.fingerprint) != ruleset.fingerprint:
            raise ValueError(f"the game was played by other rules than the {ruleset.name!r} of this program")
        record = cls(
            ruleset=ruleset,
            seats=tuple(map(_seat, expect(content.get("seats", ["player"]), list, "seats"))),
            dice=_dice(content) if "seed" in content else None,
            started=expect(content.get("started", ""), str, "started"),
            program=expect(content.get("program", ""), str, "program"),
        )
        turns = enumerate(expect(content.get("turns"), list, "turns"))
        return replace(record, turns=tuple(_turn(turn, i, record.seats, ruleset) for i, turn in turns))

    def save(self, path: Path) -> None:
        """Write the game into a file, whole or not at all.

        Raises:
            OSError: where that is not possible; an old file is then untouched.
        """
        write_atomically(path, to_text(self.to_json()))

    @classmethod
    def load(cls, path: Path) -> GameRecord:
        """Read a game.

        Raises:
            ValueError: where the file holds no possible game, naming what is wrong.
            OSError: where it can't be read.
        """
        try:
            record = cls.from_json(read_json(path))
            record.replay()
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        return record


def now() -> str:
    """The time, ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_json(path: Path) -> dict[str, Any]:
    """The content of a file of a game.

    Raises:
        ValueError: where it holds no JSON object.
        OSError: where it can't be read.
    """
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"the file is larger than {_MOST_BYTES} bytes; no game is")
    return parse(content, "the file")


def seal(content: dict[str, Any], seed: bytes) -> str:
    """HMAC-SHA-256, with the seed as key, of all that a saved game holds beside this: any change of a value shows."""
    sealed = {key: value for key, value in content.items() if key != "seal"}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
    return hmac.digest(seed, text.encode(), "sha256").hex()


def to_text(content: dict[str, Any]) -> str:
    """The JSON of a game for people to read: one line a turn."""
    lines = [f"  {json.dumps(key)}: {_value_text(key, value)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value_text(key: str, value: Any) -> str:
    if key != "turns" or not value:
        return json.dumps(value, ensure_ascii=False)
    return "[\n" + ",\n".join(f"    {json.dumps(turn, ensure_ascii=False)}" for turn in value) + "\n  ]"


def _seat(value: Any) -> Seat:
    if isinstance(value, str):
        return Seat(value)
    seat = expect(value, dict, "each seat")
    expect_keys(seat, _SEAT_KEYS, "a seat")
    agent = seat.get("agent")
    return Seat(
        expect(seat.get("name"), str, "the name of a seat"), agent if agent is None else expect(agent, str, "agent")
    )


def _turn(value: Any, i: int, seats: Sequence[Seat], ruleset: Ruleset) -> Turn:
    where = f"turn {i // len(seats) + 1} of {seats[i % len(seats)].name}"
    turn = expect(value, dict, where)
    expect_keys(turn, _TURN_KEYS, where)
    if turn.get("seat", seats[i % len(seats)].name) != seats[i % len(seats)].name:
        raise ValueError(f"{where}: the seat is {turn['seat']!r:.80}; expected {seats[i % len(seats)].name!r}")
    rolls, held = (_dice_lists(turn.get(key, []), f"{where}: {key}") for key in ("rolls", "held"))
    box, points = turn.get("box"), turn.get("points")
    try:
        filled = None if box is None else ruleset.index(box if type(box) is int else expect(box, str, "box"))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    return Turn(rolls, held, filled, None if points is None else expect(points, int, f"{where}: points"))


def _dice_lists(value: Any, what: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sorted(integers(dice, what))) for dice in expect(value, list, what))


def _dice(content: dict[str, Any]) -> FairDice:
    seed = expect(content["seed"], str, "seed")
    try:
        secret = bytes.fromhex(seed)
    except ValueError as error:
        raise ValueError(f"the seed {seed!r:.80} is not written in hex digits") from error
    return FairDice(secret, expect(content.get("word", ""), str, "word"))
