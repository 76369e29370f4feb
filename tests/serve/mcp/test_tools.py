"""What each tool gives, through the SDK's client, which checks every result against the tool's schema."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import pytest
from mcp.shared.exceptions import MCPError

import pincite
from pincite.models.protocols import Finish, GenerationOptions, Piece
from pincite.types import Message
from tests.fakes import HashEncoder
from tests.serve.mcp.conftest import client, run, talk, text_of

QUESTION = "What does a KV cache store?"


def test_the_tools_say_what_they_take_and_give(library: pincite.Library) -> None:
    async def scenario() -> tuple[list, list, str]:
        async with client(library) as all_of_them, client(library, read_only=True) as reading:
            offered, readable = await all_of_them.list_tools(), await reading.list_tools()
            return offered.tools, readable.tools, all_of_them.instructions or ""

    offered, readable, instructions = run(scenario)
    assert [tool.name for tool in offered] == ["search", "read", "ask", "check", "why", "list", "add"]
    assert [tool.name for tool in readable] == ["search", "read", "ask", "check", "why", "list"]
    for tool in offered:
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema["type"] == "object"
        assert tool.annotations.read_only_hint is (tool.name != "add")
    for word in ("quote exactly", "passage_id", "uri", "version", "unsupported", "not in these documents"):
        assert word in instructions


def test_search_gives_passages_that_can_be_cited_and_read(library: pincite.Library) -> None:
    [found] = talk(client(library), ("search", {"question": QUESTION, "limit": 2}))
    hit = found.structured_content["hits"][0]
    assert hit["uri"].endswith("/caches.md")
    assert library.document(hit["uri"], hit["version"]).text[hit["start"] : hit["end"]] == hit["text"]
    for needed in (hit["passage_id"], hit["uri"], "version 1", hit["text"]):
        assert needed in text_of(found)
    passage, around, document = talk(
        client(library),
        ("read", {"target": hit["passage_id"]}),
        ("read", {"target": hit["passage_id"], "around": 5}),
        ("read", {"target": hit["uri"]}),
    )
    assert passage.structured_content["text"] == hit["text"]
    assert hit["text"] in around.structured_content["text"]
    assert around.structured_content["start"] == max(0, hit["start"] - 5)
    assert document.structured_content["text"] == library.document(hit["uri"]).text
    assert document.structured_content["next_start"] is None


@pytest.mark.parametrize("target", ["~nobody-of-this-name/x", "/" + "a" * 5_000, "\0", "a/../b", "a@b:c"])
def test_a_target_that_leads_nowhere_is_not_there(library: pincite.Library, target: str) -> None:
    calls = (
        ("read", {"target": target}),
        ("why", {"question": QUESTION, "target": target}),
        ("list", {"target": target}),
    )
    read, why, listed = talk(client(library), *calls)
    assert (read.is_error and "does not hold" in text_of(read)) or "no passage" in text_of(read)
    assert why.structured_content["stage"] == "document_missing"
    assert listed.structured_content["total"] == 0
    stranger = library.seen_by(pincite.access.Principal("stranger", "reader", None))
    for answer in talk(client(stranger), *calls):
        assert str(Path.cwd()) not in text_of(answer), "where the server runs is nobody's business"


def test_search_keeps_to_the_filter(library: pincite.Library) -> None:
    [found] = talk(client(library), ("search", {"question": QUESTION, "where": ["path~*lora*"]}))
    assert [Path(hit["uri"]).name for hit in found.structured_content["hits"]] == ["lora.md"]


def test_a_long_document_is_read_in_pieces_that_join(library: pincite.Library) -> None:
    text = "".join(f"Sentence number {number} says something.\n" for number in range(1500))
    library.add_text("note:long", text)
    pieces, start = [], 0
    while start is not None:
        [read] = talk(client(library), ("read", {"target": "note:long", "start": start}))
        pieces.append(read.structured_content["text"])
        start = read.structured_content["next_start"]
        assert (f"start={start}" in text_of(read)) == (start is not None)
    assert len(pieces) > 1
    assert "".join(pieces) == library.document("note:long").text


def test_ask_gives_a_checked_answer_with_exact_quotes(library: pincite.Library) -> None:
    [asked] = talk(client(library), ("ask", {"question": QUESTION}))
    answer = asked.structured_content
    assert answer["outcome"] == "answered"
    assert {claim["verdict"] for claim in answer["claims"]} == {"supported"}
    for citation in answer["citations"]:
        document = library.document(citation["uri"], citation["version"]).text
        assert document[citation["start"] : citation["end"]] == citation["quote"]
        assert citation["quote"] in text_of(asked)
        assert citation["passage_id"] in text_of(asked)


def test_what_is_not_in_the_documents_is_said_to_be_so(library: pincite.Library) -> None:
    [asked] = talk(client(library), ("ask", {"question": "Who won the football championship of 1954?"}))
    assert asked.structured_content["outcome"] == "not_in_documents"
    assert asked.structured_content["citations"] == []
    assert "do not answer" in text_of(asked)


def test_check_judges_each_sentence(library: pincite.Library) -> None:
    right, wrong = "The oven must not exceed 180 degrees.", "The oven must not exceed 280 degrees."
    [checked] = talk(client(library), ("check", {"text": f"{right} {wrong}"}))
    first, second = checked.structured_content["claims"]
    assert first["verdict"] == "supported"
    assert second["verdict"] != "supported"
    assert "280" in " ".join(second["problems"])
    assert "280" in text_of(checked)


def test_why_says_where_a_document_was_lost(library: pincite.Library, notes: Path) -> None:
    used, missing = talk(
        client(library),
        ("why", {"question": QUESTION, "target": str(notes / "caches.md")}),
        ("why", {"question": QUESTION, "target": str(notes / "nowhere.md")}),
    )
    assert used.structured_content["found"] is True
    assert missing.structured_content["stage"] == "document_missing"
    assert "document_missing" in text_of(missing)


def test_list_gives_the_catalogue_page_by_page(library: pincite.Library) -> None:
    for number in range(120):
        library.add_text(f"note:{number:03}", f"Note number {number}.")
    first, rest, failed = talk(
        client(library), ("list", {}), ("list", {"offset": 100}), ("list", {"failed": True, "target": "note:000"})
    )
    assert first.structured_content["total"] == 123
    assert first.structured_content["next_offset"] == 100
    assert rest.structured_content["next_offset"] is None
    uris = [d["uri"] for page in (first, rest) for d in page.structured_content["documents"]]
    assert len(set(uris)) == 123
    assert failed.structured_content["documents"] == []


def test_add_takes_in_what_was_named_and_says_what_failed(library: pincite.Library, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "new.md").write_text("Zirconium melts at 1855 degrees.")
    (tmp_path / "more" / "scan.gif").write_text("GIF89a")
    added, found, again = talk(
        client(library),
        ("add", {"paths": [str(tmp_path / "more")]}),
        ("search", {"question": "When does zirconium melt?", "limit": 1}),
        ("add", {"paths": [str(tmp_path / "more")]}),
    )
    assert {Path(s["uri"]).name: s["status"] for s in added.structured_content["sources"]} == {
        "new.md": "indexed",
        "scan.gif": "unsupported",
    }
    assert found.structured_content["hits"][0]["uri"].endswith("/new.md")
    assert again.structured_content["summary"]["unchanged"] == 1


def test_add_keeps_to_its_roots_whatever_the_path_looks_like(library: pincite.Library, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.md").write_text("The secret is a marmalade recipe.")
    (inside / "link").symlink_to(outside)
    (inside / "fine.md").write_text("Fine.")
    before = library.stats().documents
    tried = [outside, inside / ".." / "outside", inside / "link", inside / "link" / "secret.md", Path("relative.md")]
    refused = talk(client(library, roots=[inside]), *[("add", {"paths": [str(inside), str(path)]}) for path in tried])
    assert all(result.is_error for result in refused)
    assert library.stats().documents == before
    [taken] = talk(client(library, roots=[inside]), ("add", {"paths": [str(inside)]}))
    assert not taken.is_error
    assert library.stats().documents == before + 1


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search", {"question": " "}, "Ask something"),
        ("search", {"question": "x", "where": ["nonsense"]}, "--where"),
        ("search", {"question": "x", "limits": 3}, "limits"),
        ("search", {}, "question"),
        ("search", {"question": "x", "mode": "magic"}, "mode"),
        ("read", {"target": "0123456789ab"}, "library"),
        ("read", {"target": "0123456789ab@1:0-10"}, "search again"),
        ("read", {"target": "note:short", "start": 99}, "5 characters"),
        ("add", {"paths": ["/does/not/exist/anywhere"]}, "/does/not/exist/anywhere"),
    ],
)
def test_what_goes_wrong_is_a_tool_error_that_says_what_to_do(
    library: pincite.Library, name: str, arguments: dict, said: str
) -> None:
    library.add_text("note:short", "Short")
    [result] = talk(client(library), (name, arguments))
    assert result.is_error
    assert said in text_of(result)
    assert "What to do:" in text_of(result)


def test_a_tool_that_is_not_offered_is_a_protocol_error(library: pincite.Library, notes: Path) -> None:
    async def scenario() -> None:
        async with client(library, read_only=True, mode="legacy") as connected:
            for name in ("delete_everything", "add"):
                with pytest.raises(MCPError, match=name):
                    await connected.call_tool(name, {"paths": [str(notes)]})

    run(scenario)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_mistake_of_ours_is_told_without_what_it_was(
    library: pincite.Library, mode: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(type(library), "search", broken)

    async def scenario() -> str:
        async with client(library, mode=mode) as connected:
            with pytest.raises(MCPError) as failure:
                await connected.call_tool("search", {"question": QUESTION})
            return str(failure.value)

    assert run(scenario) == "The server made a mistake; its log says which."
    assert "swordfish" in caplog.text


def test_half_a_character_does_not_break_the_connection(library: pincite.Library) -> None:
    library.add_text("note:half", "A lone \ud800 surrogate stands in this sentence about zeppelins \U0001f600.")
    read, found = talk(
        client(library, mode="legacy"),
        ("read", {"target": "note:half"}),
        ("search", {"question": "zeppelins", "limit": 1}),
    )
    assert read.structured_content["text"] == (
        "A lone \ufffd surrogate stands in this sentence about zeppelins \U0001f600."
    )
    assert "zeppelins" in found.structured_content["hits"][0]["text"]


HOSTILE = [
    *("\0", "a\0b", "/a\0b", "\ud800", "../../etc/passwd", "/", "~", "@", "@:", "a@1:0-9", "file:///", "file://\0"),
    *("%00", " ", "x" * 3_999, "'; DROP TABLE documents; --", "\u202e\u2066", "[" * 500, "mem:", "note:x#y"),
    "a" * 64 + "@1:5-2",
]  # fmt: skip


def test_hostile_arguments_are_answered_or_refused_and_the_connection_lives(
    library: pincite.Library, tmp_path: Path
) -> None:
    calls: list[tuple[str, dict]] = []
    for text in HOSTILE:
        calls += [
            ("search", {"question": text, "where": [f"path~{text}"]}),
            ("search", {"question": text, "where": [f"{text}={text}"]}),
            ("read", {"target": text}),
            ("ask", {"question": text}),
            ("check", {"text": text}),
            ("why", {"question": text, "target": text, "quote": text}),
            ("list", {"target": text}),
            ("add", {"paths": [text]}),
        ]
    results = talk(client(library, roots=[tmp_path / "notes"], mode="legacy"), *calls)  # a protocol error would raise
    assert [result.is_error for result in results[7::8]] == [True] * len(HOSTILE)
    assert all("What to do:" in text_of(result) for result in results if result.is_error)


class Endless:
    """A generator that never ends by itself, and tells when it was closed."""

    name, context_tokens = "endless-7b", 100_000

    def __init__(self) -> None:
        self.begun, self.closed = threading.Event(), threading.Event()

    def count(self, text: str) -> int:
        return len(text.split())

    def stream(self, messages: Sequence[Message], options: GenerationOptions) -> Iterator[Piece | Finish]:
        try:
            while True:
                self.begun.set()
                yield Piece("word ")
                time.sleep(0.01)
        finally:
            self.closed.set()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_call_stops_the_work(tmp_path: Path, notes: Path, mode: str) -> None:
    generator = Endless()
    opened = pincite.open(tmp_path / "e.pincite", encoder=HashEncoder(), generator=generator, answer_seconds=600.0)
    with opened as library:
        library.add(notes)

        async def scenario() -> str:
            async with client(library, mode=mode) as connected:
                async with anyio.create_task_group() as group:
                    group.start_soon(connected.call_tool, "ask", {"question": QUESTION})
                    await anyio.to_thread.run_sync(generator.begun.wait, 60)
                    group.cancel_scope.cancel()
                assert await anyio.to_thread.run_sync(generator.closed.wait, 60)
                return text_of(await connected.call_tool("list", {}))  # the connection is alive

        assert run(scenario).startswith("3 documents")
