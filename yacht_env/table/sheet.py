"""A score sheet to print: one HTML file that needs nothing else, with the rule of each box in words.

Public names: :func:`sheet_page`.
"""

from __future__ import annotations

import html

from yacht_env.rule_words import bonus_words, box_words, turn_words
from yacht_env.rules import Ruleset, get_ruleset
from yacht_env.table.record import MOST_SEATS

__all__ = ["sheet_page"]


def sheet_page(ruleset: str | Ruleset = "yacht", n_players: int = 4) -> str:
    """The sheet, for paper of A4 or Letter size.

    Args:
        ruleset: The game.
        n_players: Columns for players.

    Raises:
        ValueError: for an unknown ruleset, or a number of players that no table has.
    """
    rules = get_ruleset(ruleset)
    if not 1 <= n_players <= MOST_SEATS:
        raise ValueError(f"players must be 1 to {MOST_SEATS}, got {n_players}")
    title = f"Score sheet: {html.escape(rules.name)}"
    notes = "".join(f"<p>{html.escape(words)}</p>" for words in (turn_words(), *bonus_words(rules)))
    columns = f'<col class="box"><col class="rule">{"<col>" * n_players}'
    head = f'<tr><th scope="col">box</th><th scope="col">rule</th>{"<th></th>" * n_players}</tr>'
    rows = "".join(_row(name, rule, n_players, kind) for name, rule, kind in _rows(rules))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        f"<h1>{html.escape(rules.name)}</h1>\n"
        f"<table><colgroup>{columns}</colgroup>\n<thead>{head}</thead>\n<tbody>{rows}</tbody></table>\n{notes}\n"
        "</body>\n</html>\n"
    )


def _rows(rules: Ruleset) -> list[tuple[str, str, str]]:
    """Name, rule and kind of every row."""
    upper = [(box.name, box_words(box), "") for box in rules.boxes if box.is_number]
    lower = [(box.name, box_words(box), "") for box in rules.boxes if not box.is_number]
    sums = []
    if bonus := rules.upper_bonus:
        sums = [
            ("Upper total", f"number boxes; {bonus.threshold} are needed", "sum"),
            ("Bonus", f"{bonus.points} points if they are reached", "sum"),
        ]
    extra = []
    if joker := rules.joker:
        extra = [(f"Extra {joker.box}s", f"{joker.extra_points} points each", "")]
    return [*upper, *sums, *lower, *extra, ("Total", "", "total")]


def _row(name: str, rule: str, n_players: int, kind: str) -> str:
    cells = f'<th scope="row">{html.escape(name)}</th><td>{html.escape(rule)}</td>{"<td></td>" * n_players}'
    return f'<tr class="{kind}">{cells}</tr>\n' if kind else f"<tr>{cells}</tr>\n"


_STYLE = """
@page { margin: 12mm; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 190mm; font: 11pt/1.3 system-ui, sans-serif; color: #000; }
h1 { margin: 0 0 0.6rem; font-size: 16pt; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; break-inside: avoid; }
col.box { width: 38mm; } col.rule { width: 50mm; }
th, td { height: 9.5mm; padding: 0 2mm; border: 0.3mm solid #555; text-align: left; vertical-align: middle; }
td:nth-child(2) { font-size: 8.5pt; line-height: 1.15; color: #333; }
thead th { height: 11mm; font-weight: 500; color: #555; }
.sum th, .sum td { background: #f0f0f0; } .total th, .total td { border-top-width: 0.8mm; font-weight: 700; }
p { margin: 0.5rem 0 0; font-size: 9pt; color: #333; }
@media print { body { padding: 0; max-width: none; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
""".strip()
