"""Which runtime a GGUF model gets when none is named."""

from __future__ import annotations

from typing import Literal

# Measured with 407 prompt tokens and 60 more written, 2 idle cores (AMD EPYC with AVX512-BF16), fresh process: openvino
# 1.2 s to the first token and 1.8 s in all, llama 1.5 s and 2.0 s; in a warm process 0.25 s against 1.2 s to the first
# token. openvino's first start ever makes the saved form (5 s). See bench/speed/generation.py.
DEFAULT_RUNTIME: Literal["openvino", "llama"] = "openvino"
