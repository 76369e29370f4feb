"""A corpus becomes a library: each row is one document."""

from __future__ import annotations

import hashlib
from urllib.parse import quote, unquote

from pincite.acquire.language import detect_language
from pincite.acquire.read import document_id
from pincite.build.chunk import chunk
from pincite.build.commit import Build, embed_rest
from pincite.errors import UsageError
from pincite.measure.cases import Dataset, Row
from pincite.models.protocols import Encoder
from pincite.store.protocol import Store
from pincite.types import Document, Source


def index_corpus(
    dataset: Dataset, store: Store, encoder: Encoder, *, embed: bool = True, passage_pieces: int = 128
) -> int:
    """Bring a store up to date with a corpus, and give its number of rows; those that it holds already cost little.

    Without ``embed`` passages get no vectors. UsageError if a row is malformed, or the store holds other documents.
    """
    rows = 0
    for row in dataset.documents():
        document = document_of(dataset.name, row)
        record = store.source(document.source.uri)
        if record is None or record.source.content_hash != document.source.content_hash:
            spans = chunk(document, encoder.pieces, limit=passage_pieces)
            store.put_document(document, spans, {}, encoder.fingerprint)
        rows += 1
    if store.stats().documents > rows:
        raise UsageError("The library holds other documents than this corpus.", fix="Use an empty one.")
    if embed:
        embed_rest(Build(store, lambda: encoder))
    store.flush()
    return rows


def document_of(dataset: str, row: Row) -> Document:
    """Make a document of a row. One without text has its title as text, so that it can be found."""
    uri = row_uri(dataset, row.id)
    text, title = (row.text, row.title) if row.text.strip() else (row.title, "")
    data = f"{title}\n{text}".encode("utf-8", "surrogatepass")
    content_hash = hashlib.blake2b(data, digest_size=16).hexdigest()
    source = Source(uri=uri, media_type="text/plain", content_hash=content_hash, modified_ns=0, size=len(data))
    return Document(
        id=document_id(uri), source=source, version=0, text=text, title=title, language=detect_language(text)
    )


def row_uri(dataset: str, row: str) -> str:
    """Give the URI of the document that a row becomes."""
    return f"beir:/{quote(dataset, safe='')}/{quote(row, safe='', errors='surrogatepass')}"


def row_id(uri: str) -> str:
    """Give the id of the row that a document was made of."""
    return unquote(uri.rsplit("/", 1)[1], errors="surrogatepass")
