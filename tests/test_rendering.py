"""The pictures of a table: what the text says, what the picture shows, and what happens without pygame."""

from __future__ import annotations

import dataclasses
import itertools
import re
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

from yacht_env.rendering import TableView, Window, draw_ansi, draw_rgb
from yacht_env.rules import RULESETS, Ruleset, get_ruleset

DICE = (2, 3, 3, 5, 6)
NONE_HELD = (False,) * len(DICE)


def view_of(name: str = "yacht", **changes: Any) -> TableView:
    """A table after two filled boxes, the first and the last; every other box would score 100 plus its position."""
    ruleset: Ruleset = get_ruleset(name)
    n_open = ruleset.n_boxes - 2
    bonus = ruleset.upper_bonus
    view = TableView(
        title=ruleset.name,
        box_names=ruleset.box_names,
        dice=DICE,
        held=NONE_HELD,
        rolls_left=2,
        turn=3,
        scores=(4, *[None] * n_open, 50),
        options=(None, *range(101, 101 + n_open), None),
        total=54,
        upper_total=4 if bonus else None,
        upper_threshold=bonus.threshold if bonus else None,
        upper_bonus=bonus.points if bonus else None,
    )
    return dataclasses.replace(view, **changes)


def finished(name: str = "yacht") -> TableView:
    n_boxes = get_ruleset(name).n_boxes
    return view_of(name, scores=(7,) * n_boxes, options=(None,) * n_boxes, turn=n_boxes, rolls_left=0, total=777)


