"""The documents of a library: listed, shown, added, removed."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ConfigDict, Field, ValidationError, model_validator

from pincite.access import OWNER, Principal
from pincite.errors import UsageError
from pincite.library import Library
from pincite.reports import After, Listing
from pincite.serve import shapes
from pincite.serve.http.errors import Refusal
from pincite.serve.http.guard import Caller, Seen, admin, editor
from pincite.serve.http.jobs import Job, accepted, every, jobs_of
from pincite.serve.http.limits import reading
from pincite.serve.http.options import ServeOptions
from pincite.serve.http.requests import Body
from pincite.serve.http.uploads import received
from pincite.serve.http.work import run
from pincite.serve.places import permitted

router = APIRouter(tags=["documents"], dependencies=[reading])
_ID = re.compile(r"[0-9a-f]{12}")
_TEXT = 100_000  # characters of a text given at a time, unless fewer are asked for
Version = Annotated[int | None, Query(ge=1, description="Which version; the newest by default.")]
Sort = Literal["name", "added", "modified", "size", "-name", "-added", "-modified", "-size"]


class Add(Body):
    """What to add that is not in the request itself."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    path: str = Field("", min_length=1, max_length=4_096, description="A file or folder of the server.")
    url: str = Field("", min_length=1, max_length=8_000, description="A page of the public web.")

    @model_validator(mode="after")
    def _one(self) -> Add:
        """Check that it says one thing."""
        if bool(self.path) == bool(self.url):
            raise ValueError("give either a path or a url")
        return self


class Labels(Body):
    """Who may see a document: those who hold one of these."""

    labels: list[str] = Field(max_length=100)


def identified(document_id: str, library: Library) -> Any:
    """Give the document of an id that came in a path; anything else, as a URI or a path of a file, is none (404)."""
    if not _ID.fullmatch(document_id):
        raise Refusal(404, "not_found", "There is no such document.", "GET /v1/documents lists those there are.")
    return library.record(document_id)


def document_json(record: Any, library: Library) -> dict[str, Any]:
    """Shape a document, with the name that people call it by."""
    return shapes.record_json(record) | library.identify(record.source.uri)


@router.get("/v1/documents")
async def list_documents(
    request: Request,
    library: Seen,
    cursor: Annotated[str | None, Query(max_length=20_000)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    q: Annotated[str, Query(max_length=1_000, description="Looks in names, titles and URIs.")] = "",
    status: str | None = None,
    label: str | None = None,
    media_type: str | None = None,
    stale: bool | None = None,
    sort: Sort = "name",
) -> dict[str, Any]:
    """List documents page by page; what comes or goes meanwhile neither repeats nor hides others."""
    after = _after(cursor, sort)
    listing = Listing(
        order=sort.removeprefix("-"),  # type: ignore[arg-type]
        descending=sort[0] == "-",
        words=q,
        status=status,
        media_type=media_type,
        label=label,
        stale=stale,
    )

    def work() -> dict[str, Any]:
        records, there = library.listed(listing, after, limit)
        page: dict[str, Any] = {
            "documents": [document_json(record, library) for record in records],
            "next": None if there is None else _cursor(sort, *there),
        }
        return page if cursor else page | {"counts": asdict(library.counts())}

    return await run(request, work)


def _cursor(sort: str, key: str | int, uri: str) -> str:
    """Say where a page ended."""
    return base64.urlsafe_b64encode(json.dumps([sort, key, uri]).encode("ascii")).decode("ascii")


def _after(cursor: str | None, sort: str) -> After | None:
    """Read where the page before ended; UsageError if it was another list's."""
    if cursor is None:
        return None
    try:
        of, key, uri = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
        fits = isinstance(key, str) if sort.endswith("name") else type(key) is int and abs(key) < 2**63
        if of == sort and fits and isinstance(uri, str):
            return key, uri
    except (ValueError, TypeError):
        pass
    raise UsageError("The cursor is not one of this list.", fix="Begin again without a cursor.")


@router.post(
    "/v1/documents",
    status_code=202,
    dependencies=[editor],
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": Add.model_json_schema()},
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "required": ["files"],
                        "properties": {
                            "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                            "labels": {"type": "array", "items": {"type": "string"}},
                        },
                    }
                },
            },
        }
    },
)
async def add_documents(request: Request, library: Seen, principal: Caller) -> Response:
    """Add files that are sent (a multipart form), or a path or URL that is named; what is done is told by a job."""
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        places, name = await received(request, library)
        job = Job(
            "add",
            name,
            principal,
            lambda job: every(library.taking_in(places, tell=job.tell), job, library),
            lambda: library.give_up(places),
        )
        try:
            return accepted(jobs_of(request).start(job))
        except Refusal:
            library.give_up(places)
            raise
    try:
        body = Add.model_validate_json(await request.body())
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error
    return accepted(jobs_of(request).start(_adding(body, library, principal, request.app.state.options)))


def _adding(body: Add, library: Library, principal: Principal, options: ServeOptions) -> Job:
    """Make the job that adds what is named."""
    if url := body.url:
        if not options.allow_urls:
            raise Refusal(403, "not_allowed", "This server fetches nothing from the web.", "Upload the document.")
        return Job("add", url, principal, lambda job: every(library.adding_url(url), job, library))
    path = permitted(body.path, roots_of(principal, options))
    return Job("add", body.path, principal, lambda job: every(library.adding(path, tell=job.tell), job, library))


