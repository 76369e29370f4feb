"""Untrusted formats are read in a child process with limits; whatever happens there, only that document fails.

The child (``worker``) is spawned, never forked, and reads many documents before it is replaced. It has a limit on
memory, processor time, file size and open files, no network where the system allows that to be taken away, an empty
folder to work in and a clean environment. Over it stands a deadline after which its whole group is killed. What it
says is believed by its message, never by its exit code, and only as far as the message has the right form.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from functools import partial
from typing import Any, BinaryIO, cast

from pincite import errors
from pincite.acquire.readers.base import Reader
from pincite.acquire.wire import MESSAGE_LIMIT, Request, from_json, reading_of_wire, receive, send, to_json
from pincite.errors import SourceError, SourceTooLarge, SourceUndecodable
from pincite.types import Reading

MEMORY = 3 << 30  # bytes of address space
_BASE_SECONDS, _SECONDS_PER_MEGABYTE, _MOST_SECONDS = 10.0, 5.0, 300.0  # of processor time
_PATIENCE = 3  # times the processor seconds may pass on the clock: other programs run too
_READERS = "pincite.acquire.readers."
# Of the environment: without the first, no Python starts; by the others, parsers find their models.
_KEPT = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "HOME", "HF_HOME", "DOCLING_ARTIFACTS_PATH")
_RUSAGE_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes
_SPLIT = "Split it, or save it in another format."
_RESAVE = "Open it in the program that made it, save it again, and add that."


def sandboxed(module: str) -> Reader:
    """Make a reader that reads in the child.

    Args:
        module: the name of a module in ``readers/`` (or a dotted name) with a function ``read``.

    Returns:
        The reader.
    """
    return cast(Reader, partial(read_in_child, module))


def read_in_child(
    reader_module: str, data: bytes, name: str, media_type: str, *, seconds: float | None = None
) -> Reading:
    """Read a document with a reader in the child.

    Args:
        reader_module: the name of a module in ``readers/`` (or a dotted name) with a function ``read``.
        data: the document.
        name: its file name, printable.
        media_type: what it is.
        seconds: the processor time it may take; three times as much may pass on the clock. None: by its size.

    Returns:
        What the reader gave.

    Raises:
        SourceError: what the reader raised; or it crashed, or took too much time or memory.
    """
    value = call_in_child(reader_module, "read", data, seconds=seconds, name=name, media_type=media_type)
    if not isinstance(value, Reading):
        raise SourceUndecodable("Its reader gave no reading.", fix="Report this as a defect of the reader.")
    return value


def call_in_child(
    module: str,
    function: str,
    data: bytes,
    *,
    seconds: float | None = None,
    memory: int | None = None,
    **arguments: Any,
) -> Any:
    """Call any function of (bytes, arguments) in the child.

    Args:
        module: as in ``read_in_child``; with ":" before it, always from the top.
        function: its name.
        data: the document.
        seconds: as in ``read_in_child``.
        memory: bytes of address space that the child may have; None: ``MEMORY``.
        **arguments: what JSON can say.

    Returns:
        What the function returned: a reading, or what JSON can say.

    Raises:
        SourceError: as in ``read_in_child``.
    """
    if seconds is None:
        seconds = min(_MOST_SECONDS, _BASE_SECONDS + _SECONDS_PER_MEGABYTE * len(data) / (1 << 20))
    place = module.removeprefix(":") if "." in module or module[0] == ":" else _READERS + module
    request = Request(place, function, arguments, seconds)
    for fresh in (False, True):  # again: the other may have been harmed by a document before
        worker = _taken(memory or MEMORY, fresh=fresh)
        is_first = worker.count == 0
        try:
            return worker.call(request, data)
        except _Crashed as error:
            crash = error
        finally:
            _given_back(worker)
        if is_first or worker.stopped:
            break
    raise SourceUndecodable(f"It crashed its reader ({crash}).", fix=_RESAVE) from crash


class _Crashed(Exception):
    """The child ended, or talked nonsense, without being told to."""


class _Worker:
    """One child and the pipes to it."""

    def __init__(self, memory: int) -> None:
        """Start it."""
        self.memory = memory
        self.count = 0  # documents given to it
        self.open = True
        self.stopped = False
        self._late = False
        # A new process is charged with the memory of the one that spawned it until it runs its own program.
        self._charged = _most_memory()
        self._owner = os.getpid()
        self._folder = tempfile.TemporaryDirectory(prefix="pincite-")
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": self._folder.name}
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-m", "pincite.acquire.worker", str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            env=environment,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    def alive(self) -> bool:
        """Tell whether it can be given a document; the pipes of a worker from before a fork are not ours."""
        return self.open and self._owner == os.getpid() and self._process.poll() is None

    def call(self, request: Request, data: bytes) -> Any:
        """Let it work; afterwards it is ready for the next document, or closed."""
        self.count += 1
        self._late = False
        timer = threading.Timer(_PATIENCE * request.seconds, self._too_late)
        timer.daemon = True
        timer.start()
        answer = None
        try:
            send(cast(BinaryIO, self._process.stdin), to_json(request))
            send(cast(BinaryIO, self._process.stdin), data)
            answer = from_json(receive(cast(BinaryIO, self._process.stdout), MESSAGE_LIMIT))
            return _value(answer, self.memory)
        except (EOFError, OSError, OverflowError, ValueError, TypeError, KeyError, RecursionError) as error:
            answer = None
            raise self._ending(request.seconds, error) from error
        finally:
            timer.cancel()
            if answer is None or answer.get("last"):
                self.close()

    def stop(self) -> None:
        """End it from another thread: nobody waits for its answer any more."""
        self.stopped = True
        self._kill()

    def _too_late(self) -> None:
        self._late = True
        self._kill()

    def _kill(self) -> None:
        """Kill it with all that it may have started."""
        if sys.platform == "win32":
            self._process.kill()
        elif self._process.returncode is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:  # ended and not yet waited for
                return

    def _ending(self, seconds: float, error: Exception) -> Exception:
        """Say why it ended, or why it had to be ended."""
        ended = isinstance(error, EOFError | OSError)
        if not ended:
            self._kill()
        status, memory = self._wait()
        if self._late or status == -getattr(signal, "SIGXCPU", 0):
            return SourceTooLarge(f"It took longer than {seconds:g} s to read.", fix=_SPLIT)
        if not ended:
            return _Crashed("its answer made no sense")
        if status == -9 or memory > max(self._charged, self.memory // 2):  # -9: the system had no memory left
            return _over_memory(self.memory)
        return _Crashed(signal.Signals(-status).name if status < 0 else f"exit code {status}")

    def _wait(self) -> tuple[int, int]:
        """Wait for its end; give the exit status as subprocess does, and the most memory it held in bytes."""
        if sys.platform == "win32" or self._process.returncode is not None:
            return self._process.wait(), 0
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode, usage.ru_maxrss * _RUSAGE_UNIT

    def close(self) -> None:
        """End it, whatever it does, and clean up."""
        if not self.open:
            return
        self.open = False
        if self._owner == os.getpid():
            self._kill()
            self._process.wait()
            self._folder.cleanup()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # it may hold bytes that nobody will read
                cast(BinaryIO, pipe).close()


def _most_memory() -> int:
    """Give the most memory that this process ever held, in bytes; 0 on Windows, where nobody asks."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RUSAGE_UNIT


