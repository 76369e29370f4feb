"""Who asked what is written down if the server is told to, without keys, in a file that only its owner reads."""

from __future__ import annotations

import json
import stat

import httpx

from pincite.library import Library
from pincite.serve.keys import Keys


def test_questions_are_written_down_with_what_was_shown(serve, library: Library) -> None:
    keys = Keys(library.path)
    token = keys.add("anna", "reader", [])
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=serve(keys=keys, audit=True), headers=headers, timeout=20) as client:
        client.post("/v1/search", json={"question": "How hot is\nthe oven?"})
        client.post("/v1/ask", json={"question": "What does a KV cache store?", "extract": True})
        client.post("/v1/ask", json={"question": "Which vaccines does a cat need?", "extract": True, "stream": True})
        client.post("/v1/check", json={"text": "The oven is heated to 250 degrees before baking."})
        client.get("/v1/documents")
    path = library.path / "audit.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["key"], line["route"]) for line in lines] == [
        ("anna", "/v1/search"),
        ("anna", "/v1/ask"),
        ("anna", "/v1/ask"),
        ("anna", "/v1/check"),
    ]
    assert lines[0]["question"] == "How hot is\nthe oven?"
    assert any(uri.endswith("bread.md") for uri in lines[0]["documents"])
    assert any(uri.endswith("caches.md") for uri in lines[1]["documents"])
    assert all(set(line) == {"time", "key", "route", "question", "documents"} for line in lines)
    assert token not in path.read_text()


def test_nothing_is_written_down_unless_it_is_wanted(client: httpx.Client, library: Library) -> None:
    client.post("/v1/search", json={"question": "How hot is the oven?"})
    assert not (library.path / "audit.jsonl").exists()
