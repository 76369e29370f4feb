"""The vocabulary inside a GGUF file: exact token ids for text, without running the model.

Both local runtimes are given token ids, so that what they see is decided here, once. Control tokens are no part of the
tokenizer that is built: no text can become one, whatever it holds.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pincite.errors import ModelDamaged
from pincite.models.generators.chat import default_system
from pincite.models.generators.gguf import read_gguf
from pincite.text import printable_surrogates

_NORMAL = 1  # token types other than this one are control, user-defined, unknown or unused
# Word splitting by the file's own name for it (llama.cpp's LLAMA_VOCAB_PRE_TYPE). Others are refused, not guessed.
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Vocabulary:
    """Turns text into a GGUF model's token ids and back.

    Attributes:
        context_tokens (int): what the model was trained for, prompt and reply together.
        system (str): the system message of a chat that has none, or "".
        end_id (int): the token that ends a reply.
    """

    context_tokens: int
    system: str
    end_id: int

    def __init__(self, gguf: Path) -> None:
        """Read the metadata of a GGUF file with a byte-level BPE vocabulary (0.1 s for 49,152 tokens), no weights.

        ModelMissing when there is no such file, ModelDamaged when it is not one, or its vocabulary of another kind.
        """
        metadata, _ = read_gguf(gguf)
        try:
            architecture = metadata["general.architecture"]
            self.context_tokens = metadata[f"{architecture}.context_length"]
            self.system = default_system(metadata.get("tokenizer.chat_template"))
            self._tokens: list[str] = metadata["tokenizer.ggml.tokens"]
            self._types: tuple[int, ...] = metadata["tokenizer.ggml.token_type"]
            self.end_id = metadata["tokenizer.ggml.eos_token_id"]
            merges = [tuple(merge.split(" ", 1)) for merge in metadata["tokenizer.ggml.merges"]]
        except (KeyError, AttributeError) as error:
            raise ModelDamaged(
                f"{gguf.name} holds no byte-level BPE vocabulary ({error} is missing).",
                fix="Use another GGUF file, the transformers runtime, or an endpoint.",
            ) from error
        self._ids = {token: number for number, token in enumerate(self._tokens)}
        self._tokenizer = _tokenizer(gguf, self._ids, merges, metadata.get("tokenizer.ggml.pre", ""))
        self._bytes = {character: value for value, character in _byte_alphabet().items()}

    def encode(self, text: str) -> list[int]:
        """Give the text's token ids; never a control token's.

        Bytes that the vocabulary has no token for give nothing, as in the original tokenizer; SmolLM2 lacks six control
        characters and the planes of Unicode that hold no characters yet.
        """
        encoded = self._tokenizer.encode(printable_surrogates(text), add_special_tokens=False)
        return list(encoded.ids)

    def count(self, text: str) -> int:
        """Count the text's tokens."""
        return len(self.encode(text))

    def control(self, token: str) -> int | None:
        """Give a control token's id, None when the vocabulary has no such token."""
        number = self._ids.get(token)
        return None if number is None or self.is_plain(number) else number

    def is_plain(self, number: int) -> bool:
        """Tell whether the id stands for ordinary text."""
        return self._types[number] == _NORMAL

    def decoder(self) -> Callable[[int], str]:
        """Start decoding one reply: ids go in, whole characters come out, control tokens give nothing.

        Bytes of a character that is not complete yet are held back; bytes that can never become one give U+FFFD.
        """
        utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

        def decode(number: int) -> str:
            if not self.is_plain(number):
                return ""
            return utf8.decode(bytes(self._bytes[character] for character in self._tokens[number]))

        return decode


def _tokenizer(gguf: Path, ids: dict[str, int], merges: Iterable[Any], splitter: str) -> Any:
    """Build the BPE tokenizer; it has no added tokens, so control tokens are out of its reach."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    splitters = {
        "smollm": [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)],
        "qwen2": [
            pre_tokenizers.Split(Regex(_QWEN2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ],
    }
    if splitter not in splitters:
        raise ModelDamaged(
            f"{gguf.name} splits words in a way that is not known here ({splitter!r}).",
            fix=f"Known are {', '.join(splitters)}; use the transformers runtime or an endpoint for this model.",
        )
    try:
        tokenizer = Tokenizer(models.BPE(vocab=ids, merges=list(merges)))
    except Exception as error:  # the library raises bare Exception for every bad vocabulary
        raise ModelDamaged(f"{gguf.name} holds a broken vocabulary.", fix="Fetch the model again.") from error
    if splitter == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splitters[splitter])
    return tokenizer


def _byte_alphabet() -> dict[int, str]:
    """Map each byte to the printable character that stands for it in byte-level BPE (GPT-2's ``bytes_to_unicode``)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [value for value in range(256) if value not in printable]
    return {value: chr(value) for value in printable} | {value: chr(256 + n) for n, value in enumerate(others)}
