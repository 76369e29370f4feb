"""What Pincite asks of a model: one or two batch-shaped methods. Any object that fits will do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pincite.types import Message

Form = Literal["json", "lines", "prose"]  # of a reply; see ``Generator``


@runtime_checkable
class Pieces(Protocol):
    """Counts text the way a model does."""

    def count(self, text: str) -> int:
        """Count the model's pieces in the text, special tokens not included."""
        ...

    def starts(self, text: str) -> NDArray[np.int64]:
        """Give the code point at which each piece starts: (pieces,), ascending."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Turns text into unit vectors."""

    name: str
    fingerprint: str  # of the vector space: model, file hash, pooling, normalisation, prefix, max tokens
    dimension: int
    max_pieces: int  # per text, special tokens not included
    pieces: Pieces

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts: (len(texts), dimension), float32, each row of length 1, in the order given.

        Args:
            texts: each of at most ``max_pieces`` pieces.

        Returns:
            The rows; an empty array of the right width when there is no text.

        Raises:
            ValueError: a text is longer than ``max_pieces``; nothing is ever cut silently.
        """
        ...


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """How to generate; the same options give the same text."""

    max_tokens: int = 160
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    seconds: float | None = None  # deadline from the call; None waits as long as it takes
    schema: Mapping[str, Any] | None = None  # of a JSON reply, for generators whose ``reply_form`` is "json"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The last thing a generator yields."""

    reason: Literal["stop", "length", "deadline", "dropped"]
    prompt_tokens: int
    generated_tokens: int
    reused_tokens: int = 0  # of the prompt, from a cache


@runtime_checkable
class Generator(Protocol):
    """Continues a chat. Closing the iterator cancels the work within one token.

    An attribute ``reply_form`` may say how to ask for sentences with their sources: "json" (it keeps to a schema, or
    raises SchemaRefused), "lines" (a format in words), "prose" (any text, as without the attribute).
    """

    name: str
    context_tokens: int  # prompt and reply together

    def count(self, text: str) -> int:
        """Count the model's tokens in the text; endpoints that cannot tell give an upper estimate."""
        ...

    def stream(self, messages: Sequence[Message], options: GenerationOptions) -> Iterator[Piece | Finish]:
        """Yield pieces of the reply, then one Finish.

        Args:
            messages: the chat so far, the newest last.
            options: how to generate.

        Returns:
            An iterator; closing it cancels the work.

        Raises:
            GenerationError: the model failed before or while writing.
        """
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores passages against a question, jointly.

    An attribute ``batch`` may say how many passages it takes at once; the clock is looked at in between.
    """

    name: str

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score each text: (len(texts),), higher is better.

        Args:
            question: any text.
            texts: passages, with their context.

        Returns:
            One score for each text, in their order.

        Raises:
            ModelLimit: the question is too long, or the reranker's own deadline passed; the first stage's order stands.
            ModelError: it cannot be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a verifier makes of a claim and a text."""

    support: float  # chance that the text carries all of the claim, 0 to 1
    contradiction: float  # chance that it says the opposite, 0 to 1; 0 where the model cannot tell
    parts: tuple[str, ...] = ()  # of the claim, that the text does not carry; empty where the model cannot tell


@runtime_checkable
class Verifier(Protocol):
    """Judges whether a text carries a claim."""

    name: str

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Judgement]:
        """Judge claims.

        Args:
            pairs: (text, claim).

        Returns:
            One judgement for each pair, in their order.

        Raises:
            ModelLimit: a claim is too long.
            ModelError: it cannot be used.
        """
        ...
