"""A small, honest encoder for tests that are about something else: deterministic, quick, and similar texts are near."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+|[^\w\s]")


class WordPieces:
    """Counts words and marks."""

    def count(self, text: str) -> int:
        return len(_WORD.findall(text))

    def starts(self, text: str) -> NDArray[np.int64]:
        return np.array([match.start() for match in _WORD.finditer(text)], dtype=np.int64)


class HashEncoder:
    """Bag of hashed words, normalised; counts what it encoded."""

    name = "hash"
    dimension = 64
    max_pieces = 10_000
    pieces = WordPieces()

    def __init__(self, fingerprint: str = "hash-64") -> None:
        self.fingerprint = fingerprint
        self.encoded = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += len(texts)
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = 0.01  # a text without words has a direction too
            for word in _WORD.findall(text.lower()):
                digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest()
                row[1 + int.from_bytes(digest[:2], "little") % (self.dimension - 1)] += 1 if digest[2] % 2 else -1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
