"""Small documents for store tests: one passage a paragraph, and vectors that follow from the searched text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pincite.store.hashing import bytes_hash, document_id, embedding_hash
from pincite.store.protocol import Receipt, Store
from pincite.types import Document, Scalar, Source, Span, searched_text

SPACE = "space-16"
DIMENSION = 16
JOINT = "\n\n"


def vector_of(text: str, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """A unit vector that only this text has."""
    seed = int.from_bytes(bytes_hash(text.encode("utf-8", "surrogatepass")), "little")
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def analyze(text: str, language: str) -> list[str]:
    """Words; the language shows in the terms, so that a change of language is seen."""
    return [f"{word.lower()}" for word in text.replace("\0", " ").split()] + ([f"lang{language}"] if language else [])


def make(
    uri: str,
    paragraphs: Sequence[str],
    *,
    context: str = "",
    language: str = "en",
    metadata: Mapping[str, Scalar] | None = None,
    title: str = "A title",
) -> tuple[Document, list[Span]]:
    """A document whose passages are its paragraphs, none of them empty."""
    text, spans = JOINT.join(paragraphs), []
    start = 0
    for paragraph in paragraphs:
        spans.append(Span(start, start + len(paragraph), (title,), context, len(paragraph.split())))
        start += len(paragraph) + len(JOINT)
    data = text.encode("utf-8", "surrogatepass")
    source = Source(uri, "text/plain", bytes_hash(data).hex(), 1_000_000_000, len(data))
    return Document(document_id(uri), source, 0, text, title, metadata=metadata or {}, language=language), spans


def vectors_of(document: Document, spans: Sequence[Span], dimension: int = DIMENSION) -> dict[str, NDArray[np.float32]]:
    """The vectors of all passages, by embedding hash."""
    texts = [searched_text(span.context, document.text[span.start : span.end]) for span in spans]
    return {embedding_hash(text): vector_of(text, dimension) for text in texts}


def put(store: Store, uri: str, paragraphs: Sequence[str], **options) -> Receipt:
    """Store a document with its vectors."""
    document, spans = make(uri, paragraphs, **options)
    return store.put_document(document, spans, vectors_of(document, spans), SPACE)
