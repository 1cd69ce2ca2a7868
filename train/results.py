"""Renew what the README says of the published agents: ``python -m train.results``.

Reads the agents' configs and writes the table of results and the picture of their learning curves. Nothing is typed in by
hand, and nothing is measured here: ``python -m agents.export`` measures an agent when it is published.
"""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

from yacht_env.extras import needs_extra
from yacht_env.files import write_atomically

__all__ = ["learning_curves", "main", "results_table"]

ROOT = Path(__file__).resolve().parent.parent
PICTURE = Path("docs/learning-curves.png")
_MARKS = ("<!-- results: made by python -m train.results -->", "<!-- end of results -->")
_HEADINGS = ("agent", "ruleset", "score", "share of the optimum", "gap", "agreement", "parameters", "steps", "time")


def read_configs(models: Path) -> list[dict[str, Any]]:
    """The configs of all published agents, by name."""
    return [json.loads(path.read_text()) for path in sorted(models.glob("*/config.json"))]


def results_table(configs: list[dict[str, Any]]) -> str:
    """One row an agent, as a Markdown table; best first within a ruleset."""
    ordered = sorted(configs, key=lambda c: (c["ruleset"]["name"], -c["result"]["expected_score"]))
    rows = [_HEADINGS, ["---"] * len(_HEADINGS), *map(_row, ordered)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _row(config: dict[str, Any]) -> list[str]:
    result, training = config["result"], config["training"]
    error = f" ± {result['standard_error']:.3f}" if result["method"] == "estimate" else ""
    return [
        f"[`{config['name']}`](models/{config['name']}/README.md)",
        f"`{config['ruleset']['name']}`",
        f"{result['expected_score']:.3f}{error}",
        f"{result['share_of_optimum']:.2%}".replace("%", " %"),
        f"{result['optimality_gap']:.3f}",
        f"{result['agreement']:.1%}".replace("%", " %"),
        f"{config['parameters']:,}",
        f"{training['steps'] / 1e6:.3g} M",
        f"{training['seconds'] / 60:.2g} min",
    ]


def learning_curves(configs: list[dict[str, Any]]) -> bytes:
    """The exact score of each agent while it learned, with the optimum as a line; a PNG."""
    with needs_extra("train"):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

    rulesets = sorted({config["ruleset"]["name"] for config in configs})
    figure, axes = pyplot.subplots(1, len(rulesets), figsize=(5.2 * len(rulesets), 3.8), squeeze=False, layout="constrained")
    for axis, ruleset in zip(axes[0], rulesets, strict=True):
        drawn = [config for config in configs if config["ruleset"]["name"] == ruleset]
        optimum = drawn[0]["result"]["optimum"]
        axis.axhline(optimum, color="black", linewidth=1, linestyle="--", label=f"optimum {optimum:.2f}")
        for config in drawn:
            steps, _, scores = zip(*config["curve"], strict=True)
            axis.plot([step / 1e6 for step in steps], scores, marker=".", label=config["name"])
        axis.set(title=ruleset, xlabel="million steps", ylabel="expected score, points a game")
        axis.set_ylim(0.97 * optimum, 1.002 * optimum)
        axis.grid(alpha=0.3)
        axis.legend(loc="lower right")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
    return buffer.getvalue()


def renewed(readme: str, table: str) -> str:
    """The README with its results replaced.

    Raises:
        ValueError: where the README lacks the marks between which the results stand.
    """
    pattern = re.compile(f"{re.escape(_MARKS[0])}.*?{re.escape(_MARKS[1])}", re.DOTALL)
    if not pattern.search(readme):
        raise ValueError(f"the README lacks the marks {_MARKS[0]!r} and {_MARKS[1]!r}")
    content = f"{_MARKS[0]}\n\n{table}\n\n![Learning curves of the published agents]({PICTURE})\n\n{_MARKS[1]}"
    return pattern.sub(lambda _: content, readme)


def main() -> None:
    """Renew the README's results and the picture."""
    configs = read_configs(ROOT / "models")
    if not configs:
        sys.exit("train.results: there are no published agents")
    readme = ROOT / "README.md"
    write_atomically(readme, renewed(readme.read_text(), results_table(configs)))
    write_atomically(ROOT / PICTURE, learning_curves(configs))
    print(f"renewed {readme.name} and {PICTURE}")


if __name__ == "__main__":
    main()
