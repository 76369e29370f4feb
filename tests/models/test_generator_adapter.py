"""Adapters that cannot be applied exactly are refused, with the reason."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from pincite.errors import ModelDamaged
from pincite.models.generators.adapter import Adapter
from pincite.models.generators.gguf import read_gguf
from tests.models.lora import make_adapter


def test_the_strength_is_that_of_peft(tmp_path):
    assert Adapter(make_adapter(tmp_path / "a", rank=4, alpha=8)).scale == 8 / 4
    assert Adapter(make_adapter(tmp_path / "b", rank=4, alpha=8, use_rslora=True)).scale == 8 / 2


@pytest.mark.parametrize(
    ("config", "match"),
    [
        ({"use_dora": True}, "use_dora"),
        ({"rank_pattern": {"q_proj": 2}}, "rank_pattern"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"bias": "all"}, "plain LoRA"),
        ({"peft_type": "IA3"}, "plain LoRA"),
        ({"r": "4"}, "cannot be used"),
        ({"r": 0}, "cannot be used"),
    ],
)
def test_other_kinds_are_refused(tmp_path, config, match):
    with pytest.raises(ModelDamaged, match=match) as caught:
        Adapter(make_adapter(tmp_path / "a", layers=[0], **config))
    assert caught.value.fix


def test_files_that_are_missing_torn_or_of_another_kind_are_refused(tmp_path):
    with pytest.raises(ModelDamaged):
        Adapter(tmp_path)
    folder = make_adapter(tmp_path / "a", layers=[0])
    weights = folder / "adapter_model.safetensors"
    whole = weights.read_bytes()
    for torn in (b"", whole[:5], whole[:300], whole[:-1], b"\xff" * 64):
        weights.write_bytes(torn)
        with pytest.raises(ModelDamaged):
            Adapter(folder)
    save_file({"base_model.model.lm_head.lora_A.weight": np.zeros((2, 576), np.float32)}, weights)
    with pytest.raises(ModelDamaged, match="lm_head"):
        Adapter(folder)


def test_an_adapter_for_another_model_is_refused(tmp_path, generator_file):
    Adapter(make_adapter(tmp_path / "fits")).check(generator_file)
    with pytest.raises(ModelDamaged, match="layer 30"):
        Adapter(make_adapter(tmp_path / "deep", layers=[30])).check(generator_file)
    folder = make_adapter(tmp_path / "narrow", layers=[0])
    tensors = load_file(folder / "adapter_model.safetensors")
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
    for other in (
        tensors | {name: tensors[name][:, :100].copy()},
        {key: tensors[key] for key in tensors if key != name},
    ):
        save_file(other, folder / "adapter_model.safetensors")
        with pytest.raises(ModelDamaged, match="does not fit"):
            Adapter(folder).check(generator_file)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_what_is_written_for_llama_cpp_is_the_same_change(tmp_path, generator_file, dtype):
    """scale * B @ A of the PEFT file, rows permuted as convert_hf_to_gguf does, is lora_b @ lora_a of the GGUF file."""
    gguf = pytest.importorskip("gguf", reason="the reference reader of GGUF is not installed")
    folder = make_adapter(tmp_path / "a", layers=[3], dtype=dtype)
    adapter = Adapter(folder)
    adapter.write_gguf(generator_file, tmp_path / "a.gguf")
    tensors = {tensor.name: np.array(tensor.data) for tensor in gguf.GGUFReader(tmp_path / "a.gguf").tensors}
    metadata, _ = read_gguf(tmp_path / "a.gguf")
    assert metadata["adapter.lora.alpha"] == 4.0  # == rank, so that llama.cpp's own factor is 1
    peft = {name: value.astype(np.float32) for name, value in load_file(folder / "adapter_model.safetensors").items()}
    for name, short, heads in (("self_attn.k_proj", "attn_k", 3), ("mlp.down_proj", "ffn_down", 0)):
        stem = f"base_model.model.model.layers.3.{name}"
        change = 2.0 * peft[f"{stem}.lora_B.weight"] @ peft[f"{stem}.lora_A.weight"]
        if heads:
            change = change.reshape(heads, 2, 32, -1).swapaxes(1, 2).reshape(change.shape)
        written = tensors[f"blk.3.{short}.weight.lora_b"] @ tensors[f"blk.3.{short}.weight.lora_a"]
        np.testing.assert_allclose(written, change, rtol=1e-5, atol=1e-7)
    assert json.loads((folder / "adapter_config.json").read_text())["lora_alpha"] == 8
