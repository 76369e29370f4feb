"""How much at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Depends, Request

from pincite.serve.http.errors import Refusal


class Gate:
    """Lets some in, some wait, and refuses the rest."""

    def __init__(self, running: int, waiting: int) -> None:
        """Set how many."""
        self.running, self.waiting = running, waiting
        self._free = asyncio.Semaphore(running)
        self._inside = 0

    async def enter(self) -> None:
        """Wait for a place; Refusal when too many wait already."""
        if self._inside >= self.running + self.waiting:
            raise Refusal(429, "too_busy", "The server is busy.", "Try again in a moment.", {"retry-after": "2"})
        self._inside += 1
        try:
            await self._free.acquire()
        except BaseException:
            self._inside -= 1
            raise

    def leave(self) -> None:
        """Give the place back."""
        self._inside -= 1
        self._free.release()


def _through(gate: str) -> Callable[[Request], AsyncIterator[None]]:
    """Make a dependency that holds a place in a gate until the response has been sent."""

    async def passing(request: Request) -> AsyncIterator[None]:
        chosen: Gate = getattr(request.app.state, gate)
        await chosen.enter()
        try:
            yield
        finally:
            chosen.leave()

    return passing


asking: Any = Depends(_through("asks"))
reading: Any = Depends(_through("reads"))
