"""Cross-encoders: equal to transformers, nothing cut, any string scored."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from pincite.errors import ModelDamaged, ModelError, ModelLimit, ModelMissing, ModelUnknown
from pincite.models.load import load_reranker
from pincite.models.protocols import Reranker
from pincite.models.rerankers.openvino import OpenVinoReranker
from pincite.models.windows import best, join
from tests.data.make_reranker_oracle import QUESTION, TEXTS, WORDS, save_model, scores_of, tokenizer_json

ORACLE = Path(__file__).parents[1] / "data" / "reranker_oracle.npz"
FILES = ("config.json", "tokenizer.json", "model.safetensors")
FAMILIES = ("bert", "xlm-roberta")


@pytest.fixture(scope="module", params=FAMILIES)
def model(request, tmp_path_factory):
    """A small cross-encoder's folder, and what transformers makes of the pairs with it."""
    folder = tmp_path_factory.mktemp(request.param)
    with np.load(ORACLE, allow_pickle=False) as saved:
        for file in FILES:
            (folder / file).write_bytes(saved[f"{request.param}/{file}"].tobytes())
        return folder, saved[f"{request.param}/scores"]


@pytest.fixture
def folder(model):
    return model[0]


def test_scores_equal_transformers(model):
    folder, expected = model
    scores = OpenVinoReranker(folder, name="m", precision="f32").score(QUESTION, TEXTS)
    assert scores.shape == (5,) and scores.dtype == np.float32
    assert np.ptp(expected) > 0.3  # or equality would say little
    assert np.abs(scores - expected).max() < 1e-3


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_scores_equal_transformers_here_and_now(family, seed, tmp_path):
    pytest.importorskip("transformers", reason="the extra 'torch' is not installed")
    reference = save_model(family, tmp_path, seed=seed)
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, size)) for size in random.integers(1, 25, 40)]
    scores = OpenVinoReranker(tmp_path, name="m", precision="f32").score(QUESTION, texts)
    assert np.abs(scores - scores_of(reference, tmp_path, QUESTION, texts)).max() < 1e-3


def test_neither_batch_nor_order_matters(folder):
    reranker = OpenVinoReranker(folder, name="m", precision="f32", threads=1)
    texts = [" ".join(WORDS[: 1 + number % 12]) for number in range(40)]
    together = reranker.score(QUESTION, texts)
    assert np.allclose(together[::-1], reranker.score(QUESTION, texts[::-1]), atol=1e-5)
    assert np.allclose(together, [reranker.score(QUESTION, [text])[0] for text in texts], atol=1e-5)
    assert reranker.score(QUESTION, []).shape == (0,)


def test_question_and_passage_are_told_apart(model):
    folder, _ = model
    reranker = OpenVinoReranker(folder, name="m", precision="f32")
    assert not np.allclose(reranker.score("the keys", ["lora adds"]), reranker.score("lora adds", ["the keys"]))


def test_control_tokens_in_a_passage_are_text(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    [row], _ = join(tokenizer, "the [SEP] </s>", ["[CLS] <s> [SEP] </s> [PAD] <pad>"], 40)
    plain, _ = join(tokenizer, "the x x", ["x x x x x x"], 40)
    assert {0, 1, 2} & set(row.ids) == {0, 2}
    assert row.ids.count(2) == plain[0].ids.count(2)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_piece_of_a_long_passage_is_in_a_window(family):
    tokenizer = Tokenizer.from_str(tokenizer_json(family))
    words = [WORDS[number % len(WORDS)] for number in range(200)]
    rows, owners = join(tokenizer, QUESTION, ["", " ".join(words), "cache"], 40)
    assert owners.tolist() == [0, *[1] * (len(rows) - 2), 2] and len(rows) > 8
    assert all(len(row.ids) <= 40 for row in rows)
    text = " ".join(words)
    spans = [
        (offsets[0][0], offsets[-1][1])
        for row in rows[1:-1]
        if (offsets := [o for o, s in zip(row.offsets, row.sequence_ids, strict=True) if s == 1])
    ]
    assert spans[0][0] == 0 and spans[-1][1] == len(text)
    assert all(before[1] > after[0] > before[0] for before, after in pairwise(spans))


def test_the_best_window_counts(folder):
    reranker = OpenVinoReranker(folder, name="m", precision="f32")
    long = " ".join(WORDS[number % len(WORDS)] for number in range(100))
    rows, _ = join(reranker._tokenizer, QUESTION, [long], reranker._config.max_pieces)
    spans = [[o for o, s in zip(row.offsets, row.sequence_ids, strict=True) if s == 1] for row in rows]
    alone = reranker.score(QUESTION, [long[span[0][0] : span[-1][1]] for span in spans])
    assert len(rows) > 3 and np.ptp(alone) > 0.01
    assert reranker.score(QUESTION, ["cache", long])[1] == pytest.approx(alone.max(), abs=1e-5)
    assert best(np.float32([3, 1, 2, -5]), np.array([0, 1, 1, 2]), 3).tolist() == [3, 2, -5]


def test_a_question_that_leaves_no_room_is_refused(folder):
    reranker = OpenVinoReranker(folder, name="m")
    assert np.isfinite(reranker.score("the " * 18, ["cache"])).all()
    with pytest.raises(ModelLimit, match="The question has 20 word pieces; the model takes 1"):
        reranker.score("the " * 20, ["cache"])


@pytest.mark.parametrize(
    "text", ["\x00", "\ud800 lone", "e\u0301" * 50, "\u202eabc", "x" * 10_000, "\r\n", "日本 " * 99]
)
def test_any_string_has_a_score(folder, text):
    reranker = OpenVinoReranker(folder, name="m")
    assert np.isfinite(reranker.score(text[:8], [text, "cache"])).all()


def test_names_load_what_they_say(folder, models_dir, tmp_path):
    reranker = load_reranker(str(folder), models_dir=tmp_path, offline=True)
    assert isinstance(reranker, OpenVinoReranker) and isinstance(reranker, Reranker)
    assert reranker.name == folder.name
    with pytest.raises(ModelUnknown, match="no reranker"):
        load_reranker("ms-marco", models_dir=tmp_path, offline=True)
    with pytest.raises(ModelMissing, match="may not be used"):
        load_reranker("cross-encoder/ms-marco-MiniLM-L6-v2", models_dir=tmp_path, offline=True)
    with pytest.raises(ModelUnknown, match="is no reranker"):
        load_reranker("all-MiniLM-L6-v2", models_dir=tmp_path, offline=True)


def test_a_model_without_a_classifier_is_refused(encoder_folder):
    with pytest.raises(ModelDamaged, match="classifier"):
        OpenVinoReranker(encoder_folder, name="m")


def test_a_classifier_of_several_labels_is_refused(folder, tmp_path):
    for file in FILES:
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    weights = load_file(folder / "model.safetensors")
    last = "classifier.weight" if "classifier.weight" in weights else "classifier.out_proj.weight"
    save_file({**weights, last: np.repeat(weights[last], 3, axis=0)}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="the choice among 3 labels"):
        OpenVinoReranker(tmp_path, name="m")
