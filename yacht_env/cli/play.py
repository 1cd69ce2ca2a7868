"""The command ``yacht-env play``: a table in the terminal, or in a browser.

Public names: :data:`COMMANDS`, :class:`PlayArgs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from yacht_env.cli.commands import Commands
from yacht_env.extras import needs_extra
from yacht_env.table.session import TableGame
from yacht_env.table.settings import Coaching, Settings, parse_straights

__all__ = ["COMMANDS", "PlayArgs"]


@dataclass(frozen=True)
class PlayArgs:
    """Play at a table (needs the extra "play"); options fill in the start screen, where Enter starts the game."""

    game: tyro.conf.Positional[Path | None] = None
    """File of a saved game to go on with."""
    ruleset: str = "yacht"
    """Name of the ruleset."""
    straights: str = ""
    """House rule: points of the two straights, such as "15 30", or "sum" for the sum of the dice."""
    four_of_a_kind_dice: Literal[4, 5] | None = None
    """House rule: whether Four of a Kind scores its four dice or all five."""
    five_of_a_kind_is_full_house: bool | None = None
    """House rule: whether five dice of one face are a full house."""
    name: str = "Player 1"
    """What you are called."""
    opponents: tuple[str, ...] = ()
    """Up to three: optimal, greedy, random, the name or folder of an agent, person, or person:NAME."""
    coach: Coaching = "off"
    """Values never, at the key v, or always."""
    word: str = ""
    """Your part in the dice."""
    seed: str | None = None
    """Dice known beforehand: the seed of an earlier game, or any text; by default a secret one is drawn."""
    light: bool = False
    """Begin with light colours."""
    serve: bool = False
    """Serve the table to a browser on this machine."""
    host: str = "127.0.0.1"
    """Where to serve it; another address than the default lets other machines play on this one."""
    port: Annotated[int, tyro.conf.arg(metavar="1..65535")] = 8000
    """Port to serve it at."""

    def settings(self) -> Settings:
        """What the start screen is filled in with.

        Raises:
            ValueError: for a value that makes no game.
        """
        settings = Settings(
            ruleset=self.ruleset,
            straights=parse_straights(self.straights),
            four_of_a_kind_dice=self.four_of_a_kind_dice,
            five_of_a_kind_is_full_house=self.five_of_a_kind_is_full_house,
            name=self.name,
            opponents=self.opponents,
            coach=self.coach,
            word=self.word,
            seed=self.seed,
        )
        settings.check()
        return settings

    def command_line(self) -> list[str]:
        """The arguments that give these settings again, without those about serving."""
        args = ["--ruleset", self.ruleset, "--name", self.name, "--coach", self.coach]
        args += [f"--straights={self.straights}", f"--word={self.word}"]
        args += ["--opponents", *self.opponents] if self.opponents else []
        if self.four_of_a_kind_dice is not None:
            args += ["--four-of-a-kind-dice", str(self.four_of_a_kind_dice)]
        if self.five_of_a_kind_is_full_house is not None:
            args += ["--five-of-a-kind-is-full-house", str(self.five_of_a_kind_is_full_house)]
        args += [] if self.seed is None else [f"--seed={self.seed}"]
        args += ["--light"] if self.light else []
        return [*([] if self.game is None else [str(self.game.absolute())]), *args]


def _run_play(args: PlayArgs) -> None:
    """What is wrong with the arguments or the file is said before a screen is taken over."""
    settings = args.settings()
    if args.game is not None:
        TableGame.load(args.game)
    if args.serve:
        with needs_extra("play"):
            from yacht_env.table.app.server import serve
        serve(args.command_line(), args.host, args.port)
    else:
        with needs_extra("play"):
            from yacht_env.table.app.app import run
        run(settings, args.game, is_light=args.light)


COMMANDS: Commands = {"play": (PlayArgs, _run_play)}
"""What the command is called, what it is told, and what it does."""
