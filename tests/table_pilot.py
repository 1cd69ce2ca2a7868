"""A game at the table under Textual's pilot, for the tests of the screen."""

from __future__ import annotations

from contextlib import asynccontextmanager

from tests.table_keys import next_keys
from yacht_env.table.app.app import YachtApp
from yacht_env.table.app.review_screen import ReviewScreen
from yacht_env.table.app.table_screen import TableScreen
from yacht_env.table.folders import new_game_path
from yacht_env.table.session import TableGame
from yacht_env.table.settings import Settings

FASTEST = 5


@asynccontextmanager
async def at_table(settings=Settings(seed="1"), path=None, size=(80, 24)):  # noqa: B008 (frozen)
    """A game that has just begun (or goes on), without animation and with opponents that don't wait."""
    if path is None:
        path = new_game_path(settings.ruleset)
        TableGame.new(settings.rules(), settings.seats(), dice=settings.dice(), path=path)
    app = YachtApp(settings, path)
    app.animation_level, app.speed = "none", FASTEST
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, TableScreen | ReviewScreen))
        yield pilot


async def until(pilot, condition, seconds=60.0):
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await pilot.pause(0.02)
    raise AssertionError("that never happened")


async def play_to_the_end(pilot):
    table = pilot.app.screen
    while not table.game.is_over:
        await until(pilot, lambda: table.is_persons_turn or table.game.is_over)
        if not table.game.is_over:
            await pilot.press(*next_keys(table.game.table))
    await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))


def shown(screen) -> list[str]:
    """The lines of text on the screen, as many as it has."""
    width, height = screen.size
    strips = screen._compositor.render_strips()
    lines = ["".join(segment.text for segment in strip) for strip in strips]
    assert len(lines) == height and all(len(line) == width for line in lines)
    return lines


def text(widget) -> str:
    return str(widget.render())
