"""The vocabulary inside a GGUF file: exact token ids for text, without running the model.

Both local runtimes are given token ids, so that what they see is decided here, once. Control tokens are no part of the
tokenizer that is built: no text can become one, whatever it holds.
"""

from __future__ import annotations

import codecs
import mmap
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pincite.errors import ModelDamaged, ModelMissing
from pincite.text import printable_surrogates

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_NORMAL = 1  # token types other than this one are control, user-defined, unknown or unused
# Word splitting by the file's own name for it (llama.cpp's LLAMA_VOCAB_PRE_TYPE). Others are refused, not guessed.
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Vocabulary:
    """Turns text into a GGUF model's token ids and back.

    Attributes:
        context_tokens (int): what the model was trained for, prompt and reply together.
        splitter (str): the file's name for its way of splitting words, such as ``smollm``.
        end_id (int): the token that ends a reply.
    """

    context_tokens: int
    splitter: str
    end_id: int

    def __init__(self, gguf: Path) -> None:
        """Read the file's metadata (0.1 s for 49,152 tokens); its weights are not touched.

        Args:
            gguf: a GGUF file, version 2 or 3, with a byte-level BPE vocabulary.

        Raises:
            ModelMissing: there is no such file.
            ModelDamaged: it is not a GGUF file, or one with a vocabulary of another kind.
        """
        metadata = read_metadata(gguf)
        try:
            architecture = metadata["general.architecture"]
            self.context_tokens = metadata[f"{architecture}.context_length"]
            self.splitter = metadata.get("tokenizer.ggml.pre", "")
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
        self._tokenizer = _tokenizer(gguf, self._ids, merges, self.splitter)
        self._bytes = {character: value for value, character in _byte_alphabet().items()}

    def encode(self, text: str) -> list[int]:
        """Give the text's token ids; never a control token's."""
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


def read_metadata(gguf: Path) -> dict[str, Any]:
    """Read a GGUF file's key-value section.

    The layout is that of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, little endian.

    Args:
        gguf: the file.

    Returns:
        Numbers, strings, and lists or tuples of them, by key.

    Raises:
        ModelMissing: there is no such file.
        ModelDamaged: the file ends early or is not GGUF.
    """
    try:
        with gguf.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).metadata()
    except FileNotFoundError as error:
        raise ModelMissing(f"There is no model file {gguf}.", fix="Run `pincite models pull`.") from error
    except (OSError, ValueError, KeyError, struct.error, MemoryError, OverflowError, RecursionError) as error:
        raise ModelDamaged(f"{gguf} is not a readable GGUF file.", fix="Delete it, then fetch it again.") from error


class _Reader:
    """Walks over the mapped bytes; every read past the end raises struct.error or ValueError."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at = data, 0

    def metadata(self) -> dict[str, Any]:
        magic, version, _tensors, pairs = self._numbers("4sIQQ")
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError("no GGUF magic, or an unknown version")
        return {self._string(): self._value(self._numbers("I")[0]) for _ in range(pairs)}

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
