"""Fair dice: the scheme is what docs/fair-dice.md says, and no face is favoured."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

from yacht_env.table.fair_dice import MOST_WORD, FairDice

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "fair-dice.md").read_text(encoding="utf-8")
SEED = bytes(range(32))


def chi_square(counts):
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


def many_dice(n_rolls, n_dice=5):
    dice = FairDice(hashlib.sha256(b"the seed of this test").digest(), "word")
    return np.array([dice.faces(counter, n_dice) for counter in range(n_rolls)])


def test_the_test_vector_of_the_page():
    dice = FairDice(SEED, "mañana")
    assert f"`{dice.commitment}`" in PAGE
    rows = re.findall(r"^\| (\d+) \| ([1-6 ]+) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 5
    for counter, faces in rows:
        assert dice.faces(int(counter), 5) == tuple(map(int, faces.split()))


def test_the_code_of_the_page_does_the_same():
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1)
    assert code.count("\n") <= 20
    scheme = {}
    exec(code, scheme)
    rng = np.random.default_rng(0)
    for counter in range(500):
        dice = FairDice(rng.bytes(32), "".join(rng.choice(list("aß:0骰 "), 5)))
        n_dice, n_faces = int(rng.integers(0, 80)), int(rng.choice([2, 6, 8, 20]))
        assert dice.commitment == scheme["commitment"](dice.seed)
        assert dice.faces(counter, n_dice, n_faces) == tuple(
            scheme["dice"](dice.seed, dice.word, counter, n_dice, n_faces)
        )


def test_bytes_that_would_favour_a_face_are_left_out():
    import hmac

    first = list(hmac.digest(SEED, "4:0:mañana".encode(), "sha256"))[:6]
    assert first == [5, 192, 83, 252, 90, 165]
    assert FairDice(SEED, "mañana").faces(4, 5) == (6, 1, 6, 1, 4)


def test_seed_word_and_counter_all_matter_and_the_number_of_dice_does_not():
    dice = FairDice(SEED, "a")
    assert dice.faces(0, 40) != dice.with_word("b").faces(0, 40)
    assert dice.faces(0, 40) != dice.faces(1, 40)
    assert dice.faces(0, 40) != FairDice(SEED[::-1], "a").faces(0, 40)
    assert dice.faces(7, 40)[:3] == dice.faces(7, 3)
    assert dice.with_word("b").commitment == dice.commitment == hashlib.sha256(SEED).hexdigest()


def test_fresh_dice_have_fresh_seeds_and_do_not_show_them():
    first, second = FairDice.new("w"), FairDice.new("w")
    assert first.seed != second.seed and first.word == "w"
    assert first.seed.hex() not in repr(first)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FairDice(b"short"), "the seed has 5 bytes; expected 32"),
        (lambda: FairDice(SEED, "w" * (MOST_WORD + 1)), "the word has 201 characters"),
        (lambda: FairDice(SEED, "\ud800"), "half a character"),
        (lambda: FairDice(SEED).faces(-1, 5), "must be 0 or more, got -1"),
        (lambda: FairDice(SEED).faces(0, 5, 0), "n_faces must be 1 to 255, got 0"),
    ],
)
def test_what_no_dice_can_do_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_faces_are_equally_likely():
    faces = many_dice(20_000)
    assert chi_square(np.bincount(faces.ravel(), minlength=7)[1:]) < 20.5  # 5 degrees of freedom, one in a thousand


@pytest.mark.slow
def test_ten_million_dice_pass_a_chi_square_test():
    faces = many_dice(2_000_000)
    assert faces.size == 10_000_000
    for place in range(5):
        assert chi_square(np.bincount(faces[:, place], minlength=7)[1:]) < 24  # 5 degrees of freedom, 1 in 4,000
    assert chi_square(np.bincount(faces.ravel(), minlength=7)[1:]) < 20.5
    ordered = (faces - 1) @ 6 ** np.arange(5)
    counts = np.bincount(ordered, minlength=6**5)
    assert abs(chi_square(counts) - (6**5 - 1)) < 4 * (2 * (6**5 - 1)) ** 0.5  # all ways that five dice can fall
