"""One game in three places: Textual's pilot, a real terminal (tmux), and a browser on the served page (Chromium).

With the same seed and the same decisions, all of them end in the same saved game.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("textual")
aiohttp = pytest.importorskip("aiohttp")
pytest.importorskip("textual_serve")

from tests.table_browser import CHROMIUM, browser, served_table
from tests.table_keys import next_keys, same_game, saved_game
from tests.table_pilot import at_table, play_to_the_end
from yacht_env.table.record import GameRecord
from yacht_env.table.settings import Settings
from yacht_env.table.verify import verify

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("data_folder")]

SETTINGS = Settings(seed="1", word="hocus", name="Ada", opponents=("greedy",))
ARGS = ["--seed", "1", "--word", "hocus", "--name", "Ada", "--opponents", "greedy"]
PROGRAM = "from yacht_env.cli import main; main()"


def by_pilot() -> GameRecord:
    async def play() -> GameRecord:
        async with at_table(SETTINGS) as pilot:
            await play_to_the_end(pilot)
            return pilot.app.left.record

    return asyncio.run(play())


class Terminal:
    """A program in a terminal of its own, in tmux."""

    def __init__(self, args: list[str], size: tuple[int, int] = (80, 24)) -> None:
        self._socket = f"yacht-{os.getpid()}-{time.monotonic_ns()}"
        wanted = ("YACHT_ENV_DATA", "YACHT_ENV_CACHE", "PYTHONPATH")
        environment = [f"{name}={os.environ[name]}" for name in wanted if name in os.environ]
        command = shlex.join(["env", *environment, sys.executable, "-c", PROGRAM, "play", *args])
        self._tmux("new-session", "-d", "-s", "t", "-x", str(size[0]), "-y", str(size[1]), command)
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    def _tmux(self, *args: str) -> str:
        return subprocess.run(["tmux", "-L", self._socket, *args], check=True, capture_output=True, text=True).stdout

    def press(self, key: str) -> None:
        self._tmux("send-keys", "-t", "t", {"space": "Space", "enter": "Enter"}.get(key, key))

    def picture(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "t")

    def pid(self) -> int:
        return int(self._tmux("display-message", "-p", "-t", "t", "#{pane_pid}"))

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    if shutil.which("tmux") is None:
        pytest.skip("needs tmux")
    opened: list[Terminal] = []

    def start(args: list[str]) -> Terminal:
        opened.append(Terminal(args))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "that never happened"
        time.sleep(0.05)


def persons_keys(folder: Path) -> list[str] | None:
    """What to press, judged by the saved game; ``None`` while an agent is to move, and ``[]`` at the end."""
    found = saved_game(folder)
    if found is None:
        return None
    record, table = found
    if table.is_over:
        return []
    return next_keys(table) if record.seats[table.seat].agent is None else None


def moves(folder: Path) -> int:
    found = saved_game(folder)
    return found[1].n_rolls + len(found[1].decisions) if found else -1


def test_a_whole_game_in_a_real_terminal(terminal, data_folder):
    table = terminal(ARGS)
    wait_for(lambda: "Start the game" in table.picture())
    table.press("enter")
    wait_for(lambda: "Roll 5 dice" in table.picture())
    for _ in range(5):
        table.press("+")
    while (keys := persons_keys(data_folder)) != []:
        if keys is None:
            time.sleep(0.05)
            continue
        before = moves(data_folder)
        for key in keys:
            table.press(key)
        wait_for(lambda before=before: moves(data_folder) > before)
    wait_for(lambda: "by luck" in table.picture())
    played = saved_game(data_folder)[0]
    [file] = (data_folder / "games").glob("*.json")
    assert verify(file).is_verified
    assert "of perfect games" in table.picture() and "Ada" in table.picture()
    assert same_game(played) == same_game(by_pilot())


def test_a_killed_table_has_lost_nothing(terminal, data_folder):
    table = terminal(ARGS[:2])
    wait_for(lambda: "Start the game" in table.picture())
    table.press("enter")
    wait_for(lambda: "Roll 5 dice" in table.picture())
    for step in range(4):
        before = moves(data_folder)
        for key in persons_keys(data_folder) or []:
            table.press(key)
        wait_for(lambda before=before: moves(data_folder) > before)
    after = moves(data_folder)
    os.kill(table.pid(), signal.SIGKILL)
    [file] = (data_folder / "games").glob("*.json")
    again = terminal([str(file)])
    wait_for(lambda: "round" in again.picture())
    assert moves(data_folder) == after and verify(file).is_verified
    for key in persons_keys(data_folder) or []:
        again.press(key)
    wait_for(lambda: moves(data_folder) == after + 1)


def test_the_first_picture_is_there_in_about_a_second(terminal):
    """Some machines are busy: the bound is looser than what is wanted, the measured time is in the message."""
    begin = time.monotonic()
    table = terminal([])
    wait_for(lambda: "Start the game" in table.picture())
    assert (took := time.monotonic() - begin) < 4, f"{took:.2f} s"


def test_a_table_that_is_left_says_how_to_go_on(terminal, data_folder):
    table = terminal(ARGS[:2])
    wait_for(lambda: "Start the game" in table.picture())
    table.press("enter")
    wait_for(lambda: "Roll 5 dice" in table.picture())
    table.press("q")
    wait_for(lambda: "saved game" in table.picture())
    table.press("Escape")
    wait_for(lambda: "yacht-env play" in table.picture())
    assert str(data_folder)[:40] in table.picture()


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_whole_game_in_a_browser(data_folder, tmp_path):
    async def until(condition: Callable[[], object], seconds: float = 90.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "that never happened"
            await asyncio.sleep(0.05)

    async def play() -> None:
        async with (
            served_table(_free_port(), ARGS) as url,
            browser(url, tmp_path / "profile") as page,
        ):
            while not await page.evaluate("document.body.classList.contains('-first-byte')"):
                await asyncio.sleep(0.1)
            await asyncio.sleep(1)
            await page.click(200, 200)  # a page gets keys once it has the focus; nothing is there but a field's label
            while not saved_game(data_folder):
                await page.press("enter")
                await asyncio.sleep(0.5)
            for _ in range(5):
                await page.press("+")
            while (keys := persons_keys(data_folder)) != []:
                if keys is None:
                    await asyncio.sleep(0.05)
                    continue
                before = moves(data_folder)
                for key in keys:
                    await page.press(key)
                await until(lambda before=before: moves(data_folder) > before)
            await asyncio.sleep(3)
            await page.screenshot(Path(os.environ.get("YACHT_PICTURES", tmp_path)) / "browser-review.png")

    asyncio.run(play())
    [file] = (data_folder / "games").glob("*.json")
    assert verify(file).is_verified
    assert same_game(saved_game(data_folder)[0]) == same_game(by_pilot())


def test_the_served_page_needs_no_other_machine_and_refuses_other_pages():
    async def ask() -> None:
        port = _free_port()
        async with served_table(port, []) as url, aiohttp.ClientSession() as session:
            page = await (await session.get(url)).text()
            assert f"127.0.0.1:{port}/ws" in page and "https://" not in page
            foreign = await session.get(url, headers={"Host": "example.org"})
            assert foreign.status == 403
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(f"{url}ws", headers={"Origin": "http://example.org"})
            async with session.ws_connect(f"{url}ws?width=80&height=24", headers={"Origin": url.rstrip("/")}) as socket_:
                assert (await socket_.receive(timeout=30)).data

    asyncio.run(ask())


def test_the_page_is_served_on_the_loopback_interface_alone():
    async def ask() -> None:
        port = _free_port()
        async with served_table(port, []):
            done = subprocess.run(["ss", "-ltn"], capture_output=True, text=True, check=False).stdout
            listening = [line.split()[3] for line in done.splitlines() if f":{port} " in line]
            assert not done or listening == [f"127.0.0.1:{port}"]

    asyncio.run(ask())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
