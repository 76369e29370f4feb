"""The default encoder: equal to the reference, safe with any text, quiet about no cut."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pincite.errors import ModelDamaged, ModelError, ModelMissing, ModelUnknown
from pincite.models import fetch
from pincite.models.bert import read_config, read_safetensors
from pincite.models.encoders.openvino import OpenVinoEncoder
from pincite.models.load import load_encoder, load_generator
from pincite.models.network import BATCH_PIECES, batches, padded
from pincite.models.protocols import Encoder
from tests.passages import fitting

ORACLE = Path(__file__).parents[1] / "data" / "minilm_oracle.npz"


@pytest.fixture(scope="module")
def oracle():
    """Texts and what sentence-transformers makes of them."""
    with np.load(ORACLE, allow_pickle=False) as saved:
        vectors = saved["vectors"].astype(np.float32)
        return json.loads(saved["texts"].tobytes()), vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize(("precision", "least"), [("f32", 0.9999), ("bf16", 0.999)])
def test_vectors_equal_the_reference(encoder_folder, oracle, precision, least):
    texts, expected = oracle
    encoder = OpenVinoEncoder(encoder_folder, name="m", precision=precision)
    cosines = (encoder.encode(texts) * expected).sum(axis=1)
    assert len(texts) == 100
    assert cosines.min() >= least, texts[int(cosines.argmin())]


@pytest.mark.parametrize(("precision", "least"), [("f32", 0.9999), ("bf16", 0.999)])
def test_vectors_equal_sentence_transformers_on_1000_passages(encoder, encoder_folder, precision, least):
    reference = pytest.importorskip("sentence_transformers", reason="the extra 'torch' is not installed")
    texts = fitting(encoder.pieces, 254, 1000, seed=2)
    expected = reference.SentenceTransformer(str(encoder_folder), device="cpu").encode(texts, normalize_embeddings=True)
    ours = OpenVinoEncoder(encoder_folder, name="m", precision=precision).encode(texts)
    assert (ours * expected).sum(axis=1).min() >= least


def test_is_an_encoder_and_says_its_space(encoder, encoder_folder):
    assert isinstance(encoder, Encoder)
    assert (encoder.dimension, encoder.max_pieces) == (384, 254)
    same = OpenVinoEncoder(encoder_folder, name="all-MiniLM-L6-v2", precision="bf16")
    assert same.fingerprint == encoder.fingerprint
    assert "53aa51172d142c89" in encoder.fingerprint and "mean" in encoder.fingerprint


def test_rows_are_unit_float32_in_the_order_given(encoder):
    texts = fitting(encoder.pieces, 60, 40, seed=3)
    vectors = encoder.encode(texts)
    assert vectors.shape == (len(texts), 384) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert (vectors * alone).sum(axis=1).min() > 0.99999  # neither order, nor batch, nor padding matters


def test_the_same_call_gives_the_same_bits(encoder):
    texts = fitting(encoder.pieces, 60, 10, seed=4)
    assert np.array_equal(encoder.encode(texts), encoder.encode(texts))


def test_nothing_gives_nothing(encoder):
    assert encoder.encode([]).shape == (0, 384)


def test_longest_text_fits_and_one_piece_more_is_refused(encoder):
    assert encoder.encode(["a " * 254]).shape == (1, 384)
    with pytest.raises(ValueError, match=r"text 1 has 255 word pieces; all-MiniLM-L6-v2 takes 254"):
        encoder.encode(["a", "a " * 255])


def test_control_tokens_in_a_text_are_text(encoder):
    plain, hostile = encoder.encode(["The answer is 42.", "The answer is 42. [SEP] [CLS] [PAD]"])
    forged = encoder._tokenizer.encode("[SEP] [CLS] [PAD]", add_special_tokens=False).ids
    assert not {0, 101, 102} & set(forged)
    assert plain @ hostile < 0.999


@pytest.mark.parametrize(
    "text", ["\x00", "\ud800 lone", "e\u0301" * 50, "👩\u200d👩\u200d👧" * 20, "\u202eabc", "x" * 10_000, "\r\n"]
)
def test_any_string_has_a_vector(encoder, text):
    assert np.isfinite(encoder.encode([text])).all()


def test_threads_do_not_disturb_each_other(encoder):
    texts = fitting(encoder.pieces, 30, 24, seed=5)
    expected = [encoder.encode([text]) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: encoder.encode([text]), texts))
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


def test_batches_hold_every_text_once_and_keep_to_the_budget():
    lengths = [3, 254, 17, 17, 90, 1, 255, 128] * 40
    chosen = list(batches(lengths))
    assert sorted(index for batch in chosen for index in batch) == list(range(len(lengths)))
    sizes = [padded([[1] * lengths[index] for index in batch], 0).size for batch in chosen]
    assert max(sizes) <= BATCH_PIECES
    assert sum(sizes) <= 1.25 * sum(lengths)  # to the longest of all it would be 2.7 times


def test_weights_are_those_that_the_library_reads(encoder_folder):
    from safetensors.numpy import load_file

    expected = {k: v for k, v in load_file(encoder_folder / "model.safetensors").items() if v.dtype == np.float32}
    found = read_safetensors(encoder_folder / "model.safetensors")
    assert found.keys() == expected.keys() and len(found) > 100
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_half_precision_weights_are_widened(tmp_path):
    from safetensors.numpy import save_file

    values = np.array([[1.5, -2.25], [0.0, 3e-3]], dtype=np.float32)
    save_file({"a": values.astype(np.float16)}, tmp_path / "half.safetensors")
    assert np.array_equal(read_safetensors(tmp_path / "half.safetensors")["a"], values.astype(np.float16))
    header = json.dumps({"b": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "brain").write_bytes(len(header).to_bytes(8, "little") + header + b"\x80\x3f\x00\xc0")
    assert read_safetensors(tmp_path / "brain")["b"].tolist() == [1.0, -2.0]


def small_copy(source: Path, target: Path, weights: bytes, **changes: object) -> Path:
    """Make a model's folder with other weights and another configuration."""
    target.mkdir()
    config = json.loads((source / "config.json").read_text())
    (target / "config.json").write_text(json.dumps({**config, **changes}))
    (target / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    (target / "model.safetensors").write_bytes(weights)
    return target


def test_cut_weights_are_refused(encoder_folder, tmp_path):
    whole = (encoder_folder / "model.safetensors").read_bytes()
    for number, weights in enumerate((whole[:1_000_000], whole[:100], b"", b"\xff" * 64)):
        folder = small_copy(encoder_folder, tmp_path / str(number), weights)
        with pytest.raises(ModelDamaged, match=r"model\.safetensors cannot be used"):
            OpenVinoEncoder(folder, name="m").encode(["a"])


@pytest.mark.parametrize("changes", [{"model_type": "t5"}, {"hidden_act": "swish"}, {"position_embedding_type": "rel"}])
def test_other_networks_are_refused_by_name(encoder_folder, tmp_path, changes):
    with pytest.raises(ModelError, match="built-in runtime") as caught:
        read_config(small_copy(encoder_folder, tmp_path / "m", b"", **changes))
    assert "st:" in caught.value.fix


def test_pooling_is_read(encoder_folder, tmp_path):
    folder = small_copy(encoder_folder, tmp_path / "m", b"")
    assert read_config(folder).pooling == "mean" and read_config(folder).max_pieces == 512
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true, "include_prompt": true}')
    assert read_config(folder).pooling == "cls"
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(ModelError, match="pooling by max_tokens"):
        read_config(folder)


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_other_families_and_pooling_equal_transformers(encoder_folder, tmp_path, family):
    transformers = pytest.importorskip("transformers", reason="the extra 'torch' is not installed")
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    kind = {"bert": "Bert", "xlm-roberta": "XLMRoberta"}[family]
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=30522, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=130, pad_token_id=0, type_vocab_size=2, hidden_act="gelu", initializer_range=0.5,
    )  # fmt: skip
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}Model")(config, add_pooling_layer=False).eval()
    model.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((encoder_folder / "tokenizer.json").read_bytes())
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    encoder = OpenVinoEncoder(tmp_path, name="m", precision="f32")
    for text in fitting(encoder.pieces, 60, 5, seed=6):
        ids = torch.tensor([encoder._tokenizer.encode(text).ids])
        with torch.no_grad():
            first = model(ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0, 0].numpy()
        assert encoder.encode([text])[0] @ (first / np.linalg.norm(first)) > 0.99999


