"""An agent plays in a window, or in the terminal, for people to look on.

Public names: :func:`watch`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from yacht_env.env import YachtEnv
from yacht_env.rules import Ruleset
from yacht_env.table.seats import SeatedAgent

__all__ = ["watch"]

_PICTURES_OF_THE_END = 8  # for so many the full card stays to be seen


def watch(
    agent: SeatedAgent,
    ruleset: Ruleset,
    *,
    n_games: int = 1,
    fps: float = 1.0,
    seed: int | None = None,
    mode: Literal["human", "ansi"] = "human",
    show: Callable[[str], None] = print,
) -> list[int]:
    """Let an agent play.

    Args:
        agent: The agent.
        ruleset: The game.
        n_games: Games to play.
        fps: Pictures a second.
        seed: Of the dice of the first game; ``None`` is a different one every time.
        mode: A window, or text.
        show: Takes the text of each picture.

    Returns:
        The totals.

    Raises:
        ValueError: for no game, or a number of pictures that is not positive.
        gymnasium.error.DependencyNotInstalled: for a window without pygame.
    """
    if n_games < 1 or not fps > 0:
        raise ValueError(f"games must be 1 or more and fps more than 0, got {n_games} and {fps}")
    env = YachtEnv(ruleset, render_mode=mode)
    env.metadata = env.metadata | {"render_fps": fps}
    totals = []
    try:
        for game in range(n_games):
            env.reset(seed=seed if game == 0 else None)
            total, over = 0.0, False
            while not over:
                if mode == "ansi":
                    show(env.render())
                    time.sleep(1 / fps)
                _, points, over, _, _ = env.step(agent.choose(env.state))
                total += points
            if mode == "ansi":
                show(env.render())
            time.sleep(_PICTURES_OF_THE_END / fps)
            totals.append(int(total))
    finally:
        env.close()
    return totals
