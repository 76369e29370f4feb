"""The routes that OpenAI's clients know: their errors, the models that are offered, and what the routes share."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from pincite.errors import PinciteError
from pincite.library import Library
from pincite.serve.http.errors import Json, Refusal, refusal_of
from pincite.serve.http.guard import Seen
from pincite.settings import without_secret

ANSWERS, QUOTES = "pincite", "pincite-extractive"  # models that answer: with the generator, and with quotes alone
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class Wrong(Refusal):
    """A request that is not served because of one of its parameters."""

    def __init__(self, param: str, message: str, fix: str, *, status: int = 400, code: str = "invalid_value") -> None:
        """Keep what the client is told."""
        super().__init__(status, code, message, fix)
        self.param = param


class Route(APIRoute):
    """A route whose errors OpenAI's clients understand: with a type and the parameter, and 400 instead of 422."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the handler."""
        handler = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handler(request)
            except RequestValidationError as failure:
                refusal: Refusal = _malformed(failure)
            except (PinciteError, HTTPException) as failure:
                refusal = refusal_of(failure)
            return Json(error_shape(refusal), refusal.status_code, refusal.headers)

        return answered


def error_shape(refusal: Refusal) -> dict[str, Any]:
    """Shape an error as OpenAI does, with what to do."""
    kind = _TYPES.get(refusal.status_code, "invalid_request_error" if refusal.status_code < 500 else "server_error")
    more = {"type": kind, "param": getattr(refusal, "param", None)}
    return {"error": refusal.shape()["error"] | more}


def _malformed(failure: RequestValidationError) -> Wrong:
    """Say which parameter is wrong, without repeating its value."""
    first = failure.errors()[0]
    param = ".".join(str(part) for part in first["loc"] if part != "body")
    unknown = first["type"] == "extra_forbidden"
    message = f"{param or 'The body'}: {'is no parameter of this route' if unknown else first['msg']}."
    fix = "Leave it out." if unknown else "See /openapi.json for what this route takes."
    return Wrong(param, message, fix, code="unknown_parameter" if unknown else "invalid_value")


def models_of(library: Library) -> dict[str, str]:
    """Give the models that are offered, by name: what each is for."""
    settings, loaded = library.settings, library.models.loaded
    encoder, reranker = loaded.get("encoder"), loaded.get("reranker")
    kinds = {ANSWERS: "answers", QUOTES: "answers", getattr(encoder, "name", settings.encoder): "embeddings"}
    name = getattr(reranker, "name", without_secret(settings.reranker))
    return kinds | ({name: "rerank"} if name not in ("", "none") else {})


def kind_of(name: str, library: Library) -> str | None:
    """Tell what a model is for; its name may be given with or without its owner, as hubs write it."""
    kinds = models_of(library)
    short = {known.rpartition("/")[2]: kind for known, kind in kinds.items()}
    return kinds.get(name) or short.get(name.rpartition("/")[2])


def no_model(name: str, kind: str, library: Library) -> Wrong:
    """Say that a model is not there, or is for something else."""
    fitting = [model for model, does in models_of(library).items() if does == kind]
    return Wrong(
        "model",
        f"There is no model {name!r} for {kind}.",
        f"Use {' or '.join(fitting)}." if fitting else "Set a reranker, or leave the model out.",
        status=404,
        code="model_not_found",
    )


def _model_json(name: str, kind: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "pincite", "kind": kind}


router = APIRouter(tags=["openai"], route_class=Route)


@router.get("/v1/models")
def models(library: Seen) -> dict[str, Any]:
    """List the models."""
    return {"object": "list", "data": [_model_json(name, kind) for name, kind in models_of(library).items()]}


@router.get("/v1/models/{name:path}")
def model(name: str, library: Seen) -> dict[str, Any]:
    """Describe one model."""
    kind = kind_of(name, library)
    if kind is None:
        raise Wrong("model", f"There is no model {name!r}.", "See /v1/models.", status=404, code="model_not_found")
    return _model_json(name, kind)
