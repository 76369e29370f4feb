"""Whatever a reader does in the child, its parent gets a reading or an error in words, and the next document works."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pincite.acquire import sandbox
from pincite.acquire.sandbox import call_in_child, read_in_child, sandboxed
from pincite.acquire.worker import RECYCLE
from pincite.errors import SourceError, SourceTooLarge, SourceUndecodable, SourceUnsupported
from pincite.types import Block, Page, Reading

READER = "tests.acquire.hostile_readers"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")


@pytest.fixture(autouse=True, scope="module")
def nothing_left():
    yield
    sandbox.close()


def ask(command: str, seconds: float | None = None) -> Reading:
    return read_in_child(READER, command.encode("utf-8", "surrogatepass"), "a.x", "x/y", seconds=seconds)


def refused(command: str, kind: type[SourceError], seconds: float | None = None) -> str:
    with pytest.raises(kind) as caught:
        ask(command, seconds)
    assert caught.value.fix
    assert ask("echo next").text == "next"
    return str(caught.value)


def test_a_reading_comes_through_as_it_is():
    text = "é\ud83d\udc4d \ud800 lone\0\u2028 𝄞 \ud83d" + "y" * 100_000
    expected = Reading(
        text, "a.x", (Block("heading", 0, len(text), 2, text),), (Page(1, "iv", 0, len(text)),),
        {"n": 1, "f": 0.5, "b": True}, "en", ("odd",),
    )  # fmt: skip
    found = ask(f"echo {text}")
    assert found == expected
    assert found.metadata["b"] is True
    assert sandboxed(READER)(b"echo hi", "a.x", "x/y").text == "hi"


@pytest.mark.parametrize(("command", "word"), [("abort", "SIGABRT"), ("segfault", "SIGSEGV"), ("leave", "exit code 0")])
@POSIX
def test_a_crash_is_told(command, word):
    assert word in refused(command, SourceUndecodable)


@POSIX
def test_a_hang_is_ended_by_processor_time_and_by_the_clock():
    assert "longer than 1 s" in refused("spin", SourceTooLarge, seconds=1)
    assert "longer than 0.2 s" in refused("sleep", SourceTooLarge, seconds=0.2)


@POSIX
def test_memory_has_a_limit(monkeypatch):
    sandbox.close()
    monkeypatch.setattr(sandbox, "MEMORY", 1 << 29)
    assert "memory" in refused("bomb", SourceTooLarge)
    sandbox.close()


ABORTING = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pincite.acquire import sandbox
from pincite.errors import SourceTooLarge
sandbox.MEMORY = 1 << 29
try:
    sandbox.read_in_child("tests.acquire.hostile_readers", b"hoard_and_abort", "a.x", "x/y")
except SourceTooLarge as error:
    print(error)
"""


@POSIX
def test_an_abort_with_much_memory_is_told_as_such():
    # Below a small shell: the system charges a process with what its parent held when it was started.
    shell = ["sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, ABORTING]
    done = subprocess.run(shell, capture_output=True, text=True, check=True)
    assert "0.5 GiB" in done.stdout


def test_an_answer_has_a_limit_and_a_form():
    assert "MiB" in refused("huge", SourceTooLarge, seconds=60)
    assert "sense" in refused("wrong", SourceUndecodable)


def test_errors_keep_their_kind_and_defects_are_told():
    assert refused("unsupported", SourceUnsupported) == "It is odd."
    assert "ZeroDivisionError: 1/0 in two lines" in refused("defect", SourceUndecodable)
    assert "Panic: index" in refused("panic", SourceUndecodable)
    assert "KeyError" in refused("no_such_command", SourceUndecodable)


def test_the_child_is_reused_and_replaced():
    first = ask("state").metadata["pid"]
    assert ask("state").metadata["pid"] == first
    pids = [ask("state").metadata["pid"] for _ in range(RECYCLE)]
    assert len(set(pids)) == 2
    assert pids == sorted(pids, key=pids.index)
    assert os.getpid() not in pids


def test_the_child_works_in_an_empty_folder_with_a_clean_environment(monkeypatch):
    sandbox.close()
    monkeypatch.setenv("PINCITE_TEST_SECRET", "hush")
    state = ask("state").metadata
    assert state["files"] == 0
    assert state["secret"] == "none"
    assert state["numpy"] is False
    assert Path(state["cwd"]) != Path.cwd()
    assert Path(state["cwd"]).is_dir()
    sandbox.close()
    assert not Path(state["cwd"]).exists()


def test_the_child_has_no_network_and_starts_nothing():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert "PermissionError" in refused(f"connect {port}", SourceUndecodable)
        if sys.platform == "linux" and os.geteuid() == 0:
            assert ask(f"raw_connect {port}").text == "refused"
    assert "PermissionError" in refused("spawn", SourceUndecodable)


@POSIX
def test_the_child_writes_no_large_files():
    assert "OSError" in refused("write", SourceUndecodable)


def test_documents_from_several_threads_are_not_mixed():
    found: dict[int, str] = {}

    def one(number: int) -> None:
        found[number] = ask(f"echo {number}").text

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: str(number) for number in range(12)}


def test_any_function_can_be_called():
    assert call_in_child(READER, "size", b"four", factor=3) == 12
