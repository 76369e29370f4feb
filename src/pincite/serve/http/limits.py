"""How much at a time: requests that run and wait, bytes of a body, seconds of silence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.serve.http.errors import Refusal, answer
from pincite.serve.http.options import ServeOptions

_UPLOADS = "/v1/documents"  # the route whose bodies may be large
_LEAST_RATE = 10_000  # bytes a second that a body must reach after its first seconds


class Gate:
    """Lets some requests run, some wait, and refuses the rest."""

    def __init__(self, running: int, waiting: int) -> None:
        """Set how many may run, and how many may wait."""
        self.running, self.waiting = running, waiting
        self.inside = 0  # those that run and those that wait
        self._free = asyncio.Semaphore(running)

    async def enter(self) -> None:
        """Wait for a place; Refusal when too many wait already."""
        if self.inside >= self.running + self.waiting:
            raise Refusal(429, "too_busy", "The server has too much to do.", "Ask again soon.", {"retry-after": "2"})
        self.inside += 1
        try:
            await self._free.acquire()
        except BaseException:
            self.inside -= 1
            raise

    def leave(self) -> None:
        """Give the place back."""
        self.inside -= 1
        self._free.release()


def _through(gate: str) -> Callable[[Request], AsyncIterator[None]]:
    """Make a dependency that holds a place in a gate until the response has been sent."""

    async def passing(request: Request) -> AsyncIterator[None]:
        chosen: Gate = request.app.state.gates[gate]
        await chosen.enter()
        try:
            yield
        finally:
            chosen.leave()

    return passing


asking: Any = Depends(_through("asks"))
reading: Any = Depends(_through("reads"))
following: Any = Depends(_through("streams"))  # long streams that mostly wait, as a job's progress


class Bodies:
    """Refuses a body that is too large, also one that does not say so, or that comes too slowly."""

    def __init__(self, app: ASGIApp, *, options: ServeOptions) -> None:
        """Wrap an app."""
        self._app, self._options = app, options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with an eye on its body; a response that is not taken off ends the connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive, self._most(scope), self._options.body_seconds)
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            if body.refusal is not None and not started:
                return  # the answer of an app that did not let our refusal through
            started = True
            async with asyncio.timeout(self._options.body_seconds):
                await send(message)

        try:
            body.check_declared(scope)
            await self._app(scope, body.receive, watched)
        except Refusal as refusal:
            body.refusal = refusal
        if body.refusal is not None and not started:
            await answer(body.refusal, scope, receive, send)

    def _most(self, scope: Scope) -> int:
        """Give the largest body that a route takes."""
        upload = scope["path"].rstrip("/") == _UPLOADS and Headers(scope=scope).get("content-type", "").startswith(
            "multipart/"
        )
        return self._options.upload_bytes if upload else self._options.json_bytes


class _Body:
    """The body of one request as it comes."""

    def __init__(self, receive: Receive, most: int, seconds: float) -> None:
        """Count from now."""
        self._receive, self._most, self._seconds = receive, most, seconds
        self._started = asyncio.get_running_loop().time()
        self._bytes = 0
        self._whole = False
        self.refusal: Refusal | None = None

    def check_declared(self, scope: Scope) -> None:
        """Refuse a body that says that it is too large."""
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal():
            raise Refusal(400, "bad_request", "The Content-Length is no number.", "Send a right one.")
        if len(declared) > 15 or int(declared) > self._most:
            raise self._too_large()

    async def receive(self) -> Message:
        """Give the next part; raise Refusal when it is one too many, or does not come."""
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._started + self._seconds + self._bytes / _LEAST_RATE):
                message = await self._receive()
        except TimeoutError:
            self.refusal = Refusal(408, "too_slow", "The request did not come in time.", "Send it again, quicker.")
            raise self.refusal from None
        self._bytes += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._bytes > self._most:
            self.refusal = self._too_large()
            raise self.refusal
        return message

    def _too_large(self) -> Refusal:
        """Say how much is taken."""
        message = f"The request is larger than {self._most:,} bytes."
        return Refusal(413, "too_large", message, "Send less at a time.")
