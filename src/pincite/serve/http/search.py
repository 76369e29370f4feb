"""Search, and why a document was or was not found."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from pincite.serve import shapes
from pincite.serve.http.audit import audit
from pincite.serve.http.guard import Seen
from pincite.serve.http.limits import reading
from pincite.serve.http.requests import Search, Why
from pincite.serve.http.work import run

router = APIRouter(tags=["search"], dependencies=[reading])


@router.post("/v1/search")
async def search(request: Request, body: Search, library: Seen) -> dict[str, Any]:
    """Find the passages that bear on a question."""

    def work() -> dict[str, Any]:
        found = library.search(body.question, limit=body.limit, **body.options())
        audit(request, body.question, (hit.passage.uri for hit in found))
        return shapes.search_json(found, library if body.explain else None)

    return await run(request, work)


@router.post("/v1/why")
async def why(request: Request, body: Why, library: Seen) -> dict[str, Any]:
    """Say why a question did, or did not, find a document or words in it."""

    def work() -> dict[str, Any]:
        found = library.why(body.question, body.target, **body.options())
        audit(request, body.question, (hit.passage.uri for hit in found.ahead))
        return shapes.why_json(found)

    return await run(request, work)
