"""Work in threads for clients who may go away: it stops soon after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import Event
from typing import Any, TypeVar

from anyio import to_thread
from fastapi import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pincite.serve import shapes

T = TypeVar("T")
_LOOK_SECONDS = 0.5  # how often an open stream looks whether its key still counts


class Stopped(Exception):
    """Nobody waits for this work any more."""


def until(stop: Event, items: Iterable[T]) -> Iterator[T]:
    """Pass items on, and end with ``Stopped`` before the next one when the event is set."""
    try:
        for item in items:
            if stop.is_set():
                raise Stopped
            yield item
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            close()


async def run(request: Request, function: Callable[[Event], T]) -> T:
    """Run a function in a thread; the event it is given is set when the client goes away."""
    stop = Event()
    watcher = asyncio.create_task(_gone(request.receive, stop))
    try:
        return await to_thread.run_sync(function, stop)
    finally:
        watcher.cancel()


async def _gone(receive: Receive, stop: Event) -> None:
    """Set the event when the client has gone; the body was read before."""
    while (await receive())["type"] != "http.disconnect":
        continue
    stop.set()


class EventStream(Response):
    """Server-sent events from an iterator that runs in a thread.

    The iterator gives (event's name, JSON value). It is closed when the client goes away or its key does not count
    any more, before the next item.
    """

    media_type = "text/event-stream"

    def __init__(self, request: Request, events: Callable[[], Iterable[tuple[str, Any]]]) -> None:
        """Keep what is to run; ``events`` is called in the thread."""
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._allowed: Callable[[], bool] = getattr(request.state, "still_allowed", lambda: True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events as they come."""
        stop, queue = Event(), asyncio.Queue[bytes | None]()
        loop = asyncio.get_running_loop()
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        watcher = asyncio.create_task(_gone(receive, stop))
        worker = asyncio.create_task(
            to_thread.run_sync(self._produce, stop, lambda b: loop.call_soon_threadsafe(queue.put_nowait, b))
        )
        try:
            while not stop.is_set():
                with suppress(TimeoutError):
                    chunk = await asyncio.wait_for(queue.get(), _LOOK_SECONDS)
                    if chunk is None:
                        break
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                if not self._allowed():
                    break
            if not stop.is_set():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            stop.set()
            watcher.cancel()
            await worker

    def _produce(self, stop: Event, put: Callable[[bytes | None], Any]) -> None:
        """Iterate, in a thread."""
        from pincite.errors import PinciteError

        try:
            for name, value in until(stop, self._events()):
                put(event_bytes(name, value))
        except Stopped:
            return
        except PinciteError as failure:
            put(event_bytes("error", shapes.error_json(failure)))
        finally:
            put(None)


def event_bytes(name: str, value: Any) -> bytes:
    """Write one server-sent event."""
    return f"event: {name}\ndata: {shapes.to_json(value)}\n\n".encode()
