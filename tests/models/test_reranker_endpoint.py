"""Scores made elsewhere: what is sent, what is believed, what is said when it fails, and when it is given up."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from pincite.errors import ModelError, ModelLimit, ModelMissing
from pincite.models.load import load_reranker
from pincite.models.protocols import Reranker
from pincite.models.rerankers.endpoint import EndpointReranker


def rows(texts: list[str], score: str) -> list[dict[str, object]]:
    """Score each text by its length, the last text first."""
    return [{"index": index, score: float(len(text))} for index, text in enumerate(texts)][::-1]


class Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers.get("Authorization"), body))
        status, answer = self.server.answer(body)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for start in range(0, len(data), self.server.part):
            self.wfile.write(data[start : start + self.server.part])
            self.wfile.flush()
            if self.server.stopped.wait(self.server.pause):
                return

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    server.requests, server.part, server.pause, server.stopped = [], 1 << 20, 0, threading.Event()
    server.answer = lambda body: (200, rows(body["texts"], "score"))
    server.url = f"http://127.0.0.1:{server.server_port}/rerank"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield server
    server.stopped.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("key", ["results", "data"])
def test_cohere_jina_and_voyage(server, models_dir, monkeypatch, key):
    monkeypatch.setenv("RERANK_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "of somebody else")
    server.answer = lambda body: (200, {key: rows(body["documents"], "relevance_score")})
    reranker = load_reranker(f"{server.url}#small", models_dir=models_dir, offline=True, seconds=30)
    assert isinstance(reranker, Reranker) and reranker.name == f"{server.url}#small"
    texts = ["x" * n for n in range(1, 80)] + ["", "\ud800"]
    scores = reranker.score("why \udfff", texts)
    assert scores.tolist() == [len(text or " ") for text in texts] and scores.dtype == np.float32
    path, sent, body = server.requests[0]
    assert (path, sent) == ("/rerank", "Bearer secret")
    assert body == {"model": "small", "query": "why \ufffd", "documents": texts[:32], "top_n": 32}
    assert [len(body["documents"]) for _, _, body in server.requests] == [32, 32, 17]


def test_text_embeddings_inference(server, models_dir, monkeypatch):
    monkeypatch.delenv("RERANK_API_KEY", raising=False)
    reranker = load_reranker(server.url, models_dir=models_dir, seconds=30)
    assert reranker.score("q", ["aaa", "b"]).tolist() == [3, 1]
    assert server.requests == [
        ("/rerank", None, {"query": "q", "texts": ["aaa", "b"], "raw_scores": True, "truncate": False})
    ]
    assert reranker.score("q", []).shape == (0,)


@pytest.mark.parametrize(
    ("status", "answer", "message"),
    [
        (401, b"bad key secret", r"answers 401 Unauthorized: bad key \*\*\*"),
        (500, b"", "answers 500"),
        (200, b"<html>", "does not answer in JSON"),
        (200, {}, "not one score"),
        (200, [], "not one score"),
        (200, 7, "not one score"),
        (200, [{"index": 0, "score": 1.0}, {"index": 0, "score": 1.0}], "not one score"),
        (200, [{"index": 0, "score": 1.0}, {"index": 2, "score": 1.0}], "not one score"),
        (200, [{"index": n, "score": 1.0} for n in range(3)], "not one score"),
        (200, [{"index": 0, "score": 1.0}, {"index": 1, "score": float("nan")}], "not one score"),
        (200, [{"index": 0, "score": 1.0}, {"index": 1, "score": "high"}], "not one score"),
        (200, [{"index": 0, "score": 1.0}, {"index": 1, "score": [1.0, 2.0]}], "not one score"),
        (200, [{"index": 0, "score": 1.0}, {"index": 1}], "not one score"),
        (200, [0, 1], "not one score"),
    ],
)
def test_rubbish_is_not_believed(server, status, answer, message):
    server.answer = lambda _: (status, answer)
    with pytest.raises(ModelError, match=message) as caught:
        EndpointReranker(server.url, api_key="secret", seconds=30).score("q", ["a", "b"])
    assert "RERANK_API_KEY" in caught.value.fix and not isinstance(caught.value, ModelLimit)


def test_nobody_there():
    with pytest.raises(ModelError, match="cannot be reached"):
        EndpointReranker("http://127.0.0.1:9/rerank").score("q", ["a"])


@pytest.mark.parametrize(("part", "pause", "wait"), [(1, 0.1, 0), (1 << 20, 0, 0.3)], ids=["dripping", "one by one"])
def test_the_deadline_is_for_all_requests_however_slow_the_answers(server, part, pause, wait):
    def answer(body):
        server.stopped.wait(wait)
        return 200, rows(body["texts"], "score")

    server.part, server.pause, server.answer = part, pause, answer
    with pytest.raises(ModelLimit, match="did not answer within"):
        EndpointReranker(server.url, seconds=0.5).score("q", ["a"] * 320)
    assert len(server.requests) < 5  # of 10


def test_the_network_is_not_touched_offline(models_dir):
    with pytest.raises(ModelMissing, match="may not be used"):
        load_reranker("https://api.example.com/rerank#m", models_dir=models_dir, offline=True)


@pytest.mark.parametrize("url", ["http://", "https://name:word@example.com/rerank", "ftp://x", "http://[x/rerank"])
def test_only_web_addresses(url):
    with pytest.raises(ModelError, match="not a web address"):
        EndpointReranker(url)


def test_the_key_never_leaves_this_machine_unencrypted():
    with pytest.raises(ModelError, match="unencrypted"):
        EndpointReranker("http://example.com/rerank", api_key="secret")


def test_a_secret_in_the_address_is_not_shown():
    reranker = EndpointReranker("http://127.0.0.1:9/rerank?key=hidden", model="m")
    assert reranker.name == "http://127.0.0.1:9/rerank#m"
    with pytest.raises(ModelError) as caught:
        reranker.score("q", ["a"])
    assert "hidden" not in str(caught.value)
