"""Cross-encoders through sentence-transformers: any of its models, on a GPU where there is one. Extra ``torch``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.errors import ModelError
from pincite.models.encoders.sentence_transformers import loaded, pieces_of
from pincite.models.windows import best, join
from pincite.text import printable_surrogates


class SentenceTransformersReranker:
    """Scores passages against a question, as a sentence-transformers CrossEncoder does.

    Scores are the model's logits. A passage that does not fit beside the question is scored in windows that overlap
    by a quarter, and the best one counts.
    """

    batch = 16

    def __init__(self, model: str, *, offline: bool = False) -> None:
        """Load the model as ``SentenceTransformersEncoder`` does; ModelError if it gives no single score for a pair."""
        self._model = loaded("CrossEncoder", model, offline=offline)
        from torch.nn import Identity

        if self._model.num_labels != 1:
            message = f"{model!r} chooses among {self._model.num_labels} labels, so it is no reranker"
            raise ModelError(f"{message}.", fix="Choose a cross-encoder that gives one score.")
        self.name = f"st:{model}"
        self._logits = Identity()
        self._tokenizer = pieces_of(self._model.tokenizer, model).tokenizer
        self._most = _most_pieces(self._model)

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score each text; ModelLimit for a question of more than half the pieces that the model reads."""
        asked, plain = printable_surrogates(question), [printable_surrogates(text) for text in texts]
        if not plain:
            return np.empty(0, dtype=np.float32)
        rows, owners = join(self._tokenizer, asked, plain, self._most)
        pairs = [(asked, _window(plain[owner], row)) for row, owner in zip(rows, owners, strict=True)]
        scores = self._model.predict(pairs, activation_fn=self._logits, show_progress_bar=False)
        return best(np.asarray(scores, dtype=np.float32).reshape(len(pairs)), owners, len(plain))


def _window(text: str, row: Any) -> str:
    """Give the part of a text that is in a window; its overlap makes up for a piece more that a cut word may have."""
    spans = [span for span, part in zip(row.offsets, row.sequence_ids, strict=True) if part == 1]
    return text[spans[0][0] : spans[-1][1]] if spans else ""


def _most_pieces(model: Any) -> int:
    """Give the pieces that a model reads, special tokens included; tokenizers that do not know say 10 ** 30."""
    named = "max_seq_length" if hasattr(model, "max_seq_length") else "max_length"  # before version 6
    limits = (getattr(model, named), model.tokenizer.model_max_length)
    return min(int(limit) for limit in (*limits, 1 << 20) if limit)
