"""The names of things: a path, its URI, and the identity that follows from it."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote, unquote_to_bytes

from pincite.errors import UsageError
from pincite.store.hashing import document_id as document_id

_SCHEME = "file://"


def absolute(path: str | Path) -> Path:
    """Make a path absolute and drop its ``.`` and ``..``; symbolic links stay as they are.

    ``Path.absolute`` would keep the dots, and one file would have two identities.
    """
    return Path(os.path.abspath(path))  # noqa: PTH100


def uri_of(path: str | Path) -> str:
    """Name a path as a file URI: pure ASCII, every byte of the name kept, the same on every Python version.

    UsageError if it cannot be the name of a file: a lone surrogate that stands for no byte.
    """
    if os.name == "nt":
        return absolute(path).as_uri()
    try:
        return _SCHEME + quote_from_bytes(os.fsencode(absolute(path)))
    except UnicodeEncodeError as error:
        raise UsageError(f"{shown(path)} cannot be the name of a file.", fix="Check the path.") from error


def path_of(uri: str) -> Path:
    """Give the path that a file URI names; the inverse of ``uri_of``.

    Args:
        uri: a URI that begins with ``file:///``.

    Returns:
        The absolute path.

    Raises:
        UsageError: not a file URI.
    """
    if not uri.startswith(_SCHEME + "/"):
        raise UsageError(f"{uri!r} is not a file URI.", fix="Give a path, or a URI that begins with file:///.")
    return Path(readable(uri))


def readable(uri: str) -> str:
    """Write a URI for people: the path of a file, the decoded address of anything else."""
    if not uri.startswith(_SCHEME):
        return unquote(uri)
    path = uri.removeprefix(_SCHEME)
    if os.name == "nt":
        from urllib.request import url2pathname

        return url2pathname(path)
    return os.fsdecode(unquote_to_bytes(path))


def shown(path: str | Path) -> str:
    """Write a path for people: what cannot be printed, or is not UTF-8, is escaped."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in str(path))
