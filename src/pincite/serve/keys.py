"""Keys: who may call the server."""

from __future__ import annotations

from pathlib import Path


class Keys:
    """The keys of one library, hashed, in a file that is read again when it changes."""

    def __init__(self, path: Path) -> None:
        """Name the file; it need not exist."""
        self.path = path
