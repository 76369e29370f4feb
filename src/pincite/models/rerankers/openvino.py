"""Cross-encoders of the BERT family, on the same network as the default encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pincite.models.bert import read_config
from pincite.models.network import Network, Precision
from pincite.models.pieces import WordPieces
from pincite.models.windows import best, join


class OpenVinoReranker:
    """Scores passages against a question, on the CPU. May be called from several threads.

    Scores are the model's logits: those of transformers to 1e-3 in float32; bfloat16 moved them by a hundredth of their
    spread over 50 passages. A passage that does not fit beside the question is scored in windows that overlap
    by a quarter, and the best one counts.
    """

    batch = 16

    def __init__(self, folder: Path, *, name: str, precision: Precision = "auto", threads: int = 0) -> None:
        """Take what ``OpenVinoEncoder`` takes, and build the network, so that no search has to wait for it.

        ModelError for a model of a kind that cannot be computed here, and for what is no cross-encoder.
        """
        self.name = name
        self._config = read_config(folder)
        pieces = WordPieces(folder / "tokenizer.json")
        self._tokenizer = pieces.tokenizer
        self._network = Network(folder, self._config, pieces, head="score", precision=precision, threads=threads)
        self._network.prepare(many=True)

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score each text; ModelLimit for a question of more than half the pieces that the model reads."""
        rows, owners = join(self._tokenizer, question, texts, self._config.max_pieces)
        logits = self._network.compute([row.ids for row in rows], [row.type_ids for row in rows])
        return best(logits[:, 0], owners, len(texts))
