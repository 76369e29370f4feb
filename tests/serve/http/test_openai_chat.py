"""Chat with OpenAI's own client: answers, streams, citations, conversations, and the errors that it knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.ground.answer import NOT_IN_DOCUMENTS
from pincite.library import Library
from pincite.models.protocols import Finish, GenerationOptions, Piece
from pincite.serve.http.openai_text import NOT_ANSWERED, Spoken, spoken
from pincite.serve.keys import Keys
from pincite.types import Answer, Citation, CitationEvent, Claim, DoneEvent, Finding, Message, VerdictEvent
from tests.fakes import HashEncoder
from tests.serve.http.conftest import Serve
from tests.serve.mcp.test_tools import Endless

QUESTION = "What does a KV cache store?"
QUOTE = "A KV cache stores the keys and values of earlier tokens, so that each new token does not recompute them."
ASKED: dict[str, Any] = {"model": "pincite", "messages": [{"role": "user", "content": QUESTION}]}


class Scripted:
    """A large model that writes one text, and keeps what it was asked."""

    context_tokens = 4096

    def __init__(self, text: str, *, reason: Any = "stop", name: str = "scripted-7b") -> None:
        self.name, self._text, self._reason = name, text, reason
        self.prompts: list[str] = []
        self.options: list[GenerationOptions] = []

    def count(self, text: str) -> int:
        return len(text.split())

    def stream(self, messages: Sequence[Message], options: GenerationOptions) -> Iterator[Piece | Finish]:
        self.prompts.append("\n".join(message.content for message in messages))
        self.options.append(options)
        words = self._text.split(" ")
        for word in words:
            yield Piece(word + " ")
        yield Finish(self._reason, 321, len(words))


@pytest.fixture
def chat(serve: Serve) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=serve() + "v1", api_key="none", max_retries=0, timeout=60) as client:
        yield client


def use(library: Library, generator: Any) -> Any:
    library.models.use(encoder=HashEncoder(), generator=generator)
    return generator


def cited(content: str, annotations: Any) -> list[tuple[str, dict]]:
    """The words that each annotation spans, and what it says beyond OpenAI's fields."""
    rows = [a if isinstance(a, dict) else a.model_dump() for a in annotations]
    return [(content[a["url_citation"]["start_index"] : a["url_citation"]["end_index"]], a["pincite"]) for a in rows]


def test_the_answer_carries_its_citations_where_the_client_looks_for_them(
    chat: openai.OpenAI, library: Library
) -> None:
    reply = chat.chat.completions.create(**ASKED)
    [choice] = reply.choices
    content = choice.message.content
    assert reply.object == "chat.completion"
    assert choice.finish_reason == "stop"
    assert content.startswith(f"{QUOTE} [1]")
    first = choice.message.annotations[0]
    assert first.type == "url_citation"
    uri, _, place = first.url_citation.url.partition("#")
    assert uri == first.pincite["uri"]
    assert place == f"char={first.pincite['start']},{first.pincite['end']}"
    assert first.url_citation.title == "Caches"
    for words, more in cited(content, choice.message.annotations):
        assert words.startswith(more["quote"])
        assert words.endswith("]")
        assert more["verdict"] == "supported"
        assert library.document(more["uri"], more["version"]).text[more["start"] : more["end"]] == more["quote"]
    assert choice.message.pincite["outcome"] == "answered"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (0, 0)  # no model wrote it


def test_footnotes_name_each_quote_once_and_can_be_left_out(serve: Serve, chat: openai.OpenAI) -> None:
    content = chat.chat.completions.create(**ASKED).choices[0].message.content
    text, _, notes = content.partition("\n\nSources:\n\n")
    assert notes.startswith("[1] Caches, caches.md, line 3 (Caches): “A KV cache stores")
    assert len(notes.split("\n\n")) == len(set(cited_numbers(text)))
    without = {"extra_body": {"pincite": {"footnotes": False}}}
    assert chat.chat.completions.create(**ASKED, **without).choices[0].message.content == text
    with openai.OpenAI(base_url=serve(footnotes=False) + "v1", api_key="none") as other:
        assert other.chat.completions.create(**ASKED).choices[0].message.content == text
        with_them = {"extra_body": {"pincite": {"footnotes": True}}}
        assert other.chat.completions.create(**ASKED, **with_them).choices[0].message.content == content


