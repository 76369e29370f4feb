"""Embeddings and reranking, through OpenAI's client and over the wire."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

import httpx
import numpy as np
import openai
import pytest

from pincite.library import Library
from tests.fakes import HashEncoder
from tests.serve.http.conftest import Serve

TEXTS = ["A KV cache stores keys and values.", "Bread rises overnight.", "Schlüssel \U0001f511 und Werte"]


class Narrow(HashEncoder):
    """Reads eight words at most, and refuses more, as every encoder does."""

    name, max_pieces = "narrow", 8

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if any(self.pieces.count(text) > self.max_pieces for text in texts):
            raise ValueError("too long")
        return super().encode(texts)


class Reranker:
    """Prefers long texts."""

    name = "by-length"

    def score(self, question: str, texts: Sequence[str]) -> np.ndarray:
        return np.array([len(text) for text in texts], dtype=np.float32)


@pytest.fixture
def api(serve: Serve) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=serve() + "v1", api_key="none", max_retries=0) as opened:
        yield opened


def test_embeddings_are_those_of_the_library_in_both_forms(api: openai.OpenAI, client: httpx.Client) -> None:
    wanted = HashEncoder().encode(TEXTS)
    reply = api.embeddings.create(model="hash", input=TEXTS)  # the client asks for base64, and decodes it
    assert np.array_equal(np.array([row.embedding for row in reply.data], dtype=np.float32), wanted)
    assert [row.index for row in reply.data] == [0, 1, 2]
    assert reply.usage.prompt_tokens == sum(HashEncoder.pieces.count(text) for text in TEXTS)
    plain = api.embeddings.create(model="its-owner/hash", input=TEXTS, encoding_format="float", dimensions=64)
    assert np.allclose([row.embedding for row in plain.data], wanted)
    raw = client.post("/v1/embeddings", json={"model": "hash", "input": TEXTS[0], "encoding_format": "base64"}).json()
    assert np.array_equal(np.frombuffer(base64.b64decode(raw["data"][0]["embedding"]), "<f4"), wanted[0])


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": [1, 2, 3]}, "input"),
        ({"input": [[1, 2], [3]]}, "input"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": ["x"] * 2_049}, "input"),
        ({"input": "x", "dimensions": 3}, "dimensions"),
        ({"input": "x", "encoding_format": "hex"}, "encoding_format"),
        ({"input": "x", "truncate": True}, "truncate"),
    ],
)
def test_what_cannot_be_embedded_is_refused(client: httpx.Client, body: dict, param: str) -> None:
    reply = client.post("/v1/embeddings", json={"model": "hash"} | body)
    assert reply.status_code == 400
    assert reply.json()["error"]["param"].startswith(param)
    assert reply.json()["error"]["fix"]


def test_a_text_that_is_too_long_is_refused_not_cut(api: openai.OpenAI, library: Library) -> None:
    library.models.use(encoder=Narrow())
    with pytest.raises(openai.BadRequestError) as failure:
        api.embeddings.create(model="narrow", input=["short", "word " * 9])
    assert (failure.value.code, failure.value.param) == ("context_length_exceeded", "input.1")
    with pytest.raises(openai.NotFoundError):
        api.embeddings.create(model="pincite", input="x")


def ranked(client: httpx.Client, **body: object) -> dict:
    reply = client.post("/v1/rerank", json={"query": "What does a KV cache store?", "documents": TEXTS} | body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_documents_are_ordered_by_the_encoder_where_there_is_no_reranker(client: httpx.Client) -> None:
    reply = ranked(client, return_documents=True)
    vectors = HashEncoder().encode(["What does a KV cache store?", *TEXTS])
    cosines = vectors[1:] @ vectors[0]
    assert [row["index"] for row in reply["results"]] == list(np.argsort(-cosines, kind="stable"))
    assert reply["results"][0]["document"]["text"] == TEXTS[0]
    assert np.isclose(reply["results"][0]["relevance_score"], cosines.max())
    assert (reply["model"], reply["scored_by"]) == ("hash", "cosine")
    assert len(ranked(client, top_n=2)["results"]) == 2
    same = ranked(client, documents=["same", {"text": "same"}, "same"])
    assert [row["index"] for row in same["results"]] == [0, 1, 2]


def test_the_best_part_of_a_document_counts_that_is_longer_than_the_encoder_reads(
    client: httpx.Client, library: Library
) -> None:
    library.models.use(encoder=Narrow())
    long = "Nothing of interest stands here at all. " * 20 + "What does a KV cache store?" + " Nor here. " * 30
    reply = ranked(client, documents=[long, "Bread rises."])
    assert reply["results"][0]["index"] == 0
    assert reply["results"][0]["relevance_score"] > 0.5
    refused = client.post("/v1/rerank", json={"query": "word " * 9, "documents": TEXTS})
    assert refused.json()["error"]["code"] == "context_length_exceeded"


def test_the_configured_reranker_orders_and_says_so(client: httpx.Client, library: Library) -> None:
    library.models.use(encoder=HashEncoder(), reranker=Reranker())
    reply = ranked(client)
    assert (reply["model"], reply["scored_by"]) == ("by-length", "reranker")
    assert [row["index"] for row in reply["results"]] == sorted(range(3), key=lambda index: -len(TEXTS[index]))
    assert ranked(client, model="by-length")["scored_by"] == "reranker"
    assert ranked(client, model="hash")["scored_by"] == "cosine"
    assert client.get("/v1/models/by-length").json()["kind"] == "rerank"
    assert client.post("/v1/rerank", json={"query": "q", "documents": TEXTS, "model": "no"}).status_code == 404
