"""The files of the keyword index: tantivy, fed with our tokens and queried without a query language."""

from __future__ import annotations

import contextlib
import json
import math
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.errors import LibraryDamaged
from pincite.store.derived.beside import REPEATED, Analysed, Row, Statistics, rounded
from pincite.store.derived.stamp import checksum

TOKENS, KEY, DOCUMENT, LENGTH = "tokens", "key", "document_key", "length"
TOKENIZER = "pincite"
HEAP = 32 << 20  # bytes the writer may hold; tantivy wants 15 MB or more
SPARE = 64  # hits asked for beyond the limit: most ties at the cut end there
MANY = 500  # documents of a filter: to look all of them up takes longer than to see whether the best hits are allowed
WIDER = 4  # times as many hits are looked at for that
META = "meta.json"
FOOTER_MAGIC = 1337  # tantivy's footer: JSON with the CRC-32 of what is before, its length, this number


class Segments:
    """One tantivy index in one folder. Every failure of tantivy is a ``LibraryDamaged``."""

    def __init__(self, folder: Path) -> None:
        """Open the index in a folder, or begin one in an empty one; LibraryDamaged when tantivy refuses the files."""
        import tantivy

        self._tantivy: Any = tantivy
        self._schema = _schema(tantivy)
        with _translated():
            self._index = tantivy.Index(self._schema, path=str(folder), reuse=True)
            tokenizer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            self._index.register_tokenizer(TOKENIZER, tokenizer)
            self._index.config_reader("manual")  # otherwise a thread watches the folder
            self._index.reload()
            self.searcher: Any = self._index.searcher()

    @property
    def count(self) -> int:
        """How many passages can be found."""
        return int(self.searcher.num_docs)

    def write(self, passages: Iterable[Analysed], stale: Sequence[int]) -> None:
        """Remove and add passages in one commit, then see it. An exception leaves the last commit.

        Args:
            passages: to be added.
            stale: keys to be removed first; those that are not there are passed over.

        Raises:
            LibraryDamaged: tantivy cannot write.
        """
        with _translated():
            writer = self._index.writer(HEAP, 1)
        try:
            # Not delete_documents_by_term: it takes a Python int for signed, and silently deletes nothing.
            with _translated():
                writer.delete_documents_by_query(self._tantivy.Query.term_set_query(self._schema, KEY, stale))
            for passage in passages:
                with _translated():
                    writer.add_document(self._document(passage))
            with _translated():
                writer.commit()
                writer.wait_merging_threads()  # so that the files rest when their stamp is written
        finally:
            del writer  # frees tantivy's lock, even while an exception is on its way
        with _translated():
            self._index.reload()
            self.searcher = self._index.searcher()

    def search(
        self, searcher: Any, tokens: Sequence[str], limit: int, documents: Sequence[int] | None, skip: frozenset[int]
    ) -> list[Row]:
        """Find the passages with the highest BM25 score.

        tantivy breaks ties by the place in its files, which depends on history. So more hits are taken, until the last
        one has a lower score than the last that is given: then all that tie at the cut are there, and keys decide.

        Args:
            searcher: the state to search, from ``self.searcher``.
            tokens: of the query, at least one; repeats add up.
            limit: how many to give, at least 1.
            documents: keys of the documents that may be given; None: all.
            skip: keys that may not be given.

        Returns:
            At most ``limit`` of (score, key), best first by (-score, key).

        Raises:
            LibraryDamaged: tantivy cannot read.
        """
        with _translated():
            if documents is not None and len(documents) > MANY:
                wide = WIDER * (limit + SPARE) + len(skip)
                hits = self._hits(searcher, self._query(tokens, None), wide, skip, frozenset(documents))
                rows, settled = _best(*hits, limit)
                if settled:
                    return rows
            query, width = self._query(tokens, documents), limit + SPARE + len(skip)
            while True:
                rows, settled = _best(*self._hits(searcher, query, width, skip, None), limit)
                if settled:
                    return rows
                width *= 4

    def _hits(
        self, searcher: Any, query: Any, width: int, skip: frozenset[int], documents: frozenset[int] | None
    ) -> tuple[list[Row], float]:
        """Take the first hits that may be given, and the score below which there may be more."""
        hits = searcher.search(query, width, count=False).hits
        addresses = [address for _, address in hits]
        keys = _column(searcher, KEY, addresses)
        rows = [(rounded(hit[0]), key) for hit, key in zip(hits, keys, strict=True)]
        if documents is not None:
            owners = _column(searcher, DOCUMENT, addresses)
            rows = [row for row, owner in zip(rows, owners, strict=True) if owner in documents]
        rows = [row for row in rows if row[1] not in skip]
        return rows, rounded(hits[-1][0]) if len(hits) == width else -math.inf

    def statistics(self, tokens: Sequence[str], searcher: Any = None) -> Statistics | None:
        """Ask tantivy what it scores with: None when no passage holds a token. Removed ones count until merged."""
        searcher = searcher or self.searcher
        with _translated():
            query = self._query(tokens, None)
            hits = searcher.search(query, 1, count=False).hits
            if not hits:
                return None
            values = dict(_described(json.loads(query.explain(searcher, hits[0][1]).to_json())))
            frequencies = {token: int(searcher.doc_freq(TOKENS, token)) for token in tokens}
        return Statistics(values["N, total number of docs"], values["avgdl, average length of field"], frequencies)

    def columns(self, searcher: Any) -> tuple[NDArray[np.int64], ...]:
        """Give key, document key and length in tokens of all passages that can be found: (n,) each, by key.

        A key that is there twice is given twice.
        """
        with _translated():
            count = max(1, int(searcher.num_docs))
            hits = searcher.search(self._tantivy.Query.all_query(), count, count=False).hits
            addresses = [address for _, address in hits]
            columns = [np.array(_column(searcher, name, addresses), np.int64) for name in (KEY, DOCUMENT, LENGTH)]
        order = np.argsort(columns[0])
        return tuple(column[order] for column in columns)

    def scores(self, searcher: Any, token: str, most: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Give the key and the score of each passage that holds a token, ``most`` of them at most: (m,) each."""
        with _translated():
            hits = searcher.search(self._query([token], None), max(1, most), count=False).hits
            keys = _column(searcher, KEY, [address for _, address in hits])
        return np.array(keys, dtype=np.int64), np.array([score for score, _ in hits], dtype=np.float64)

    def _document(self, passage: Analysed) -> Any:
        document = self._tantivy.Document()
        document.add_text(TOKENS, " ".join(passage.tokens))
        document.add_unsigned(KEY, passage.key)
        document.add_unsigned(DOCUMENT, passage.document_key)
        document.add_unsigned(LENGTH, len(passage.tokens))
        return document

    def _query(self, tokens: Sequence[str], documents: Sequence[int] | None) -> Any:
        query, occur = self._tantivy.Query, self._tantivy.Occur
        terms = {token: query.term_query(self._schema, TOKENS, token, "freq") for token in tokens}
        for token, times in Counter(tokens).items():
            if times > 1:
                terms[token] = query.boost_query(terms[token], times**REPEATED)
        words = query.boolean_query([(occur.Should, term) for term in terms.values()])
        if documents is None:
            return words
        allowed = query.const_score_query(query.term_set_query(self._schema, DOCUMENT, documents), 0.0)
        return query.boolean_query([(occur.Must, allowed), (occur.Must, words)])


def verify(folder: Path, wanted: int | None, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Check the files of an index against their checksums, at about 4 GB/s.

    Args:
        folder: of the index.
        wanted: what ``contents`` must be; None: a writer was at work, so it may be anything.
        known: names of files that were checked before; they are never written twice.

    Returns:
        The names of all files that are checked now.

    Raises:
        LibraryDamaged: a file is missing or not as it was written.
    """
    try:
        names = files(folder)
        for name in sorted(names - known):
            if not _intact(folder / name):
                raise LibraryDamaged(f"The keyword index's file {name} does not match its checksum.")
        if contents(folder) != wanted and wanted is not None:
            raise LibraryDamaged("The keyword index's list of files does not match its checksum.")
    except OSError as error:
        raise LibraryDamaged(f"The keyword index cannot be read: {error}.") from error
    return names


def contents(folder: Path) -> int:
    """Compute the CRC-32 of ``meta.json`` and the names of all files."""
    names = " ".join(sorted(files(folder)))
    return zlib.crc32(names.encode(), zlib.crc32((folder / META).read_bytes()))


def files(folder: Path) -> frozenset[str]:
    """Name the files of an index that have a checksum."""
    names = (path.name for path in folder.iterdir())
    return frozenset(name for name in names if not name.startswith(".") and name != META)


def _intact(path: Path) -> bool:
    """Check a file against the CRC-32 that tantivy wrote into its footer."""
    size = path.stat().st_size
    if size < 8:
        return False
    with path.open("rb") as stream:
        stream.seek(size - 8)
        length, magic = struct.unpack("<II", stream.read(8))
        if magic != FOOTER_MAGIC or length > size - 8:
            return False
        stream.seek(size - 8 - length)
        try:
            footer = json.loads(stream.read(length))
        except ValueError:
            return False
    return isinstance(footer, dict) and footer.get("crc") == checksum(path, size - 8 - length)


def _schema(tantivy: Any) -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(TOKENS, stored=False, tokenizer_name=TOKENIZER, index_option="freq")
    for name in (KEY, DOCUMENT):
        builder.add_unsigned_field(name, stored=False, indexed=True, fast=True)
    builder.add_unsigned_field(LENGTH, stored=False, indexed=False, fast=True)
    return builder.build()


def _column(searcher: Any, name: str, addresses: list[Any]) -> list[int]:
    """Read a fast field; ValueError for a file that has lost it."""
    values: list[int] = searcher.fast_field_values(name, addresses)
    if None in values:
        raise ValueError(f"a passage has no {name}")
    return values


def _described(explanation: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Walk tantivy's explanation of a score."""
    yield explanation["description"], explanation["value"]
    for detail in explanation.get("details", ()):
        yield from _described(detail)


def _best(rows: list[Row], more: float, limit: int) -> tuple[list[Row], bool]:
    """Rank rows, and tell whether none of those that have at most the score ``more`` can be among the best."""
    best = sorted(rows, key=lambda row: (-row[0], row[1]))[:limit]
    return best, more == -math.inf or (len(best) == limit and more < best[-1][0])


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Say in our words that tantivy failed; it raises ValueError for nearly everything."""
    try:
        yield
    except (ValueError, OSError, KeyError) as error:
        raise LibraryDamaged(
            f"The keyword index cannot be used: {error}.", fix="Rebuild the library's indexes."
        ) from error
