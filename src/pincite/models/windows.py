"""Two texts as one row of a classifier of pairs. A text that does not fit beside the other is read in windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pincite.errors import ModelLimit
from pincite.text import printable_surrogates

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_OVERLAP = 4  # a window shares this part of itself with the next: what one cuts in two, the other holds whole


def join(
    tokenizer: Tokenizer, question: str, texts: Sequence[str], most: int, *, behind: bool = False
) -> tuple[list[Encoding], NDArray[np.int64]]:
    """Put the question before each text, with the special tokens and token types that the model was trained with.

    Args:
        tokenizer: of the model; neither cuts nor pads.
        question: at most half of what the model reads.
        texts: any strings; control tokens in them are plain text.
        most: pieces that the model reads, special tokens included.
        behind: put the question behind each text.

    Returns:
        The windows, each at most ``most`` pieces, in the order of the texts, and the index of each one's text: int64,
        ascending. Every piece of a text is in a window; every text has one.

    Raises:
        ModelLimit: the question is too long; nothing is ever cut silently.
    """
    asked, *passages = tokenizer.encode_batch(
        [printable_surrogates(text) for text in (question, *texts)], add_special_tokens=False
    )
    free = most - tokenizer.num_special_tokens_to_add(is_pair=True)
    if len(asked) > free // 2:
        raise ModelLimit(
            f"The question has {len(asked)} word pieces; the model takes {free // 2}.", fix="Ask a shorter one."
        )
    room = free - len(asked)
    rows, owners = [], []
    for owner, passage in enumerate(passages):
        passage.truncate(room, stride=room // _OVERLAP)
        windows = [passage, *passage.overflowing]
        pairs = [(window, asked) if behind else (asked, window) for window in windows]
        rows += [tokenizer.post_process(*pair) for pair in pairs]
        owners += [owner] * len(windows)
    return rows, np.array(owners, dtype=np.int64)


def best(scores: NDArray[np.float32], owners: NDArray[np.int64], count: int) -> NDArray[np.float32]:
    """Give each of ``count`` texts the score of its best window: (count,), float32."""
    highest = np.full(count, -np.inf, dtype=np.float32)
    np.maximum.at(highest, owners, scores)
    return highest
