"""Which documents were read by a reader that has been improved since."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from pincite.acquire.named import NamedReader
from pincite.acquire.read import REVISIONS
from pincite.store.protocol import Store

_NOTE = "readers"


def newer_readers(store: Store, readers: Mapping[str, NamedReader], *, keep: bool) -> dict[str, int]:
    """Tell since when the present reader of each media type has been at work on this library.

    A document that was last looked at before was read by an older or another one. A library that has no note was read
    by revision 1 of every reader.

    Args:
        store: the library.
        readers: those that are not our own, by media type.
        keep: note what is new, so that what is read from now on counts as read by the present readers.

    Returns:
        Media type -> nanoseconds since the epoch, for those whose reader was ever improved or changed.
    """
    known: dict[str, list[Any]] = json.loads(store.note(_NOTE) or "{}")
    now = time.time_ns()
    present: dict[str, int | str] = {kind: REVISIONS.get(kind, 1) for kind in (*REVISIONS, *known)}
    present |= {kind: reader.version for kind, reader in readers.items()}
    new = {kind: [which, now] for kind, which in present.items() if _is_newer(which, known.get(kind, [1, 0])[0])}
    if new and keep:
        store.note(_NOTE, json.dumps(known | new, sort_keys=True))
    return {kind: since for kind, (_, since) in (known | new).items()}


def _is_newer(which: int | str, known: int | str) -> bool:
    """Compare revisions of our own; of a named reader, any other version counts."""
    return which > known if isinstance(which, int) and isinstance(known, int) else which != known
