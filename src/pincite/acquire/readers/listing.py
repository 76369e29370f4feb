"""Archives: the list of what is inside. The files themselves are documents of their own."""

from __future__ import annotations

from pincite.acquire.archive import entries
from pincite.acquire.package import Budget
from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.dom import Piece, assembled
from pincite.types import Reading


def read(data: bytes, name: str, media_type: str) -> Reading:
    """List the files of an archive, a line each: name and size.

    Args:
        data: the archive.
        name: the file's name, its title.
        media_type: one of ``archive.ARCHIVES``.

    Returns:
        The names as they are in the archive, on one line each. Metadata: how many they are.

    Raises:
        SourceError: it is damaged, or has or inflates to too much.
    """
    lines = [f"- {one_line(entry.name, 1000)}" for entry in entries(data, media_type, name, Budget())]
    text, blocks = assembled([Piece("list", "\n".join(lines))])
    return Reading(text, stem(name), blocks, metadata={"members": len(lines)})
