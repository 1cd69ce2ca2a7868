"""Write the exact totals of perfect play, which come with the package: ``python scripts/write_optimal_totals.py``."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

import yacht_env.table.rating
from yacht_env.files import write_atomically
from yacht_env.remaining import RemainingPoints
from yacht_env.rules import RULESETS
from yacht_env.solver import solve


def main() -> None:
    laws = {}
    for ruleset in RULESETS.values():
        solution = solve(ruleset)
        law = RemainingPoints.of(solution).at_start(solution.game.all_open, 0)
        laws[ruleset.fingerprint] = law.probability
        print(f"{ruleset.name}: mean {law.mean:.9f}, optimum {solution.expected_score:.9f}")
    buffer = io.BytesIO()
    np.savez(buffer, **laws)
    write_atomically(
        Path(yacht_env.table.rating.__file__).parent / yacht_env.table.rating.TOTALS_FILE, buffer.getvalue()
    )


if __name__ == "__main__":
    main()
