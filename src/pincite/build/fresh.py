"""Bring a library up to date for many who ask at the same time: in one thread, and for none of them too long."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock

from pincite.stop import stoppable

# A look of up to so many seconds is taken whenever somebody asks. After a longer one comes a pause, so many times as
# long as it and at most so long; who asks then is told how old is what he sees. A look that took something in says
# little of how long the next one takes.
_SHORT, _TIMES, _MOST = 0.05, 10, 5.0


class Fresh:
    """Looks at the disk when somebody asks, never twice at a time: many who ask share the next look."""

    def __init__(self, refresh: Callable[[], bool]) -> None:
        """Start nothing yet.

        Args:
            refresh: brings the library up to date, and tells whether anything had changed; it looks whether it is to
                stop (``pincite.stop``).
        """
        self._refresh = refresh
        self._lock = Lock()
        self._closed = Event()
        self._look: Future[None] | None = None
        self._began = self._ended = self._took = 0.0
        self._held = 0
        self._seen = -math.inf  # when the last look began that came to its end

    def wait(self, seconds: float) -> float:
        """Let the changes on disk that were made before this call be taken in.

        Args:
            seconds: how long they may take; whoever asks while a look has taken longer already, or while somebody else
                writes (``held``), does not wait at all.

        Returns:
            0.0 when all are in; else the age in seconds of what is, infinite when nothing was looked at yet. They go on
            coming in.

        Raises:
            LibraryError: they could not be written.
            ModelError: the encoder cannot be used.
        """
        asked = time.monotonic()
        while True:
            with self._lock:
                if self._held:
                    return asked - self._seen
                look = self._look
                if look is None or (look.done() and not self._rests()):
                    look = self._start()
                began = self._began
            try:
                look.result(max(0.0, min(asked, began) + seconds - time.monotonic()))
            except TimeoutError:
                return time.monotonic() - self._seen
            if began >= asked:
                return 0.0
            if self._rests():
                return time.monotonic() - self._seen

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody wait, or look, in the block: a long ``add`` runs, and a look would have to wait for its end."""
        with self._lock:
            self._held += 1
        try:
            yield
        finally:
            with self._lock:
                self._held -= 1

    def close(self) -> None:
        """Stop before the next file, and wait until then."""
        self._closed.set()
        if self._look is not None:
            self._look.exception()

    def _start(self) -> Future[None]:
        """Begin to look."""
        pool = ThreadPoolExecutor(1, "pincite-refresh")
        self._began = time.monotonic()
        self._look = look = pool.submit(self._run, self._began)
        pool.shutdown(wait=False)
        return look

    def _rests(self) -> bool:
        """Tell whether it is too soon to look again."""
        return self._took > _SHORT and time.monotonic() - self._ended < min(_MOST, _TIMES * self._took)

    def _run(self, began: float) -> None:
        """Look once."""
        changed = False
        try:
            with stoppable(self._closed.is_set):
                changed = self._refresh()
            self._seen = began
        finally:
            self._ended = time.monotonic()
            self._took = 0.0 if changed else self._ended - began
