"""Embedding in batches changes nothing but the cost."""

from __future__ import annotations

import numpy as np
import pytest

from pincite.build.embed import embed_missing


class Recorder:
    """Encodes a text as its length, and records the batches."""

    def __init__(self):
        self.calls: list[list[str]] = []

    def encode(self, texts):
        self.calls.append(list(texts))
        return np.array([[len(text)] for text in texts], dtype=np.float32)


@pytest.mark.parametrize("batch", [1, 3, 512])
def test_each_hash_gets_the_vector_of_its_text(batch):
    texts = {f"h{n}": "x" * (n * 7 % 11) for n in range(25)}
    recorder = Recorder()
    vectors = embed_missing(texts, recorder, batch=batch)
    assert {key: int(vector[0]) for key, vector in vectors.items()} == {key: len(text) for key, text in texts.items()}
    assert max(map(len, recorder.calls)) <= batch
    sent = [len(text) for call in recorder.calls for text in call]
    assert sent == sorted(sent)


def test_order_of_the_texts_does_not_change_the_batches():
    texts = {f"h{n}": str(n) for n in range(40)}
    first, second = Recorder(), Recorder()
    embed_missing(texts, first, batch=8)
    embed_missing(dict(reversed(texts.items())), second, batch=8)
    assert first.calls == second.calls


def test_nothing_calls_nothing():
    recorder = Recorder()
    assert embed_missing({}, recorder) == {} and recorder.calls == []
