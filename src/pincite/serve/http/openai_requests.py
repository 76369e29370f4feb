"""What the routes for OpenAI's clients take. What is standard and not served is refused, or said to be ignored."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from pincite.library import Library
from pincite.serve.http.openai import ANSWERS, QUOTES, Wrong, no_model
from pincite.serve.http.openai_text import spoken
from pincite.serve.http.requests import Body, Mode, Where, filter_of
from pincite.types import Turn

_TURNS = 20  # of the conversation; what a follow-up is understood from are the last two
Ignored = Annotated[Any, Field(description="Accepted and ignored.")]


class Part(BaseModel):
    """A part of a message; only text is read."""

    type: str
    text: str = ""


class Message(BaseModel):
    """A message; what else a client keeps with it, as annotations, is ignored."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    def said(self, place: int) -> str:
        """Give the text. Raises Wrong when there is something else."""
        if not isinstance(self.content, list):
            return self.content or ""
        if any(part.type not in ("text", "refusal") for part in self.content):
            raise Wrong(f"messages.{place}.content", "Only text parts can be read.", "Send the question as text.")
        return "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    """How to stream."""

    include_usage: bool | None = None


class OwnOptions(Body):
    """What OpenAI's interface has no name for; Python's client sends it with ``extra_body``."""

    footnotes: bool | None = Field(None, description="Whether numbered quotes stand below the text.")
    extract: bool = False
    policy: Literal["flag", "drop", "strict"] | None = None
    mode: Mode | None = None
    where: Where | None = None


class Chat(Body):
    """A conversation whose last message is to be answered."""

    model: str
    messages: list[Message] = Field(min_length=1, max_length=2_000)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    seed: int | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stop: str | list[str] | None = None
    pincite: OwnOptions = Field(default_factory=lambda: OwnOptions.model_validate({}))

    n: int | None = Field(None, description="1 only.")
    response_format: dict[str, Any] | None = Field(None, description='{"type": "text"} only.')
    tools: Ignored = None  # a model may choose to call none, and this one does
    functions: Ignored = None
    tool_choice: Any = Field(None, description='"none" and "auto" only.')
    function_call: Any = Field(None, description='"none" and "auto" only.')
    logprobs: bool | None = Field(None, description="Refused.")
    modalities: list[str] | None = Field(None, description='["text"] only.')
    audio: Any = Field(None, description="Refused.")
    web_search_options: Any = Field(None, description="Refused.")
    prediction: Ignored = None
    parallel_tool_calls: Ignored = None
    top_logprobs: Ignored = None
    top_p: Ignored = None
    presence_penalty: Ignored = None
    frequency_penalty: Ignored = None
    logit_bias: Ignored = None
    user: Ignored = None
    store: Ignored = None
    metadata: Ignored = None
    service_tier: Ignored = None
    safety_identifier: Ignored = None
    prompt_cache_key: Ignored = None
    prompt_cache_retention: Ignored = None
    reasoning_effort: Ignored = None
    verbosity: Ignored = None

    def check(self, library: Library) -> None:
        """Raise Wrong for what is not served."""
        if self.model not in (ANSWERS, QUOTES):
            raise no_model(self.model, "answers", library)
        refused = {
            "n": self.n not in (None, 1),
            "response_format": (self.response_format or {}).get("type", "text") != "text",
            "tool_choice": self.tool_choice not in (None, "none", "auto"),
            "function_call": self.function_call not in (None, "none", "auto"),
            "logprobs": bool(self.logprobs),
            "modalities": self.modalities not in (None, ["text"]),
            "audio": self.audio is not None,
            "web_search_options": self.web_search_options is not None,
        }
        for name in (name for name, is_refused in refused.items() if is_refused):
            message = f"{name} is not supported: answers are one text from the documents."
            raise Wrong(name, message, "Leave it out.", code="unsupported_parameter")

    def conversation(self) -> tuple[str, list[Turn]]:
        """Give the question and the turns before it. Raises Wrong when the last message is none of the user's."""
        texts = [(m.role, m.said(place)) for place, m in enumerate(self.messages)]
        if texts[-1][0] != "user" or not texts[-1][1].strip():
            raise Wrong("messages", "The last message is no question of the user.", "End with a user message.")
        turns: list[Turn] = []
        for role, text in texts[:-1]:
            if role == "user":
                turns.append(Turn(text))
            elif role == "assistant" and turns:
                turns[-1] = Turn(turns[-1].question, spoken(text))
        return texts[-1][1], turns[-_TURNS:]

    def options(self, library: Library) -> dict[str, Any]:
        """Give the options of ``Library.stream``."""
        own, most = self.pincite, self.max_completion_tokens or self.max_tokens
        return {
            "extract": own.extract or self.model == QUOTES,
            "policy": own.policy,
            "mode": own.mode,
            "where": filter_of(own.where),
            "answer_tokens": None if most is None else min(most, library.settings.answer_tokens),
            "temperature": self.temperature,
            "seed": None if self.seed is None else self.seed % 2**31,
        }

    def stops(self) -> tuple[str, ...]:
        """Give the texts before which the answer ends."""
        return tuple(filter(None, [self.stop] if isinstance(self.stop, str) else self.stop or []))


class Embeddings(Body):
    """Texts to embed."""

    model: str
    input: str | list[str] | list[int] | list[list[int]]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(None, description="The model's own only.")
    user: Ignored = None

    def texts(self) -> list[str]:
        """Give the texts; Wrong when there are none, too many, or tokens instead."""
        texts = [self.input] if isinstance(self.input, str) else self.input
        if not 0 < len(texts) <= 2_048:
            raise Wrong("input", f"{len(texts)} texts cannot be embedded at once.", "Send from 1 to 2,048.")
        if not all(isinstance(text, str) and text for text in texts):
            raise Wrong("input", "The input must be texts that are not empty.", "Send texts instead of tokens.")
        return [_SURROGATE.sub("\ufffd", text) for text in texts if isinstance(text, str)]


class DocumentBody(BaseModel):
    """A document to rank."""

    text: str


class Rerank(Body):
    """Documents to order by how well they fit a query; as Cohere's and Jina's clients send it."""

    model: str | None = None
    query: str = Field(min_length=1, max_length=10_000)
    documents: list[str | DocumentBody] = Field(min_length=1, max_length=1_000)
    top_n: int | None = Field(None, ge=1)
    return_documents: bool | None = None

    def texts(self) -> list[str]:
        """Give the documents' texts."""
        given = [document if isinstance(document, str) else document.text for document in self.documents]
        return [_SURROGATE.sub("\ufffd", text) for text in given]


_SURROGATE = re.compile("[\ud800-\udfff]")
