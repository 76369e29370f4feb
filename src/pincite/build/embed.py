"""Texts to vectors, in batches of texts of like length."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pincite.models.protocols import Encoder


def embed_missing(texts: Mapping[str, str], encoder: Encoder, *, batch: int = 512) -> dict[str, NDArray[np.float32]]:
    """Encode texts that have no vector yet.

    Args:
        texts: what is embedded, by its hash; each text once.
        encoder: makes the vectors.
        batch: how many texts the encoder is given at a time.

    Returns:
        A vector, (dimension,), float32, of length 1, for each hash.

    Raises:
        ValueError: a text is longer than the encoder takes.
    """
    # by length, so that what goes into one batch is padded little; by hash, so that batches do not depend on the order
    keys = sorted(texts, key=lambda key: (len(texts[key]), key))
    vectors: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(keys), batch):
        chosen = keys[start : start + batch]
        vectors.update(zip(chosen, encoder.encode([texts[key] for key in chosen]), strict=True))
    return vectors
