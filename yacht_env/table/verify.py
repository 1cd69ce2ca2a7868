"""Whether a saved game is what its seed says: every roll is derived again, and nothing has been changed since.

Public names: :func:`verify`, :func:`verify_content`, :class:`Verification`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from yacht_env.table.fair_dice import FairDice
from yacht_env.table.record import GameRecord, read_json, seal
from yacht_env.table.state import TableState

__all__ = ["Verification", "verify", "verify_content"]


@dataclass(frozen=True)
class Verification:
    """What came out.

    Attributes:
        n_rolls: Rolls that were derived again.
        commitment: The commitment in the file, to be compared with the one that was shown before the game.
        differences: What does not agree, a sentence each; empty for a game that is as it was saved.
        is_over: Whether the game has ended.
    """

    n_rolls: int
    commitment: str
    differences: tuple[str, ...]
    is_over: bool

    @property
    def is_verified(self) -> bool:
        """Whether everything agrees."""
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {"verified": self.is_verified} | asdict(self)

    def __str__(self) -> str:
        if self.differences:
            return "\n".join(["NOT verified:", *(f"  {difference}" for difference in self.differences)])
        end = "" if self.is_over else " (the game is still going on)"
        return f"verified: all {self.n_rolls} rolls follow from the seed behind the commitment\n{self.commitment}{end}"


def verify(path: Path, commitment: str | None = None) -> Verification:
    """Check the game in a file; whatever is wrong with it is a difference.

    Args:
        path: The file.
        commitment: The commitment that was noted before the game, which the file must agree with.

    Raises:
        OSError: where the file can't be read.
    """
    try:
        content = read_json(path)
    except ValueError as error:
        return Verification(0, "", (str(error),), False)
    return verify_content(content, commitment)


def verify_content(content: dict[str, Any], commitment: str | None = None) -> Verification:
    """:func:`verify` for the content of a file."""
    found = content.get("commitment")
    shown = found if isinstance(found, str) else ""
    try:
        record = GameRecord.from_json(content)
        state = record.replay()
    except ValueError as error:
        return Verification(0, shown, (str(error),), False)
    if record.dice is None:
        return Verification(0, shown, ("the game has no seed, so its dice can't be derived",), state.is_over)
    differences = []
    if record.dice.commitment != found:
        differences.append(f"the SHA-256 of the seed is {record.dice.commitment}, but the commitment {found!r:.80}")
    if commitment is not None and record.dice.commitment != commitment.strip().lower():
        differences.append(f"the SHA-256 of the seed is {record.dice.commitment}, but {commitment!r:.80} was noted")
    differences += _other_rolls(record, record.dice)
    if content.get("seal") != seal(content, record.dice.seed):
        differences.append("a value was changed after the game was saved: its seal does not fit")
    return Verification(state.n_rolls, shown, tuple(differences), state.is_over)


def _other_rolls(record: GameRecord, dice: FairDice) -> list[str]:
    """The rolls in the record that the seed does not give."""
    differences, counter = [], 0
    tables, state = record.game.dice, TableState(record.game, [seat.name for seat in record.seats])
    for turn in record.turns:
        where = state.turn_name
        for i, written in enumerate(turn.rolls):
            held = turn.held[i - 1] if i else ()
            derived = tuple(sorted((*held, *dice.faces(counter, tables.n_dice - len(held), tables.n_faces))))
            counter += 1
            if derived != written:
                roll, said = (" ".join(map(str, faces)) for faces in (derived, written))
                differences.append(f"{where}, roll {i + 1}: the seed gives {roll}, the file says {said}")
        state.replay([turn])
    return differences
