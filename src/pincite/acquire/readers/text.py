"""Plain text: paragraphs and lists between blank lines."""

from __future__ import annotations

from pincite.acquire.readers.base import LIST_ITEM, Lines, of_text, one_line, stem
from pincite.types import Block, Reading

_TITLE = 100  # characters: a longer first line is the beginning of the text, not its name


def parse(text: str, name: str, media_type: str = "text/plain") -> Reading:
    """Find paragraphs and lists; the title is the first line if it is short, else the file's name."""
    lines = Lines(text)
    blocks: list[Block] = []
    runs = list(lines.paragraphs())
    for first, behind in runs:
        blocks.append(lines.block("list" if LIST_ITEM.match(lines[first]) else "paragraph", first, behind))
    line = lines[runs[0][0]].strip() if runs else ""
    is_title = 0 < len(line) <= _TITLE and any(char.isalnum() for char in line)
    return Reading(text, one_line(line) if is_title else stem(name), tuple(blocks))


read = of_text(parse)
