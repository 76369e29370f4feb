"""LoRA adapters as PEFT saves them: read, checked, and rewritten for llama.cpp.

Every local runtime takes the same adapter. What cannot be applied exactly is refused, never half applied.
"""

from __future__ import annotations

import json
import math
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.errors import ModelDamaged
from pincite.models.bert import read_safetensors
from pincite.models.generators.gguf import PROJECTIONS, read_gguf

_NAME = re.compile(r"(?:base_model\.model\.)?model\.layers\.(\d+)\.(.+)\.lora_([AB])\.(?:default\.)?weight")
_FIX = "Save it with PEFT as a plain LoRA on the attention and MLP projections, or use the transformers runtime."


class Adapter:
    """A PEFT LoRA adapter: ``W + scale * B @ A`` for some of the layers' projections.

    Attributes:
        file (Path): the safetensors file.
        scale (float): lora_alpha / r, or lora_alpha / sqrt(r) where the configuration says so.
    """

    file: Path
    scale: float

    def __init__(self, path: Path) -> None:
        """Read the configuration and the table of tensors.

        Args:
            path: a folder with ``adapter_config.json`` and ``adapter_model.safetensors``, or that second file.

        Raises:
            ModelDamaged: a file is missing or malformed, or the adapter is of a kind that is not applied here.
        """
        self.file = path / "adapter_model.safetensors" if path.is_dir() else path
        try:
            config = json.loads((self.file.parent / "adapter_config.json").read_text(encoding="utf-8"))
            self.scale = _scale(config)
            self._tensors = read_safetensors(self.file, strict=True)
            if any(tensor.ndim != 2 for tensor in self._tensors.values()):
                raise ValueError("it holds a tensor of another shape")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
            raise ModelDamaged(f"The LoRA adapter {path} cannot be used: {error}.", fix=_FIX) from error
        self._parts: dict[tuple[int, str], dict[str, str]] = {}
        for name in self._tensors:
            match = _NAME.fullmatch(name)
            if not match or match[2] not in PROJECTIONS:
                raise ModelDamaged(f"The LoRA adapter {path} changes {name}, which is not applied here.", fix=_FIX)
            self._parts.setdefault((int(match[1]), match[2]), {})[match[3]] = name

    def check(self, gguf: Path) -> None:
        """Compare all shapes with those of the model file; ModelDamaged when the adapter is for another model."""
        _, tensors = read_gguf(gguf)
        for (layer, name), parts in self._parts.items():
            tensor = tensors.get(f"blk.{layer}.{PROJECTIONS[name]}.weight")
            shapes = [self._tensors[part].shape for _, part in sorted(parts.items())]
            fits = tensor and len(shapes) == 2 and (shapes[1][0], shapes[0][1]) == tensor.shape
            if not fits or shapes[0][0] != shapes[1][1]:
                raise ModelDamaged(
                    f"The LoRA adapter {self.file} does not fit {gguf.name} at layer {layer}, {name}.",
                    fix="Use the adapter with the model that it was trained for.",
                )

    def write_gguf(self, gguf: Path, target: Path) -> None:
        """Write the adapter to ``target`` as llama.cpp wants it, for the architecture and heads of the model file."""
        metadata, _ = read_gguf(gguf)
        architecture = metadata["general.architecture"]
        heads = {"self_attn.q_proj": metadata[f"{architecture}.attention.head_count"]}
        heads["self_attn.k_proj"] = metadata.get(f"{architecture}.attention.head_count_kv", heads["self_attn.q_proj"])
        arrays: dict[str, NDArray[np.float32]] = {}
        for (layer, name), parts in sorted(self._parts.items()):
            a, b = self._tensors[parts["A"]], self._tensors[parts["B"]]
            if architecture == "llama" and name in heads:
                b = b.reshape(heads[name], 2, len(b) // heads[name] // 2, -1).swapaxes(1, 2).reshape(b.shape)
            stem = f"blk.{layer}.{PROJECTIONS[name]}.weight"
            arrays[f"{stem}.lora_a"] = a
            arrays[f"{stem}.lora_b"] = b * np.float32(self.scale)  # llama.cpp itself scales by alpha / rank, here 1
        facts = {"general.type": "adapter", "general.architecture": architecture, "adapter.type": "lora"}
        _write_gguf(target, facts, arrays)


def _scale(config: dict[str, Any]) -> float:
    """Work out the strength, and refuse what is more than plain LoRA."""
    for key in ("use_dora", "rank_pattern", "alpha_pattern", "modules_to_save", "fan_in_fan_out"):
        if config.get(key):
            raise ValueError(f"its {key} is not supported")
    if config["peft_type"] != "LORA" or config.get("bias", "none") != "none":
        raise ValueError("it is not a plain LoRA adapter")
    rank = config["r"]
    return float(config["lora_alpha"] / (math.sqrt(rank) if config.get("use_rslora") else rank))


def _write_gguf(target: Path, facts: dict[str, str], arrays: dict[str, NDArray[np.float32]]) -> None:
    """Write a GGUF file of float32 tensors, with an adapter's strength of alpha = rank, so alpha / rank = 1."""

    def string(text: str) -> bytes:
        raw = text.encode()
        return struct.pack("<Q", len(raw)) + raw

    rank = next(len(array) for name, array in arrays.items() if name.endswith(".lora_a"))
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(arrays), len(facts) + 1)
    header += b"".join(string(key) + struct.pack("<I", 8) + string(value) for key, value in facts.items())
    header += string("adapter.lora.alpha") + struct.pack("<If", 6, rank)
    offset = 0
    for name, array in arrays.items():
        header += string(name) + struct.pack("<IQQIQ", 2, *reversed(array.shape), 0, offset)
        offset += -(-array.nbytes // 32) * 32
    with target.open("wb") as file:
        file.write(header + bytes(-len(header) % 32))
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes() + bytes(-array.nbytes % 32))
