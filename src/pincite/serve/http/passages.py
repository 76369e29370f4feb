"""Passages with what stands around them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from pincite.serve import shapes
from pincite.serve.http.documents import document_json
from pincite.serve.http.guard import Seen
from pincite.serve.http.limits import reading
from pincite.serve.http.work import run

router = APIRouter(tags=["documents"], dependencies=[reading])


@router.get("/v1/passages/{passage_id}")
async def passage(
    request: Request, passage_id: str, library: Seen, around: Annotated[int, Query(ge=0, le=20_000)] = 0
) -> dict[str, Any]:
    """Give a current passage, its document, and some characters of it on each side."""

    def work() -> dict[str, Any]:
        passage = library.passage(passage_id)
        text = library.document(passage.uri, passage.version).text
        return {
            "passage": shapes.passage_json(passage),
            "document": document_json(library.record(passage.uri), library),
            "before": text[max(0, passage.start - around) : passage.start],
            "after": text[passage.end : passage.end + around],
        }

    return await run(request, work)
