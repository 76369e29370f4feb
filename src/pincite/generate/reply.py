"""Let a generator write in the form that suits it, within a deadline that holds even when it hangs."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Literal

from pincite.errors import GenerationTimeout, ReplyMalformed, SchemaRefused
from pincite.generate.form import reader, schema
from pincite.models import protocols
from pincite.models.protocols import Finish, Form, GenerationOptions, Piece
from pincite.stop import Stopped, get
from pincite.types import Message

_GRACE = 1.25  # a generator keeps its deadline within one token; this waits a little longer before giving it up
_JOIN_SECONDS = 5.0  # a cancelled generator stops within one token; it should be free again when the next call comes


@dataclass(frozen=True, slots=True)
class Draft:
    """What the generator wrote, unchecked."""

    text: str
    reason: Literal["stop", "length", "deadline", "dropped", "malformed"]  # malformed: it left its form after some text
    prompt_tokens: int
    generated_tokens: int
    reused_tokens: int
    form: Form = "prose"  # that was asked for


def reply(
    generator: protocols.Generator,
    ask: Callable[[Form], Sequence[Message]],
    options: GenerationOptions,
    numbers: Collection[int],
) -> Generator[str, None, Draft]:
    """Yield the reply's text as far as its form is kept, and return the whole: sentences with ``[numbers]``.

    An endpoint is asked for JSON by a schema first. If it refuses the schema, or its first words are something else, it
    is asked for lines, in what is left of the time, and from then on.

    A generator that has no ``reply_form`` is asked for prose. What the iterator returns at its end is the draft. The
    deadline of the options holds for all together; ``numbers`` are of the passages that may be cited. ReplyMalformed if
    the reply does not have its form, and nothing of it was given; GenerationError as ``draft`` says.
    """
    form: Form = getattr(generator, "reply_form", "prose")
    begun = time.monotonic()
    if form == "json":
        try:
            roomy = replace(options, schema=schema(numbers), max_tokens=options.max_tokens * 3 // 2)  # braces take some
            return (yield from _formed(generator, form, ask(form), roomy))
        except (SchemaRefused, ReplyMalformed):  # raised only before any text
            form = "lines"
            generator.reply_form = form  # type: ignore[attr-defined]  # it has one
    if options.seconds is not None:
        options = replace(options, seconds=max(0.01, options.seconds - (time.monotonic() - begun)))
    return (yield from _formed(generator, form, ask(form), options))


def _formed(
    generator: protocols.Generator, form: Form, messages: Sequence[Message], options: GenerationOptions
) -> Generator[str, None, Draft]:
    """Read one reply in one form."""
    pieces, read, parts = draft(generator, messages, options), reader(form), list[str]()
    made: Draft | None = None
    try:
        while made is None:
            try:
                text = read.feed(next(pieces))
            except StopIteration as stop:
                made = stop.value
                text = read.end(made.reason == "stop")
            if text:
                parts.append(text)
                yield text
    except ReplyMalformed:
        if not parts:
            raise
        made = made or Draft("", "dropped", 0, 0, 0)
        made = replace(made, reason="malformed")
    finally:
        pieces.close()
    return replace(made, text="".join(parts), form=form)


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

    within = copy_context()  # the stream is to see a stop, too
    worker = threading.Thread(target=within.run, args=(work,), name="pincite-draft", daemon=True)
    worker.start()
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                item = get(items, deadline - time.monotonic())
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
    except Stopped:
        deadline = 0.0  # nobody waits for the stream either
        raise
    finally:
        cancelled.set()
        worker.join(max(0.0, min(_JOIN_SECONDS, deadline - time.monotonic())))
