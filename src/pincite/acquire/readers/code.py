"""Source code as it stands. With tree-sitter (the extra ``code``) definitions are headings: class > function.

Without it, or for a language that it does not know, chunks begin at the left margin behind a blank line.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from pincite.acquire.readers.base import Lines, of_text, one_line
from pincite.acquire.sandbox import read_in_child
from pincite.errors import SourceTooLarge, SourceUndecodable
from pincite.types import Block, Reading

GRAMMARS = {  # language: module, function
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_tsx"),
    "c": ("tree_sitter_c", "language"),
    "c++": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "java": ("tree_sitter_java", "language"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "sh": ("tree_sitter_bash", "language"),
}
_MOST_BYTES = 4_000_000
_SECONDS, _SECONDS_PER_MEGABYTE = 2.0, 2.0  # of processor time, until definitions are given up


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read code; see ``Reader``. tree-sitter is native code, sometimes of quadratic time: it runs in the child.

    What it cannot read in time is cut at blank lines.
    """
    language = language_of(media_type)
    installed = language in GRAMMARS and find_spec("tree_sitter") and find_spec(GRAMMARS[language][0])
    if installed and len(data) <= _MOST_BYTES:
        seconds = _SECONDS + _SECONDS_PER_MEGABYTE * len(data) / (1 << 20)
        try:
            return read_in_child("code_definitions", data, name, media_type, seconds=seconds)
        except (SourceTooLarge, SourceUndecodable):
            return _plain(data, name, media_type)
    return _plain(data, name, media_type)


def parse(text: str, name: str, media_type: str) -> Reading:
    """Cut code where a line without indentation follows a blank one; label it with the language; title: the name."""
    lines = Lines(text)
    return Reading(text, one_line(name), tuple(chunks(lines, 0, len(lines), language_of(media_type))))


def chunks(lines: Lines, first: int, behind: int, language: str) -> Iterator[Block]:
    """Cut lines [first, behind) where one without indentation follows a blank one."""
    runs: list[tuple[int, int]] = []
    for start, end in lines.paragraphs(first, behind):
        if runs and lines[start][0] in " \t})]":  # inside a definition, or its end
            runs[-1] = runs[-1][0], end
        else:
            runs.append((start, end))
    return (lines.block("code", *run, label=language) for run in runs)


def language_of(media_type: str) -> str:
    """Give the language of a media type, "python" of "text/x-python"."""
    return media_type.partition("/")[2].removeprefix("x-")


_plain = of_text(parse)
