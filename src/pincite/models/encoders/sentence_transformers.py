"""Encoders through sentence-transformers: any of its models, on a GPU where there is one. Extra ``torch``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.errors import ExtraMissing, ModelDamaged, ModelMissing
from pincite.models.pieces import WordPieces
from pincite.models.protocols import Pieces
from pincite.text import printable_surrogates


class SentenceTransformersEncoder:
    """Texts to unit vectors, as sentence-transformers makes them."""

    def __init__(self, model: str, *, offline: bool = False) -> None:
        """Load the model; code that comes with it is never run, and its weights must be safetensors.

        Args:
            model: a name on the hub, or a local folder.
            offline: never touch the network.

        Raises:
            ExtraMissing: sentence-transformers is not installed.
            ModelMissing: the model is not on this machine, and cannot be had.
            ModelDamaged: it has no fast tokenizer.
        """
        self._model = loaded("SentenceTransformer", model, offline=offline)
        self.name = f"st:{model}"
        pieces = pieces_of(self._model.tokenizer, model)
        self.pieces: Pieces = pieces
        self.dimension = int(self._model.get_sentence_embedding_dimension())
        special = len(pieces.tokenizer.encode("", add_special_tokens=True).ids)
        self.max_pieces = int(self._model.max_seq_length) - special
        self.fingerprint = f"{self.name} weights={_digest(self._model)} l2 prefix= max={self.max_pieces}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts; ValueError for one of more than ``max_pieces``."""
        plain = [printable_surrogates(text) for text in texts]
        for index, text in enumerate(plain):
            if (count := self.pieces.count(text)) > self.max_pieces:
                raise ValueError(f"text {index} has {count} word pieces; {self.name} takes {self.max_pieces}")
        if not plain:
            return np.empty((0, self.dimension), dtype=np.float32)
        vectors = self._model.encode(plain, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)


def loaded(kind: str, model: str, *, offline: bool) -> Any:
    """Load a model by a class of the library: nothing that comes with it is run, and weights must be safetensors."""
    try:
        import sentence_transformers
    except ImportError as error:
        raise ExtraMissing(
            "Models named 'st:' need sentence-transformers.", fix="Run `pip install 'pincite[torch]'`."
        ) from error
    try:
        return getattr(sentence_transformers, kind)(
            model, trust_remote_code=False, local_files_only=offline, model_kwargs={"use_safetensors": True}
        )
    except (OSError, ValueError) as error:
        raise ModelMissing(
            f"sentence-transformers cannot load {model!r}: {error}", fix="Check the name, or download it first."
        ) from error


def pieces_of(tokenizer: Any, model: str) -> WordPieces:
    """Count with the model's own tokenizer, whose file is written out once and read without cutting."""
    import tempfile

    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelDamaged(f"{model!r} has no fast tokenizer.", fix="Choose a model with a tokenizer.json.")
    backend.encode_special_tokens = True  # a document's "[SEP]" is text
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(backend.to_str(), encoding="utf-8")
        return WordPieces(path)


def _digest(model: Any) -> str:
    """Hash the weights in memory: 16 hex digits."""
    import hashlib

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
