"""Make a PEFT LoRA adapter that visibly changes SmolLM2-135M, without training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

SHAPES = {  # rows and columns of each projection
    "self_attn.q_proj": (576, 576),
    "self_attn.k_proj": (192, 576),
    "self_attn.v_proj": (192, 576),
    "mlp.down_proj": (576, 1536),
}


def make_adapter(folder: Path, *, layers=range(30), strength=0.05, rank=4, alpha=8, dtype=np.float32, **config) -> Path:
    """Write random low-rank changes, the same each time."""
    random, tensors = np.random.default_rng(0), {}
    for layer in layers:
        for name, (rows, columns) in SHAPES.items():
            stem = f"base_model.model.model.layers.{layer}.{name}"
            a = random.standard_normal((rank, columns)) / np.sqrt(columns)
            tensors[f"{stem}.lora_A.weight"] = a.astype(dtype)
            tensors[f"{stem}.lora_B.weight"] = (random.standard_normal((rows, rank)) * strength).astype(dtype)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    facts = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": alpha, "lora_dropout": 0.0}
    facts |= {"bias": "none", "target_modules": [name.split(".")[1] for name in SHAPES], "inference_mode": True}
    (folder / "adapter_config.json").write_text(json.dumps(facts | {"base_model_name_or_path": "x"} | config))
    return folder
