"""Which documents were read by a reader that has been improved since."""

from __future__ import annotations

import json
import time

from pincite.acquire.read import REVISIONS
from pincite.store.protocol import Store

_NOTE = "readers"


def newer_readers(store: Store, *, keep: bool) -> dict[str, int]:
    """Tell since when the present reader of each media type has been at work on this library.

    A document that was last looked at before was read by an older one. A library that has no note was read by
    revision 1 of every reader.

    Args:
        store: the library.
        keep: note what is new, so that what is read from now on counts as read by the present readers.

    Returns:
        Media type -> nanoseconds since the epoch, for the readers that have ever been improved.
    """
    known: dict[str, list[int]] = json.loads(store.note(_NOTE) or "{}")
    now = time.time_ns()
    new = {kind: [number, now] for kind, number in REVISIONS.items() if known.get(kind, [1, 0])[0] < number}
    if new and keep:
        store.note(_NOTE, json.dumps(known | new, sort_keys=True))
    return {kind: since for kind, (_, since) in (known | new).items()}
