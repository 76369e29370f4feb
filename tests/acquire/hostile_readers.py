"""Readers that do what a parser under attack might do; they run in the child."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from pincite.errors import SourceUnsupported
from pincite.types import Block, Page, Reading


def read(data: bytes, name: str, media_type: str) -> Reading:
    command, _, rest = data.decode("utf-8", "surrogatepass").partition(" ")
    return globals()[f"_{command}"](rest, name)


def size(data: bytes, factor: int) -> int:
    return factor * len(data)


def _echo(rest: str, name: str) -> Reading:
    print("noise on the pipe")
    blocks = (Block("heading", 0, len(rest), 2, rest),) if rest else ()
    return Reading(rest, name, blocks, (Page(1, "iv", 0, len(rest)),), {"n": 1, "f": 0.5, "b": True}, "en", ("odd",))


def _state(rest: str, name: str) -> Reading:
    state = {"pid": os.getpid(), "cwd": str(Path.cwd()), "files": len(list(Path().iterdir()))}
    state |= {"secret": os.environ.get("PINCITE_TEST_SECRET", "none"), "numpy": "numpy" in sys.modules}
    return Reading("x", name, metadata=state)


class Panic(BaseException):
    """What parsers written in Rust raise."""


def _panic(rest: str, name: str) -> Reading:
    raise Panic("index out of bounds")


def _abort(rest: str, name: str) -> Reading:
    os.abort()


def _segfault(rest: str, name: str) -> Reading:
    ctypes.string_at(0)


def _leave(rest: str, name: str) -> Reading:
    os._exit(0)


def _spin(rest: str, name: str) -> Reading:
    while True:
        pass


def _sleep(rest: str, name: str) -> Reading:
    time.sleep(1000)


def _bomb(rest: str, name: str) -> Reading:
    hoard = []
    while True:
        hoard.append(bytearray(64 << 20))


def _hoard_and_abort(rest: str, name: str) -> Reading:
    hoard = bytearray(300 << 20)
    hoard[::4096] = b"x" * len(hoard[::4096])
    os.abort()


def _huge(rest: str, name: str) -> Reading:
    return Reading("x" * (300 << 20), name)


def _wrong(rest: str, name: str) -> Reading:
    return Reading(17, name)


def _defect(rest: str, name: str) -> Reading:
    raise ZeroDivisionError("1/0\n in two lines")


def _unsupported(rest: str, name: str) -> Reading:
    raise SourceUnsupported("It is odd.", fix="Do not.")


def _connect(rest: str, name: str) -> Reading:
    with socket.create_connection(("127.0.0.1", int(rest))):
        return Reading("connected", name)


def _raw_connect(rest: str, name: str) -> Reading:
    """Past Python's audit hook, as native code could."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.socket(2, 1, 0)
    port = int(rest).to_bytes(2, "big")
    address = (2).to_bytes(2, sys.byteorder) + port + bytes([127, 0, 0, 1]) + bytes(8)
    return Reading("connected" if libc.connect(descriptor, address, 16) == 0 else "refused", name)


def _spawn(rest: str, name: str) -> Reading:
    subprocess.run(["true"], check=True)
    return Reading("spawned", name)


def _write(rest: str, name: str) -> Reading:
    Path("big").write_bytes(bytes(8 << 20))
    return Reading("written", name)
