"""The default encoder: a BERT-family model on OpenVINO."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pincite.models.bert import read_config
from pincite.models.fetch import known_sha256
from pincite.models.network import Network, Precision
from pincite.models.pieces import WordPieces
from pincite.models.protocols import Pieces
from pincite.text import printable_surrogates


class OpenVinoEncoder:
    """Texts to unit vectors, on the CPU. May be called from several threads.

    The vector space does not depend on the precision: bfloat16 turns a vector by a cosine of less than 1e-3, far less
    than what separates two passages. So one fingerprint covers both, and a library may move between machines.
    """

    def __init__(self, folder: Path, *, name: str, precision: Precision = "auto", threads: int = 0) -> None:
        """Read the configuration and the tokenizer; the network itself is built when first needed.

        Args:
            folder: the model's files.
            name: how the model is called in messages and in the fingerprint.
            precision: of matrix products, as ``Network`` takes it.
            threads: 0 for as many as there are cores.

        Raises:
            ModelError: the model is of a kind that cannot be computed here.
        """
        self._config = read_config(folder)
        self.name = name
        self.dimension = self._config.width
        pieces = WordPieces(folder / "tokenizer.json")
        self.pieces: Pieces = pieces
        self._tokenizer = pieces.tokenizer
        special = len(self._tokenizer.encode("", add_special_tokens=True).ids)
        self.max_pieces = self._config.max_pieces - special
        self._network = Network(folder, self._config, pieces, precision=precision, threads=threads)
        weights, tokenizer = (known_sha256(folder / part)[:16] for part in ("model.safetensors", "tokenizer.json"))
        form = f"{self._config.pooling} l2 prefix= max={self.max_pieces}"
        self.fingerprint = f"{name} weights={weights} tokenizer={tokenizer} {form}"

    @property
    def precision(self) -> str:
        """The precision of matrix products: "bf16" or "f32"."""
        return self._network.precision

    def prepare(self) -> None:
        """Build and compile the network now; otherwise the first ``encode`` does it."""
        self._network.prepare()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts in batches of nearly equal length; control tokens such as ``[SEP]`` in them are plain text."""
        encodings = self._tokenizer.encode_batch_fast([printable_surrogates(text) for text in texts])
        rows = [encoding.ids for encoding in encodings]
        self._refuse_long(rows)
        return self._network.compute(rows)

    def _refuse_long(self, rows: Sequence[Sequence[int]]) -> None:
        """Say which text is too long."""
        for index, row in enumerate(rows):
            if len(row) > self._config.max_pieces:
                over = len(row) - self._config.max_pieces + self.max_pieces
                raise ValueError(f"text {index} has {over} word pieces; {self.name} takes {self.max_pieces}")
