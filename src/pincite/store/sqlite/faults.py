"""Points at which a test can make the process die, as a power cut or ``kill -9`` would."""

from __future__ import annotations

import os

POINTS = ("begin", "version", "passages", "vectors", "before_commit", "after_commit")
_POINT = os.environ.get("PINCITE_FAULT", "")


def fault(point: str) -> None:
    """End the process at once, with nothing flushed, when ``PINCITE_FAULT`` names this point."""
    if _POINT and point == _POINT:
        os._exit(137)