def roots_of(principal: Principal, options: ServeOptions) -> tuple[Path, ...] | None:
    """Give the folders in which a caller may name paths; None for the person at the machine."""
    return None if principal is OWNER else options.roots


@router.get("/v1/documents/{document_id}")
async def show_document(request: Request, document_id: str, library: Seen) -> dict[str, Any]:
    """Give a document: what is known of it, its outline and its versions."""

    def work() -> dict[str, Any]:
        record = identified(document_id, library)
        shape = document_json(record, library) | {"metadata": {}, "pages": 0, "outline": [], "versions": []}
        if not record.version:
            return shape
        document = library.document(record.source.uri)
        headings = (block for block in document.blocks if block.kind == "heading")
        return shape | {
            "metadata": dict(document.metadata),
            "pages": len(document.pages),
            "outline": [
                {"title": b.label or document.text[b.start : b.end], "level": b.level, "start": b.start}
                for b in headings
            ],
            "versions": [
                {"version": v.version, "added": shapes.instant(v.added_ns), "size": v.size, "title": v.title}
                for v in library.versions(record.source.uri)
            ],
        }

    return await run(request, work)


@router.get("/v1/documents/{document_id}/text")
async def show_text(
    request: Request,
    document_id: str,
    library: Seen,
    version: Version = None,
    start: Annotated[int, Query(ge=0)] = 0,
    end: Annotated[int | None, Query(ge=0)] = None,
) -> dict[str, Any]:
    """Give a part of a document's text, at most 100,000 characters."""

    def work() -> dict[str, Any]:
        document = library.document(identified(document_id, library).source.uri, version)
        length = len(document.text)
        first = min(start, length)
        last = max(first, min(length, first + _TEXT, length if end is None else end))
        text = document.text[first:last]
        return {"text": text, "start": first, "end": last, "length": length, "version": document.version}

    return await run(request, work)


@router.get("/v1/documents/{document_id}/passages")
async def show_passages(request: Request, document_id: str, library: Seen, version: Version = None) -> dict[str, Any]:
    """List where the passages of the newest version are; an older version has none any more."""

    def work() -> dict[str, Any]:
        record = identified(document_id, library)
        found = library.passages(record.source.uri) if version in (None, record.version) else []
        return {
            "passages": [
                {
                    "passage_id": passage.id,
                    "start": passage.start,
                    "end": passage.end,
                    "page": passage.page_from,
                    "heading_path": list(passage.heading_path),
                }
                for passage in found
            ]
        }

    return await run(request, work)


@router.get("/v1/documents/{document_id}/original", response_class=Response)
async def original(request: Request, document_id: str, library: Seen, version: Version = None) -> Response:
    """Give the file that a version was read from, to be saved: a browser shows nothing of it."""
    record = identified(document_id, library)
    data = await run(request, lambda: library.original(record.source.uri, version))
    name = library.identify(record.source.uri)["name"].rpartition("/")[2] or "document"
    plain = "".join(char if char.isascii() and (char.isalnum() or char in " ._-") else "_" for char in name)
    headers = {
        "content-disposition": f"attachment; filename=\"{plain[:200]}\"; filename*=UTF-8''{_quoted(name[:200])}",
        "content-security-policy": "sandbox; default-src 'none'",
        "x-content-type-options": "nosniff",
    }
    return Response(data, media_type="application/octet-stream", headers=headers)


def _quoted(name: str) -> str:
    return quote(name.encode("utf-8", "replace"), safe="")


@router.delete("/v1/documents/{document_id}", dependencies=[editor])
async def remove_document(request: Request, document_id: str, library: Seen) -> dict[str, Any]:
    """Remove a document with all its versions, and its file if it was uploaded."""

    def work() -> dict[str, Any]:
        record = identified(document_id, library)
        removed = jobs_of(request).between(lambda: library.remove(record.source.uri))
        return {"removed": [shapes.report_json(report) for report in removed.sources]}

    return await run(request, work)


@router.put("/v1/documents/{document_id}/labels", dependencies=[admin])
def label_document(document_id: str, body: Labels, library: Seen) -> dict[str, Any]:
    """Say who may see a document."""
    record = identified(document_id, library)
    library.label(record.source.uri, body.labels)
    return document_json(library.record(record.source.uri), library)


@router.post("/v1/documents/{document_id}/retry", status_code=202, dependencies=[editor])
def retry_document(request: Request, document_id: str, library: Seen, principal: Caller) -> Response:
    """Read a document again, as after what it lacked was installed; what is done is told by a job."""
    record = identified(document_id, library)
    uri = record.source.uri
    if uri.startswith(("http://", "https://")) and not request.app.state.options.allow_urls:
        raise Refusal(403, "not_allowed", "This server fetches nothing from the web.", "Upload the document.")
    name = library.identify(uri)["name"]
    job = Job("retry", name, principal, lambda job: every(library.again(uri, tell=job.tell), job, library))
    return accepted(jobs_of(request).start(job))


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