def stripped(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def line_of(view: TableView, name: str) -> str:
    """The half of the line that tells about one box, or about the upper bonus."""
    cells = [cell for line in stripped(draw_ansi(view)).splitlines() for cell in line.split("│")]
    return next(cell.strip() for cell in cells if cell.strip().startswith(name))


@pytest.fixture
def pygame_dummy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with pygame and without a screen."""
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


needs_pygame = pytest.mark.usefixtures("pygame_dummy")
all_rulesets = pytest.mark.parametrize("name", RULESETS)


def test_a_game_is_over_once_every_box_is_filled() -> None:
    assert not view_of().is_over
    assert finished().is_over


# ---------------------------------------------------------------------------------------------------------------- text


@all_rulesets
def test_text_shows_every_box_with_what_it_holds_or_would_score(name: str) -> None:
    view = view_of(name)
    for box, score, option in zip(view.box_names, view.scores, view.options, strict=True):
        points = str(score) if score is not None else f"+{option}"
        assert line_of(view, box).split() == [*box.split(), points]


@all_rulesets
def test_text_fits_into_80_columns_and_ends_no_line_with_spaces(name: str) -> None:
    for view in (view_of(name, held=(True,) * len(DICE)), finished(name)):
        lines = stripped(draw_ansi(view)).splitlines()
        assert max(map(len, lines)) <= 80
        assert lines == [line.rstrip() for line in lines]


def test_text_names_the_ruleset_the_turn_the_rolls_left_and_the_total() -> None:
    head = stripped(draw_ansi(view_of())).splitlines()[0]
    assert head.split("   ") == ["yacht", "Turn 3 of 12", "2 rolls left", "Total 54"]


@pytest.mark.parametrize(("rolls_left", "words"), [(0, "No rolls left"), (1, "1 roll left"), (2, "2 rolls left")])
def test_text_counts_the_rolls_left(rolls_left: int, words: str) -> None:
    assert words in stripped(draw_ansi(view_of(rolls_left=rolls_left)))


def test_text_of_a_finished_game_says_so_with_the_total() -> None:
    text = stripped(draw_ansi(finished()))
    assert "Game over: 777 points" in text
    assert "left" not in text


def test_text_shows_the_dice_as_pips_and_figures_above_their_keys() -> None:
    lines = stripped(draw_ansi(view_of())).splitlines()
    assert next(line for line in lines if line.startswith("dice")).split() == ["dice", *map(str, DICE)]
    assert next(line for line in lines if line.startswith("key")).split() == ["key", "1", "2", "3", "4", "5"]
    assert "\n".join(lines).count("●") == sum(DICE)


def test_text_marks_the_held_dice_and_no_others() -> None:
    assert "held" not in stripped(draw_ansi(view_of()))
    lines = stripped(draw_ansi(view_of(held=(False, True, True, False, False)))).splitlines()
    keys = next(line for line in lines if line.startswith("key"))
    marks = next(line for line in lines if "held" in line)
    assert marks.split() == ["held", "held"]
    assert marks.index("held") < keys.index("2") < keys.index("3") < marks.rindex("held") + len("held")
    assert keys.index("1") < marks.index("held")


def test_only_boxes_that_score_now_stand_out_in_the_text() -> None:
    n_boxes = len(view_of().box_names)
    text = draw_ansi(view_of(scores=(None,) * n_boxes, options=(0, 8, None, *[0] * (n_boxes - 3))))
    assert re.findall(r"\x1b\[1;32m(\w+) +\+8\x1b\[0m", text) == ["Twos"]
    assert text.count("\x1b[1;32m") == 1


def test_an_open_box_that_may_not_be_filled_shows_no_points() -> None:
    n_boxes = len(view_of().box_names)
    view = view_of(scores=(None,) * n_boxes, options=(None, 0, *[3] * (n_boxes - 2)))
    assert line_of(view, "Ones").split() == ["Ones", "-"]
    assert line_of(view, "Twos").split() == ["Twos", "0"]


def test_a_box_filled_with_zero_differs_from_an_open_one_that_would_score_zero() -> None:
    n_boxes = len(view_of().box_names)
    view = view_of(scores=(0, *[None] * (n_boxes - 1)), options=(None, *[0] * (n_boxes - 1)))
    ones, twos = line_of(view, "Ones"), line_of(view, "Twos")
    assert ones.index("0") < twos.index("0")


def test_text_counts_the_upper_total_toward_the_bonus() -> None:
    assert "Upper total" not in draw_ansi(view_of("yacht"))
    assert line_of(view_of("yatzy"), "Upper total").endswith(" 4 of 63")
    assert line_of(view_of("yatzy", upper_total=62), "Bonus").endswith(" 0 of 50")
    assert line_of(view_of("yatzy", upper_total=63), "Bonus").endswith(" 50 of 50")


def test_other_dice_and_cards_can_be_drawn_as_text() -> None:
    view = TableView(
        "tiny", ("A", "B" * 60), (2, 7, 12), (True, False, False), 1, 1, (None, None), (1, 0), 0, n_faces=12
    )
    text = stripped(draw_ansi(view))
    assert {"2", "7", "12"} <= set(text.split())
    assert max(map(len, text.splitlines())) <= 80


# ------------------------------------------------------------------------------------------------------------- picture


@needs_pygame
@all_rulesets
def test_picture_is_rgb_and_its_size_depends_on_the_card_alone(name: str) -> None:
    shapes = {draw_rgb(view).shape for view in (view_of(name), view_of(name, dice=(1,) * len(DICE)), finished(name))}
    ((height, width, channels),) = shapes
    assert (width, channels) == (800, 3)
    assert 400 < height < 700
    assert draw_rgb(view_of(name)).dtype == np.uint8


@needs_pygame
def test_equal_tables_give_equal_pictures_in_fresh_arrays() -> None:
    first, second = draw_rgb(view_of()), draw_rgb(view_of())
    np.testing.assert_array_equal(first, second)
    first[:] = 0
    assert second.any()
    assert draw_rgb(view_of()).any()
    assert second.flags.c_contiguous
    assert second.flags.writeable


@needs_pygame
@pytest.mark.parametrize(
    "changes",
    [
        {"dice": (1, 3, 3, 5, 6)},
        {"held": (True, False, False, False, False)},
        {"rolls_left": 1},
        {"turn": 4},
        {"total": 55},
        {"title": "house rules"},
        {"scores": (3, *view_of().scores[1:])},
        {"options": (None, 7, *view_of().options[2:])},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_everything_that_changes_on_the_table_changes_the_picture(changes: dict[str, Any]) -> None:
    assert (draw_rgb(view_of()) != draw_rgb(view_of(**changes))).any()


@needs_pygame
def test_every_face_looks_different() -> None:
    pictures = {draw_rgb(view_of(dice=(face,), held=(False,), n_faces=9)).tobytes() for face in range(1, 10)}
    assert len(pictures) == 9


@needs_pygame
def test_held_dice_are_marked_where_they_lie() -> None:
    plain = draw_rgb(view_of()).astype(int)
    pictures = [draw_rgb(view_of(held=tuple(i == die for i in range(len(DICE))))) for die in range(len(DICE))]
    columns = [np.flatnonzero((picture != plain).any(axis=(0, 2))) for picture in pictures]
    for left, right in itertools.pairwise(columns):
        assert left.max() < right.min()
    gold = [(np.abs(picture - np.array([255, 200, 66])).sum(axis=2) < 10).sum() for picture in [plain, *pictures]]
    assert min(gold[1:]) > gold[0] + 500


@needs_pygame
def test_the_upper_bonus_is_part_of_the_picture() -> None:
    assert (draw_rgb(view_of("yatzy")) != draw_rgb(view_of("yatzy", upper_total=63))).any()


@needs_pygame
def test_a_picture_opens_no_display() -> None:
    code = (
        "import sys; from yacht_env import rendering as r; assert 'pygame' not in sys.modules\n"
        "view = r.TableView('tiny', ('A',), (1, 2), (False, True), 1, 1, (None,), (3,), 0)\n"
        "r.draw_ansi(view); assert 'pygame' not in sys.modules\n"
        "r.draw_rgb(view); import pygame; assert not pygame.display.get_init()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# -------------------------------------------------------------------------------------------------------------- window


@needs_pygame
def test_a_window_shows_the_picture_and_can_be_closed_and_reopened() -> None:
    import pygame

    window = Window()
    window.close()
    for view in (view_of(), view_of("yatzy"), finished()):
        window.show(view, fps=1000)
        screen = pygame.display.get_surface()
        assert screen is not None
        np.testing.assert_array_equal(pygame.surfarray.array3d(screen).swapaxes(0, 1), draw_rgb(view))
    window.close()
    window.close()
    assert not pygame.display.get_init()
    window.show(view_of(), fps=1000)
    assert pygame.display.get_init()
    window.close()


@needs_pygame
def test_a_window_outlives_somebody_else_quitting_pygame() -> None:
    import pygame

    window = Window()
    window.show(view_of(), fps=1000)
    pygame.quit()
    window.show(view_of(), fps=1000)
    window.close()


@needs_pygame
def test_a_window_keeps_to_its_pictures_a_second() -> None:
    window = Window()
    window.show(view_of(), fps=10)
    start = time.perf_counter()
    for _ in range(3):
        window.show(view_of(), fps=10)
    assert time.perf_counter() - start > 0.25
    window.close()


# ------------------------------------------------------------------------------------------------------ without pygame


def test_without_pygame_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    command = re.escape('pip install "yacht-env[render]"')
    with pytest.raises(DependencyNotInstalled, match=command):
        draw_rgb(view_of())
    with pytest.raises(DependencyNotInstalled, match=command):
        Window().show(view_of(), fps=30)


def test_without_pygame_text_is_still_drawn_and_a_window_that_never_opened_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    assert "Total 54" in draw_ansi(view_of())
    Window().close()
