"""Any text, checked sentence by sentence against the documents."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from pincite.serve import shapes
from pincite.serve.http.audit import audit
from pincite.serve.http.guard import Seen
from pincite.serve.http.limits import asking
from pincite.serve.http.requests import Check
from pincite.serve.http.work import run

router = APIRouter(tags=["answers"], dependencies=[asking])


@router.post("/v1/check")
async def check(request: Request, body: Check, library: Seen) -> dict[str, Any]:
    """Check each sentence of a text against the documents."""
    where = None if body.where is None else body.where.filter()

    def work() -> dict[str, Any]:
        checked = library.check(body.text, mode=body.mode, where=where)
        audit(request, body.text, (citation.uri for citation in checked.citations))
        return shapes.check_json(body.text, checked)

    return await run(request, work)
