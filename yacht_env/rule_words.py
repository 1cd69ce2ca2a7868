"""The rules in words, from the same data that the tables are built from.

Public names: :func:`box_words`, :func:`turn_words`, :func:`bonus_words`.
"""

from __future__ import annotations

from yacht_env.rules import N_DICE, ROLLS_PER_TURN, Anything, Box, FullHouse, Number, OfAKind, Pairs, Ruleset, Run

__all__ = ["bonus_words", "box_words", "turn_words"]

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven")
_FACES = ("ones", "twos", "threes", "fours", "fives", "sixes")


def box_words(box: Box) -> str:
    """What a box asks for and what it brings: ``four dice of one face: their sum``."""
    needed, matched = _pattern_words(box)
    if box.points == "matched":
        return f"{needed}: {matched}" if needed else matched
    brings = "the sum of all dice" if box.points == "sum" else f"{box.points} points"
    return f"{needed or 'any dice'}: {brings}"


def _pattern_words(box: Box) -> tuple[str, str]:
    """What the dice must show (``""`` for nothing), and the sum of the dice that make it."""
    pattern = box.pattern
    if isinstance(pattern, Number):
        return "", f"the sum of the {_face_name(pattern.face)}"
    if isinstance(pattern, OfAKind):
        n = _count(pattern.n)
        more = " or more" if box.points != "matched" and pattern.n < N_DICE else ""
        return f"{n}{more} dice of one face", f"the sum of these {n}"
    if isinstance(pattern, Pairs):
        return f"{_count(pattern.n)} pairs of different faces", f"the sum of these {_count(2 * pattern.n)} dice"
    if isinstance(pattern, FullHouse):
        also = ", or all dice of one face" if pattern.five_of_a_kind else ""
        return f"three dice of one face and two of another{also}", "the sum of all dice"
    if isinstance(pattern, Run):
        if pattern.start:
            return "-".join(map(str, range(pattern.start, pattern.start + pattern.length))), "the sum of these dice"
        return f"{_count(pattern.length)} faces in a row", "the sum of these dice"
    assert isinstance(pattern, Anything)
    return "", "the sum of all dice"


def turn_words() -> str:
    """How a turn goes."""
    return (
        f"Roll {_count(N_DICE)} dice up to {_count(ROLLS_PER_TURN)} times, holding any of them between the rolls; then fill "
        "one open box, with the points that the dice bring there or with 0. A game ends when all boxes are filled."
    )


def bonus_words(ruleset: Ruleset) -> tuple[str, ...]:
    """The upper bonus and the joker rule, a sentence or more each; nothing where a ruleset has neither."""
    words = []
    if bonus := ruleset.upper_bonus:
        words.append(f"Upper bonus: {bonus.threshold} points or more in the number boxes bring {bonus.points} more.")
    if joker := ruleset.joker:
        words.append(
            f"Joker: once {joker.box} is filled, {_count(N_DICE)} dice of one face must go into their number box; if "
            "that is filled, into any open lower box, which then scores as if its pattern were made; else as 0 into any "
            f"open number box. While {joker.box} holds its points, each of them brings {joker.extra_points} extra points."
        )
    return tuple(words)


def _count(n: int) -> str:
    return _COUNTS[n] if n < len(_COUNTS) else str(n)


def _face_name(face: int) -> str:
    return _FACES[face - 1] if face <= len(_FACES) else f"dice that show {face}"
