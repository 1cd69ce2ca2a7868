"""Pictures of a table: text with ANSI colours, an RGB array, and a window.

The three render modes draw one :class:`TableView`, plain values that any environment can fill in, so nothing here knows
a game. The card is laid out as on paper: the left column takes as many boxes as there are faces (the number boxes, on
the usual cards) with the upper total and its bonus below them, the right column takes the rest.

pygame is imported only when a picture is drawn. :func:`draw_rgb` uses its surfaces and its bundled font, never a
display, so it works on machines without a screen and gives the same pixels for the same view.

Public names: :class:`TableView`, :func:`draw_ansi`, :func:`draw_rgb`, :class:`Window`, :func:`die_lines`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from yacht_env.extras import MissingExtraError, needs_extra

if TYPE_CHECKING:
    import pygame

__all__ = ["TableView", "Window", "die_lines", "draw_ansi", "draw_rgb"]

Color: TypeAlias = tuple[int, int, int]  # red, green and blue, 0 to 255

_PIPS = {  # where the pips of a face lie, by row; faces that are not here are drawn as a numeral
    1: ("   ", " o ", "   "),
    2: ("o  ", "   ", "  o"),
    3: ("o  ", " o ", "  o"),
    4: ("o o", "   ", "o o"),
    5: ("o o", " o ", "o o"),
    6: ("o o", "o o", "o o"),
}
_LONGEST = 22  # characters of a name that fit into a column of either picture


@dataclass(frozen=True)
class TableView:
    """Everything that a picture shows, as plain Python values.

    Attributes:
        title: Name of the ruleset.
        box_names: Names of the boxes in the order of the card, length ``B``.
        dice: Faces on the table, ascending; none before the first roll of a turn, where a person rolls it.
        held: Which of these dice the last hold kept, same length as ``dice``; all ``False`` where there was none.
        rolls_left: Rolls left in this turn.
        turn: Number of the current turn, from 1; ``B`` once the game is over.
        scores: Points that each filled box holds, without the upper bonus; ``None`` while it is open; length ``B``.
        options: Points that each open box would bring now, with any bonus that it earns; ``None`` where it may not be
            filled; length ``B``.
        total: Points of the game so far, with every bonus.
        upper_total: Points in the number boxes; ``None`` without an upper bonus, as are the next two.
        upper_threshold: Upper total that earns the bonus.
        upper_bonus: Points of the bonus.
        n_faces: Faces of a die.
    """

    title: str
    box_names: tuple[str, ...]
    dice: tuple[int, ...]
    held: tuple[bool, ...]
    rolls_left: int
    turn: int
    scores: tuple[int | None, ...]
    options: tuple[int | None, ...]
    total: int
    upper_total: int | None = None
    upper_threshold: int | None = None
    upper_bonus: int | None = None
    n_faces: int = 6

    @property
    def is_over(self) -> bool:
        """Whether every box is filled."""
        return None not in self.scores


class _Row(NamedTuple):
    name: str
    value: str
    kind: str  # "filled", "scores", "zero" or "closed" for an open box, "upper" below the number boxes


def _row(name: str, score: int | None, option: int | None) -> _Row:
    name = _clip(name)
    if score is not None:
        return _Row(name, str(score), "filled")
    if option is None:
        return _Row(name, "-", "closed")
    return _Row(name, f"+{option}", "scores") if option else _Row(name, "0", "zero")


def _columns(view: TableView) -> tuple[list[_Row], list[_Row]]:
    rows = [_row(*box) for box in zip(view.box_names, view.scores, view.options, strict=True)]
    left, right = rows[: view.n_faces], rows[view.n_faces :]
    if view.upper_total is not None and view.upper_threshold is not None and view.upper_bonus is not None:
        earned = view.upper_bonus if view.upper_total >= view.upper_threshold else 0
        left.append(_Row("Upper total", f"{view.upper_total} of {view.upper_threshold}", "upper"))
        left.append(_Row("Bonus", f"{earned} of {view.upper_bonus}", "upper"))
    return left, right


def _status(view: TableView) -> tuple[str, str, str]:
    """Turn, rolls left, and what may be done next."""
    turn = f"Turn {view.turn} of {len(view.box_names)}"
    if view.is_over:
        return turn, "Game over", f"Game over: {view.total} points"
    rolls = f"{view.rolls_left or 'No'} roll{'' if view.rolls_left == 1 else 's'} left"
    if not view.dice:
        return turn, rolls, "Roll the dice"
    return turn, rolls, "Hold dice and roll the others, or fill a box" if view.rolls_left else "Fill a box"


def _clip(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


# ---------------------------------------------------------------------------------------------------------------- text

_BOLD, _DIM, _GREEN, _YELLOW, _CYAN = "1", "2", "1;32", "1;33", "36"
_ROW_STYLES = {"filled": "", "scores": _GREEN, "zero": _DIM, "closed": _DIM, "upper": _CYAN}


def draw_ansi(view: TableView) -> str:
    """The table as lines of text with ANSI colours, at most 80 columns wide for up to seven dice.

    A card shows what each box holds and what it would score now, in two columns of numbers, so that the text reads as
    well without the colours. Characters are Unicode (box drawing); the text ends with a line break.
    """
    turn, rolls, hint = _status(view)
    head = [_style(_clip(view.title), _BOLD), turn, rolls, _style(f"Total {view.total}", _BOLD)]
    lines = ["   ".join(head), "", *_dice_lines(view), "", *_card_lines(view), "", hint]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _style(text: str, codes: str) -> str:
    inked = text.rstrip()  # spaces stay outside the codes, so that the ends of lines can be stripped
    return f"\x1b[{codes}m{inked}\x1b[0m{text[len(inked) :]}" if codes and inked else text


def _dice_lines(view: TableView) -> list[str]:
    if not view.dice:
        return []
    inner = zip(*map(die_lines, view.dice), strict=True)  # the dice side by side, line by line
    n_dice = len(view.dice)
    rows = [
        ("", ["┌───────┐"] * n_dice),
        *(("", [f"│{part}│" for part in parts]) for parts in inner),
        ("", ["└───────┘"] * n_dice),
        ("dice", [f"{face:^9}" for face in view.dice]),
        ("key", [f"{key:^9}" for key in range(1, n_dice + 1)]),
        ("", [f"{'held' if held else '':^9}" for held in view.held]),
    ]
    styles = [_YELLOW if held else "" for held in view.held]
    return [f"{label:<5}" + " ".join(map(_style, parts, styles)) for label, parts in rows]


def die_lines(face: int) -> list[str]:
    """The inside of a die as three lines of seven characters: its pips, or a numeral where a face has none."""
    if face not in _PIPS:
        return [" " * 7, f"{face:^7}", " " * 7]
    return [" " + " ".join(row).replace("o", "●") + " " for row in _PIPS[face]]


def _card_lines(view: TableView) -> list[str]:
    left, right = _columns(view)
    width = max(len(row.name) for row in left + right)
    head = f"{'':<{width}}{'holds':>6}{'now':>6}"
    columns = [[_style(head, _DIM), *(_row_text(row, width) for row in rows)] for rows in (left, right) if rows]
    height = max(map(len, columns))
    for column in columns:
        column += [" " * len(head)] * (height - len(column))
    return ["   │   ".join(cells) for cells in zip(*columns, strict=True)]


def _row_text(row: _Row, width: int) -> str:
    numbers = f"{row.value:>6}{'':6}" if row.kind == "filled" else f"{row.value:>12}"
    return _style(f"{row.name:<{width}}{numbers}", _ROW_STYLES[row.kind])


# ------------------------------------------------------------------------------------------------------------- picture

_SMOOTH = 2  # shapes are drawn this many times larger and then scaled down, which smooths their edges
_WIDTH, _MARGIN, _CARD_TOP, _ROW_HEIGHT = 800, 28, 258, 34  # pixels, as are all lengths below
_FELT, _FELT_DARK, _SHADOW, _MINT = (32, 96, 72), (17, 56, 42), (23, 74, 55), (176, 210, 192)
_PAPER, _STRIPE, _LINE = (252, 249, 241), (244, 239, 226), (214, 205, 184)
_INK, _FADED, _SUM = (36, 42, 48), (150, 143, 128), (28, 84, 132)
_IVORY, _GOLD, _WHITE = (255, 253, 246), (255, 200, 66), (255, 255, 255)
_PILLS = {"scores": (30, 142, 88), "zero": (230, 223, 206)}  # behind the numbers of the boxes that may be filled now


def draw_rgb(view: TableView) -> npt.NDArray[np.uint8]:
    """The table as a picture, a fresh array of shape ``(H, W, 3)``, uint8; its size depends on the card alone.

    Raises:
        gymnasium.error.DependencyNotInstalled: where pygame is missing.
    """
    surface = _picture(view)
    import pygame

    columns_first: npt.NDArray[np.uint8] = pygame.surfarray.array3d(surface)  # (W, H, 3)
    return np.ascontiguousarray(columns_first.swapaxes(0, 1))


class Window:
    """A window that shows the same picture; it opens when something is first shown.

    pygame has one window a process, so several of these take turns in it.
    """

    def __init__(self) -> None:
        self._clock: pygame.time.Clock | None = None  # None while the window is closed

    def show(self, view: TableView, fps: int) -> None:
        """Draws the table, and waits so long that at most ``fps`` pictures a second are shown.

        Raises:
            gymnasium.error.DependencyNotInstalled: where pygame is missing.
        """
        picture = _picture(view)
        import pygame

        pygame.display.init()
        screen = pygame.display.get_surface()  # asked for anew: somebody else may have closed or resized it
        if screen is None or screen.get_size() != picture.get_size():
            screen = pygame.display.set_mode(picture.get_size())
            pygame.display.set_caption(view.title)
        self._clock = self._clock or pygame.time.Clock()
        pygame.event.pump()  # the desktop calls a window that never does this unresponsive
        screen.blit(picture, (0, 0))
        pygame.display.flip()
        self._clock.tick(fps)

    def close(self) -> None:
        """Closes the window where one is open; may be called again, and a later ``show`` opens a new one."""
        if self._clock is None:
            return
        import pygame

        pygame.display.quit()
        self._clock = None


def _require_pygame() -> None:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it would greet on the standard output
    try:
        with needs_extra("render"):
            import pygame  # noqa: F401
    except MissingExtraError as error:
        raise DependencyNotInstalled(str(error)) from error  # what Gymnasium's environments raise


class _Canvas:
    """A surface with smooth shapes and text; it takes pixels of the finished picture."""

    def __init__(self, height: int) -> None:
        import pygame

        pygame.font.init()
        # The depth is named, so that an open display has no say in the format.
        self._surface = pygame.Surface((_WIDTH * _SMOOTH, height * _SMOOTH), depth=32)
        self._fonts: dict[int, pygame.font.Font] = {}  # not kept for longer: pygame.quit() would make them unusable

    def panel(self, x: float, y: float, width: float, height: float, color: Color, radius: int = 0) -> None:
        """A filled rectangle with round corners."""
        import pygame

        rect = pygame.Rect(*(round(length * _SMOOTH) for length in (x, y, width, height)))
        pygame.draw.rect(self._surface, color, rect, border_radius=radius * _SMOOTH)

    def dot(self, x: float, y: float, radius: float, color: Color) -> None:
        """A filled circle."""
        import pygame

        pygame.draw.circle(self._surface, color, (x * _SMOOTH, y * _SMOOTH), radius * _SMOOTH)

    def text(self, text: str, x: float, y: float, size: int, color: Color, anchor: float = 0) -> None:
        """Text around the height ``y``; ``x`` is its left end, its middle for anchor 0.5, its right end for 1."""
        import pygame

        if size not in self._fonts:
            self._fonts[size] = pygame.font.Font(None, size * _SMOOTH)  # None: the font that pygame ships
        image = self._fonts[size].render(text, True, color)
        width, height = image.get_size()
        self._surface.blit(image, (round(x * _SMOOTH - anchor * width), round(y * _SMOOTH - height / 2)))

    def finished(self) -> pygame.Surface:
        """The picture at its final size."""
        import pygame

        width, height = self._surface.get_size()
        return pygame.transform.smoothscale(self._surface, (width // _SMOOTH, height // _SMOOTH))


def _picture(view: TableView) -> pygame.Surface:
    _require_pygame()
    columns = [rows for rows in _columns(view) if rows]
    card_height = max(map(len, columns)) * _ROW_HEIGHT + 16
    canvas = _Canvas(_CARD_TOP + card_height + _MARGIN)
    canvas.panel(0, 0, _WIDTH, _CARD_TOP + card_height + _MARGIN, _FELT)
    _draw_header(canvas, view)
    _draw_dice(canvas, view)
    gap = 16
    width = (_WIDTH - 2 * _MARGIN - (len(columns) - 1) * gap) / len(columns)
    for i, rows in enumerate(columns):
        x = _MARGIN + i * (width + gap)
        canvas.panel(x + 2, _CARD_TOP + 4, width, card_height, _SHADOW, 12)
        canvas.panel(x, _CARD_TOP, width, card_height, _PAPER, 12)
        for k, row in enumerate(rows):
            _draw_row(canvas, row, x, _CARD_TOP + 8 + k * _ROW_HEIGHT, width, striped=k % 2 == 1)
    return canvas.finished()


def _draw_header(canvas: _Canvas, view: TableView) -> None:
    turn, rolls, hint = _status(view)
    canvas.panel(0, 0, _WIDTH, 56, _FELT_DARK)
    canvas.text(_clip(view.title), _MARGIN, 28, 30, _WHITE)
    canvas.text(turn, 380, 28, 21, _MINT, 0.5)
    canvas.text(rolls, 535, 28, 21, _GOLD, 0.5)
    canvas.text(f"Total {view.total}", _WIDTH - _MARGIN, 28, 30, _WHITE, 1)
    canvas.text(hint, _WIDTH / 2, 232, 19, _MINT, 0.5)


def _draw_dice(canvas: _Canvas, view: TableView) -> None:
    if not view.dice:
        return
    pitch = min(124, (_WIDTH - 2 * _MARGIN) / len(view.dice))
    size = pitch * 0.72
    for i, (face, held) in enumerate(zip(view.dice, view.held, strict=True)):
        center = _WIDTH / 2 + (i - (len(view.dice) - 1) / 2) * pitch
        top = 76 if held else 88  # a held die is lifted
        _draw_die(canvas, face, center - size / 2, top, size, held)
        canvas.text(f"{i + 1} held" if held else str(i + 1), center, 201, 20, _GOLD if held else _MINT, 0.5)


def _draw_die(canvas: _Canvas, face: int, x: float, y: float, size: float, held: bool) -> None:
    corner = round(size * 0.18)
    canvas.panel(x + 3, y + 6, size, size, _SHADOW, corner)
    if held:
        canvas.panel(x - 5, y - 5, size + 10, size + 10, _GOLD, corner + 5)
    canvas.panel(x, y, size, size, _LINE, corner)
    canvas.panel(x, y, size, size - 4, _IVORY, corner)
    if face not in _PIPS:
        canvas.text(str(face), x + size / 2, y + size / 2, round(size * 0.7), _INK, 0.5)
        return
    for i, row in enumerate(_PIPS[face]):
        for k, pip in enumerate(row):
            if pip != " ":
                canvas.dot(x + size * (0.25 + k / 4), y - 2 + size * (0.25 + i / 4), size * 0.09, _INK)


def _draw_row(canvas: _Canvas, row: _Row, x: float, y: float, width: float, striped: bool) -> None:
    middle, right = y + _ROW_HEIGHT / 2, x + width - 16
    if striped:
        canvas.panel(x, y, width, _ROW_HEIGHT, _STRIPE)
    canvas.text(row.name, x + 16, middle, 22, _SUM if row.kind == "upper" else _INK)
    colors = {"filled": _INK, "upper": _SUM, "scores": _WHITE}
    if row.kind in _PILLS:
        canvas.panel(right - 58, y + 4, 66, _ROW_HEIGHT - 8, _PILLS[row.kind], 13)
        canvas.text(row.value, right - 25, middle, 22, colors.get(row.kind, _FADED), 0.5)
    else:
        canvas.text(row.value, right, middle, 22, colors.get(row.kind, _FADED), 1)
