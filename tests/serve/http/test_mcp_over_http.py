"""MCP over a real server: the SDK's client with keys and sessions, and what is kept out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from pincite.access import Principal
from pincite.library import Library
from pincite.serve.keys import Keys
from pincite.settings import changed
from tests.fakes import HashEncoder
from tests.serve.http.conftest import Serve
from tests.serve.mcp.conftest import run, text_of
from tests.serve.mcp.test_tools import Endless

QUESTION = "What does a KV cache store?"
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
HELLO = {
    **{"jsonrpc": "2.0", "id": 1, "method": "initialize"},
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list", "arguments": {}}}
ACCEPT = {"accept": "application/json, text/event-stream"}


@asynccontextmanager
async def connected(address: str, key: str = "", mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {key}"} if key else None
    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(address + "mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@MODES
def test_the_client_of_the_sdk_works_through_a_task(serve: Serve, library: Library, mode: str) -> None:
    address = serve()

    async def scenario() -> list[Any]:
        async with connected(address, mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["search", "read", "ask", "check", "why", "list", "add"]
            calls = [("search", {"question": QUESTION}), ("ask", {"question": QUESTION}), ("read", {"target": "no"})]
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    found, asked, failed = run(scenario)
    assert found.structured_content["hits"][0]["uri"].endswith("/caches.md")
    for citation in asked.structured_content["citations"]:
        text = library.document(citation["uri"], citation["version"]).text
        assert text[citation["start"] : citation["end"]] == citation["quote"]
    assert failed.is_error
    assert "What to do:" in text_of(failed)


@MODES
def test_each_key_gets_its_own_tools_and_its_own_library(
    serve: Serve, library: Library, tmp_path: Path, mode: str
) -> None:
    library.add_text("note:secret", "The launch code of the rocket is 7319.")
    library.label("note:secret", ["hr"])
    keys, root = Keys(library.path), tmp_path / "root"
    root.mkdir()
    (root / "fine.md").write_text("Fine.")
    tokens = {
        "hr": keys.add("hr", grants=["hr"]),
        "other": keys.add("other", grants=["sales"]),
        "editor": keys.add("editor", "editor", ["sales"]),
    }
    address, closed = serve(keys=keys, roots=(root,)), serve(keys=keys, roots=(root,), read_only=True)

    async def tools(address: str, name: str) -> list[str]:
        async with connected(address, tokens[name], mode) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    async def scenario() -> None:
        assert "add" not in await tools(address, "hr")
        assert "add" in await tools(address, "editor")
        assert "add" not in await tools(closed, "editor")
        for name, sees in (("hr", True), ("other", False), ("editor", False)):
            async with connected(address, tokens[name], mode) as client:
                for tool, arguments in (
                    ("search", {"question": "launch code of the rocket"}),
                    ("ask", {"question": "What is the launch code of the rocket?"}),
                    ("list", {}),
                    ("read", {"target": "note:secret"}),
                    ("check", {"text": "The launch code of the rocket is 1111."}),
                    ("why", {"question": "What is the launch code?", "target": "note:secret", "quote": "launch code"}),
                ):
                    said = (await client.call_tool(tool, arguments)).model_dump_json()
                    assert ("7319" in said or (sees and tool in ("list", "why"))) == sees, (name, tool)
        async with connected(address, tokens["editor"], mode) as client:
            refused = await client.call_tool("add", {"paths": [str(tmp_path)]})
            added = await client.call_tool("add", {"paths": [str(root)]})
        assert refused.is_error
        assert added.structured_content["summary"]["indexed"] == 1

    run(scenario)
    [mine] = library.seen_by(Principal("x", "reader", frozenset({"sales"}))).list(root)
    assert mine.source.uri.endswith("fine.md")
    assert library.seen_by(Principal("y", "reader", frozenset())).list(root) == []


def test_only_who_has_a_key_that_counts_gets_in(serve: Serve, library: Library) -> None:
    keys = Keys(library.path)
    one, two = keys.add("one"), keys.add("two")
    with httpx.Client(base_url=serve(keys=keys), headers=ACCEPT) as http:
        mine, theirs = ({"authorization": f"Bearer {token}"} for token in (one, two))
        assert http.post("/mcp", json=HELLO).status_code == 401
        assert http.post("/mcp", json=HELLO, headers={"authorization": "Bearer x"}).status_code == 401
        begun = http.post("/mcp", json=HELLO, headers=mine)
        assert begun.status_code == 200
        session = {"mcp-session-id": begun.headers["mcp-session-id"]}
        assert http.post("/mcp", json=CALL, headers=mine | session).status_code == 200
        assert http.post("/mcp", json=CALL, headers=session).status_code == 401
        assert http.post("/mcp", json=CALL, headers=theirs | session).status_code == 404  # as if it were not there
        assert http.get("/mcp", headers=mine | session).status_code == 405
        keys.revoke("one")
        assert http.post("/mcp", json=CALL, headers=mine | session).status_code == 401
        assert http.post("/mcp", json=HELLO, headers=theirs).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:80", "origin": "http://evil.example:80"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_a_page_of_another_site_cannot_use_it(serve: Serve, headers: dict[str, str], status: int) -> None:
    """CVE-2025-66416 and its kind: a server on this machine must not answer to names that were made to point here."""
    with httpx.Client(base_url=serve(), headers=ACCEPT) as http:
        reply = http.post("/mcp", json=HELLO, headers=headers)
        assert reply.status_code == status
        assert "mcp-session-id" not in reply.headers
        assert http.post("/mcp", json=HELLO).status_code == 200


@MODES
@pytest.mark.parametrize("how", ["cancelled", "revoked"])
def test_work_that_nobody_may_have_any_more_stops(serve: Serve, library: Library, mode: str, how: str) -> None:
    generator, keys = Endless(), Keys(library.path)
    library.models.use(encoder=HashEncoder(), generator=generator)
    address, token = serve(keys=keys, asks=1), keys.add("someone")

    async def scenario() -> None:
        async with connected(address, token, mode) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "ask", {"question": QUESTION})
            assert await anyio.to_thread.run_sync(generator.begun.wait, 60)
            if how == "cancelled":
                group.cancel_scope.cancel()
            else:
                keys.revoke("someone")
                assert await anyio.to_thread.run_sync(generator.closed.wait, 60)
                group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            assert await anyio.to_thread.run_sync(generator.closed.wait, 60)

    run(scenario)


def test_the_work_of_a_client_who_vanishes_stops(serve: Serve, library: Library) -> None:
    """A client of the older protocol, whose connection ends without a word."""
    generator = Endless()
    library.models.use(encoder=HashEncoder(), generator=generator)
    library.settings = changed(library.settings, answer_seconds=600)
    call = CALL | {"params": {"name": "ask", "arguments": {"question": QUESTION}}}
    with httpx.Client(base_url=serve(asks=1), headers=ACCEPT, timeout=60) as http:
        session = {"mcp-session-id": http.post("/mcp", json=HELLO).headers["mcp-session-id"]}
        with http.stream("POST", "/mcp", json=call, headers=session) as stream:
            assert stream.status_code == 200
            assert generator.begun.wait(60)
        assert generator.closed.wait(60)
        assert http.post("/mcp", json=CALL, headers=session).status_code == 200, "the session goes on"


def test_questions_are_written_down_where_the_server_is_to(serve: Serve, library: Library) -> None:
    keys = Keys(library.path)
    token = keys.add("asker")
    address = serve(keys=keys, audit=True)

    async def scenario() -> None:
        async with connected(address, token) as client:
            await client.call_tool("ask", {"question": QUESTION})
            await client.call_tool("check", {"text": "The oven is heated to 250 degrees before baking."})
            await client.call_tool("list", {})

    run(scenario)
    body = {"model": "pincite", "messages": [{"role": "user", "content": QUESTION}]}
    for stream in (False, True):
        reply = httpx.post(
            address + "v1/chat/completions",
            json=body | {"stream": stream},
            headers={"authorization": f"Bearer {token}"},
        )
        assert reply.status_code == 200
    text = (library.path / "audit.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    assert [(row["key"], row["route"], row["question"]) for row in rows] == [
        ("asker", "/mcp", QUESTION),
        ("asker", "/mcp", "The oven is heated to 250 degrees before baking."),
        ("asker", "/v1/chat/completions", QUESTION),
        ("asker", "/v1/chat/completions", QUESTION),
    ]
    assert all(
        any(uri.endswith("/caches.md") for uri in row["documents"]) for row in rows if row["question"] == QUESTION
    )
    assert token not in text


def test_the_server_starts_without_the_sdk_and_imports_it_when_it_is_wanted() -> None:
    code = (
        "import sys, pincite.serve.http.app; print(sorted({'mcp', 'mcp_types', 'pincite.library'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['pincite.library']"
