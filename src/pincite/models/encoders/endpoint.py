"""Encoders behind an OpenAI-compatible ``/embeddings`` endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.models.endpoint import Endpoint
from pincite.models.protocols import Pieces
from pincite.text import printable_surrogates

_BATCH_TEXTS = 64
_SECONDS = 60.0  # for one batch
_PIECE_BYTES = 4  # the usual size of a piece of English
_MAX_PIECES = 2000  # so that a text fits the usual 8,192 tokens even when each byte is one


class ByteEstimate:
    """Counts text for models whose tokenizer is not at hand: a piece for every four bytes."""

    def count(self, text: str) -> int:
        """Count pieces: a quarter of the UTF-8 bytes, rounded up."""
        return -(-len(printable_surrogates(text).encode()) // _PIECE_BYTES)

    def starts(self, text: str) -> NDArray[np.int64]:
        """Give the code point at which each piece starts: (pieces,), ascending."""
        codes = np.frombuffer(printable_surrogates(text).encode("utf-32-le"), dtype="<u4")
        widths = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
        owners = np.repeat(np.arange(len(codes), dtype=np.int64), widths)  # the code point of each byte
        return owners[::_PIECE_BYTES]


class EndpointEncoder:
    """Texts to unit vectors, made elsewhere."""

    def __init__(self, model: str, *, base_url: str, api_key: str = "") -> None:
        """Ask the endpoint for one vector, to learn the dimension.

        Args:
            model: as the endpoint calls it.
            base_url: of the API, such as ``http://localhost:11434/v1``.
            api_key: sent as a bearer token, when not empty; never to a plain-HTTP address of another machine.

        Raises:
            ModelError: the address is bad, or the endpoint does not answer as agreed.
        """
        self._model = model
        self.name = f"openai:{model}"
        fix = "Check --base-url, the model's name, OPENAI_API_KEY and that the server runs."
        url = f"{base_url.rstrip('/')}/embeddings"
        self._endpoint = Endpoint(url, what="embeddings", api_key=api_key, fix=fix)
        self.pieces: Pieces = ByteEstimate()
        self.max_pieces = _MAX_PIECES
        self.dimension = self._vectors(["dimension"]).shape[1]
        # nothing else of the vector space can be known
        self.fingerprint = f"{self.name} dimension={self.dimension} l2 prefix= max={self.max_pieces}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts; empty ones are sent as a space, which endpoints accept."""
        for index, text in enumerate(texts):
            if (count := self.pieces.count(text)) > self.max_pieces:
                raise ValueError(f"text {index} has {count} pieces; {self.name} takes {self.max_pieces}")
        plain = [printable_surrogates(text) or " " for text in texts]
        vectors = np.empty((len(plain), self.dimension), dtype=np.float32)
        for start in range(0, len(plain), _BATCH_TEXTS):
            batch = self._vectors(plain[start : start + _BATCH_TEXTS])
            if batch.shape[1] != self.dimension:
                raise self._endpoint.failure(
                    f"gives vectors of {batch.shape[1]} numbers and gave {self.dimension} before"
                )
            vectors[start : start + len(batch)] = batch
        return vectors

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """Make one request: (len(texts), any dimension), rows of length 1."""
        answer = self._endpoint.ask({"model": self._model, "input": texts, "encoding_format": "float"}, _SECONDS)
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            return _unit([row["embedding"] for row in rows], len(texts))
        except (ValueError, KeyError, TypeError) as error:
            raise self._endpoint.failure("answers something that is not a list of embeddings") from error


def _unit(rows: list[Any], expected: int) -> NDArray[np.float32]:
    """Check the shape and the numbers, and scale each row to length 1."""
    vectors = np.array(rows, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if vectors.ndim != 2 or len(vectors) != expected or not np.isfinite(lengths).all() or (lengths == 0).any():
        raise ValueError("not one finite vector for each text")
    return np.asarray(vectors / lengths, dtype=np.float32)
