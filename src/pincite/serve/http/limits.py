"""How much at a time: requests that run and wait, bytes of a body, seconds of silence."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.access import OWNER, Principal
from pincite.serve.http.errors import Refusal, answer
from pincite.serve.http.guard import Caller
from pincite.serve.http.options import ServeOptions

_UPLOADS = "/v1/documents"  # the route whose bodies may be large
_LEAST_RATE = 10_000  # bytes a second that a body must reach after its first seconds


class Gate:
    """Lets some requests run and some wait, and refuses the rest; no key takes so many that others find no place.

    A place that becomes free goes to a key that has the fewest requests running, and there to the oldest.
    """

    def __init__(self, running: int, waiting: int, share: float) -> None:
        """Set how many may run and how many may wait, and the share of both that one key may take."""
        self.running, self.waiting, self._share = running, waiting, share
        self._runs: Counter[str] = Counter()
        self._queue: list[tuple[str, asyncio.Future[None]]] = []  # those that wait, the oldest first

    @property
    def inside(self) -> int:
        """How many run and wait."""
        return self._runs.total() + len(self._queue)

    @asynccontextmanager
    async def place(self, principal: Principal) -> AsyncIterator[None]:
        """Hold a place for the block; Refusal when too many wait already."""
        who, turn = "" if principal is OWNER else principal.name, asyncio.get_running_loop().create_future()
        self._queue.append((who, turn))
        self._admit()
        try:
            self._check(who, turn)
            await turn
            yield
        finally:
            if (who, turn) in self._queue:
                self._queue.remove((who, turn))
            else:
                self._runs[who] -= 1
                self._admit()

    def _admit(self) -> None:
        """Give the free places away."""
        while self._runs.total() < self.running:
            able = [(self._runs[who], who, turn) for who, turn in self._queue if not turn.done() and self._may_run(who)]
            if not able:
                return
            _, who, turn = min(able, key=lambda each: each[0])
            self._queue.remove((who, turn))
            self._runs[who] += 1
            turn.set_result(None)

    def _may_run(self, who: str) -> bool:
        return self._runs[who] < self._most(self.running, who)

    def _most(self, places: int, who: str) -> int:
        """Give how many places one key may have; where there are no keys, all are one person's."""
        return math.ceil(places * self._share) if who else places

    def _check(self, who: str, turn: asyncio.Future[None]) -> None:
        """Refuse a request that would have to wait beyond what may."""
        others = sum(waits == who for waits, _ in self._queue)
        if turn.done() or (len(self._queue) <= self.waiting and others <= self._most(self.waiting, who)):
            return
        message = "The server has too much to do."
        if len(self._queue) <= self.waiting:
            message = "This key has too many requests that run or wait."
        raise Refusal(429, "too_busy", message, "Ask again soon.", {"retry-after": "2"})


def _through(gate: str) -> Callable[[Request, Principal], AsyncIterator[None]]:
    """Make a dependency that holds a place in a gate until the response has been sent."""

    async def passing(request: Request, principal: Caller) -> AsyncIterator[None]:
        async with request.app.state.gates[gate].place(principal):
            yield

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
