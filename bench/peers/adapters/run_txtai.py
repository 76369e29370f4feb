"""txtai: embeddings database with ``hybrid=True``, content stored, all else default."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import DEPTH, Row, compete, joined
from shared_vectors import key, known
from txtai import Embeddings


def index(rows: list[Row], job: dict[str, Any]) -> Any:
    vectors = known()

    def look_up(texts: list[str]) -> Any:
        return np.stack([vectors[key(text)] for text in texts])

    encoder = {"method": "external", "transform": look_up} if vectors else {"path": job["model"]}
    embeddings = Embeddings(**encoder, hybrid=True, content=True)
    embeddings.index([(name, joined(title, text), None) for name, title, text in rows])
    return embeddings


def ask(embeddings: Any, question: str) -> list[str]:
    return [found["id"] for found in embeddings.search(question, DEPTH)]


if __name__ == "__main__":
    compete(index, {"hybrid": ask}, ["txtai", "sentence-transformers", "transformers", "torch", "faiss-cpu"])
