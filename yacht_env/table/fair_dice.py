"""Dice that anyone can check: fixed by a secret seed before the game, and by a word that the player adds to it.

The seed is 32 random bytes. Its SHA-256, the *commitment*, is shown before the player chooses a word; after that neither
side can change the dice. Roll number ``counter`` (0, 1, 2 ... through the whole game) reads its dice from the bytes of

    HMAC-SHA-256(key=seed, message="counter:block:word")        block = 0, then 1, 2 ... where more bytes are needed

and a byte ``x`` below 252 is the face ``x % 6 + 1``. The other bytes are left out, so all faces are equally likely:
docs/fair-dice.md is the whole scheme, with a test vector.

Public names: :class:`FairDice`, :data:`MOST_WORD`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field, replace
from functools import lru_cache

from yacht_env.rules import N_FACES

__all__ = ["MOST_WORD", "FairDice"]

MOST_WORD = 200
"""Characters that a player's word may have."""

_SEED_BYTES = 32
_BYTE_VALUES = 256


@dataclass(frozen=True)
class FairDice:
    """The dice of one game.

    Attributes:
        seed: The secret, 32 bytes.
        word: The player's part, any text of up to :data:`MOST_WORD` characters.

    Raises:
        ValueError: for a seed of another length, or a word that is too long or can't be written as UTF-8.
    """

    seed: bytes = field(repr=False)
    word: str = ""

    def __post_init__(self) -> None:
        if len(self.seed) != _SEED_BYTES:
            raise ValueError(f"the seed has {len(self.seed)} bytes; expected {_SEED_BYTES}")
        if len(self.word) > MOST_WORD:
            raise ValueError(f"the word has {len(self.word)} characters; expected {MOST_WORD} at most")
        try:
            self.word.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"the word {self.word!r} holds half a character") from error

    @classmethod
    def new(cls, word: str = "") -> FairDice:
        """Dice of a fresh secret seed, from the operating system's random numbers."""
        return cls(secrets.token_bytes(_SEED_BYTES), word)

    def with_word(self, word: str) -> FairDice:
        """The same secret with another word: what the player adds once the commitment has been shown."""
        return replace(self, word=word)

    @property
    def commitment(self) -> str:
        """SHA-256 of the seed, 64 hex digits: to be shown before the game, and before the player's word is known."""
        return hashlib.sha256(self.seed).hexdigest()

    def faces(self, counter: int, n_dice: int, n_faces: int = N_FACES) -> tuple[int, ...]:
        """The faces of ``n_dice`` dice in roll number ``counter``, in the order in which they fall.

        Fewer dice of the same roll are the first of these, so what a player holds has no influence on the others.

        Raises:
            ValueError: for a negative counter or number of dice, or a number of faces that a byte can't hold.
        """
        if counter < 0 or n_dice < 0:
            raise ValueError(f"counter and n_dice must be 0 or more, got {counter} and {n_dice}")
        face_of_byte, rejected = _face_tables(n_faces)
        fallen, block = b"", 0
        while len(fallen) < n_dice:
            message = f"{counter}:{block}:{self.word}".encode()
            fallen += hmac.digest(self.seed, message, "sha256").translate(face_of_byte, rejected)
            block += 1
        return tuple(fallen[:n_dice])


@lru_cache
def _face_tables(n_faces: int) -> tuple[bytes, bytes]:
    """The face of every byte, and the bytes that are left out so that all faces have equally many."""
    if not 1 <= n_faces < _BYTE_VALUES:
        raise ValueError(f"n_faces must be 1 to {_BYTE_VALUES - 1}, got {n_faces}")
    fair = _BYTE_VALUES - _BYTE_VALUES % n_faces
    return bytes(value % n_faces + 1 for value in range(_BYTE_VALUES)), bytes(range(fair, _BYTE_VALUES))
