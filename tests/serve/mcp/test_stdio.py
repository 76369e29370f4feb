"""`pincite mcp` as an agent's program starts it: a process, spoken to by the SDK's client, and by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

import pincite
from tests.serve.mcp.conftest import run, text_of

QUESTION = "What does a KV cache store?"


@pytest.fixture
def program(library: pincite.Library, encoder_folder: Path, models_dir: Path, tmp_path: Path) -> StdioServerParameters:
    """The program on the small library; its vectors are of another encoder, so words alone find what is in it."""
    library.close()
    environment = {
        "PINCITE_LIBRARY": str(tmp_path / "t.pincite"),
        "PINCITE_MODELS": str(models_dir),
        "PINCITE_CONFIG": str(tmp_path / "none.toml"),
        "PINCITE_GENERATOR": "none",
        "PINCITE_OFFLINE": "1",
        "PYTHONPATH": str(Path(pincite.__file__).parent.parent),  # the code that is tested here
    }
    command = ["-m", "pincite.serve.cli.main", "mcp"]
    return StdioServerParameters(command=sys.executable, args=command, env=environment)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_of_the_sdk_works_through_a_task(program: StdioServerParameters, notes: Path, mode: str) -> None:
    (notes / "new.md").write_text("Zirconium melts at 1855 degrees.")

    async def scenario() -> list[Any]:
        async with Client(program, mode=mode) as client:
            assert "add" in [tool.name for tool in (await client.list_tools()).tools]
            calls = [
                ("add", {"paths": [str(notes)]}),
                ("search", {"question": QUESTION, "mode": "keyword"}),
                ("ask", {"question": QUESTION}),
                ("check", {"text": "Zirconium melts at 1955 degrees."}),
                ("read", {"target": "nothing"}),
            ]
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    added, found, asked, checked, failed = run(scenario)
    assert [Path(s["uri"]).name for s in added.structured_content["sources"]] == ["new.md"]
    assert found.structured_content["hits"][0]["uri"].endswith("/caches.md")
    assert asked.structured_content["citations"][0]["quote"].startswith("A KV cache stores")
    assert checked.structured_content["claims"][0]["verdict"] != "supported"
    assert failed.is_error
    assert "What to do:" in text_of(failed)


def test_standard_output_holds_the_protocol_alone(program: StdioServerParameters, notes: Path) -> None:
    """Whatever comes in, each line that goes out is a JSON-RPC message, and the end of the input ends the process."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "this is not JSON",
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "no/such/method"}),
        json.dumps(
            {
                **{"jsonrpc": "2.0", "id": 3, "method": "tools/call"},
                "params": {"name": "search", "arguments": {"question": QUESTION}},
            }
        ),
    ]
    with subprocess.Popen(
        [program.command, *program.args, "--read-only"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | (program.env or {}),
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        answers = {}
        while 3 not in answers:
            message = json.loads(process.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            answers[message.get("id")] = message
        rest, _ = process.communicate(timeout=60)
    assert rest == ""
    assert process.returncode == 0
    assert answers[1]["result"]["serverInfo"]["name"] == "pincite"
    assert answers[2]["error"]["code"] == -32601
    hits = answers[3]["result"]["structuredContent"]["hits"]
    assert hits[0]["uri"].endswith("/caches.md")


def test_a_root_that_is_not_there_is_refused_before_anything_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from pincite.serve.cli.main import main

    assert main(["--library", str(tmp_path / "n.pincite"), "mcp", "--root", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err
    assert not (tmp_path / "n.pincite").exists()
