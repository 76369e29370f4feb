"""The programs that people use, as the documents say: curl, OpenAI's client, llm, and agents. All their code runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from pincite.library import Library
from pincite.serve.keys import Keys
from tests.serve.http.conftest import Serve
from tests.serve.mcp.conftest import run

DOCS = Path(__file__).resolve().parents[3] / "docs"
QUESTION = "What does a KV cache store?"
QUOTE = "A KV cache stores the keys and values of earlier tokens"
DEFAULT = "http://127.0.0.1:8765/"
Shell = Callable[[str], str]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Run what a person would type, in a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"HOME": str(home), "PATH": path, "PINCITE_KEY": "none", "LLM_USER_PATH": str(home / "llm")}

    def type_in(command: str) -> str:
        done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return type_in


def test_every_block_of_code_is_run_by_a_test_here() -> None:
    kinds = {
        page: re.findall(r"```(\w*)\n.*?```", (DOCS / page).read_text(), re.DOTALL) for page in ("openai.md", "mcp.md")
    }
    assert kinds == {"openai.md": ["", "sh", "sh", "python", "yaml", "sh"], "mcp.md": ["json", "json", "python"]}
    assert "```\npincite serve\n```" in (DOCS / "openai.md").read_text()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_examples_with_curl(serve: Serve, library: Library, shell: Shell) -> None:
    keys = Keys(library.path)
    token = keys.add("curl")
    chat, search, _ = blocks("openai.md", "sh")
    for address, key in ((serve(), "none"), (serve(keys=keys), token)):
        shown = [
            json.loads(shell(f"export PINCITE_KEY={key}\n" + block.replace(DEFAULT, address)))
            for block in (chat, search)
        ]
        assert QUOTE in shown[0]["choices"][0]["message"]["content"]
        assert shown[1]["hits"][0]["uri"].endswith("/caches.md")


def test_the_example_with_the_client_of_openai(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    [code] = blocks("openai.md", "python")
    exec(compile(code.replace(DEFAULT, serve()), "openai.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.count("Sources:") == 2  # once whole, once streamed
    assert f"supported {QUOTE}" in printed
    assert "file:///" in printed


def test_llm_chats_with_the_library(serve: Serve, library: Library, shell: Shell, tmp_path: Path) -> None:
    """Simon Willison's llm, streaming and not, with a key and without, and a conversation that goes on."""
    keys = Keys(library.path)
    token = keys.add("llm")
    folder = tmp_path / "home" / "llm"
    folder.mkdir()
    [entry] = blocks("openai.md", "yaml")
    (folder / "extra-openai-models.yaml").write_text(
        entry.replace(DEFAULT, serve())
        + entry.replace(DEFAULT, serve(keys=keys)).replace("model_id: pincite", "model_id: with-key")
        + "  api_key_name: pincite\n"
    )
    (folder / "keys.json").write_text(json.dumps({"pincite": token}))
    command = blocks("openai.md", "sh")[2].strip()
    streamed = shell(command)
    assert QUOTE in streamed
    assert "[1] Caches, caches.md" in streamed
    assert shell(command.replace("-m pincite", "--no-stream -m with-key")) == streamed
    assert "250 degrees" in shell("llm -c 'How hot is the oven for sourdough bread?'")
    (folder / "keys.json").write_text(json.dumps({"pincite": "wrong"}))
    refused = shell(command.replace("-m pincite", "-m with-key") + " 2>&1 || true")
    assert "The key is not known" in refused


@pytest.fixture
def at_home(library: Library, models_dir: Path, encoder_folder: Path, shell: Shell, tmp_path: Path) -> Path:
    """A home whose configuration names the library; programs that agents start see hardly any other variable."""
    configuration = tmp_path / "home" / ".config" / "pincite" / "config.toml"
    configuration.parent.mkdir(parents=True)
    rows = {"library": str(library.path), "models": str(models_dir), "generator": "none", "mode": "keyword"}
    configuration.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in rows.items()))
    return tmp_path / "home"


def test_the_example_for_agents_in_python(at_home: Path, shell: Shell, tmp_path: Path) -> None:
    [code] = blocks("mcp.md", "python")
    (tmp_path / "agent.py").write_text(code)
    printed = shell(f"python {tmp_path / 'agent.py'} 2>/dev/null")
    assert QUOTE in printed
    assert "/caches.md 1 " in printed


def test_the_configuration_for_agents_programs(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Claude Desktop and Claude Code read it: a command, its arguments, and hardly any variables."""
    code = blocks("mcp.md", "json")[0]
    [(name, entry)] = json.loads(code)["mcpServers"].items()
    monkeypatch.setenv("HOME", str(at_home))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))

    async def scenario() -> tuple[list[str], Any]:
        async with Client(StdioServerParameters(**entry)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, await client.call_tool("ask", {"question": QUESTION})

    names, asked = run(scenario)
    assert name == "pincite"
    assert "add" not in names
    assert asked.structured_content["citations"][0]["quote"].startswith(QUOTE)


def test_the_configuration_for_agents_over_http(serve: Serve, library: Library) -> None:
    keys = Keys(library.path)
    text = blocks("mcp.md", "json")[1].replace("${PINCITE_KEY}", keys.add("agent")).replace(DEFAULT, serve(keys=keys))
    entry = json.loads(text)["mcpServers"]["pincite"]
    assert entry["type"] == "http"

    async def scenario() -> Any:
        async with (
            create_mcp_http_client(headers=entry["headers"]) as http,
            Client(streamable_http_client(entry["url"], http_client=http)) as client,
        ):
            return await client.call_tool("ask", {"question": QUESTION})

    assert run(scenario).structured_content["citations"][0]["quote"].startswith(QUOTE)
