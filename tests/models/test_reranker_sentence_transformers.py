"""Cross-encoders through sentence-transformers give what the built-in runtime gives."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from pincite.errors import ExtraMissing, ModelMissing
from pincite.models.load import load_reranker
from pincite.models.protocols import Reranker
from pincite.models.rerankers.openvino import OpenVinoReranker
from tests.data.make_reranker_oracle import QUESTION, TEXTS, WORDS

ORACLE = Path(__file__).parents[1] / "data" / "reranker_oracle.npz"
FILES = ("config.json", "tokenizer.json", "model.safetensors")


def test_without_the_extra_it_says_what_to_install(models_dir, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ExtraMissing) as caught:
        load_reranker("st:m", models_dir=models_dir)
    assert "pincite[torch]" in caught.value.fix


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The small BERT, with what sentence-transformers wants besides."""
    pytest.importorskip("sentence_transformers", reason="the extra 'torch' is not installed")
    folder = tmp_path_factory.mktemp("cross")
    with np.load(ORACLE, allow_pickle=False) as saved:
        for file in FILES:
            (folder / file).write_bytes(saved[f"bert/{file}"].tobytes())
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 42, "cls_token": "[CLS]", '
        '"sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", '
        '"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}'
    )
    return folder


def test_equals_the_built_in_runtime(folder, models_dir):
    reranker = load_reranker(f"st:{folder}", models_dir=models_dir, offline=True)
    assert isinstance(reranker, Reranker)
    long = " ".join(WORDS[number % len(WORDS)] for number in range(100))
    texts = [text for text in TEXTS if "[" not in text] + [long, "\ud800 lone"]
    expected = OpenVinoReranker(folder, name="m", precision="f32").score(QUESTION, texts)
    assert np.abs(reranker.score(QUESTION, texts) - expected).max() < 1e-3
    assert reranker.score(QUESTION, []).shape == (0,)


def test_what_is_not_here_is_missing(folder, models_dir, tmp_path):
    with pytest.raises(ModelMissing, match="cannot load"):
        load_reranker(f"st:{tmp_path}/nothing", models_dir=models_dir, offline=True)
