"""Stop work that nobody waits for any more, from another thread.

Who starts work says when it is to stop (``stoppable``); the stages look now and then (``check_stop``), at least before
each search, each event of an answer, and every quarter of a second while they wait for a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")
_LOOK_SECONDS = 0.25
_asked: ContextVar[Callable[[], bool] | None] = ContextVar("pincite-stop", default=None)


class Stopped(Exception):
    """The work was stopped by who asked for it; not an error of the library."""


@contextmanager
def stoppable(asked: Callable[[], bool]) -> Iterator[None]:
    """Let work in the block, in this thread, raise ``Stopped`` soon after ``asked`` gives True."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def check_stop() -> None:
    """Raise Stopped if this thread's work is to stop."""
    asked = _asked.get()
    if asked is not None and asked():
        raise Stopped("The work was stopped.")


def get(items: SimpleQueue[T], timeout: float | None) -> T:
    """Wait for the next item of a queue.

    Args:
        items: the queue.
        timeout: seconds; None waits for ever.

    Returns:
        The item.

    Raises:
        Empty: none came in time.
        Stopped: this thread's work is to stop.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        check_stop()
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if _asked.get() is not None:
            left = _LOOK_SECONDS if left is None else min(left, _LOOK_SECONDS)
        try:
            return items.get(timeout=left)
        except Empty:
            if deadline is not None and time.monotonic() >= deadline:
                raise
