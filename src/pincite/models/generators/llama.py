"""A GGUF model on llama.cpp, through xllamacpp (extra ``llama``). No port is opened.

xllamacpp starts llama.cpp's server beside the direct calls that are used here. It is made to listen on a socket file in
a private folder, which is removed at once, so that nothing can connect; only where there are no socket files does it
listen on a loopback port, with a random key.
"""

from __future__ import annotations

import secrets
import sys
import tempfile
from pathlib import Path
from typing import Any

from pincite.errors import ExtraMissing, GenerationError, ModelDamaged
from pincite.models.generators.adapter import Adapter
from pincite.models.generators.chat import LocalGenerator
from pincite.models.generators.relay import Emit
from pincite.models.generators.vocabulary import Vocabulary
from pincite.models.protocols import Finish, GenerationOptions

CONTEXT = 8192  # tokens; the cache of keys and values is laid out for this many when the model loads
_SOCKET_PATH = 100  # bytes; the system's limit is 108 on Linux and 104 on macOS


class LlamaGenerator(LocalGenerator):
    """Continues a chat with a GGUF model on the CPU."""

    def __init__(self, gguf: Path, *, name: str = "", threads: int = 0, adapter: Path | None = None) -> None:
        """Load the model (0.3 s for 135M parameters).

        Args:
            gguf: the model file.
            name: the model's; the file's when empty.
            threads: 0 for one a core.
            adapter: a LoRA adapter as PEFT saves it (a folder, or a safetensors file with its configuration beside it),
                or a GGUF file.

        Raises:
            ExtraMissing: xllamacpp is not installed.
            ModelMissing: there is no such file.
            ModelDamaged: llama.cpp cannot load it, or the adapter is not for it.
        """
        vocabulary = Vocabulary(gguf)
        super().__init__(name or gguf.stem, vocabulary, min(CONTEXT, vocabulary.context_tokens))
        self._server = _server(gguf, self.context_tokens, threads, adapter)

    def _run(self, ids: list[int], tokens: int, options: GenerationOptions, emit: Emit) -> Finish:
        request = {
            "prompt": ids,
            "n_predict": tokens,
            "temperature": options.temperature,
            "seed": options.seed,
            "cache_prompt": True,
            "stream": True,
        }
        last: dict[str, Any] = {}

        def stop(chunk: dict[str, Any]) -> bool:
            last.update(chunk)
            return "error" in chunk or not emit(chunk["choices"][0]["text"])

        self._server.handle_completions(request, stop)
        if "error" in last:
            raise GenerationError(f"{self.name} failed: {last['error']['message']}", fix="Run `pincite doctor`.")
        reason, usage = last["choices"][0]["finish_reason"], last.get("usage", {})
        return Finish(
            "length" if reason == "length" else "stop",
            len(ids),
            usage.get("completion_tokens", 0),
            usage.get("prompt_tokens_details", {}).get("cached_tokens", 0),
        )


def _server(gguf: Path, context: int, threads: int, adapter: Path | None) -> Any:
    """Load the model into llama.cpp."""
    try:
        import xllamacpp
    except ImportError as error:
        raise ExtraMissing("The llama runtime is not installed.", fix="Run `pip install 'pincite[llama]'`.") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.n_ctx, params.n_parallel = context, 1
    params.warmup, params.verbosity, params.cache_ram_mib = False, -1, 0
    if threads:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.api_keys = [secrets.token_urlsafe(32)]
    with tempfile.TemporaryDirectory(prefix="pincite-") as folder:
        if adapter:
            info = xllamacpp.CommonAdapterLoraInfo()
            info.path, info.scale = str(_as_gguf(adapter, gguf, Path(folder))), 1.0
            params.lora_adapters = [info]
        socket = str(Path(folder, "llama.sock"))
        usable = sys.platform != "win32" and len(socket.encode()) <= _SOCKET_PATH
        params.hostnames, params.port = [socket if usable else "127.0.0.1"], 0
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            what = f"{gguf.name} with the adapter {adapter}" if adapter else gguf.name
            raise ModelDamaged(f"llama.cpp cannot load {what}.", fix="Fetch the model again.") from error


def _as_gguf(adapter: Path, gguf: Path, folder: Path) -> Path:
    """Give the adapter as a GGUF file, written into the folder unless it is one."""
    if adapter.suffix == ".gguf":
        return adapter
    lora = Adapter(adapter)
    lora.check(gguf)
    target = folder / "adapter.gguf"
    lora.write_gguf(gguf, target)
    return target
