"""A page in headless Chromium, driven through its DevTools protocol; and the served table that it opens."""

from __future__ import annotations

import asyncio
import base64
import itertools
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_KEYS = {"space": (" ", "Space", 32), "enter": ("\r", "Enter", 13)}


class Page:
    """One page of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async for message in self._socket:
            answer = message.json()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
        raise AssertionError("the browser has gone")

    async def evaluate(self, code: str) -> Any:
        result = await self.call("Runtime.evaluate", expression=code, returnByValue=True)
        return result["result"].get("value")

    async def press(self, key: str) -> None:
        char, code, number = _KEYS[key] if key in _KEYS else (key, f"Key{key.upper()}", ord(key.upper()))
        about = {"key": char, "code": code, "windowsVirtualKeyCode": number}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=char, **about)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    async def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode((await self.call("Page.captureScreenshot"))["data"]))


@asynccontextmanager
async def browser(url: str, folder: Path, size: tuple[int, int] = (1000, 640)) -> AsyncIterator[Page]:
    """Chromium with this page open."""
    assert CHROMIUM
    process = await asyncio.create_subprocess_exec(
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={size[0]},{size[1]}", "--hide-scrollbars",
        f"--user-data-dir={folder}", "--remote-debugging-port=0", url,
        stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stderr
        async for line in process.stderr:
            if b"DevTools listening on" in line:
                break
        address = line.decode().split()[-1].split("/")[2]
        async with aiohttp.ClientSession() as session:
            pages = await (await session.get(f"http://{address}/json/list")).json()
            page = next(one for one in pages if one["type"] == "page")
            async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def served_table(port: int, args: list[str]) -> AsyncIterator[str]:
    """``yacht-env play --serve``; gives the address of the page."""
    program = "import sys; from yacht_env.cli import main; main(sys.argv[1:])"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, "play", "--serve", "--port", str(port), *args, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout
        line = (await process.stdout.readline()).decode()
        assert "The table is at http" in line, line
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        await process.wait()
