"""The best scores so far, by ruleset, in the user's data folder.

Rulesets are told apart by the fingerprint of their rules, so house rules have a list of their own. The file is written
whole or not at all, and a damaged one is renamed and kept.

Public names: :class:`BestScores`, :class:`BestScore`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from yacht_env.files import write_atomically
from yacht_env.rules import Ruleset
from yacht_env.table.folders import data_folder
from yacht_env.table.reading import expect, expect_keys, parse
from yacht_env.table.record import now

__all__ = ["BestScore", "BestScores"]

_VERSION = 1
_KEPT = 10  # scores of a ruleset


@dataclass(frozen=True)
class BestScore:
    """One line of the list: who, how many points, when (ISO 8601), and the file of the game, if it was saved."""

    name: str
    total: int
    date: str
    game: str | None = None


class BestScores:
    """The lists of all rulesets.

    Args:
        path: The file; ``best-scores.json`` in the data folder by default.

    Attributes:
        path: The file.
        trouble: A sentence about what went wrong when the file was last read or written; ``None`` where nothing did.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or data_folder() / "best-scores.json"
        self.trouble: str | None = None
        self._may_write = True  # not over a file that could be neither read nor set aside
        self._lists = self._read()

    def best(self, ruleset: Ruleset) -> tuple[BestScore, ...]:
        """The scores of a ruleset, the highest first, and of equal ones the older first."""
        return self._lists.get(ruleset.fingerprint, ("", ()))[1]

    def rulesets(self) -> dict[str, tuple[BestScore, ...]]:
        """All lists that have a score, by name of the ruleset; equal names are told apart by a piece of the fingerprint."""
        lists: dict[str, tuple[BestScore, ...]] = {}
        for fingerprint, (name, scores) in self._lists.items():
            lists[f"{name} ({fingerprint[:8]})" if name in lists else name] = scores
        return lists

    def add(self, ruleset: Ruleset, name: str, total: int, *, game: Path | None = None) -> int | None:
        """Enter a score, and write the file.

        Args:
            ruleset: The rules, house rules included.
            name: Who.
            total: Points.
            game: The file of the game.

        Returns:
            Its place in the list, from 1; ``None`` where it is not among the best. See :attr:`trouble` for whether it
            could be written.
        """
        self.trouble = None
        self._lists = self._read() or self._lists  # another game may have entered a score since
        score = BestScore(name, total, now(), None if game is None else str(game))
        ranked = sorted((*self.best(ruleset), score), key=lambda one: -one.total)[:_KEPT]
        place = next((i for i, one in enumerate(ranked, 1) if one is score), None)
        if place is not None:
            self._lists[ruleset.fingerprint] = (ruleset.name, tuple(ranked))
            self._write()
        return place

    def _read(self) -> dict[str, tuple[str, tuple[BestScore, ...]]]:
        self._may_write = True
        try:
            return _from_json(parse(self.path.read_bytes(), "the file"))
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._may_write = False
            self.trouble = f"the best scores in {self.path} can't be read ({error.strerror or error})"
        except ValueError as error:
            self.trouble = f"the best scores in {self.path} are damaged ({error})" + self._set_aside()
        return {}

    def _set_aside(self) -> str:
        kept, n = self.path.with_suffix(".damaged.json"), 1
        while kept.exists():
            n += 1
            kept = self.path.with_suffix(f".damaged-{n}.json")
        try:
            self.path.rename(kept)
        except OSError as error:
            self._may_write = False
            return f"; the file can't be set aside ({error.strerror or error})"
        return f"; the file is kept as {kept.name}"

    def _write(self) -> None:
        if not self._may_write:
            return
        try:
            write_atomically(self.path, json.dumps(_to_json(self._lists), indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            self.trouble = f"the best scores can't be saved in {self.path} ({error.strerror or error})"


def _to_json(lists: dict[str, tuple[str, tuple[BestScore, ...]]]) -> dict[str, Any]:
    rulesets = {
        fingerprint: {"ruleset": name, "scores": [asdict(score) for score in scores]}
        for fingerprint, (name, scores) in lists.items()
    }
    return {"version": _VERSION, "rulesets": rulesets}


def _from_json(content: dict[str, Any]) -> dict[str, tuple[str, tuple[BestScore, ...]]]:
    if content.get("version") != _VERSION:
        raise ValueError(f"version {content.get('version')!r:.80}; this program reads {_VERSION}")
    lists = {}
    for fingerprint, value in expect(content.get("rulesets"), dict, "rulesets").items():
        entry = expect(value, dict, "each ruleset")
        scores = tuple(_score(score) for score in expect(entry.get("scores"), list, "scores"))
        lists[fingerprint] = (expect(entry.get("ruleset"), str, "ruleset"), scores)
    return lists


def _score(value: Any) -> BestScore:
    score = expect(value, dict, "each score")
    expect_keys(score, ("name", "total", "date", "game"), "a score")
    game = score.get("game")
    return BestScore(
        expect(score.get("name"), str, "name"),
        expect(score.get("total"), int, "total"),
        expect(score.get("date"), str, "date"),
        game if game is None else expect(game, str, "game"),
    )