def cited_numbers(text: str) -> list[str]:
    return [part.partition("]")[0] for part in text.split("[")[1:]]


def test_a_stream_gives_what_the_whole_answer_gives(chat: openai.OpenAI, library: Library) -> None:
    use(
        library,
        Scripted("A KV cache stores the keys and values of earlier tokens [1]. It was invented in Paris in 1889."),
    )
    whole = chat.chat.completions.create(**ASKED)
    chunks = list(chat.chat.completions.create(**ASKED, stream=True, stream_options={"include_usage": True}))
    content = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    annotations = [a for c in chunks if c.choices for a in getattr(c.choices[0].delta, "annotations", None) or []]
    assert content == whole.choices[0].message.content
    assert [a["pincite"] for a in annotations] == [a.pincite for a in whole.choices[0].message.annotations]
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert all(c.choices[0].finish_reason is None for c in chunks[:-2])
    assert chunks[-1].choices == []
    assert chunks[-1].usage == whole.usage
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens) == (321, 19, 340)
    assert len({c.id for c in chunks}) == 1


def test_the_client_s_own_accumulation_of_a_stream_works(chat: openai.OpenAI) -> None:
    whole = chat.chat.completions.create(**ASKED)
    with chat.chat.completions.stream(**ASKED) as stream:
        for _ in stream:
            continue
        message = stream.get_final_completion().choices[0].message
    assert message.content == whole.choices[0].message.content
    assert [a.url_citation for a in message.annotations] == [
        a.url_citation for a in whole.choices[0].message.annotations
    ]


def test_nothing_of_a_draft_is_shown_before_it_is_checked_and_what_is_unsupported_is_marked(
    chat: openai.OpenAI, library: Library
) -> None:
    draft = "A KV cache stores the keys and values of earlier tokens [1]. Sourdough was invented by Napoleon in 1805."
    use(library, Scripted(draft))
    pieces = [c.choices[0].delta for c in chat.chat.completions.create(**ASKED, stream=True) if c.choices]
    said = [piece.content for piece in pieces if piece.content]
    assert said[0].startswith("A KV cache stores the keys and values of earlier tokens.")  # a sentence at once
    [wrong] = [text for text in said if "Napoleon" in text and "Sources" not in text]
    assert wrong.endswith("(not supported by the documents)")
    dropped = chat.chat.completions.create(**ASKED, extra_body={"pincite": {"policy": "drop"}})
    assert "Napoleon" not in dropped.choices[0].message.content
    extracted = chat.chat.completions.create(**ASKED | {"model": "pincite-extractive"})
    assert extracted.choices[0].message.content.startswith(QUOTE)
    assert extracted.choices[0].message.pincite["generator"] == "extractive"


def test_what_is_not_in_the_documents_is_said_whole_and_streamed(chat: openai.OpenAI) -> None:
    asked = ASKED | {"messages": [{"role": "user", "content": "Who won the football championship of 1954?"}]}
    reply = chat.chat.completions.create(**asked).choices[0]
    streamed = "".join(c.choices[0].delta.content or "" for c in chat.chat.completions.create(**asked, stream=True))
    assert reply.message.content.startswith(NOT_IN_DOCUMENTS)
    assert streamed == reply.message.content
    assert reply.message.annotations == []
    assert reply.message.pincite["outcome"] == "not_in_documents"
    assert NOT_ANSWERED == NOT_IN_DOCUMENTS


def test_a_conversation_is_understood_from_the_turns_before(chat: openai.OpenAI, library: Library) -> None:
    generator = use(library, Scripted("The oven is heated to 250 degrees before baking [1]."))
    first: dict[str, Any] = {"role": "user", "content": "How is sourdough bread baked?"}
    said = chat.chat.completions.create(model="pincite", messages=[first]).choices[0].message
    system: dict[str, Any] = {"role": "system", "content": "Answer like a pirate: PIRATE."}
    follow_up: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "And before that?"}]}
    messages: Any = [system, first, said.model_dump(), follow_up]
    reply = chat.chat.completions.create(model="pincite", messages=messages)
    assert "PIRATE" not in generator.prompts[-1]  # the answer policy is not up to the client
    assert "Sources:" not in generator.prompts[-1]
    assert "How is sourdough bread baked?" in generator.prompts[-1]
    assert "Bread" in [a.url_citation.title for a in reply.choices[0].message.annotations]
    chat.chat.completions.create(model="pincite", messages=[follow_up])
    assert "How is sourdough bread baked?" not in generator.prompts[-1]


