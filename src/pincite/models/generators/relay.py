"""From a runtime that calls back to an iterator that can be closed: deadline, cancellation, stop strings."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue

from pincite.errors import GenerationError, GenerationTimeout
from pincite.models.protocols import Finish, GenerationOptions, Piece
from pincite.stop import get

Emit = Callable[[str], bool]  # called once a token with its text ("" while a character is incomplete); False: stop
Work = Callable[[Emit], Finish]


class Relay:
    """Runs generations on a thread of their own, in the order asked for."""

    def __init__(self, name: str, parallel: int = 1) -> None:
        """Start nothing yet; ``parallel`` generations run at a time, of a model in this process one."""
        self._name = name
        self._executor = ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="pincite-generator")

    def stream(
        self, work: Work, options: GenerationOptions, prompt_tokens: int, abort: Callable[[], None] = lambda: None
    ) -> Iterator[Piece | Finish]:
        """Run the work and yield what it emits; the deadline counts from this call.

        Closing the iterator makes the next ``emit`` return False. When the deadline passes with text shown, the last
        item is ``Finish("deadline")``; the work ends by itself within one token.

        Args:
            work: calls its argument once a token, and gives the Finish.
            options: deadline and stop strings are heeded here, the rest by the work.
            prompt_tokens: for the Finish of a generation that was stopped.
            abort: called at the end, however it comes, to wake work that waits.

        Returns:
            The pieces, then one Finish.

        Raises:
            GenerationTimeout: the deadline passed before there was any text.
            GenerationError: the runtime failed.
        """
        deadline = Deadline(options.seconds)
        return self._relay(work, deadline, Stops(options.stop), prompt_tokens, abort)

    def _relay(
        self, work: Work, deadline: Deadline, stops: Stops, prompt_tokens: int, abort: Callable[[], None]
    ) -> Iterator[Piece | Finish]:
        events: SimpleQueue[str | Future[Finish]] = SimpleQueue()
        closed = threading.Event()

        def emit(text: str) -> bool:
            events.put(text)
            return not closed.is_set()

        future = self._executor.submit(work, emit)
        future.add_done_callback(events.put)
        generated, shown = 0, False
        try:
            while True:
                try:
                    event = get(events, deadline.left())
                except (Empty, GenerationTimeout):
                    yield deadline.finish(shown, prompt_tokens, generated)
                    return
                if isinstance(event, Future):
                    if rest := stops.rest():
                        yield Piece(rest)
                    yield self._result(event)
                    return
                generated += 1
                if text := stops.feed(event):
                    shown = True
                    yield Piece(text)
                if stops.hit:
                    yield Finish("stop", prompt_tokens, generated)
                    return
        finally:
            closed.set()
            future.cancel()
            abort()

    def _result(self, future: Future[Finish]) -> Finish:
        try:
            return future.result()
        except (RuntimeError, ValueError, MemoryError, OSError) as error:
            raise GenerationError(f"{self._name} failed: {error}", fix="Run `pincite doctor`.") from error


class Deadline:
    """A point in time on the monotonic clock, or none."""

    def __init__(self, seconds: float | None) -> None:
        """Count from now; None is no deadline."""
        self.seconds = seconds
        self._at = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Give the seconds that are left, None without a deadline; GenerationTimeout when none are."""
        if self._at is None:
            return None
        left = self._at - time.monotonic()
        if left <= 0:
            raise self._timeout()
        return left

    def finish(self, shown: bool, prompt_tokens: int, generated: int) -> Finish:
        """Say that it has passed: by the last item of the stream, or GenerationTimeout when no text was shown."""
        if not shown:
            raise self._timeout()
        return Finish("deadline", prompt_tokens, generated)

    def _timeout(self) -> GenerationTimeout:
        return GenerationTimeout(
            f"The generator wrote nothing within {self.seconds:g} s.", fix="Raise the setting answer_seconds."
        )


class Stops:
    """Cuts a stream of text before the first stop string, also when it comes in parts.

    Attributes:
        hit (bool): a stop string has come.
    """

    hit: bool = False

    def __init__(self, stop: tuple[str, ...]) -> None:
        """Look for these strings; empty ones are ignored."""
        self._stop = tuple(string for string in stop if string)
        self._held = ""

    def feed(self, text: str) -> str:
        """Take some text and give what can be shown: all but an end that may be the start of a stop string."""
        self._held += text
        places = [place for string in self._stop if (place := self._held.find(string)) >= 0]
        if places:
            self.hit = True
            ready, self._held = self._held[: min(places)], ""
            return ready
        keep = max((self._overlap(string) for string in self._stop), default=0)
        cut = len(self._held) - keep
        ready, self._held = self._held[:cut], self._held[cut:]
        return ready

    def rest(self) -> str:
        """Give what was held back, at the end."""
        rest, self._held = self._held, ""
        return rest

    def _overlap(self, string: str) -> int:
        """Give the length of the longest end of the held text that starts the string."""
        longest = min(len(string) - 1, len(self._held))
        return next((size for size in range(longest, 0, -1) if self._held.endswith(string[:size])), 0)
