"""MCP over HTTP at ``/mcp``, behind the server's own guard: every request is made by the key that it carries.

The SDK takes half a second to import, so nothing of it is touched before the first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from fastapi import FastAPI, Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from pincite.access import Principal
from pincite.errors import UsageError
from pincite.serve.http.audit import audit
from pincite.serve.http.documents import roots_of
from pincite.serve.http.errors import Refusal
from pincite.serve.http.limits import Gate
from pincite.serve.http.work import still_served

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from pincite.serve.mcp.server import Caller
    from pincite.serve.mcp.tools import Tool

PATH = "/mcp"
_IDLE_SECONDS = 600.0  # after which a session that nobody uses ends
_SESSIONS = 1_000
_READS = ("search", "read", "list")  # tools that take a place among what is quick


def add_mcp(app: FastAPI) -> None:
    """Add the endpoint to a server; its lifespan and its state are used."""
    endpoint = _Endpoint(app)
    app.state.lifespans.append(endpoint.lifespan)
    app.router.routes.append(Route(PATH, endpoint, methods=["POST", "DELETE"], include_in_schema=False))


class _Endpoint:
    """Starts the SDK's session manager when the first request comes, and passes requests on to it.

    There is no stream for messages that nobody asked for (GET): the server has none to send.
    """

    def __init__(self, app: FastAPI) -> None:
        """Start nothing."""
        self._app = app
        self._wanted: asyncio.Event
        self._manager: asyncio.Future[StreamableHTTPSessionManager]

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Be ready to start; end the sessions at the end."""
        self._wanted, self._manager = asyncio.Event(), asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._manage())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _manage(self) -> None:
        """Run the sessions, in one task from their beginning to their end."""
        await self._wanted.wait()
        try:
            manager = await to_thread.run_sync(self._made)
        except ImportError as error:
            self._manager.set_exception(error)
            return
        async with manager.run():
            self._manager.set_result(manager)
            await asyncio.Event().wait()

    def _made(self) -> StreamableHTTPSessionManager:
        """Import the SDK and make the manager."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from pincite.serve.mcp.server import build_server

        return StreamableHTTPSessionManager(
            build_server(partial(_caller, self._app)), session_idle_timeout=_IDLE_SECONDS, max_sessions=_SESSIONS
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; a session belongs to the key that began it. Of a client who vanishes its work is told."""
        self._wanted.set()
        manager = await asyncio.shield(self._manager)
        state = scope["state"]
        scope["user"], state["vanished"] = _user(state["principal"]), False

        async def received() -> Message:
            message = await receive()
            state["vanished"] |= message["type"] == "http.disconnect"
            return message

        await manager.handle_request(scope, received, send)


def _user(principal: Principal) -> Any:
    """Name the caller as the SDK knows one; whether he may call was decided before."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    return AuthenticatedUser(AccessToken(token="", client_id=principal.name, scopes=[]))


def _caller(app: FastAPI, context: Any) -> Caller:
    """Tell who makes a request: what he sees, the tools that he may use, and whether his key still counts."""
    from pincite.serve.mcp.server import Caller
    from pincite.serve.mcp.tools import Call, tools

    principal: Principal = context.request.state.principal
    options, roots = app.state.options, roots_of(principal, app.state.options)
    writes = principal.may("editor") and not options.read_only and roots != ()
    call = Call(app.state.library.seen_by(principal), roots)
    request = context.request
    offered, gone = tools(read_only=not writes), lambda: request.state.vanished or not still_served(request)
    return Caller(call, offered, partial(_place, app, principal), gone, partial(_written_down, request))


def _written_down(request: Request, arguments: Any, result: dict[str, Any]) -> None:
    """Write down a question or a text, and the documents that the result shows, if the server is to."""
    for asked in ("question", "text"):
        if hasattr(arguments, asked):
            audit(request, getattr(arguments, asked), _uris(result))


def _uris(value: Any) -> Iterator[str]:
    """Find the documents that a result names."""
    if isinstance(value, list):
        for item in value:
            yield from _uris(item)
    elif isinstance(value, dict):
        yield from [value["uri"]] if "uri" in value else []
        yield from _uris(list(value.values()))


@asynccontextmanager
async def _place(app: FastAPI, principal: Principal, tool: Tool) -> AsyncIterator[None]:
    """Hold a place among the requests of the same kind, whichever way they came."""
    gate: Gate = app.state.gates["reads" if tool.name in _READS else "asks"]
    try:
        async with gate.place(principal):
            yield
    except Refusal as refusal:
        raise UsageError(refusal.detail, fix=refusal.fix) from None