def test_parameters_are_honoured_ignored_or_refused_but_never_taken_in_silence(
    chat: openai.OpenAI, library: Library
) -> None:
    generator = use(library, Scripted("A KV cache stores keys [1].", reason="length"))
    reply = chat.chat.completions.create(
        **ASKED, temperature=0.5, seed=7, max_tokens=40, n=1, top_p=0.9, user="u", response_format={"type": "text"}
    )
    assert reply.choices[0].finish_reason == "length"
    [options] = generator.options
    assert (options.max_tokens, options.temperature, options.seed) == (40, 0.5, 7)
    chat.chat.completions.create(**ASKED, max_completion_tokens=10**6)
    assert generator.options[-1].max_tokens == library.settings.answer_tokens  # the server's own limit stays
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    offered = chat.chat.completions.create(**ASKED, tools=[tool], tool_choice="auto").choices[0]
    assert (offered.finish_reason, offered.message.tool_calls) == ("length", None)
    refused: list[dict[str, Any]] = [
        {"n": 2},
        {"tool_choice": "required", "tools": [tool]},
        {"tool_choice": {"type": "function", "function": {"name": "f"}}, "tools": [tool]},
        {"logprobs": True},
        {"response_format": {"type": "json_object"}},
        {"modalities": ["audio"]},
        {"temperature": 3.0},
        {"max_tokens": 0},
    ]
    for more in refused:
        with pytest.raises(openai.BadRequestError) as failure:
            chat.chat.completions.create(**ASKED, **more)
        assert failure.value.param == next(iter(more))
        assert failure.value.type == "invalid_request_error"
    with pytest.raises(openai.BadRequestError) as failure:
        chat.chat.completions.create(**ASKED, extra_body={"top_k": 3})
    assert (failure.value.param, failure.value.code) == ("top_k", "unknown_parameter")


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_ends_before_a_stop_text(chat: openai.OpenAI, stream: bool) -> None:
    reply: Any = chat.chat.completions.create(**ASKED, stop=["values"], stream=stream)
    content = "".join(c.choices[0].delta.content or "" for c in reply) if stream else reply.choices[0].message.content
    assert content == "A KV cache stores the keys and "


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": "Hello"}],
        [{"role": "user", "content": "  "}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}],
        [{"role": "user", "content": "x" * 10_001}],
        [],
    ],
)
def test_a_conversation_that_cannot_be_answered_is_a_bad_request(chat: openai.OpenAI, messages: Any) -> None:
    with pytest.raises(openai.BadRequestError) as failure:
        chat.chat.completions.create(model="pincite", messages=messages)
    assert failure.value.param.startswith("messages")
    assert failure.value.body["fix"]


def test_the_client_raises_its_own_errors(serve: Serve, chat: openai.OpenAI, library: Library) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        chat.chat.completions.create(**ASKED | {"model": "gpt-4o"})
    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.NotFoundError):
        chat.models.retrieve("gpt-4o")
    keys = Keys(library.path)
    token = keys.add("someone")
    address = serve(keys=keys) + "v1"
    with openai.OpenAI(base_url=address, api_key=token, max_retries=0) as known:
        assert known.chat.completions.create(**ASKED).choices
        keys.revoke("someone")
        with pytest.raises(openai.AuthenticationError):
            known.chat.completions.create(**ASKED)
    with openai.OpenAI(base_url=serve(asks=0, queue=0) + "v1", api_key="none", max_retries=0) as crowded:
        with pytest.raises(openai.RateLimitError) as busy:
            crowded.chat.completions.create(**ASKED)
        assert busy.value.response.headers["retry-after"]
        assert busy.value.type == "rate_limit_error"


def test_models_are_listed_with_what_they_are_for(chat: openai.OpenAI) -> None:
    listed = {model.id: model.kind for model in chat.models.list()}
    assert listed == {"pincite": "answers", "pincite-extractive": "answers", "hash": "embeddings"}
    assert chat.models.retrieve("pincite").id == "pincite"


