"""The app: the start screen, and then one table after another.

Public names: :class:`YachtApp`, :func:`run`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from yacht_env.table.app.start_screen import StartScreen
from yacht_env.table.settings import Coaching, Settings

if TYPE_CHECKING:
    from yacht_env.table.coach import Coach
    from yacht_env.table.fair_dice import FairDice
    from yacht_env.table.session import TableGame

__all__ = ["YachtApp", "run"]

_DARK, _LIGHT = "textual-dark", "textual-light"


class YachtApp(App[None]):
    """A table to play at.

    Args:
        settings: What the start screen is filled in with.
        path: A saved game to go on with at once.
        is_light: Whether to begin with light colours.

    Attributes:
        speed: How fast agents move, 0 to 5.
        left: The game that was left last, unfinished or not.
    """

    CSS_PATH = "table.tcss"
    TITLE = "Yacht"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "colors", "Theme"),
        Binding("ctrl+t", "colors", show=False),
    ]

    def __init__(self, settings: Settings | None = None, path: Path | None = None, *, is_light: bool = False) -> None:
        super().__init__()
        self.theme = _LIGHT if is_light else _DARK
        self.speed = 2
        self.left: TableGame | None = None
        self._settings = settings or Settings()
        self._path = path
        self._coaches: dict[str, Coach] = {}

    def on_mount(self) -> None:
        """The start screen, or a saved game."""
        if self._path is None:
            self.push_screen(StartScreen(self._settings))
        else:
            self.go_on_with(self._path, self._settings.coach)

    def begin(self, settings: Settings, dice: FairDice) -> None:
        """A new game.

        Raises:
            ValueError: for settings that make no game.
        """
        from yacht_env.table.folders import new_game_path
        from yacht_env.table.session import TableGame

        settings.check()
        rules = settings.rules()
        game = TableGame.new(rules, settings.seats(), dice=dice, path=new_game_path(rules.name).resolve())
        self._settings = settings
        self._show_table(game, settings.coach)

    def go_on_with(self, path: Path, coaching: Coaching) -> None:
        """A saved game.

        Raises:
            ValueError: for a file that holds no game which can go on.
            OSError: for a file that can't be read.
        """
        from yacht_env.table.session import TableGame

        self._show_table(TableGame.load(path.resolve()), coaching)  # best scores tell games apart by their files

    def leave(self, game: TableGame) -> None:
        """Back to the start screen, with a fresh seed for the next game."""
        self.left = game
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self.push_screen(StartScreen(self._settings))

    def _show_table(self, game: TableGame, coaching: Coaching) -> None:
        from yacht_env.table.app.table_screen import TableScreen
        from yacht_env.table.coach import Coach

        self.left = game
        coach = self._coaches.setdefault(game.ruleset.fingerprint, Coach(game.ruleset))
        self.push_screen(TableScreen(game, coach, coaching))

    def action_colors(self) -> None:
        """Dark colours, or light ones."""
        self.theme = _DARK if self.theme == _LIGHT else _LIGHT


def run(settings: Settings, path: Path | None = None, *, is_light: bool = False) -> None:
    """Play in the terminal, and say afterwards how to go on with a game that was left.

    Raises:
        ValueError: where there is no terminal.
    """
    if not (sys.stdin.isatty() or "TEXTUAL_DRIVER" in os.environ):  # a driver of its own stands for a browser
        raise ValueError("the table needs a terminal to draw on and to read keys from; --serve shows it in a browser")
    app = YachtApp(settings, path, is_light=is_light)
    app.run()
    game = app.left
    if game is not None and game.save_error is not None:
        print(f"yacht-env: {game.save_error}", file=sys.stderr)
    elif game is not None and not game.is_over and game.path is not None:
        print(f"The game is saved. To go on with it:\n  yacht-env play {game.path}")
