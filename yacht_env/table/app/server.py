"""The table in a browser: a page on this machine, with a terminal program of its own behind every visit.

Whoever opens the page plays with the rights of whoever serves it. So it is served on the loopback interface alone unless
another host is named, and requests that a page from elsewhere makes through the browser are refused, also those under a
foreign name that leads here.

Public names: :func:`serve`.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server

__all__ = ["serve"]

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_FOREIGN_LINK = re.compile(r'<link\s+rel="stylesheet"\s+href="https://[^>]*>')  # a font; the page has one without it


class _TableServer(Server):
    """Textual's server without its banner, and without anything from other machines in its page."""

    def serve(self, debug: bool = False) -> None:
        """Serve until Ctrl-C; says where the table is as soon as it listens there."""
        self.debug = debug
        web.run_app(self._make_app(), host=self.host, port=self.port, print=self._announce, access_log=None)

    async def on_startup(self, app: web.Application) -> None:
        """Nothing: it is too early to say anything."""

    def _announce(self, *_: object) -> None:
        print(f"The table is at {self.public_url}/ (Ctrl-C ends it)", flush=True)

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._refuse_strangers)
        return app

    @web.middleware
    async def _refuse_strangers(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        name = urlsplit(f"//{request.host}").hostname or ""
        origin = request.headers.get("Origin")
        if (_is_local(self.host) and not _is_local(name)) or (origin and urlsplit(origin).netloc != request.host):
            raise web.HTTPForbidden(text="The table answers only its own page.")
        return await handler(request)

    async def handle_index(self, request: web.Request) -> web.Response:
        """The page, whose addresses use the name by which the browser knows this machine."""
        self.public_url = f"{request.scheme}://{request.host}"
        page: web.Response = await super().handle_index(request)  # type: ignore[assignment]
        page.text = _FOREIGN_LINK.sub("", page.text or "")
        return page


def serve(play_args: Sequence[str], host: str, port: int) -> None:
    """Serve the table until Ctrl-C.

    Args:
        play_args: Arguments of ``yacht-env play`` for every game.
        host: Address to listen on.
        port: Port to listen on.

    Raises:
        OSError: where it can't listen there.
    """
    program = [sys.executable, "-c", "from yacht_env.cli import main; main()", "play", *play_args]
    command = subprocess.list2cmdline(program) if sys.platform == "win32" else shlex.join(program)
    _TableServer(command, host=host, port=port, title="Yacht").serve()


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
