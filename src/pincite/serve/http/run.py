"""Listen, serve until a signal comes, and end: streams first, then what runs, then the library."""

from __future__ import annotations

import signal
import socket
import sys
from ipaddress import ip_address
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from pincite.errors import UsageError
from pincite.serve.http.connections import Connection
from pincite.serve.http.options import ServeOptions

# How long a thread that indexes may hold the interpreter while one that answers waits for it: Python's 5 ms come upon a
# search again at each of its calls into SQLite, the network and the indexes.
_SWITCH_SECONDS = 0.0005
_END_SECONDS = 5  # for requests that run when the signal comes


class Server(uvicorn.Server):
    """uvicorn's server for one app, with our limits; a signal ends it and is not raised again."""

    def __init__(self, app: FastAPI) -> None:
        """Configure it."""
        self._app = app
        options: ServeOptions = app.state.options
        super().__init__(
            uvicorn.Config(
                app,
                http=type("Connection", (Connection,), {"options": options}),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_END_SECONDS,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell the streams first."""
        self._app.state.stopping.set()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in order; a second interrupt ends at once."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """Open the port; UsageError when that cannot be."""
    if not 0 <= port <= 65_535:
        raise UsageError(f"{port} is no port.", fix="Choose one from 0 to 65535.")
    try:
        [(family, _, _, _, found), *_] = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)
        return socket.create_server(found[:2], family=family, backlog=1024)
    except OSError as error:
        raise UsageError(
            f"The server cannot listen on {host} port {port}: {error.strerror or error}.",
            fix="Is it running already? Stop the other program, or choose another port with --port (0: a free one).",
        ) from error


def is_loopback(opened: socket.socket) -> bool:
    """Tell whether only this machine reaches a socket."""
    return ip_address(opened.getsockname()[0].partition("%")[0]).is_loopback


def address(opened: socket.socket, host: str) -> str:
    """Write the address of the page."""
    name = "localhost" if host in ("", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
    return f"http://{name}:{opened.getsockname()[1]}/"


def raise_file_limit(files: int) -> None:
    """Let the process hold enough connections, where the system has such a limit and allows it."""
    try:
        import resource
    except ImportError:  # Windows has none
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files if hard < 0 else min(files, hard), hard))


def serve(app: FastAPI, opened: socket.socket) -> None:
    """Serve until a signal comes."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    server: Any = Server(app)
    server.run(sockets=[opened])
