"""Before the game: the start screen, and what is said where the table can't be opened."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

pytest.importorskip("textual")

from textual.widgets import Input, Select
from textual.widgets.select import InvalidSelectValueError

from tests.table_keys import next_keys
from tests.table_pilot import at_table, text, until
from yacht_env.rules import RULESETS
from yacht_env.table.app.app import YachtApp
from yacht_env.table.app.start_screen import StartScreen
from yacht_env.table.app.table_screen import TableScreen
from yacht_env.table.settings import Settings

QUIETLY = {"capture_output": True, "text": True, "check": False, "stdin": subprocess.DEVNULL, "timeout": 60}
WEB = {"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}


pytestmark = pytest.mark.usefixtures("data_folder")


def test_the_start_screen_makes_the_game_that_was_chosen(data_folder):
    async def play():
        app = YachtApp()
        async with app.run_test(size=(80, 24)) as pilot:
            start = app.screen
            commitment = text(start.query_one("#fairness")).split()[-1]
            start.query_one("#ruleset", Select).value = "yatzy"
            start.query_one("#opponent-0", Select).value = "person"
            start.query_one("#name", Input).value = "Ada"
            start.query_one("#straights", Input).value = "30 40"
            start.query_one("#word", Input).value = "xyzzy"
            await pilot.pause()
            start.query_one("#person-0", Input).value = "Bob"
            await pilot.press("f2")
            game = app.screen.game
            assert game.ruleset == RULESETS["yatzy"].with_house_rules(straights=(30, 40))
            assert [seat.name for seat in game.seats] == ["Ada", "Bob"]
            assert game.commitment == commitment and game.dice.word == "xyzzy"

    asyncio.run(play())


def test_agents_are_offered_for_the_games_that_they_play():
    async def play():
        app = YachtApp(Settings(opponents=("ppo-yacht", "greedy")))
        async with app.run_test(size=(80, 24)) as pilot:
            first, second = (app.screen.query_one(f"#opponent-{i}", Select) for i in range(2))
            assert first.value == "ppo-yacht"
            app.screen.query_one("#ruleset", Select).value = "yatzy"
            await pilot.pause()
            assert first.value == "" and second.value == "greedy"
            with pytest.raises(InvalidSelectValueError):
                first.value = "ppo-yacht"
            first.value = "optimal"

    asyncio.run(play())


def test_a_value_that_makes_no_game_is_said_on_the_start_screen():
    async def play():
        app = YachtApp()
        async with app.run_test(size=(80, 24)) as pilot:
            app.screen.query_one("#straights", Input).value = "many"
            await pilot.press("f2")
            assert isinstance(app.screen, StartScreen)
            assert "two numbers of points" in text(app.screen.query_one("#start-trouble"))

    asyncio.run(play())


def test_a_game_that_was_left_is_offered_and_goes_on(data_folder):
    async def play():
        async with at_table(Settings(seed="1", name="Ada")) as pilot:
            await pilot.press(*next_keys(pilot.app.screen.game.table), "1", "q")
        app = YachtApp()
        async with app.run_test(size=(80, 24)) as pilot:
            saved = app.screen.query_one("#saved")
            await until(pilot, lambda: saved.option_count == 1)
            assert "Ada" in str(saved.get_option_at_index(0).prompt)
            saved.focus()
            await pilot.press("home", "enter")
            assert isinstance(app.screen, TableScreen) and app.screen.game.has_rolled

    asyncio.run(play())


def test_without_textual_a_sentence_names_the_command_that_installs_it(data_folder):
    code = (
        "import sys; sys.modules.update({'textual': None, 'aiohttp': None, 'textual_serve': None});"
        "from yacht_env.cli import main; main(sys.argv[1:])"
    )
    for more in ([], ["--serve"]):
        done = subprocess.run([sys.executable, "-c", code, "play", *more], **QUIETLY)
        assert done.returncode == 2
        assert 'pip install "yacht-env[play]"' in done.stderr and done.stderr.count("\n") == 1


def test_without_a_terminal_there_is_a_sentence_and_no_endless_wait():
    program = "import sys; from yacht_env.cli import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", program, "play"], **QUIETLY)
    assert done.returncode == 2 and "needs a terminal" in done.stderr and done.stderr.count("\n") == 1


def test_a_file_that_holds_no_game_is_named_before_the_screen_opens(tmp_path):
    file = tmp_path / "no-game.json"
    file.write_text("{}")
    program = "import sys; from yacht_env.cli import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", program, "play", str(file)], **QUIETLY, env=os.environ | WEB)
    assert done.returncode == 2 and str(file) in done.stderr and done.stderr.count("\n") == 1