def _value(answer: dict[str, Any], memory: int) -> Any:
    """Take the value out of a message, or raise what it tells."""
    if "reading" in answer:
        return reading_of_wire(answer["reading"])
    if "value" in answer:
        return answer["value"]
    if "memory" in answer:
        raise _over_memory(memory)
    if "large" in answer:
        message = f"Its text and structure take more than {MESSAGE_LIMIT >> 20} MiB."
        raise SourceTooLarge(message, fix="Split it into smaller files.")
    if "defect" in answer:
        raise SourceUndecodable(f"Its reader failed ({answer['defect']}).", fix=_RESAVE)
    name, message, fix = answer["error"]
    kind = getattr(errors, name)
    if not (isinstance(kind, type) and issubclass(kind, SourceError)):
        raise TypeError("no error of a source")
    raise kind(message, fix=fix)


def _over_memory(memory: int) -> SourceTooLarge:
    return SourceTooLarge(f"It needed more than {memory / (1 << 30):.2g} GiB of memory to read.", fix=_SPLIT)


# --- the workers of this process: as many as there are threads that read at the same time

_lock = threading.Lock()
_idle: list[_Worker] = []
_busy: set[_Worker] = set()


def _taken(memory: int, *, fresh: bool = False) -> _Worker:
    """Give a worker with so much memory that no other thread uses, a new one if there is none or it must be."""
    with _lock:
        worker = None if fresh else next((idle for idle in reversed(_idle) if idle.memory == memory), None)
        if worker is not None:
            _idle.remove(worker)
        if worker is not None and not worker.alive():
            worker.close()
            worker = None
        worker = worker or _Worker(memory)
        _busy.add(worker)
    return worker


def _given_back(worker: _Worker) -> None:
    """Let the next document have it, unless it ended."""
    with _lock:
        _busy.discard(worker)
        if worker.open:
            _idle.append(worker)


def stop_reading() -> None:
    """End the workers that other threads wait for; their documents fail."""
    with _lock:
        for worker in _busy:
            worker.stop()


@atexit.register
def close() -> None:
    """End the workers that nobody waits for; the next document starts another."""
    with _lock:
        while _idle:
            _idle.pop().close()
