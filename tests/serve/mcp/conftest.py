"""A small library, and the SDK's own client on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, types

import pincite
from pincite.serve.mcp.server import Caller, build_server
from pincite.serve.mcp.tools import Call, tools
from tests.fakes import HashEncoder

NOTES = {
    "caches.md": "# Caches\n\nA KV cache stores the keys and values of earlier tokens, so that each new token does not "
    "recompute them.\n",
    "lora.md": "---\nyear: 2021\n---\n# Adapters\n\nLoRA adds small trainable matrices to frozen weights.\n",
    "limit.md": "# Limits\n\nThe oven must not exceed 180 degrees.\n",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def library(tmp_path: Path, notes: Path) -> Iterator[pincite.Library]:
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator="none") as opened:
        opened.add(notes)
        yield opened


def client(library: pincite.Library, *, read_only: bool = False, roots: Any = None, mode: str = "auto") -> Client:
    """A client in this process."""
    who = Caller(Call(library, roots), tools(read_only=read_only), lambda _: nullcontext())
    return Client(build_server(lambda _: who), mode=mode)


def talk(client: Client, *calls: tuple[str, dict[str, Any]]) -> list[types.CallToolResult]:
    """Make calls, one after the other."""

    async def scenario() -> list[types.CallToolResult]:
        async with client as connected:
            return [await connected.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(scenario)


def run(scenario: Callable[[], Awaitable[Any]]) -> Any:
    """Run a scenario, but not for ever."""

    async def bounded() -> Any:
        with anyio.fail_after(120):
            return await scenario()

    return anyio.run(bounded)


def text_of(result: types.CallToolResult) -> str:
    """The text that an agent is shown."""
    [part] = result.content
    assert isinstance(part, types.TextContent)
    return part.text
