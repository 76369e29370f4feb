"""A text that a program hands over instead of a path."""

from __future__ import annotations

import hashlib
import time

from pincite.acquire.language import detect_language
from pincite.types import Metadata, Reading, Source


def text_source(uri: str, text: str, *, title: str = "", metadata: Metadata | None = None) -> tuple[Source, Reading]:
    """Describe a given text as if it had been read.

    Args:
        uri: its identity, not a file URI.
        text: any string, lone surrogates included.
        title: "" takes none.
        metadata: to filter on.

    Returns:
        The source, whose hash and size are those of the text as UTF-8, and the reading.
    """
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    source = Source(uri, "text/plain", digest, time.time_ns(), len(data))
    return source, Reading(text, title, metadata=metadata or {}, language=detect_language(text))
