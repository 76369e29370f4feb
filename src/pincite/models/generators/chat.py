"""A chat as token ids, in ChatML. No template of a model file is ever run.

Control tokens are put in by number; what people and documents wrote is encoded as plain text. So a passage that holds
``<|im_end|>`` or a forged system turn reaches the model as those characters, and the text is not altered for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol

from pincite.errors import GenerationError, ModelDamaged
from pincite.models.generators.relay import Emit, Relay
from pincite.models.protocols import Finish, GenerationOptions, Piece
from pincite.types import Message

# What some models' templates put first when a chat has no system message; they were tuned with it.
_SYSTEMS = ("You are a helpful AI assistant named SmolLM, trained by Hugging Face",)


class ChatVocabulary(Protocol):
    """What a chat needs of a model's vocabulary."""

    system: str  # the system message of a chat that has none, or ""

    def encode(self, text: str) -> list[int]:
        """Give the text's token ids; never a control token's."""
        ...

    def control(self, token: str) -> int | None:
        """Give a control token's id, None when there is no such token."""
        ...


class LocalGenerator(ABC):
    """A generator of this process: a vocabulary, and a runtime that takes token ids."""

    def __init__(self, name: str, vocabulary: ChatVocabulary, context_tokens: int) -> None:
        """Take what chats are made with; the runtime is loaded by the subclass."""
        self.name, self.context_tokens = name, context_tokens
        self._vocabulary = vocabulary
        self._relay = Relay(name)

    def count(self, text: str) -> int:
        """Count the model's tokens in the text."""
        return len(self._vocabulary.encode(text))

    def stream(self, messages: Sequence[Message], options: GenerationOptions) -> Iterator[Piece | Finish]:
        """Yield pieces of the reply, then one Finish.

        Args:
            messages: the chat, oldest first.
            options: how to generate; the deadline counts from this call.

        Returns:
            An iterator; closing it stops the model within one token.

        Raises:
            GenerationTimeout: the deadline passed before there was any text.
            GenerationError: the prompt is over the context, or the runtime failed.
        """
        ids = chat_ids(messages, self._vocabulary)
        tokens = room(len(ids), options.max_tokens, self.context_tokens)
        return self._relay.stream(lambda emit: self._run(ids, tokens, options, emit), options, len(ids))

    @abstractmethod
    def _run(self, ids: list[int], tokens: int, options: GenerationOptions, emit: Emit) -> Finish:
        """Continue the prompt by at most so many tokens; ends when ``emit`` gives False."""


def default_system(template: str | None) -> str:
    """Find the system message that a chat template puts first; the template is searched, not run."""
    return next((system for system in _SYSTEMS if system in (template or "")), "")


def chat_ids(messages: Sequence[Message], vocabulary: ChatVocabulary) -> list[int]:
    """Lay the messages out as the model was tuned to see them, ready for its reply.

    Args:
        messages: the chat, oldest first.
        vocabulary: of the model.

    Returns:
        Token ids: for each message start, role, newline, content, end, newline; then the start of the assistant's turn.

    Raises:
        ModelDamaged: the vocabulary has no ChatML control tokens.
    """
    start, end = vocabulary.control("<|im_start|>"), vocabulary.control("<|im_end|>")
    if start is None or end is None:
        raise ModelDamaged(
            "The model's vocabulary has no ChatML turns.", fix="Use a ChatML model, or serve this one by an endpoint."
        )
    if vocabulary.system and (not messages or messages[0].role != "system"):
        messages = [Message("system", vocabulary.system), *messages]
    newline = vocabulary.encode("\n")
    ids: list[int] = []
    for message in messages:
        ids += [start, *vocabulary.encode(f"{message.role}\n{message.content}"), end, *newline]
    return [*ids, start, *vocabulary.encode("assistant\n")]


def room(prompt: int, wanted: int, context: int) -> int:
    """Give the tokens that a reply may have, at least 1: what is wanted, or what the prompt leaves of the context.

    GenerationError when it leaves nothing; a prompt is never cut.
    """
    if prompt >= context:
        raise GenerationError(
            f"The prompt has {prompt} tokens and the model takes {context}.", fix="Lower the setting evidence_tokens."
        )
    return max(1, min(wanted, context - prompt))
