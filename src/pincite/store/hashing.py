"""Hashes that name text. They are part of the stored format: changing one means embedding everything again."""

from __future__ import annotations

from hashlib import blake2b

_DIGEST_BYTES = 16


def embedding_hash(searched_text: str) -> str:
    """Name the text that is embedded: 32 hex digits, BLAKE2b-128 of its UTF-8; lone surrogates pass."""
    return blake2b(searched_text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


def bytes_hash(data: bytes) -> bytes:
    """Name stored bytes: 16 bytes, BLAKE2b-128."""
    return blake2b(data, digest_size=_DIGEST_BYTES).digest()


def document_id(uri: str) -> str:
    """Name a document by its URI: 12 hex digits, BLAKE2b-48."""
    return blake2b(uri.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
