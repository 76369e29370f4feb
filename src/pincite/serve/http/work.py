"""Work in threads for clients who may go away, and whose key may be revoked: it stops within a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from threading import Event
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pincite.errors import PinciteError
from pincite.serve import shapes
from pincite.serve.http.errors import Refusal
from pincite.stop import Stopped, check_stop, stoppable

T = TypeVar("T")
_LOOK_SECONDS = 0.3  # how often the key is looked at again


async def run(request: Request, function: Callable[[], T]) -> T:
    """Run a function in a thread, as ``pincite.stop`` lets it be stopped.

    Args:
        request: whose client waits; its body was read.
        function: what to do.

    Returns:
        What the function gives.

    Raises:
        Refusal: the client is gone, its key was revoked, or the server stops.
    """
    async with _watched(request) as stop:
        try:
            return await to_thread.run_sync(_stoppable, function, stop)
        except Stopped:
            raise _why_stopped(request) from None


def _stoppable(function: Callable[[], T], stop: Event) -> T:
    """Run a function until the event is set; one whose result came too late counts as stopped."""
    with stoppable(stop.is_set):
        check_stop()
        result = function()
        check_stop()
        return result


@asynccontextmanager
async def _watched(request: Request) -> AsyncIterator[Event]:
    """Give an event that is set when the client goes, its key counts no more, or the server stops."""
    stop = Event()
    watchers = [asyncio.create_task(_until_gone(request.receive, stop)), asyncio.create_task(_allowed(request, stop))]
    try:
        yield stop
    finally:
        stop.set()
        for watcher in watchers:
            watcher.cancel()


async def _until_gone(receive: Receive, stop: Event) -> None:
    """Set the event when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        continue
    stop.set()


async def _allowed(request: Request, stop: Event) -> None:
    """Set the event when the key counts no more, or the server stops."""
    while still_served(request):
        await asyncio.sleep(_LOOK_SECONDS)
    stop.set()


def still_served(request: Request) -> bool:
    """Tell whether the key still counts and the server goes on; keys that cannot be read let nobody in."""
    try:
        return not request.app.state.stopping.is_set() and bool(request.state.still_allowed())
    except Refusal:
        return False


def _why_stopped(request: Request) -> Refusal:
    """Say why a request was not served to its end; a client that is gone does not hear it."""
    if request.app.state.stopping.is_set():
        return Refusal(503, "stopping", "The server stops.", "Ask again when it runs again.", {"retry-after": "5"})
    return Refusal(401, "unauthorized", "The key was revoked.", "Ask for a new key.")


class EventStream(Response):
    """Server-sent events from an iterator that runs in a thread.

    The iterator gives (the event's name, a JSON value). When the client goes, its key counts no more or the server
    stops, the iterator is closed before its next item, and a client that is still there gets an ``error`` event.
    """

    media_type = "text/event-stream"

    def __init__(self, request: Request, events: Callable[[], Iterable[tuple[str, Any]]]) -> None:
        """Keep what is to run; ``events`` is called in the thread."""
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._request, self._events = request, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events as they come."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[bytes | None]()

        def put(chunk: bytes | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: the server was forced to stop
                loop.call_soon_threadsafe(queue.put_nowait, chunk)

        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with _watched(self._request) as stop:
            limiter: CapacityLimiter = self._request.app.state.streams
            worker = asyncio.create_task(to_thread.run_sync(self._produce, stop, put, limiter=limiter))
            try:
                while (chunk := await queue.get()) is not None:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            finally:
                stop.set()
                await worker
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def written(self, name: str, value: Any) -> bytes:
        """Write one event; a subclass may write it in another form."""
        return event_bytes(name, value)

    def _produce(self, stop: Event, put: Callable[[bytes | None], None]) -> None:
        """Iterate, in a thread."""
        try:
            with stoppable(stop.is_set):
                events = iter(self._events())
                try:
                    for name, value in events:
                        put(self.written(name, value))
                        check_stop()
                finally:
                    close = getattr(events, "close", None)
                    if close is not None:
                        close()
        except Stopped:
            put(self.written("error", _why_stopped(self._request).shape()))
        except PinciteError as failure:
            put(self.written("error", shapes.error_json(failure)))
        finally:
            put(None)


def event_bytes(name: str, value: Any) -> bytes:
    """Write one server-sent event."""
    return f"event: {name}\ndata: {shapes.to_json(value)}\n\n".encode()
