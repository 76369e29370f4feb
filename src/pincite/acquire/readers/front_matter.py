"""Front matter: TOML, and the part of YAML that people write there, scalars and flat lists. Nothing is constructed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from pincite.types import Scalar

_LINES = 1000
_TOML = ("+++",)
_FENCES = {"---": ("---", "..."), "+++": _TOML}  # the first line: those that end what it begins
_KEYS = 100
_VALUE = 1000  # characters
_PAIR = re.compile(r"([A-Za-z_][\w .-]{0,63}?)\s*:(?:\s+(.*))?$")
_NUMBER = re.compile(r"[-+]?\d{1,15}(\.\d{1,15})?$")
_WORDS = {"true": True, "false": False}


def front_matter(lines: list[str]) -> tuple[int, dict[str, Scalar]]:
    """Read the front matter at the top of a document.

    Args:
        lines: the document's first lines, 1,000 at most are looked at.

    Returns:
        The number of lines it takes, both fences included, and its keys; (0, {}) when there is none. Lists are
        joined by ", "; what is nested deeper stays text.
    """
    fences = _FENCES.get(lines[0].rstrip(), ()) if lines else ()
    end = next((number for number, line in enumerate(lines[1:_LINES], 1) if line.rstrip() in fences), 0)
    found = _toml(lines[1:end]) if fences == _TOML else _pairs(lines[1:end])
    pairs = dict(list(found)[:_KEYS])
    return (end + 1, pairs) if pairs else (0, {})


def _toml(lines: list[str]) -> Iterator[tuple[str, Scalar]]:
    """Yield the keys of TOML at the outermost level, as those of YAML."""
    try:
        table = tomllib.loads("\n".join(lines))
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    for key, value in table.items():
        if isinstance(value, list):
            yield key, ", ".join(map(str, value))[:_VALUE]
        elif not isinstance(value, dict):
            yield key, _scalar(str(value)) if isinstance(value, int | float) else str(value)[:_VALUE]


def _pairs(lines: list[str]) -> Iterator[tuple[str, Scalar]]:
    """Yield the keys with their values; indented lines and ``- item`` lines belong to the key above."""
    key, inline, parts = "", False, list[str]()
    for line in [*lines, "end:"]:
        match = _PAIR.match(line)
        if match and not line[0].isspace():
            if key and parts and (inline or not _PAIR.match(parts[0])):  # else: a mapping inside
                yield key, _value(parts)
            key, inline = match[1], bool((match[2] or "").strip())
            parts = [_uncommented(match[2])] if inline else []
        elif line.strip() and not line.lstrip().startswith("#"):
            parts.append(_uncommented(line))


def _uncommented(value: str) -> str:
    """Drop a comment behind a value that is not quoted."""
    value = value.strip()
    return value if value[:1] in ('"', "'") else re.split(r"(?:^|\s)#(?:\s|$)", value, maxsplit=1)[0].strip()


def _value(parts: list[str]) -> Scalar:
    """Make one scalar of a key's lines."""
    if parts[0] in ("|", ">", "|-", ">-", "|+", ">+"):
        return " ".join(parts[1:])[:_VALUE]
    if len(parts) == 1 and parts[0].startswith("[") and parts[0].endswith("]"):
        items = [item.strip() for item in parts[0][1:-1].split(",")]
        return ", ".join(_unquoted(item) for item in items if item)[:_VALUE]
    if all(part.startswith("- ") or part == "-" for part in parts):
        return ", ".join(_unquoted(part[2:].strip()) for part in parts)[:_VALUE]
    return _scalar(" ".join(parts))


def _unquoted(value: str) -> str:
    """Take a string out of its quotes."""
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _scalar(value: str) -> Scalar:
    """Type one value: true and false, numbers, else text."""
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    number = _NUMBER.match(value)
    if number:
        return float(value) if number[1] else int(value)
    return _unquoted(value)[:_VALUE]
