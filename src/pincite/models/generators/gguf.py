"""GGUF files: their metadata and where their tensors lie. Little endian, versions 2 and 3.

The layout is that of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.errors import ModelDamaged, ModelMissing

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
Q4_1 = 3  # tensor type: blocks of 32 weights: scale and minimum as float16, then 16 bytes of 4-bit numbers
# The matrix products of one layer: Hugging Face's name and GGUF's, in the order in which openvino-genai lays them out.
PROJECTIONS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where a tensor lies in its file."""

    shape: tuple[int, ...]  # outermost first, as NumPy has it
    kind: int  # ggml's number of the type
    offset: int  # bytes from the start of the file


def read_gguf(gguf: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read a file's metadata and its table of tensors (0.05 s); weights are not touched.

    Args:
        gguf: the file.

    Returns:
        Metadata by key (numbers, strings, and lists or tuples of them), and tensors by name.

    Raises:
        ModelMissing: there is no such file.
        ModelDamaged: the file ends early or is not GGUF.
    """
    try:
        with gguf.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).read()
    except FileNotFoundError as error:
        raise ModelMissing(f"There is no model file {gguf}.", fix="Run `pincite models pull`.") from error
    except (OSError, ValueError, KeyError, TypeError, struct.error, MemoryError, RecursionError) as error:
        raise ModelDamaged(f"{gguf} is not a readable GGUF file.", fix="Delete it, then fetch it again.") from error


class _Reader:
    """Walks over the mapped bytes; a read past the end raises struct.error or ValueError."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at = data, 0

    def read(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        magic, version, tensors, pairs = self._numbers("4sIQQ")
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError("no GGUF magic, or an unknown version")
        metadata = {self._string(): self._value(self._numbers("I")[0]) for _ in range(pairs)}
        table = {self._string(): self._tensor() for _ in range(tensors)}
        alignment = metadata.get("general.alignment", 32)
        start = -(-self._at // alignment) * alignment
        return metadata, {name: Tensor(row.shape, row.kind, start + row.offset) for name, row in table.items()}

    def _tensor(self) -> Tensor:
        (dimensions,) = self._numbers("I")
        shape = self._numbers(f"{dimensions}Q")
        kind, offset = self._numbers("IQ")
        return Tensor(tuple(reversed(shape)), kind, offset)

    def _numbers(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self._data, self._at)
        self._at += struct.calcsize(f"<{layout}")
        return values

    def _string(self) -> str:
        (length,) = self._numbers("Q")
        self._at += length
        if self._at > len(self._data):
            raise ValueError("a string runs past the end")
        return self._data[self._at - length : self._at].decode("utf-8")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._numbers(_SCALARS[kind])[0]
        inner, length = self._numbers("IQ")
        if length > len(self._data):
            raise ValueError("an array is longer than the file")
        if inner in (_STRING, _ARRAY):
            return [self._value(inner) for _ in range(length)]
        return self._numbers(f"{length}{_SCALARS[inner]}")
