"""Evaluations as a table to read.

Public names: :func:`table`, :func:`sorted_by_score`, :func:`matches`.
"""

from __future__ import annotations

from collections.abc import Sequence

from yacht_env.distribution import Outcome
from yacht_env.evaluation import Evaluation

__all__ = ["matches", "sorted_by_score", "table"]

_HEADINGS = ("policy", "score", "share", "gap", "from holds", "from boxes", "agreement", "st. dev.", "how")


def sorted_by_score(results: Sequence[Evaluation]) -> list[Evaluation]:
    """Evaluations, the best last."""
    return sorted(results, key=lambda result: result.expected_score)


def matches(results: Sequence[Evaluation]) -> dict[tuple[str, str], Outcome]:
    """Chances of each policy against each other one whose distribution is known, by both names."""
    laws = {result.policy: result.distribution for result in results if result.distribution is not None}
    return {(a, b): laws[a].against(laws[b]) for a in laws for b in laws if a != b}


def table(results: Sequence[Evaluation]) -> str:
    """A table of evaluations of one ruleset, best last, with the optimum as its last row.

    Scores, gaps and deviations are points a game; ``from holds`` and ``from boxes`` are the parts of the gap; ``agreement``
    is the share of decisions in play that are as good as the best.
    """
    rows = [_HEADINGS, *(_row(result) for result in sorted_by_score(results))]
    if results:
        rows.append(("optimum", f"{results[0].optimum:.3f}", "100.00 %", *["0.000"] * 3, "100.0 %", "", "exact"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
    lines = ["  ".join(_cell(cell, widths[i], i) for i, cell in enumerate(row)).rstrip() for row in rows]
    rule = "  ".join("-" * width for width in widths)
    title = f"{results[0].ruleset}: points a game\n\n" if results else ""
    return title + "\n".join([lines[0], rule, *lines[1:]])


def _cell(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column in (0, len(_HEADINGS) - 1) else cell.rjust(width)


def _row(result: Evaluation) -> tuple[str, ...]:
    exact = result.method == "exact"
    return (
        result.policy,
        f"{result.expected_score:.3f}",
        f"{result.share_of_optimum:.2%}".replace("%", " %"),
        f"{result.optimality_gap:.3f}",
        f"{result.gap_from_holds:.3f}",
        f"{result.gap_from_boxes:.3f}",
        f"{result.agreement:.1%}".replace("%", " %"),
        f"{result.standard_deviation:.2f}",
        "exact" if exact else f"± {result.standard_error:.3f}, {result.n_games} games",
    )
