"""Make ``minilm_oracle.npz``: what sentence-transformers, the reference, makes of 100 texts.

Run from the root of the repository, where Pincite and sentence-transformers are installed:
``python -m tests.data.make_minilm_oracle FOLDER_OF_ALL_MINILM_L6_V2``. Made with sentence-transformers 6.2.0 and
torch 2.13.0.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from pincite.models.pieces import WordPieces
from tests.passages import fitting

BY_HAND = [
    "",
    "a",
    "What avoids recomputing earlier tokens?",
    "A KV cache keeps the keys and values of earlier tokens, so that they are not computed again.",
    "LoRA changes how a model behaves by adding a low-rank update to its weights.",
    "Temperature rescales the logits before sampling: low values make the output more predictable.",
    "x" * 100,
    "x" * 101,
    " \t\n ",
]


def main(folder: str) -> None:
    """Encode and save."""
    from sentence_transformers import SentenceTransformer

    texts = (
        BY_HAND
        + fitting(WordPieces(Path(folder) / "tokenizer.json"), 254, 100, seed=1, longest=90)[: 100 - len(BY_HAND)]
    )
    model = SentenceTransformer(folder, device="cpu")
    vectors = model.encode(texts, normalize_embeddings=True, batch_size=8)
    packed = np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)
    target = Path(__file__).with_name("minilm_oracle.npz")
    np.savez_compressed(target, texts=packed, vectors=vectors.astype(np.float16))
    print(len(texts), vectors.shape, target.stat().st_size)


if __name__ == "__main__":
    main(sys.argv[1])
