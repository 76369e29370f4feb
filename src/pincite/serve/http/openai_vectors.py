"""``/v1/embeddings`` and ``/v1/rerank``: the library's models for other programs. Nothing is cut silently."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from fastapi import APIRouter, Request

from pincite.library import Library
from pincite.serve.http.guard import Seen
from pincite.serve.http.limits import reading
from pincite.serve.http.openai import Route, Wrong, kind_of, no_model
from pincite.serve.http.openai_requests import Embeddings, Rerank
from pincite.serve.http.work import run

router = APIRouter(tags=["openai"], route_class=Route, dependencies=[reading])
_BATCH = 64


@router.post("/v1/embeddings")
async def embed(request: Request, body: Embeddings, library: Seen) -> dict[str, Any]:
    """Embed texts as the library embeds its passages: vectors of length 1."""
    texts = body.texts()
    return await run(request, lambda: _embedded(body, texts, library))


@router.post("/v1/rerank")
async def rerank(request: Request, body: Rerank, library: Seen) -> dict[str, Any]:
    """Order documents by the configured reranker, or by the cosine of the encoder's vectors if there is none."""
    if body.model is not None and kind_of(body.model, library) not in ("rerank", "embeddings"):
        raise no_model(body.model, "rerank", library)
    return await run(request, lambda: _ranked(body, library))


def _embedded(body: Embeddings, texts: list[str], library: Library) -> dict[str, Any]:
    """Embed."""
    encoder = library.models.encoder()
    if body.model != library.settings.encoder and kind_of(body.model, library) != "embeddings":
        raise no_model(body.model, "embeddings", library)
    if body.dimensions not in (None, encoder.dimension):
        message = f"{encoder.name} has {encoder.dimension} dimensions."
        raise Wrong("dimensions", message, "Leave it out.", code="unsupported_value")
    counts = [encoder.pieces.count(text) for text in texts]
    for place, count in enumerate(counts):
        if count > encoder.max_pieces:
            message = f"Text {place} has {count:,} tokens, and {encoder.name} reads {encoder.max_pieces:,}."
            raise Wrong(f"input.{place}", message, "Send it in parts.", code="context_length_exceeded")
    rows = _rows(encoder, texts)
    data = [
        {"object": "embedding", "index": index, "embedding": _encoded(row, body.encoding_format)}
        for index, row in enumerate(rows)
    ]
    usage = {"prompt_tokens": sum(counts), "total_tokens": sum(counts)}
    return {"object": "list", "data": data, "model": encoder.name, "usage": usage}


def _rows(encoder: Any, texts: Sequence[str]) -> Any:
    """Embed texts a batch at a time, so that the work can be stopped in between."""
    from pincite.stop import check_stop

    rows = []
    for start in range(0, len(texts), _BATCH):
        check_stop()
        rows.append(encoder.encode(texts[start : start + _BATCH]))
    return np.concatenate(rows)


def _encoded(row: Any, form: str) -> list[float] | str:
    """Write a vector as numbers, or as the base64 of little-endian float32."""
    if form == "base64":
        return base64.b64encode(row.astype("<f4").tobytes()).decode()
    return [float(value) for value in row]


def _ranked(body: Rerank, library: Library) -> dict[str, Any]:
    """Score and order; ties are broken by place."""
    texts = body.texts()
    reranker = library.models.reranker()
    by = reranker if body.model is None or kind_of(body.model, library) == "rerank" else None
    model: Any = library.models.encoder() if by is None else by
    scores = _cosines(model, body.query, texts) if by is None else by.score(body.query, texts)
    order = sorted(range(len(texts)), key=lambda index: (-float(scores[index]), index))
    results = [
        {"index": index, "relevance_score": float(scores[index])}
        | ({"document": {"text": texts[index]}} if body.return_documents else {})
        for index in order[: body.top_n]
    ]
    return {
        "object": "list",
        "model": model.name,
        "scored_by": "cosine" if by is None else "reranker",
        "results": results,
    }


def _cosines(encoder: Any, query: str, texts: Sequence[str]) -> Any:
    """Compare vectors: (len(texts),). Of a text that is longer than the encoder reads, the best part counts."""
    if encoder.pieces.count(query) > encoder.max_pieces:
        message = f"The query is longer than the {encoder.max_pieces:,} tokens that {encoder.name} reads."
        raise Wrong("query", message, "Shorten it.", code="context_length_exceeded")
    parts = [_parts(encoder, text) for text in texts]
    rows = _rows(encoder, [query, *(part for each in parts for part in each)])
    cosines, best, at = rows[1:] @ rows[0], [], 0
    for each in parts:
        best.append(cosines[at : at + len(each)].max())
        at += len(each)
    return np.array(best)


def _parts(encoder: Any, text: str) -> list[str]:
    """Halve a text until the encoder reads each part whole."""
    if encoder.pieces.count(text) <= encoder.max_pieces:
        return [text]
    starts = encoder.pieces.starts(text)
    middle = int(starts[len(starts) // 2])
    if not 0 < middle < len(text):
        middle = len(text) // 2
    return [*_parts(encoder, text[:middle]), *_parts(encoder, text[middle:])]
