"""Files in a request's body, on their way to the disk: counted and measured while they come, kept only if all came."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from anyio import to_thread
from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from pincite.library import Library
from pincite.serve.http.errors import Refusal
from pincite.serve.http.options import ServeOptions

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

_NAME_CHARS = 1_000  # with its folders
_LABELS, _LABEL_BYTES = 100, 1_000
_HEAD_BYTES = 16_000  # of a line that introduces a part


async def received(request: Request, library: Library) -> tuple[list[Path], str]:
    """Take the files of a multipart body into the library's folder; they are not read yet.

    Args:
        request: its fields are ``files``, any number, and ``labels``, any number of words.
        library: through the eyes of who sends them.

    Returns:
        Where the files are, and a name for all of them.

    Raises:
        Refusal: the body is malformed, too large, or holds too many files; nothing is left of it.
    """
    folder = await to_thread.run_sync(library.uploads.coming)
    parts = None
    try:
        parts = _Parts(request, folder)
        async for chunk in request.stream():
            await to_thread.run_sync(parts.write, chunk)
        parts.finish()
        return await to_thread.run_sync(_kept, parts, library)
    finally:
        if parts is not None:
            parts.close()
        shutil.rmtree(folder, ignore_errors=True)


def _kept(parts: _Parts, library: Library) -> tuple[list[Path], str]:
    """Put the files where they stay."""
    with _disk():
        places = [library.keep_upload(file, name, parts.labels) for file, name in parts.files]
    names = [name for _, name in parts.files]
    return list(dict.fromkeys(places)), names[0] if len(names) == 1 else f"{len(names)} files"


class _Parts:
    """The parts of one body, as they come."""

    def __init__(self, request: Request, folder: Path) -> None:
        """Begin; Refusal if it is no multipart body."""
        self.files: list[tuple[Path, str]] = []
        self.labels: list[str] = []
        self._options: ServeOptions = request.app.state.options
        self._folder = folder
        self._head: dict[bytes, bytes] = {}
        self._field, self._value = b"", b""
        self._file: IO[bytes] | None = None
        self._size = 0
        self._is_whole = False
        kind, options = parse_options_header(request.headers.get("content-type"))
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise _malformed("no multipart/form-data with a boundary")
        callbacks: MultipartCallbacks = {
            "on_part_begin": self._part_begin,
            "on_part_data": self._part_data,
            "on_part_end": self._part_end,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_end": self._end,
        }
        with _parsing():
            self._parser = MultipartParser(options[b"boundary"], callbacks, max_header_size=_HEAD_BYTES)

    def write(self, chunk: bytes) -> None:
        """Take the next bytes, in a thread."""
        with _parsing(), _disk():
            self._parser.write(chunk)

    def finish(self) -> None:
        """Check that the end came."""
        if not self._is_whole:
            raise _malformed("cut off")
        if not self.files:
            raise Refusal(422, "invalid_request", "There is no file.", "Send one or more files as `files`.")

    def close(self) -> None:
        """Close the file at hand."""
        if self._file is not None:
            self._file.close()

    # --- what the parser calls

    def _part_begin(self) -> None:
        self._head, self._field, self._value, self._size = {}, b"", b"", 0

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._head[self._field.lower()] = self._value
        self._field, self._value = b"", b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._head.get(b"content-disposition", b"").decode("latin-1"))
        field = options.get(b"name", b"")
        if field == b"files" and b"filename" in options:
            self._begin(options[b"filename"].decode("utf-8", "replace").replace("%22", '"'))
        elif field != b"labels" or b"filename" in options:
            message = f"The form has the field {field.decode('utf-8', 'replace')[:80]!r}, or it is no file."
            raise Refusal(422, "invalid_request", message, "Send `files` with file names, and `labels`.")

    def _begin(self, name: str) -> None:
        if len(self.files) >= self._options.upload_files:
            raise _too_much(f"more than {self._options.upload_files:,} files", "Send them in several uploads.")
        if len(name) > _NAME_CHARS:
            raise _too_much(f"a name of more than {_NAME_CHARS:,} characters", "Rename the file.")
        path = self._folder / str(len(self.files))
        self.files.append((path, name))
        self._file = path.open("wb")

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        self._size += end - start
        if self._file is None:
            self._value += data[start:end]
            if self._size > _LABEL_BYTES:
                raise _too_much("a label that is too long", "Use short words.")
        elif self._size > self._options.file_bytes:
            limit = f"{self._options.file_bytes:,}"
            raise _too_much(f"a file of more than {limit} bytes, {self.files[-1][1][:200]!a}", "Split that file.")
        else:
            self._file.write(memoryview(data)[start:end])

    def _part_end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            return
        words = self._value.decode("utf-8", "replace").replace(",", " ").split()
        if len(self.labels) + len(words) > _LABELS:
            raise _too_much(f"more than {_LABELS} labels", "Use fewer.")
        self.labels += words

    def _end(self) -> None:
        self._is_whole = True


@contextmanager
def _parsing() -> Iterator[None]:
    try:
        yield
    except FormParserError as error:
        raise _malformed("no well-formed multipart/form-data") from error


@contextmanager
def _disk() -> Iterator[None]:
    """Tell of a full disk in the library's terms."""
    try:
        yield
    except OSError as error:
        message = f"The upload could not be written: {(error.strerror or 'unknown error').lower()}."
        raise Refusal(507, "disk_full", message, "Make room where the library is, then send it again.") from error


def _malformed(problem: str) -> Refusal:
    return Refusal(400, "bad_request", f"The body is {problem}.", "Send a form with files, as curl -F does.")


def _too_much(what: str, fix: str) -> Refusal:
    return Refusal(413, "too_large", f"The upload has {what}.", fix)
