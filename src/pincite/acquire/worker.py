"""The child's main: it gives up what it does not need, then reads one document after the other for its parent."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from pincite.acquire.wire import MESSAGE_LIMIT, Request, from_json, reading_to_wire, receive, send, to_json
from pincite.errors import SourceError
from pincite.types import Reading

RECYCLE = 50  # documents; what leaks in a parser goes with its process
_RECYCLE_SHARE = 6  # of its memory is what one document may leave behind
_FILE_BYTES = 1 << 20  # a process that reads has nothing to write but compiled modules
_OPEN_FILES = 64
_REQUEST_LIMIT = 1 << 30  # bytes; the parent is trusted, so only against a damaged stream
_NEW_NAMESPACES = 0x10000000 | 0x40000000  # CLONE_NEWUSER | CLONE_NEWNET
_FORBIDDEN = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "pty.")


def main(memory: int) -> None:
    """Read documents until the parent goes away.

    Args:
        memory: bytes of address space that this process may have.
    """
    requests, results = _private_pipes()
    _give_up(memory)
    for count in range(1, RECYCLE + 1):
        try:
            request = Request(*from_json(receive(requests, _REQUEST_LIMIT)))
            data = receive(requests, _REQUEST_LIMIT)
        except EOFError:
            return
        answer = _answer(request, data)
        answer["last"] = count == RECYCLE or _held_memory() > memory // _RECYCLE_SHARE
        send(results, _message(answer))
        if answer["last"]:
            return


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes for ourselves: whatever a parser prints goes nowhere."""
    requests, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    return requests, results


def _answer(request: Request, data: bytes) -> dict[str, Any]:
    """Do what is asked, and put everything that can go wrong into words."""
    _allow_processor(request.seconds)
    try:
        function = getattr(importlib.import_module(request.module), request.function)
        value = function(data, **request.arguments)
    except SourceError as error:
        return {"error": [type(error).__name__, str(error), error.fix]}
    except MemoryError:
        return {"memory": True}
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - a reader's defect (in Rust: a panic) is told to the parent
        return {"defect": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
    return {"reading": reading_to_wire(value)} if isinstance(value, Reading) else {"value": value}


def _message(answer: dict[str, Any]) -> bytes:
    """Encode an answer; one that is too large is an error of its own."""
    try:
        message = to_json(answer)
    except MemoryError:
        return to_json({"memory": True, "last": True})
    return message if len(message) <= MESSAGE_LIMIT else to_json({"large": len(message), "last": answer["last"]})


# --- what the child gives up


def _give_up(memory: int) -> None:
    """Set the limits, leave the network, and refuse what no reader does."""
    if sys.platform != "win32":
        import resource

        limits = (
            (resource.RLIMIT_AS, memory),
            (resource.RLIMIT_FSIZE, _FILE_BYTES),
            (resource.RLIMIT_NOFILE, _OPEN_FILES),
            (resource.RLIMIT_CORE, 0),
        )
        for which, most in limits:
            with contextlib.suppress(ValueError, OSError):  # a system that refuses one still gets the others
                resource.setrlimit(which, (most, most))
    if sys.platform == "linux":
        # Where the kernel refuses, the audit hook below is what is left.
        ctypes.CDLL(None).unshare(_NEW_NAMESPACES)
    sys.addaudithook(_refuse)


def _refuse(event: str, _: Sequence[object]) -> None:
    """Stop Python code from reaching the network or starting programs."""
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"{event} is not permitted while a document is read")


def _allow_processor(seconds: float) -> None:
    """Let the kernel end this process when it has used that much more processor time."""
    if sys.platform != "win32":
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(usage.ru_utime + usage.ru_stime + seconds) + 1
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _held_memory() -> int:
    """Give the memory that this process holds now, in bytes; 0 where that is not simply told."""
    if sys.platform != "linux":
        return 0
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main(int(sys.argv[1]))
