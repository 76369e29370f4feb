"""Vectors that were computed once, for comparisons of quality alone: each contestant takes the same ones.

The file that ``PINCITE_BENCH_VECTORS`` names (``keys``: BLAKE2b-128 of texts, hex; ``vectors``: rows) stands in for
the encoder. A text that is not in it is encoded as ever.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

VARIABLE = "PINCITE_BENCH_VECTORS"


def key(text: str) -> str:
    """Name a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def known() -> dict[str, Any]:
    """Read the file; empty when none is named."""
    path = os.environ.get(VARIABLE)
    if not path:
        return {}
    with np.load(path) as file:
        return dict(zip(file["keys"].tolist(), file["vectors"], strict=True))


def share() -> None:
    """Let sentence-transformers look texts up before it computes."""
    vectors = known()
    if not vectors:
        return
    from sentence_transformers import SentenceTransformer

    compute = SentenceTransformer.encode

    def encode(model: Any, sentences: str | Sequence[str], *args: Any, **options: Any) -> Any:
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        lacking = [text for text in dict.fromkeys(texts) if key(text) not in vectors]
        if lacking:
            made = compute(model, lacking, convert_to_numpy=True, show_progress_bar=False)
            vectors.update({key(text): row for text, row in zip(lacking, made, strict=True)})
        rows = np.stack([vectors[key(text)] for text in texts])
        return rows[0] if isinstance(sentences, str) else rows

    SentenceTransformer.encode = encode
