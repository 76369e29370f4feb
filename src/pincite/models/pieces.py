"""Word pieces of BERT-family models, counted as the encoder sees them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pincite.errors import ModelDamaged, ModelMissing
from pincite.text import printable_surrogates

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WINDOW = 32_768  # code points tokenized at a time: bounds memory, and the cost of one endless "word"
_BATCH = 8  # windows in flight, shared by the tokenizer's threads
_SPACES = " \n\t\r"


class WordPieces:
    """A tokenizer that cuts nothing, pads nothing and takes ``[SEP]`` in a document for plain text.

    Two traps are avoided. A ``tokenizer.json`` may ship with truncation and padding (all-MiniLM-L6-v2: 128), so that no
    count ever exceeds it. And WordPiece makes one ``[UNK]`` of any "word" over 100 characters, so that a count says
    nothing about size: callers bound characters as well.

    Attributes:
        tokenizer (Tokenizer): for the encoder's own use; leave its settings alone.
        additive (bool): no piece crosses white space, so counts of texts joined by white space add up.
    """

    tokenizer: Tokenizer
    additive: bool

    def __init__(self, tokenizer_json: Path) -> None:
        """Load a file of the ``tokenizers`` library, and switch off what would cut or pad.

        ModelMissing when there is no such file, ModelDamaged when it is not a tokenizer.
        """
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece

        if not tokenizer_json.is_file():
            raise ModelMissing(f"There is no tokenizer at {tokenizer_json}.", fix="Run `pincite models pull`.")
        try:
            tokenizer = Tokenizer.from_str(tokenizer_json.read_text(encoding="utf-8"))
        except Exception as error:  # the library raises bare Exception for every bad file
            raise ModelDamaged(
                f"The tokenizer at {tokenizer_json} cannot be read: {error}.",
                fix="Delete the file and run `pincite models pull`.",
            ) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        self.additive = isinstance(tokenizer.model, WordPiece)

    def count(self, text: str) -> int:
        """Count the pieces, special tokens not included; equals ``len(starts(text))``."""
        if len(text) <= WINDOW:
            encoding = self.tokenizer.encode_batch_fast([printable_surrogates(text)], add_special_tokens=False)[0]
            return len(encoding)
        return len(self.starts(text))

    def starts(self, text: str) -> NDArray[np.int64]:
        """Give the code point at which each piece starts: (pieces,), ascending.

        Long texts are read in windows that end at white space. Where a window holds none in its second half, it ends
        anywhere, and the endless word is counted as one word for each window.
        """
        text = printable_surrogates(text)
        found = [np.zeros(0, dtype=np.int64)]
        windows = _windows(text)
        while batch := list(islice(windows, _BATCH)):
            encodings = self.tokenizer.encode_batch([text[a:b] for a, b in batch], add_special_tokens=False)
            for (offset, _), encoding in zip(batch, encodings, strict=True):
                if len(encoding):
                    found.append(np.array(encoding.offsets, dtype=np.int64)[:, 0] + offset)
        return np.concatenate(found)


def _windows(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = start + WINDOW
        if end < len(text):
            space = max(text.rfind(character, start + WINDOW // 2, end) for character in _SPACES)
            end = space + 1 if space >= 0 else end
        yield start, min(end, len(text))
        start = end
