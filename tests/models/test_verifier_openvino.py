"""Verifiers: equal to transformers, nothing cut, and labels that mean something."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pincite.errors import ModelError, ModelLimit, ModelUnknown
from pincite.models.load import load_verifier
from pincite.models.protocols import Verifier
from pincite.models.verifiers.openvino import OpenVinoVerifier
from tests.data.make_verifier_oracle import KINDS, PAIRS

ORACLE = Path(__file__).parents[1] / "data" / "verifier_oracle.npz"


@pytest.fixture(scope="module", params=KINDS)
def model(request, tmp_path_factory):
    """A small classifier's kind and folder, and transformers' logits for each pair."""
    folder = tmp_path_factory.mktemp(request.param)
    with np.load(ORACLE, allow_pickle=False) as saved:
        for file in ("config.json", "tokenizer.json", "model.safetensors"):
            (folder / file).write_bytes(saved[f"{request.param}/{file}"].tobytes())
        return request.param, folder, [saved[f"{request.param}/logits{i}"] for i in range(len(PAIRS))]


def softmax(logits):
    powers = np.exp(logits)
    return powers / powers.sum(axis=-1, keepdims=True)


def test_chances_equal_transformers(model):
    kind, folder, logits = model
    verifier = OpenVinoVerifier(folder, name="m", precision="f32")
    assert isinstance(verifier, Verifier)
    found = verifier.judge(PAIRS)
    yes = {"pairs": 1, "roberta-pairs": 1}.get(kind, 0)
    for judgement, expected, (text, claim) in zip(found, map(softmax, logits), PAIRS, strict=True):
        if "pairs" in kind:
            assert abs(judgement.support - expected[yes]) < 1e-3
            assert judgement.contradiction == pytest.approx(expected[0] if kind == "pairs" else 0.0, abs=1e-3)
        else:
            rows = verifier._tokenizer.encode(text, claim)
            mine = [i for i, sequence in enumerate(rows.sequence_ids) if sequence == 1]
            assert abs(judgement.support - expected[mine, yes].min()) < 1e-3
            assert bool(judgement.parts) == bool(expected[mine, yes].min() < 0.5)
            assert all(part in claim for part in judgement.parts)
    supports = [judgement.support for judgement in found]
    assert np.ptp(supports) > 0.05  # or equality would say little


def test_a_long_text_is_read_in_windows(model):
    _, folder, _ = model
    verifier = OpenVinoVerifier(folder, name="m", precision="f32")
    text, claim = PAIRS[0]
    (alone,), (long,) = verifier.judge([(text, claim)]), verifier.judge([(text + " lora adds the weights" * 20, claim)])
    assert 0 <= long.support <= 1 and long != alone
    with pytest.raises(ModelLimit, match="word pieces"):
        verifier.judge([(text, "the cache " * 40)])
    assert verifier.judge([]) == []


@pytest.mark.parametrize("labels", [["LABEL_0", "LABEL_1", "LABEL_2"], ["good", "bad"]])
def test_labels_that_say_nothing_are_refused(labels, model, tmp_path):
    kind, folder, _ = model
    if "tokens" in kind and len(labels) == 2:
        labels = ["good", "middling", "bad"]  # two nameless labels of tokens have a meaning
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = dict(enumerate(labels))
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="none of them says") as raised:
        load_verifier(str(tmp_path), models_dir=tmp_path, offline=True)
    assert "id2label" in raised.value.fix


def test_what_is_no_verifier_is_refused(tmp_path, model):
    with pytest.raises(ModelUnknown, match="no verifier"):
        load_verifier("all-MiniLM-L6-v2", models_dir=tmp_path, offline=True)
    _, folder, _ = model
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text()) | {"model_type": "modernbert"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="models of type 'modernbert'") as raised:
        load_verifier(str(tmp_path), models_dir=tmp_path, offline=True)
    assert "BERT" in raised.value.fix
