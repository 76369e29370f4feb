"""A page of the web as a source: fetched when it is added, and again only when it is added again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from pincite.acquire.fetch_url import Fetched, fetch_url, parse_url
from pincite.acquire.identify import media_type
from pincite.acquire.uri import readable
from pincite.build.commit import Build
from pincite.build.sync import sync_bytes
from pincite.errors import SourceError
from pincite.reports import SourceReport
from pincite.store.protocol import SourceRecord
from pincite.types import Source

_HEAD = 1 << 16  # bytes that are enough to tell a media type
# Of these texts the server knows better than the address what they are; other types are told by their content.
_EXTENSIONS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/json": ".json",
    "application/xml": ".xml",
    "text/xml": ".xml",
}


def sync_url(url: str, build: Build) -> Iterator[SourceReport]:
    """Fetch a document, unless it is unchanged, and bring the library up to date with it.

    Its URI is the address in its canonical form, wherever it redirects to. What is already in the library stays,
    marked as stale, if it cannot be fetched now.

    Args:
        url: http or https.
        build: the store and the encoder.

    Yields:
        Reports as ``sync_bytes`` gives.

    Raises:
        UsageError: it is none that may be fetched.
    """
    uri = str(parse_url(url))
    record = build.store.source(uri)
    try:
        fetched = fetch_url(url, etag=_etag(record, build))
    except SourceError as error:
        version = (record.version or None) if record else None
        if record and version:
            build.store.put_failure(record.source, "failed", str(error), error.fix)
        yield SourceReport(uri, "failed", version, reason=str(error), fix=error.fix)
        return
    if record and not fetched.changed:
        now = time.time_ns()
        build.store.touch(replace(record.source, modified_ns=now, read_ns=now))
        yield SourceReport(uri, "unchanged", record.version, record.passages)
        return
    about = {"fetched_from": fetched.final} if fetched.final != uri else {}
    about |= {"etag": fetched.etag} if fetched.etag else {}
    yield from sync_bytes(_source(fetched), fetched.data, replace(build, about=lambda of: about if of == uri else {}))


def _etag(record: SourceRecord | None, build: Build) -> str:
    """Give the ETag of what is there, if it is there whole."""
    if record is None or not record.version or record.status != "indexed":
        return ""
    return str(build.store.document(record.source.uri).metadata.get("etag", ""))


def _source(fetched: Fetched) -> Source:
    """Describe what came."""
    name = PurePosixPath(readable(fetched.final).partition("?")[0]).name
    if fetched.media_type in _EXTENSIONS:
        name = f"page{_EXTENSIONS[fetched.media_type]}"
    now = time.time_ns()
    return Source(
        uri=fetched.url,
        media_type=media_type(name, fetched.data[:_HEAD]),
        content_hash=hashlib.blake2b(fetched.data, digest_size=16).hexdigest(),
        modified_ns=now,
        size=len(fetched.data),
        read_ns=now,
    )
