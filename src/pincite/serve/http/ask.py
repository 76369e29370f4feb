"""Questions that are answered, whole or event by event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from pincite.serve import shapes
from pincite.serve.http.guard import Seen
from pincite.serve.http.limits import asking
from pincite.serve.http.requests import Ask
from pincite.serve.http.work import EventStream, run

router = APIRouter(tags=["answers"], dependencies=[asking])


@router.post("/v1/ask", response_model=None)
async def ask(request: Request, body: Ask, library: Seen) -> Response:
    """Answer a question from the documents; with ``stream`` as events: token, citation, verdict, done, error."""

    def events() -> Iterator[tuple[str, Any]]:
        for event in library.stream(body.question, **body.options()):
            shape = shapes.event_json(event)
            yield shape.pop("event"), shape

    if body.stream:
        return EventStream(request, events)
    answer = await run(request, lambda: shapes.answer_json(library.ask(body.question, **body.options())))
    return JSONResponse(answer)
