"""Source code as it stands: chunks that begin at the left margin behind a blank line."""

from __future__ import annotations

from pincite.acquire.readers.base import Lines, of_text, one_line
from pincite.types import Block, Reading


def parse(text: str, name: str, media_type: str) -> Reading:
    """Cut code where a line without indentation follows a blank one; label it with the language; title: the name."""
    lines = Lines(text)
    language = media_type.partition("/")[2].removeprefix("x-")
    runs: list[tuple[int, int]] = []
    for first, behind in lines.paragraphs():
        if runs and lines[first][0] in " \t})]":  # inside a definition, or its end
            runs[-1] = runs[-1][0], behind
        else:
            runs.append((first, behind))
    blocks: tuple[Block, ...] = tuple(lines.block("code", *run, label=language) for run in runs)
    return Reading(text, one_line(name), blocks)


read = of_text(parse)
