"""Whether the server is well, who calls, and what the library is."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from pincite import __version__
from pincite.serve import shapes
from pincite.serve.http.guard import Caller, Seen
from pincite.settings import without_secret

router = APIRouter(tags=["server"])
_LOADED = ("encoder", "generator")  # when the server starts
_KINDS = ("encoder", "generator", "reranker", "verifier")
_SETTINGS = ("mode", "limit", "policy", "strictness", "evidence_tokens", "answer_tokens", "answer_seconds", "offline")


@router.get("/health")
async def health() -> dict[str, str]:
    """Tell that the server runs."""
    return {"status": "ok", "version": __version__}


@router.get("/ready")
def ready(request: Request) -> JSONResponse:
    """Tell whether questions are answered at once: 503 while models are still loaded, or when they cannot be."""
    models = request.app.state.library.models
    wanted = [kind for kind in _LOADED if getattr(models, f"{kind}_name") not in ("", "none")]
    missing = [kind for kind in wanted if kind not in models.loaded]
    return JSONResponse({"ready": not missing, "loading": missing}, 503 if missing else 200)


@router.get("/v1/me")
async def me(request: Request, principal: Caller) -> dict[str, Any]:
    """Tell who calls and what he may."""
    state = request.app.state
    grants = None if principal.grants is None else sorted(principal.grants)
    return {
        "name": principal.name,
        "role": principal.role,
        "grants": grants,
        "keys": state.keys is not None and state.keys.needed(),
        "read_only": state.options.read_only,
    }


@router.get("/v1/library")
def library(library: Seen) -> dict[str, Any]:
    """Count what the caller may see, and name the models."""
    stats, settings = library.stats(), library.settings
    return {
        "documents": stats.documents,
        "passages": stats.passages,
        "embedded": max(stats.spaces.values(), default=0),
        "languages": list(stats.languages),
        "stale": shapes.stale_json(library._stale()),
        "models": {kind: without_secret(getattr(settings, kind)) for kind in _KINDS},
        "settings": {name: getattr(settings, name) for name in _SETTINGS},
    }
