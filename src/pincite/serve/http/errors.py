"""Every failure as ``{"error": {"code", "message", "fix"}}`` with the status that fits."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

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
_CODES = {404: "not_found", 405: "method_not_allowed", 400: "bad_request", 422: "invalid_request"}


class Refusal(Exception):
    """A request that is not served; ``status`` says in HTTP's terms why."""

    def __init__(
        self, status: int, code: str, message: str, fix: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Keep what the client is told."""
        super().__init__(message)
        self.status, self.code, self.message, self.fix = status, code, message, fix
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """Give what the client is sent."""
        body = {"error": {"code": self.code, "message": self.message, "fix": self.fix}}
        return JSONResponse(body, self.status, self.headers)


def status_of(failure: errors.PinciteError) -> int:
    """Give the HTTP status of an error of the library."""
    return next(status for kind, status in _STATUS if isinstance(failure, kind))


def add_handlers(app: FastAPI) -> None:
    """Let an app answer every failure in the one form."""
    app.add_exception_handler(errors.PinciteError, _of_library)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _unforeseen)


def _of_library(request: Request, failure: Exception) -> Response:
    """Answer an error of the library."""
    assert isinstance(failure, errors.PinciteError)
    return JSONResponse(shapes.error_json(failure), status_of(failure))


def _refused(request: Request, failure: Exception) -> Response:
    """Answer a refusal."""
    assert isinstance(failure, Refusal)
    return failure.response()


def _invalid(request: Request, failure: Exception) -> Response:
    """Answer a request that does not have the form that the OpenAPI document says, without repeating its values."""
    assert isinstance(failure, RequestValidationError)
    problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in failure.errors()[:5]]
    message = f"The request is malformed: {'; '.join(problems)}."
    return Refusal(422, "invalid_request", message, "See /openapi.json for what this route takes.").response()


def _of_http(request: Request, failure: Exception) -> Response:
    """Answer what the framework refuses."""
    assert isinstance(failure, HTTPException)
    code = _CODES.get(failure.status_code, "refused")
    fix = "See /openapi.json for the routes and what they take."
    return Refusal(failure.status_code, code, f"{failure.detail}.", fix, failure.headers).response()


def _unforeseen(request: Request, failure: Exception) -> Response:
    """Answer a mistake of ours; what it was stays here."""
    logging.getLogger("pincite.serve").error("A request failed: %s", type(failure).__name__, exc_info=failure)
    return Refusal(500, "internal", "The server made a mistake.", "See its log; please report it.").response()
