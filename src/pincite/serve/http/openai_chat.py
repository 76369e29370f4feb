"""``/v1/chat/completions``: checked answers for every client that speaks to OpenAI's interface."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.serve import shapes
from pincite.serve.http.audit import audit
from pincite.serve.http.errors import Json
from pincite.serve.http.guard import Seen
from pincite.serve.http.limits import asking
from pincite.serve.http.openai import Route, Wrong
from pincite.serve.http.openai_requests import Chat
from pincite.serve.http.openai_text import Piece, Spoken
from pincite.serve.http.requests import QUESTION_CHARS
from pincite.serve.http.work import EventStream, run

router = APIRouter(tags=["openai"], route_class=Route, dependencies=[asking])


class Chunks(EventStream):
    """Server-sent events without names, as OpenAI sends them."""

    def written(self, name: str, value: Any) -> bytes:
        """Write one event; the last one is no JSON."""
        return f"data: {value if isinstance(value, str) else shapes.to_json(value)}\n\n".encode()


@router.post("/v1/chat/completions", response_model=None)
async def complete(request: Request, body: Chat, library: Seen) -> Response:
    """Answer the last message from the documents; with ``stream`` sentence by sentence, each when it is checked."""
    body.check(library)
    question, history = body.conversation()
    if len(question) > QUESTION_CHARS:
        raise Wrong("messages", f"The question is longer than {QUESTION_CHARS:,} characters.", "Ask in fewer words.")
    notes = body.pincite.footnotes
    said = Spoken(footnotes=request.app.state.options.footnotes if notes is None else notes, stops=body.stops())

    def pieces() -> Iterator[Piece]:
        events = library.stream(question, history=history, **body.options(library))
        with closing(events):  # type: ignore[type-var]
            for event in events:
                piece = said.hear(event)
                if said.answer is not None:
                    shown = [c.uri for c in said.answer.citations] + [hit.passage.uri for hit in said.answer.nearest]
                    audit(request, question, shown)
                yield piece

    if body.stream:
        return Chunks(request, lambda: _chunks(body, said, pieces()))
    await run(request, lambda: list(pieces()))
    return Json(_whole(body, said))


def _head(kind: str, body: Chat) -> dict[str, Any]:
    """Write what every object begins with."""
    name = f"chatcmpl-{secrets.token_hex(12)}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": body.model}


def _whole(body: Chat, said: Spoken) -> dict[str, Any]:
    """Shape a whole answer."""
    message = {
        "role": "assistant",
        "content": said.text,
        "refusal": None,
        "annotations": said.annotations,
        "pincite": said.more(),
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": said.finish()}
    return _head("chat.completion", body) | {"choices": [choice], "usage": said.usage()}


def _chunks(body: Chat, said: Spoken, pieces: Iterator[Piece]) -> Iterator[tuple[str, Any]]:
    """Shape an answer as it comes; annotations come with the words that they are of."""
    head = _head("chat.completion.chunk", body)
    usage = bool(body.stream_options and body.stream_options.include_usage)

    def chunk(delta: dict[str, Any], finish: str | None = None) -> tuple[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return "", head | {"choices": [choice]} | ({"usage": None} if usage else {})

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces:
        if piece.text:
            more = {"annotations": list(piece.annotations)} if piece.annotations else {}
            yield chunk({"content": piece.text} | more)
    yield chunk({"pincite": said.more()}, said.finish())
    if usage:
        yield "", head | {"choices": [], "usage": said.usage()}
    yield "", "[DONE]"