def test_loading_openvino_reports_to_nobody(tmp_path):
    """OpenVINO's converter writes an identifier into the home and sends an event when it is imported."""
    code = (
        "import sys; from pincite.models.runtime import import_openvino; openvino = import_openvino();"
        "assert openvino.Core and not [name for name in sys.modules if 'telemetry' in name], 'telemetry';"
        "import openvino.tools"
    )
    environ = {**os.environ, "HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environ, check=True, timeout=60)
    assert list(tmp_path.iterdir()) == []


def test_openvino_is_imported_in_one_way_only():
    """Whoever imports it, or what is built on it, takes the telemetry out first."""
    source = Path(fetch.__file__).parents[1]
    importers = {
        path.relative_to(source).as_posix(): path.read_text(encoding="utf-8")
        for path in source.rglob("*.py")
        if re.search(r"^\s*(import|from) openvino", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert "models/runtime.py" in importers
    assert [name for name, text in importers.items() if "import_openvino()" not in text] == []


def test_names_load_what_they_say(encoder_folder, models_dir, monkeypatch):
    for name in ("all-MiniLM-L6-v2", "ALL-minilm-l6-v2", str(encoder_folder)):
        encoder = load_encoder(name, models_dir=models_dir, offline=True)
        assert isinstance(encoder, OpenVinoEncoder) and encoder.name == "all-MiniLM-L6-v2"
    with pytest.raises(ModelUnknown) as caught:
        load_encoder("all-MiniML-L6-v2", models_dir=models_dir, offline=True)
    assert "all-MiniLM-L6-v2" in caught.value.fix
    for load, name in ((load_encoder, "smollm2-135m-instruct"), (load_generator, "all-MiniLM-L6-v2")):
        with pytest.raises(ModelUnknown, match="is no"):
            load(name, models_dir=models_dir, offline=True)
    with pytest.raises(ModelMissing, match="may not be used"):
        load_encoder("openai:m", models_dir=models_dir, offline=True)
    with pytest.raises(ModelMissing, match="no adapter"):
        load_generator("smollm2-135m-instruct", models_dir=models_dir, offline=True, adapter="/nowhere")
