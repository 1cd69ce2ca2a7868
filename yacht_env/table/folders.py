"""Where the table keeps things: the user's data folder, or the folder that ``YACHT_ENV_DATA`` names.

Public names: :func:`data_folder`, :func:`games_folder`, :func:`new_game_path`, :func:`saved_games`.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from yacht_env.table.record import now

__all__ = ["data_folder", "games_folder", "new_game_path", "saved_games"]


def data_folder() -> Path:
    """Best scores lie here, and the folder of saved games; it need not exist yet."""
    return Path(os.environ.get("YACHT_ENV_DATA") or platformdirs.user_data_dir("yacht-env", appauthor=False))


def games_folder() -> Path:
    """Saved games lie here; it need not exist yet."""
    return data_folder() / "games"


def new_game_path(ruleset_name: str, folder: Path | None = None) -> Path:
    """A free name for a new game, which begins with the time, so that names sort by age."""
    folder = folder or games_folder()
    stem = f"{now()[:19].replace(':', '').replace('T', '-')}-{''.join(c if c.isalnum() else '-' for c in ruleset_name)}"
    taken, n = folder / f"{stem}.json", 1
    while os.path.exists(taken):  # False also where the folder may not be entered; saving says so then
        n += 1
        taken = folder / f"{stem}-{n}.json"
    return taken


def saved_games(folder: Path | None = None) -> list[Path]:
    """The files of saved games, the newest first; none where there is no such folder or it can't be read."""
    try:
        return sorted((folder or games_folder()).glob("*.json"), reverse=True)
    except OSError:
        return []
