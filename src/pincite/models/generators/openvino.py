"""A GGUF model on OpenVINO, in a saved form that starts quickly (see ``saved``)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pincite.errors import ModelDamaged
from pincite.models.generators.adapter import Adapter
from pincite.models.generators.chat import LocalGenerator
from pincite.models.generators.relay import Emit
from pincite.models.generators.saved import BLOBS, discard, saved_form, takes_adapters
from pincite.models.generators.vocabulary import Vocabulary
from pincite.models.protocols import Finish, GenerationOptions
from pincite.models.runtime import import_openvino

# SDPA starts in a quarter of paged attention's time, because its compiled form can be kept; paged attention would reuse
# the keys and values of equal prompts, which answers from changing evidence seldom have.
PROPERTIES: dict[str, Any] = {"ATTENTION_BACKEND": "SDPA"}
_log = logging.getLogger(__name__)


class OpenVinoGenerator(LocalGenerator):
    """Continues a chat with a GGUF model on the CPU."""

    _vocabulary: Vocabulary

    def __init__(
        self, gguf: Path, *, cache_dir: Path, name: str = "", threads: int = 0, adapter: Path | None = None
    ) -> None:
        """Load the model: 0.5 s from its saved form, about 6 s when that has to be made.

        Args:
            gguf: the model file, of an architecture that openvino-genai reads (llama, qwen2, qwen3).
            cache_dir: where the saved form is kept; it takes about three times the model file's size.
            name: the model's; the file's when empty.
            threads: 0 for as many as the machine has cores.
            adapter: a LoRA adapter as PEFT saves it: a folder, or a safetensors file with its configuration beside it.

        Raises:
            ModelMissing: there is no such file.
            ModelDamaged: OpenVINO cannot load it, or the adapter is not for it.
            DiskFull: there is no room for the saved form.
        """
        vocabulary = Vocabulary(gguf)
        super().__init__(name or gguf.stem, vocabulary, vocabulary.context_tokens)
        lora = Adapter(adapter) if adapter else None
        if lora:
            lora.check(gguf)
        try:
            self._pipeline = _open(gguf, cache_dir, threads, lora)
        except (RuntimeError, OSError) as error:
            raise ModelDamaged(f"OpenVINO cannot load {gguf.name}.", fix="Fetch the model again.") from error

    def _config(self, options: GenerationOptions, tokens: int) -> Any:
        config = self._pipeline.get_generation_config()
        config.max_new_tokens = tokens
        config.apply_chat_template = False
        config.eos_token_id = self._vocabulary.end_id
        config.stop_token_ids = {self._vocabulary.end_id}
        config.do_sample = options.temperature > 0
        if config.do_sample:
            config.temperature, config.rng_seed = options.temperature, options.seed
        return config

    def _run(self, ids: list[int], tokens: int, options: GenerationOptions, emit: Emit) -> Finish:
        config = self._config(options, tokens)
        last = [-1]
        decode = self._vocabulary.decoder()

        def token(number: int) -> bool:
            last[0] = number
            return emit(decode(number))

        prompt = import_openvino().Tensor(np.array([ids], dtype=np.int64))
        result = self._pipeline.generate(prompt, config, _streamer(token))
        ended = last[0] == self._vocabulary.end_id
        return Finish("stop" if ended else "length", len(ids), len(result.tokens[0]))


def _open(gguf: Path, cache_dir: Path, threads: int, lora: Adapter | None) -> Any:
    """Load the model from its saved form; a form that cannot be read is made again, once."""
    try:
        with saved_form(gguf, cache_dir) as form:
            return _load(form, threads, lora)
    except RuntimeError as error:
        _log.warning("the saved form of %s is made again: %s", gguf.name, error)
        discard(gguf, cache_dir)
    with saved_form(gguf, cache_dir) as form:
        return _load(form, threads, lora)


def _load(form: Path, threads: int, lora: Adapter | None) -> Any:
    """Load the saved form; the first time it is compiled, later the compiled form is read.

    With an adapter it is compiled each time: the graph is another one for each, and would take 160 MB to keep.
    """
    import_openvino()
    import openvino_genai

    properties = dict(PROPERTIES)
    if threads:
        properties["INFERENCE_NUM_THREADS"] = threads
    if lora and not takes_adapters(form):
        raise ModelDamaged("This model's layers cannot be told apart, so no adapter fits.", fix="Use 'llama:' models.")
    if lora:
        properties["adapters"] = openvino_genai.AdapterConfig(openvino_genai.Adapter(lora.file), lora.scale)
    else:
        properties["CACHE_DIR"] = str(form / BLOBS)
    return openvino_genai.LLMPipeline(form, "CPU", **properties)


def _streamer(token: Callable[[int], bool]) -> Any:
    """Wrap a callback, which returns False to stop, as openvino-genai wants it."""
    from openvino_genai import StreamerBase, StreamingStatus

    class Streamer(StreamerBase):  # type: ignore[misc]
        def write(self, tokens: int | list[int]) -> Any:
            going = [token(number) for number in (tokens if isinstance(tokens, list) else [tokens])]
            return StreamingStatus.RUNNING if all(going) else StreamingStatus.CANCEL

        def end(self) -> None: ...

    return Streamer()
