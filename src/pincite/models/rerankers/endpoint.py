"""Rerankers behind a ``/rerank`` endpoint, as Cohere, Jina, vLLM, llama.cpp and Text Embeddings Inference have it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.models.endpoint import Endpoint
from pincite.text import printable_surrogates

KEY = "RERANK_API_KEY"
_REQUEST_TEXTS = 32  # the most that Text Embeddings Inference takes at once, unless told otherwise


class EndpointReranker:
    """Scores passages against a question, elsewhere."""

    batch = 1000  # all passages at once; the endpoint keeps its own deadline

    def __init__(self, url: str, *, model: str = "", api_key: str = "", seconds: float = 2.0) -> None:
        """Remember where the model is; nothing is sent yet.

        Args:
            url: what is asked, with its path, such as ``https://api.jina.ai/v1/rerank``.
            model: as the endpoint calls it. With one, passages travel as "documents", which Cohere, Jina and most
                others expect; without one as "texts", which Text Embeddings Inference expects.
            api_key: sent as a bearer token, when not empty; never to a plain-HTTP address of another machine.
            seconds: deadline for all requests of one question.

        Raises:
            ModelError: the address is bad.
        """
        fix = f"Check the address in the reranker's name, the model, {KEY} and that the server runs."
        self._endpoint = Endpoint(url, what="reranking", api_key=api_key, fix=fix)
        self._model = model
        self._seconds = seconds
        self.name = f"{self._endpoint.shown}#{model}".rstrip("#")

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score each text; empty ones are sent as a space, which endpoints accept.

        The endpoint is asked to refuse what is too long for its model, where its interface has a word for it.
        """
        deadline = time.perf_counter() + self._seconds
        plain = [printable_surrogates(text) or " " for text in texts]
        scores = np.empty(len(plain), dtype=np.float32)
        for start in range(0, len(plain), _REQUEST_TEXTS):
            part = plain[start : start + _REQUEST_TEXTS]
            body = self._body(printable_surrogates(question), part)
            answer = self._endpoint.ask(body, deadline - time.perf_counter())
            try:
                scores[start : start + len(part)] = _scores(answer, len(part))
            except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
                raise self._endpoint.failure("answers something that is not one score for each passage") from error
        return scores

    def _body(self, question: str, texts: list[str]) -> dict[str, Any]:
        """Shape a request."""
        if self._model:
            return {"model": self._model, "query": question, "documents": texts, "top_n": len(texts)}
        return {"query": question, "texts": texts, "raw_scores": True, "truncate": False}


def _scores(answer: Any, count: int) -> NDArray[np.float32]:
    """Read scores, which come in any order: in a list, or in one under "results" (Cohere, Jina) or "data" (Voyage)."""
    rows = answer if isinstance(answer, list) else answer["results"] if "results" in answer else answer["data"]
    found = {row["index"]: row["relevance_score"] if "relevance_score" in row else row["score"] for row in rows}
    scores = np.array([found[index] for index in range(count)], dtype=np.float32)
    if len(rows) != count or not np.isfinite(scores).all():
        raise ValueError("not one finite score for each text")
    return scores