def test_an_error_on_the_way_reaches_the_client_of_a_stream(chat: openai.OpenAI, library: Library) -> None:
    class Broken(HashEncoder):
        def encode(self, texts: Any) -> Any:
            from pincite.errors import ModelDamaged

            raise ModelDamaged("The model is damaged.", fix="Pull it again.")

    library.models.use(encoder=Broken(), generator=None)
    with pytest.raises(openai.APIError, match="damaged"):
        list(chat.chat.completions.create(**ASKED, stream=True))


def test_a_stream_that_nobody_reads_any_more_stops_the_work(chat: openai.OpenAI, library: Library) -> None:
    generator = Endless()
    library.models.use(encoder=HashEncoder(), generator=generator)
    stream = chat.chat.completions.create(**ASKED, stream=True)
    assert next(iter(stream)).choices[0].delta.content == ""  # no word of the draft, however long it is written
    assert generator.begun.wait(60)
    stream.close()
    assert generator.closed.wait(60)  # by itself it never ends


def test_the_stream_on_the_wire_ends_with_done(client: httpx.Client) -> None:
    with client.stream("POST", "/v1/chat/completions", json=ASKED | {"stream": True}) as response:
        lines = [line for line in response.iter_lines() if line]
    assert response.headers["content-type"].startswith("text/event-stream")
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"


def test_a_quote_of_code_is_closed_for_programs_that_show_markdown(chat: openai.OpenAI, library: Library) -> None:
    library.add_text("note:code", "Zeppelin files are listed so:\n\n```\nzeppelin list --files\n```\n")
    asked = ASKED | {"messages": [{"role": "user", "content": "How are zeppelin files listed with zeppelin list?"}]}
    message = chat.chat.completions.create(**asked).choices[0].message
    assert re.search(r"^```\n\[\d+\]", message.content, re.MULTILINE)
    for words, more in cited(message.content, message.annotations):
        assert words.startswith(more["quote"])


def test_an_answer_may_quote_what_is_no_unicode(client: httpx.Client, library: Library) -> None:
    library.add_text("note:odd", "Zeppelin hangars \ud800 are 200 metres long.", title="odd \udfff")
    body = ASKED | {"messages": [{"role": "user", "content": "How long are zeppelin hangars?"}]}
    answered = client.post("/v1/chat/completions", json=body)
    assert answered.status_code == 200
    assert "hangars \ud800 are 200" in answered.json()["choices"][0]["message"]["content"]


WORDS = st.text(st.characters(codec="utf-16"), max_size=30)
VERDICTS = st.sampled_from(["supported", "partly", "unsupported", "conflicting"])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(WORDS, st.sampled_from(["", " ", "\n", "\n\n"]), VERDICTS, st.booleans()), max_size=5), WORDS)
def test_annotations_span_their_claims_whatever_is_said(parts: list, stop: str) -> None:
    """Slices of the text that the pieces make, with and without a text that ends it."""
    citation = Citation(1, "d@1:0-5", "file:///a/b.md", 1, 0, 5, "quote")
    events: list[Any] = [CitationEvent(citation)]
    text = ""
    claims = []
    for words, gap, verdict, has_source in parts:
        gap = gap if text else ""
        claim = Claim(len(text + gap), len(text + gap + words), words, verdict, (1,) if has_source else ())
        text += gap + words
        claims.append(claim)
        events.append(VerdictEvent(claim, gap))
    finding = Finding("draft_incomplete", "It broke off.")
    events.append(DoneEvent(Answer("q", text, "answered", tuple(claims), (citation,), (finding,))))
    for stops in ((), (stop,) if stop else ()):
        said = Spoken(footnotes=True, stops=stops)
        pieces = [said.hear(event) for event in events]
        assert "".join(piece.text for piece in pieces) == said.text
        assert [a for piece in pieces for a in piece.annotations] == said.annotations
        assert [a["index"] for a in said.annotations] == list(range(len(said.annotations)))
        for annotation in said.annotations:
            place = annotation["url_citation"]
            words = said.text[place["start_index"] : place["end_index"]]
            assert words
            assert any(claim.text.startswith(words) for claim in claims)
        if not stops:
            assert "[1] b.md, line 1: “quote”" in said.text
            assert spoken(said.text) == text.partition("\n\nSources:")[0].strip() or "Note: " in text or "(" in text
