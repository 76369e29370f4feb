"""Let a generator write, within a deadline that holds even when the generator itself hangs."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pincite.errors import GenerationTimeout
from pincite.models import protocols
from pincite.models.protocols import Finish, GenerationOptions, Piece
from pincite.types import Message

_GRACE = 1.25  # a generator keeps its deadline within one token; this waits a little longer before giving it up
_JOIN_SECONDS = 5.0  # a cancelled generator stops within one token; it should be free again when the next call comes


@dataclass(frozen=True, slots=True)
class Draft:
    """What the generator wrote, unchecked."""

    text: str
    reason: Literal["stop", "length", "deadline", "dropped"]
    prompt_tokens: int
    generated_tokens: int
    reused_tokens: int


def draft(
    generator: protocols.Generator, messages: Sequence[Message], options: GenerationOptions
) -> Generator[str, None, Draft]:
    """Yield the text as it is written, none of it empty, and return the whole (``yield from`` gives it).

    Closing the iterator cancels the generator. A stream that ends without a Finish counts as dropped. A GenerationError
    goes up; with ``options.seconds`` also a GenerationTimeout once the deadline has passed by a quarter with no end of
    the stream, whatever the generator does.
    """
    parts: list[str] = []
    finish = Finish("dropped", 0, 0)
    stream = generator.stream(messages, options)
    if options.seconds is not None:
        stream = _watched(stream, options.seconds * _GRACE, generator.name)
    try:
        for item in stream:
            if isinstance(item, Finish):
                finish = item
                break
            if item.text:
                parts.append(item.text)
                yield item.text
    finally:
        _close(stream)
    return Draft("".join(parts), finish.reason, finish.prompt_tokens, finish.generated_tokens, finish.reused_tokens)


def _close(stream: Iterator[Piece | Finish]) -> None:
    """Cancel a stream that can be cancelled; a plain iterator cannot."""
    close = getattr(stream, "close", None)
    if close is not None:
        close()


def _watched(stream: Iterator[Piece | Finish], seconds: float, name: str) -> Iterator[Piece | Finish]:
    """Run the stream in a thread, so that one that hangs can be left behind at the deadline."""
    items: queue.SimpleQueue[Piece | Finish | BaseException | None] = queue.SimpleQueue()
    cancelled = threading.Event()

    def work() -> None:
        try:
            for item in stream:
                items.put(item)
                if cancelled.is_set():
                    break
            _close(stream)
            items.put(None)
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            items.put(error)

    worker = threading.Thread(target=work, name="pincite-draft", daemon=True)
    worker.start()
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                item = items.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise GenerationTimeout(
                    f"{name} did not answer within {seconds:g} seconds.",
                    fix="Raise answer_seconds, lower evidence_tokens, or use --generator none.",
                ) from None
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        cancelled.set()
        worker.join(max(0.0, min(_JOIN_SECONDS, deadline - time.monotonic())))
