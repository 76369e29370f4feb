"""Any causal language model of the Hugging Face hub or a GGUF file, on torch (extra ``torch``)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from pincite.errors import ExtraMissing, ModelDamaged
from pincite.models.generators.chat import LocalGenerator, default_system
from pincite.models.generators.relay import Emit
from pincite.models.protocols import Finish, GenerationOptions
from pincite.text import printable_surrogates


class TransformersGenerator(LocalGenerator):
    """Continues a chat on the CPU, or on a GPU where there is one."""

    _vocabulary: _Vocabulary

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        adapter: Path | None = None,
        threads: int = 0,
        offline: bool = True,
        name: str = "",
    ) -> None:
        """Load the model. Code that comes with a model is never run.

        Args:
            name_or_path: a GGUF file (its weights become float32; 20 to 30 s for 135M parameters), a folder, or a name
                on the hub. ChatML models only.
            adapter: a LoRA adapter as PEFT saves it: a folder.
            threads: 0 leaves it to torch.
            offline: never ask the hub.
            name: to show; that of the model when empty.

        Raises:
            ExtraMissing: torch, transformers or peft are not installed.
            ModelDamaged: the model or the adapter cannot be loaded.
        """
        torch = _torch()
        if threads:
            torch.set_num_threads(threads)
        try:
            tokenizer, self._model = _load(name_or_path, offline)
            if adapter:
                from peft import PeftModel

                self._model = PeftModel.from_pretrained(self._model, str(adapter))
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelDamaged(f"{name_or_path} cannot be loaded: {error}", fix="Fetch it again.") from error
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = self._model.to(device).eval()
        context = int(getattr(self._model.config, "max_position_embeddings", 2048))
        super().__init__(name or Path(name_or_path).stem, _Vocabulary(tokenizer), context)

    def _run(self, ids: list[int], tokens: int, options: GenerationOptions, emit: Emit) -> Finish:
        import torch
        from tokenizers.decoders import DecodeStream
        from transformers import GenerationConfig

        decode, going, written = DecodeStream(skip_special_tokens=True), [True], [0]

        class Streamer:
            def put(self, value: Any) -> None:
                if len(value.reshape(-1)) == 1 and value.dim() == 1:  # else it is the prompt
                    written[0] += 1
                    going[0] = emit(decode.step(backend, int(value)) or "")

            def end(self) -> None: ...

        backend, end = self._vocabulary.backend, self._vocabulary.end_id
        config = GenerationConfig(
            max_new_tokens=tokens, do_sample=options.temperature > 0, eos_token_id=end, pad_token_id=end
        )
        if config.do_sample:
            config.temperature = options.temperature
            torch.manual_seed(options.seed)
        prompt = torch.tensor([ids], device=self._model.device)
        with torch.inference_mode():
            result = self._model.generate(
                input_ids=prompt,
                attention_mask=torch.ones_like(prompt),
                generation_config=config,
                streamer=Streamer(),
                stopping_criteria=[lambda *_, **__: torch.full((1,), not going[0], device=prompt.device)],
            )
        return Finish("stop" if int(result[0, -1]) == end else "length", len(ids), written[0])


class _Vocabulary:
    """A fast tokenizer of transformers that takes control tokens in text for plain text."""

    def __init__(self, tokenizer: Any) -> None:
        self.backend = tokenizer.backend_tokenizer
        self.backend.encode_special_tokens = True
        self.backend.no_truncation()
        self.backend.no_padding()
        self.system = default_system(tokenizer.chat_template)
        self._special = set(tokenizer.all_special_ids)
        self.end_id: int = tokenizer.eos_token_id

    def encode(self, text: str) -> list[int]:
        return list(self.backend.encode(printable_surrogates(text), add_special_tokens=False).ids)

    def control(self, token: str) -> int | None:
        number: int | None = self.backend.token_to_id(token)
        return number if number in self._special else None


def _torch() -> Any:
    """Import what the extra brings."""
    try:
        torch, _, _ = (import_module(name) for name in ("torch", "transformers", "peft"))
    except ImportError as error:
        raise ExtraMissing(
            "The transformers runtime is not installed.", fix="Run `pip install 'pincite[torch]'`."
        ) from error
    return torch


def _load(name_or_path: str | Path, offline: bool) -> tuple[Any, Any]:
    """Load tokenizer and model; from safetensors or GGUF only, so that nothing in them can run."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    path = Path(name_or_path)
    common: dict[str, Any] = {"trust_remote_code": False, "local_files_only": offline}
    if path.suffix == ".gguf":
        name, common["gguf_file"] = str(path.parent), path.name
        model = AutoModelForCausalLM.from_pretrained(name, dtype="float32", **common)
    else:
        name = str(name_or_path)
        model = AutoModelForCausalLM.from_pretrained(name, dtype="auto", use_safetensors=True, **common)
    return AutoTokenizer.from_pretrained(name, **common), model
