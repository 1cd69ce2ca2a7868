"""A page that shows where policies lose points: one HTML file that needs nothing else.

Public names: :func:`report_page`, :func:`write_report`.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from yacht_env.anatomy import CostlyDecision
from yacht_env.distribution import ScoreDistribution
from yacht_env.evaluation import Evaluation
from yacht_env.files import write_atomically
from yacht_env.game import Game, get_game, rolls_left_text
from yacht_env.plots import evaluation_plots, inline_svg
from yacht_env.report import matches, sorted_by_score
from yacht_env.rules import Ruleset

__all__ = ["report_page", "write_report"]

_SHOWN = 10  # costliest decisions that are shown at once; the others unfold


def write_report(
    path: Path, results: Sequence[Evaluation], ruleset: str | Ruleset, optimum: ScoreDistribution | None
) -> None:
    """Write the page into a file.

    Args:
        path: The file.
        results: Evaluations on one ruleset.
        ruleset: That ruleset.
        optimum: The distribution of the total under optimal play; ``None`` leaves it out.

    Raises:
        MissingExtraError: without matplotlib.
        OSError: where the file can't be written.
    """
    write_atomically(path, report_page(results, ruleset, optimum))


def report_page(results: Sequence[Evaluation], ruleset: str | Ruleset, optimum: ScoreDistribution | None) -> str:
    """The page. Arguments as for :func:`write_report`.

    Every figure stands in a ``<data>`` element, whose value is the unrounded number of :meth:`Evaluation.to_dict`, and
    whose ``data-of`` says which: the policy, then the keys.
    """
    game, results = get_game(ruleset), sorted_by_score(results)
    plots = [
        f"<figure>{inline_svg(draw)}<figcaption>{html.escape(caption)}</figcaption></figure>"
        for caption, draw in evaluation_plots(results, game, optimum).values()
    ]
    body = [
        f"<h1>Where the points go: <code>{html.escape(game.ruleset.name)}</code></h1>",
        f"<p>Measured against perfect play, which averages {results[0].optimum:.3f} points. {_HOW_TO_READ}</p>",
        _table(results),
        "<h2>Pictures</h2>",
        f'<div class="plots">{"".join(plots)}</div>',
        "<h2>Box by box</h2>",
        _ABOUT_BOXES,
        *(_boxes(result) for result in results),
        *_matches(results),
        "<h2>The costliest decisions</h2>",
        _ABOUT_DECISIONS,
        *(_decisions(result, game) for result in results),
    ]
    title = f"Where the points go: {html.escape(game.ruleset.name)}"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{_STYLE}</style>\n</head>\n'
        f"<body>\n{_DICE_SYMBOLS}\n<main>\n" + "\n".join(body) + "\n</main>\n</body>\n</html>\n"
    )


# ----------------------------------------------------------------------------------------------------------------- text

_HOW_TO_READ = (
    "The <em>gap</em> is what a policy falls short of that, in points a game. It is the sum of what its decisions lose, so "
    "it can be taken apart exactly: by the kind of decision, by the roll that the decision follows, by turn, and by the box "
    "that the turn ended with. <em>Agreement</em> is the share of the decisions in play that are as good as the best."
)
_ABOUT_BOXES = (
    "<p>Points that each box brings to a game on average, how often it is filled with a zero, in which turn it is filled "
    "on average, and what the turns that end with it lose against perfect play.</p>"
)
_ABOUT_DECISIONS = (
    "<p>Points that a decision costs a game: how often it is met, times what it loses. "
    "The dice are those on the table.</p>"
)
_ABOUT_MATCHES = (
    "<p>How often the row's policy wins, draws and loses against the column's, "
    "when each plays a game with dice of its own.</p>"
)


def _data(result: Evaluation, path: str, value: float, text: str) -> str:
    source = html.escape(f"{result.policy}/{path}")
    return f'<data value="{value!r}" data-of="{source}">{html.escape(text)}</data>'


def _table(results: Sequence[Evaluation]) -> str:
    kinds = (f"lost by {kind}" for kind in results[0].anatomy.by_kind)
    head = ("policy", "score", "share", "gap", *kinds, "agreement", "st. dev.")
    rows = []
    for result in results:
        exact = result.method == "exact"
        score = _data(result, "expected_score", result.expected_score, f"{result.expected_score:.3f}")
        if not exact:
            score += f" ± {_data(result, 'standard_error', result.standard_error, f'{result.standard_error:.3f}')}"
        cells = [
            html.escape(result.policy) + ("" if exact else f"<br><small>estimate, {result.n_games:,} games</small>"),
            score,
            _data(result, "share_of_optimum", result.share_of_optimum, f"{result.share_of_optimum:.2%}"),
            _data(result, "optimality_gap", result.optimality_gap, f"{result.optimality_gap:.3f}"),
            *(_data(result, f"anatomy/by_kind/{kind}", v, f"{v:.3f}") for kind, v in result.anatomy.by_kind.items()),
            _data(result, "agreement", result.agreement, f"{result.agreement:.2%}"),
            _data(result, "standard_deviation", result.standard_deviation, f"{result.standard_deviation:.2f}"),
        ]
        rows.append(cells)
    return _html_table(head, rows)


def _boxes(result: Evaluation) -> str:
    rows = []
    for i, box in enumerate(result.anatomy.boxes):
        lost, path = result.anatomy.by_box[box.name], f"anatomy/boxes/{i}"
        rows.append(
            [
                html.escape(box.name),
                _data(result, f"{path}/expected_points", box.expected_points, f"{box.expected_points:.2f}"),
                _data(result, f"{path}/scratch_rate", box.scratch_rate, f"{box.scratch_rate:.1%}"),
                f"{box.mean_turn:.1f}",
                _data(result, f"anatomy/by_box/{box.name}", lost, f"{lost:.3f}"),
            ]
        )
    table = _html_table(("box", "points", "zeros", "mean turn", "lost"), rows)
    return f"<details><summary>{html.escape(result.policy)}</summary>{table}</details>"


def _matches(results: Sequence[Evaluation]) -> list[str]:
    known = [result for result in results if result.distribution is not None]
    if len(known) < 2:
        return []
    outcomes, rows = matches(known), []
    for mine in known:
        cells = [html.escape(mine.policy)]
        for theirs in known:
            outcome = outcomes.get((mine.policy, theirs.policy))
            parts = outcome._asdict().items() if outcome else ()
            path = f"against/{theirs.policy}"
            cells.append(" / ".join(_data(mine, f"{path}/{key}", value, f"{value:.1%}") for key, value in parts) or "–")
        rows.append(cells)
    return ["<h2>Against each other</h2>", _ABOUT_MATCHES, _html_table(["", *(r.policy for r in known)], rows)]


def _decisions(result: Evaluation, game: Game) -> str:
    items = [_decision(result, i, one, game) for i, one in enumerate(result.anatomy.costliest)]
    if not items:
        return f"<h3>{html.escape(result.policy)}</h3><p>None: every decision is as good as the best.</p>"
    others = f"<ol start='{_SHOWN + 1}'>{''.join(items[_SHOWN:])}</ol>"
    more = f"<details><summary>{len(items) - _SHOWN} more</summary>{others}</details>"
    shown = f"<ol>{''.join(items[:_SHOWN])}</ol>"
    return f"<h3>{html.escape(result.policy)}</h3>{shown}{more if len(items) > _SHOWN else ''}"


def _decision(result: Evaluation, i: int, one: CostlyDecision, game: Game) -> str:
    closed = [name for name in game.ruleset.box_names if name not in one.open_boxes]
    few = len(one.open_boxes) <= len(closed)
    card = f"open: {', '.join(one.open_boxes)}" if few else f"filled: {', '.join(closed)}"
    card = card if closed else "all boxes open"
    if one.upper_total is not None:
        card += f"; upper total {one.upper_total}"
    if one.yacht_box:
        card += "; the Yacht box holds its points"
    path = f"anatomy/costliest/{i}"
    dice = "".join(
        f'<svg class="die" role="img" aria-label="{face}"><use href="#die{face}"/></svg>' for face in one.dice
    )
    every = f"once in {1 / one.visit_probability:,.0f} games"
    return (
        f'<li><span class="dice">{dice}</span> {rolls_left_text(one.rolls_left)}; {html.escape(card)}.<br>'
        f"<strong>{html.escape(one.action_text)}</strong> instead of "
        f"<strong>{html.escape(one.best_text)}</strong> loses "
        f"{_data(result, f'{path}/loss', one.loss, f'{one.loss:.3f}')} points, {every}: "
        f"{_data(result, f'{path}/cost', one.cost, f'{one.cost:.5f}')} a game.</li>"
    )


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>' for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


# ---------------------------------------------------------------------------------------------------------------- looks

_STYLE = """
:root { color-scheme: light dark; --text: #1c1e21; --soft: #5d646d; --line: #d9dce1; --page: #ffffff; --card: #f5f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8eaed; --soft: #a3abb5; --line: #3b4048; --page: #15171a; --card: #1f2226; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 1.2rem; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { margin-top: 2.4rem; font-size: 1.25rem; } h3 { font-size: 1.05rem; }
p { max-width: 46rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.93rem; }
th, td { padding: 0.35rem 0.7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; white-space: normal; }
th:first-child { text-align: left; font-weight: 600; }
small, figcaption { color: var(--soft); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr)); gap: 1rem; }
figure { margin: 0; padding: 0.8rem; background: var(--card); border-radius: 8px; }
figure svg { width: 100%; height: auto; display: block; } figcaption { font-size: 0.88rem; }
figure text { font-family: system-ui, sans-serif !important; }
details { margin: 0.5rem 0; } summary { cursor: pointer; padding: 0.2rem 0; }
ol { padding-left: 1.6rem; } li { margin: 0.6rem 0; }
.dice { white-space: nowrap; } .die { width: 1.5em; height: 1.5em; vertical-align: -0.4em; margin-right: 0.15em; }
.die rect, symbol rect { fill: var(--card); stroke: var(--soft); } symbol circle { fill: var(--text); }
""".strip()

_PIPS = {1: "e", 2: "ai", 3: "aei", 4: "acgi", 5: "acegi", 6: "acdfgi"}  # places a to i, row by row


def _die(face: int) -> str:
    spots = "".join(
        f'<circle cx="{25 + 25 * ((ord(p) - 97) % 3)}" cy="{25 + 25 * ((ord(p) - 97) // 3)}" r="9"/>'
        for p in _PIPS[face]
    )
    cube = '<rect x="4" y="4" width="92" height="92" rx="18" stroke-width="4"/>'
    return f'<symbol id="die{face}" viewBox="0 0 100 100">{cube}{spots}</symbol>'


_DICE_SYMBOLS = (
    f'<svg width="0" height="0" aria-hidden="true" style="position:absolute">{"".join(map(_die, _PIPS))}</svg>'
)
