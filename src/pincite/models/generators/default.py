"""Which runtime a GGUF model gets when none is named."""

from __future__ import annotations

from typing import Literal

# CPU seconds on one busy core (AMD EPYC, AVX512-BF16), 60 tokens written, openvino against llama, from
# bench/speed/results/generation.json. Fresh process, first token: 1.1 / 2.1 for 200 prompt tokens, 1.3 / 3.2 for 400,
# 1.9 / 5.3 for 700; whole reply: 2.0 / 3.0, 2.3 / 4.2, 2.9 / 6.5. Warm process, whole reply: 1.1 / 2.0, 1.4 / 3.2,
# 1.9 / 5.5. llama's threads also spin while they wait for a busy core. Price: 313 MB on disk for the saved form, and
# about 6 s once to make it.
DEFAULT_RUNTIME: Literal["openvino", "llama"] = "openvino"
