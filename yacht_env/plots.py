"""Plots of evaluations, as pictures and as SVG inside a page.

Public names: :func:`evaluation_plots`, :func:`inline_svg`, :func:`write_pictures`, :data:`Draw`.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from yacht_env.distribution import ScoreDistribution
from yacht_env.evaluation import Evaluation
from yacht_env.extras import needs_extra
from yacht_env.files import write_atomically
from yacht_env.game import Game, get_game
from yacht_env.report import sorted_by_score
from yacht_env.rules import Ruleset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Draw", "evaluation_plots", "inline_svg", "write_pictures"]

_COLOURS = ("#2f7fd1", "#d9772b", "#2c9a6b", "#a35bc4", "#c8506a", "#8a8f2a")  # readable on white and on black
_INK, _GRID = "#010203", "#040506"  # stand-ins, replaced by the page's own colours
_BIN = 5  # points; totals are shown in steps of this

Draw = Callable[["Axes"], None]
"""Draws one plot."""


def write_pictures(
    folder: Path, results: Sequence[Evaluation], ruleset: str | Ruleset, optimum: ScoreDistribution | None
) -> list[Path]:
    """Write the page's plots as PNG into a folder, which is made where it is missing; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (_, draw) in evaluation_plots(sorted_by_score(results), get_game(ruleset), optimum).items():
        picture = io.BytesIO()
        _draw_figure(draw, "black", "#cccccc").savefig(picture, format="png", dpi=200)
        write_atomically(folder / f"{name}.png", picture.getvalue())
        written.append(folder / f"{name}.png")
    return written


def evaluation_plots(
    results: Sequence[Evaluation], game: Game, optimum: ScoreDistribution | None
) -> dict[str, tuple[str, Draw]]:
    """Name, caption and drawing of each plot."""
    turns = [str(turn + 1) for turn in range(game.n_boxes)]
    rolls = ["first roll", "second roll", "last roll"]
    kinds = list(results[0].anatomy.by_kind)
    boxes = list(game.ruleset.box_names)
    bars: dict[str, tuple[str, list[str], Callable[[Evaluation], Sequence[float]]]] = {
        "gap-by-kind": ("Points a game lost by kind of decision.", kinds, lambda r: list(r.anatomy.by_kind.values())),
        "gap-by-roll": ("Points a game lost after each roll.", rolls, lambda r: r.anatomy.by_roll),
        "gap-by-turn": ("Points a game lost in each turn.", turns, lambda r: r.anatomy.by_turn),
        "gap-by-box": (
            "Points a game lost in turns that ended with each box.",
            boxes,
            lambda r: list(r.anatomy.by_box.values()),
        ),
    }
    plots: dict[str, tuple[str, Draw]] = {}
    if any(result.distribution is not None for result in results):
        caption = f"Chance of each total, in steps of {_BIN} points; the dashed line is perfect play."
        plots["distribution"] = (caption, partial(_draw_distributions, results, optimum))
        plots["at-least"] = ("Chance of a total of at least so many points.", partial(_draw_at_least, results, optimum))
    for name, (caption, labels, values) in bars.items():
        plots[name] = (caption, partial(_draw_bars, results, labels, values))
    return plots


def _draw_figure(draw: Draw, ink: str, grid: str) -> Figure:
    with needs_extra("report"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure

    colours: dict[Any, Any] = {
        "text.color": ink,
        "axes.labelcolor": ink,
        "xtick.color": ink,
        "ytick.color": ink,
        "axes.edgecolor": grid,
    }
    sizes: dict[Any, Any] = {
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "0",
    }
    with rc_context(colours | sizes | {"grid.color": grid, "legend.frameon": False}):
        figure = Figure(figsize=(4.6, 3.3), layout="constrained")
        figure.patch.set_alpha(0.0 if ink == _INK else 1.0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0.0)
        axes.grid(axis="y", linewidth=0.6)
        axes.set_axisbelow(True)
        draw(axes)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8)
        return figure


def inline_svg(draw: Draw) -> str:
    """A plot as inline SVG, in the page's own colours and type."""
    with needs_extra("report"):
        from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "0"}):
        _draw_figure(draw, _INK, _GRID).savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor").replace(_GRID, "var(--line)")
    prefix = f"p{zlib.crc32(svg.encode()):08x}-"  # several drawings share the page, and names must not clash
    return (
        svg.replace('id="', f'id="{prefix}').replace('href="#', f'href="#{prefix}').replace("url(#", f"url(#{prefix}")
    )


def _colour(i: int) -> str:
    return _COLOURS[i % len(_COLOURS)]


def _draw_distributions(results: Sequence[Evaluation], optimum: ScoreDistribution | None, axes: Axes) -> None:
    def binned(law: ScoreDistribution) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        padded = np.pad(law.probability, (0, -len(law.probability) % _BIN))
        return np.arange(0, len(padded), _BIN) + (_BIN - 1) / 2, padded.reshape(-1, _BIN).sum(axis=1)

    for i, result in enumerate(results):
        if result.distribution is not None:
            axes.plot(*binned(result.distribution), color=_colour(i), label=result.policy)
    if optimum is not None:
        axes.plot(*binned(optimum), color=axes.xaxis.label.get_color(), linestyle="--", linewidth=1.0, label="optimum")
    _percent(axes)
    axes.set_xlim(0, _shown_range(results, optimum))
    axes.set_xlabel("total of a game")


def _draw_at_least(results: Sequence[Evaluation], optimum: ScoreDistribution | None, axes: Axes) -> None:
    def at_least(law: ScoreDistribution) -> npt.NDArray[Any]:
        return np.cumsum(law.probability[::-1])[::-1]

    for i, result in enumerate(results):
        if result.distribution is not None:
            axes.plot(at_least(result.distribution), color=_colour(i), label=result.policy)
    if optimum is not None:
        axes.plot(at_least(optimum), color=axes.xaxis.label.get_color(), linestyle="--", linewidth=1.0, label="optimum")
    _percent(axes)
    axes.set_xlim(0, _shown_range(results, optimum))
    axes.set_xlabel("total of a game")


def _shown_range(results: Sequence[Evaluation], optimum: ScoreDistribution | None) -> int:
    laws = [result.distribution for result in results] + [optimum]
    return max(law.quantile(0.9995) for law in laws if law is not None)


def _percent(axes: Axes) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def _draw_bars(
    results: Sequence[Evaluation], labels: Sequence[str], values: Callable[[Evaluation], Sequence[float]], axes: Axes
) -> None:
    places, width = np.arange(len(labels)), 0.8 / len(results)
    many = len(labels) > 4
    for i, result in enumerate(results):
        shift = (i - (len(results) - 1) / 2) * width
        axes.bar(places + shift, values(result), width * 0.92, color=_colour(i), label=result.policy)
    long = many and max(map(len, labels)) > 3
    axes.set_xticks(
        places, labels, rotation=60 if long else 0, ha="right" if long else "center", fontsize=8 if long else 9
    )
    axes.set_ylabel("points a game")
    axes.margins(y=0.25)  # room for the legend
