"""Questions that are answered, whole or event by event; texts that are checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.serve import shapes
from pincite.serve.http.audit import audit
from pincite.serve.http.guard import Seen
from pincite.serve.http.limits import asking
from pincite.serve.http.requests import Ask, Check, filter_of
from pincite.serve.http.work import EventStream, run
from pincite.types import Answer, DoneEvent

router = APIRouter(tags=["answers"], dependencies=[asking])


@router.post("/v1/ask", response_model=None, responses={200: {"content": {"text/event-stream": {}}}})
async def ask(request: Request, body: Ask, library: Seen) -> Response:
    """Answer a question from the documents; with ``stream`` as events: token, citation, verdict, done, error."""

    def events() -> Iterator[tuple[str, Any]]:
        for event in library.stream(body.question, **body.options()):
            if isinstance(event, DoneEvent):
                _note(request, event.answer)
            shape = shapes.event_json(event)
            yield shape.pop("event"), shape

    if body.stream:
        return EventStream(request, events)

    def answer() -> str:
        found = library.ask(body.question, **body.options())
        _note(request, found)
        return shapes.to_json(shapes.answer_json(found))

    return Response(await run(request, answer), media_type="application/json")


@router.post("/v1/check")
async def check(request: Request, body: Check, library: Seen) -> dict[str, Any]:
    """Check each sentence of a text against the documents."""

    def work() -> dict[str, Any]:
        checked = library.check(body.text, mode=body.mode, where=filter_of(body.where))
        audit(request, body.text, (citation.uri for citation in checked.citations))
        return shapes.check_json(body.text, checked)

    return await run(request, work)


def _note(request: Request, answer: Answer) -> None:
    """Write down what an answer shows, if that is wanted."""
    passages = [*(hit.passage for hit in answer.nearest), *(item.passage for item in answer.evidence)]
    shown = {citation.uri for citation in answer.citations} | {passage.uri for passage in passages}
    audit(request, answer.question, shown)
