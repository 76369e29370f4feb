"""``pincite serve`` as a process: how it starts, refuses to start, and ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pincite.serve.keys import Keys
from tests.serve.http.conftest import opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with opened(tmp_path / "library"):
        return tmp_path / "library"


def command(path: Path, *words: str) -> list[str]:
    program = [sys.executable, "-m", "pincite.serve.cli.main"]
    return [*program, "--library", str(path), "--offline", "--generator", "none", "serve", "--port", "0", *words]


@pytest.fixture
def process(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A server that has said where it is."""
    environment = os.environ | {"PINCITE_MODELS": str(path / ".none")}  # it serves without models, too
    with subprocess.Popen(
        command(path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as started:
        assert started.stdout
        started.url = started.stdout.readline().split()[-1]  # type: ignore[attr-defined]
        yield started
        started.kill()


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM"])
def test_it_serves_until_a_signal_and_says_little(process: subprocess.Popen[str], end: str) -> None:
    url = process.url  # type: ignore[attr-defined]
    assert httpx.get(url).status_code == 200
    assert httpx.get(url + "health").json()["status"] == "ok"
    assert httpx.get(url + "ready").status_code == 503, "there is no encoder"
    found = httpx.post(url + "v1/search", json={"question": "secret question", "mode": "keyword"})
    assert found.status_code == 200
    process.send_signal(getattr(signal, end))
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in err
    assert "secret question" not in err


def test_without_keys_only_this_machine_is_served(path: Path) -> None:
    refused = subprocess.run(command(path, "--host", "0.0.0.0"), capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert "there are no keys" in refused.stderr
    assert "pincite keys add" in refused.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_with_keys_others_are_served(path: Path) -> None:
    token = Keys(path).add("anna")
    with subprocess.Popen(command(path, "--host", "0.0.0.0"), stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout
        url = started.stdout.readline().split()[-1]
        assert httpx.get(url + "v1/me").status_code == 401
        assert httpx.get(url + "v1/me", headers={"authorization": f"Bearer {token}"}).json()["name"] == "anna"
        port = url.rstrip("/").rpartition(":")[2]
        for host, status in ((f"192.168.1.2:{port}", 401), ("evil.test", 421), ("0x7f000001", 421)):
            assert httpx.get(url + "v1/me", headers={"host": host}).status_code == status
        started.terminate()
        assert started.wait(20) == 0


def test_a_port_in_use_is_said_so(path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        words = command(path, "--port", str(other.getsockname()[1]))
        refused = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2
    assert "cannot listen" in refused.stderr
    assert "--port" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("words", [("--port", "99999"), ("--port", "-1"), ("--host", "no.such.host.invalid")])
def test_a_place_that_is_none_is_said_so(path: Path, words: tuple[str, ...]) -> None:
    refused = subprocess.run(command(path, *words), capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
