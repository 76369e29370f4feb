"""Questions that are answered, whole or event by event."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from pincite.serve import shapes
from pincite.serve.http.guard import Seen
from pincite.serve.http.limits import asking
from pincite.serve.http.requests import Ask
from pincite.serve.http.work import EventStream, Stopped, run, until
from pincite.types import DoneEvent

router = APIRouter(tags=["answers"], dependencies=[asking])


@router.post("/v1/ask", response_model=None)
async def ask(request: Request, body: Ask, library: Seen) -> Response:
    """Answer a question from the documents; with ``stream`` as events: token, citation, verdict, done, error."""

    def answer(stop: Event) -> dict[str, Any]:
        for event in until(stop, library.stream(body.question, **body.options())):
            if isinstance(event, DoneEvent):
                return shapes.answer_json(event.answer)
        raise Stopped

    def events() -> Iterator[tuple[str, Any]]:
        for event in library.stream(body.question, **body.options()):
            shape = shapes.event_json(event)
            yield shape.pop("event"), shape

    if body.stream:
        return EventStream(request, events)
    return JSONResponse(await run(request, answer))
