"""Bring a library up to date for many who ask at the same time: in one thread, and for none of them too long."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock

from pincite.stop import stoppable

# How long a look at the disk is new enough: so many times what it took, within bounds.
_TIMES, _LEAST, _MOST = 10, 1.0, 5.0


class Fresh:
    """Looks at the disk when somebody asks, and so that it costs little: not without a pause, never twice at a time."""

    def __init__(self, refresh: Callable[[], object]) -> None:
        """Start nothing yet.

        Args:
            refresh: brings the library up to date; it looks whether it is to stop (``pincite.stop``).
        """
        self._refresh = refresh
        self._lock = Lock()
        self._closed = Event()
        self._look: Future[None] | None = None
        self._began = self._ended = 0.0

    def wait(self, seconds: float) -> bool:
        """Let changes on disk be taken in.

        Args:
            seconds: how long they may take; whoever asks while a look has taken longer already does not wait at all.

        Returns:
            Whether all are in. If not, they go on coming in.

        Raises:
            LibraryError: they could not be written.
            ModelError: the encoder cannot be used.
        """
        with self._lock:
            if self._look is None or (self._look.done() and self._is_old()):
                pool = ThreadPoolExecutor(1, "pincite-refresh")
                self._began = time.monotonic()
                self._look = pool.submit(self._run)
                pool.shutdown(wait=False)
            look, left = self._look, self._began + seconds - time.monotonic()
        try:
            look.result(max(0.0, left))
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Stop before the next file, and wait until then."""
        self._closed.set()
        if self._look is not None:
            self._look.exception()

    def _is_old(self) -> bool:
        """Tell whether the last look is too old to rely on."""
        age = max(_LEAST, min(_MOST, _TIMES * (self._ended - self._began)))
        return time.monotonic() - self._ended > age

    def _run(self) -> None:
        """Look once."""
        try:
            with stoppable(self._closed.is_set):
                self._refresh()
        finally:
            self._ended = time.monotonic()
