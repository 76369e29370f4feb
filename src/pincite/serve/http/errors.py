"""Every failure as ``{"error": {"code", "message", "fix"}}`` with the status that fits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from pincite import errors
from pincite.serve import shapes

_STATUS: tuple[tuple[type[errors.PinciteError], int], ...] = (  # the first that fits
    (errors.NotInLibrary, 404),
    (errors.AccessDenied, 403),
    (errors.UsageError, 400),
    (errors.SourceTooLarge, 413),
    (errors.SourceError, 422),
    (errors.LibraryReadOnly, 403),
    (errors.DiskFull, 507),
    (errors.PinciteError, 503),
)
_DRAIN_SECONDS = 1.0
_CODES = {404: "not_found", 405: "method_not_allowed", 400: "bad_request"}


class Json(JSONResponse):
    """JSON as everywhere: text that is no Unicode text travels as escapes."""

    def render(self, content: Any) -> bytes:
        """Write the body."""
        return shapes.to_json(content).encode()


class Refusal(HTTPException):
    """A request that is not served; ``status`` says in HTTP's terms why."""

    def __init__(
        self, status: int, code: str, message: str, fix: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Keep what the client is told."""
        super().__init__(status, message, dict(headers or {}))
        self.code, self.fix = code, fix

    def response(self) -> Response:
        """Give what the client is sent."""
        return Json(self.shape(), self.status_code, self.headers)

    def shape(self) -> dict[str, Any]:
        """Shape it as every error."""
        return {"error": {"code": self.code, "message": self.detail, "fix": self.fix}}


class ErrorDetail(BaseModel):
    """What happened, for programs and for people, and what to do."""

    code: str
    message: str
    fix: str


class ErrorBody(BaseModel):
    """The body of every failure."""

    error: ErrorDetail


RESPONSES: dict[int | str, dict[str, Any]] = {  # of every route, for the OpenAPI document
    422: {"model": ErrorBody, "description": "The request does not have the form that is described here."},
    "4XX": {"model": ErrorBody, "description": "The request is refused."},
    "5XX": {"model": ErrorBody, "description": "The server cannot do this now."},
}


def add_handlers(app: FastAPI) -> None:
    """Let an app answer every failure in the one form."""
    for kind in (errors.PinciteError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, lambda _, failure: refusal_of(failure).response())


def refusal_of(failure: Exception) -> Refusal:
    """Say of a failure of the library, of the framework or of ours what the client is told: no value that it sent."""
    if isinstance(failure, Refusal):
        return failure
    if isinstance(failure, errors.PinciteError):
        status = next(status for kind, status in _STATUS if isinstance(failure, kind))
        return Refusal(status, **shapes.error_json(failure)["error"])
    if isinstance(failure, RequestValidationError):
        problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in failure.errors()[:5]]
        message = f"The request is malformed: {'; '.join(problems)}."
        return Refusal(422, "invalid_request", message, "See /openapi.json for what this route takes.")
    assert isinstance(failure, HTTPException)
    code, fix = _CODES.get(failure.status_code, "refused"), "See /openapi.json for the routes and what they take."
    return Refusal(failure.status_code, code, f"{failure.detail}.", fix, failure.headers)


def unforeseen(scope: Scope) -> Refusal:
    """Log a mistake of ours, which is being handled, and give what the client is told: not what it was."""
    route = getattr(scope.get("route"), "path", scope["path"])
    logging.getLogger("pincite.serve").exception("A request to %s failed.", route)
    return Refusal(500, "internal", "The server made a mistake.", "See its log; please report it.")


async def answer(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request below the routes.

    What is left of its body is read and thrown away for a short while, as a client that still sends would not hear the
    answer; then the connection ends.
    """
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    if "expect" not in Headers(scope=scope) and refusal.status_code != 408:
        await _drain(receive)
    response = refusal.response()
    response.headers["connection"] = "close"
    await response(scope, receive, send)


async def _drain(receive: Receive) -> None:
    """Read a body to its end, or for a short while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while (await receive()).get("more_body", False):
                continue
