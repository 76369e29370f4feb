"""The part of the facade that looks up what the library holds: documents, their versions, passages, files and pages."""

from __future__ import annotations

import builtins
from pathlib import Path

from pincite.access import OWNER
from pincite.build.roots import uri_named
from pincite.errors import NotInLibrary, SourceError
from pincite.reports import After, Counts, Listing
from pincite.store.protocol import SourceRecord, Stats, VersionRecord
from pincite.types import Document, Passage
from pincite.uploading import Uploading


class Holdings(Uploading):
    """What the library holds. ``Library`` adds the questions."""

    def uri(self, target: str | Path) -> str:
        """Give the URI that a URI, a document's id or a path stands for; it need not be in the library.

        A relative path is one of the person at the machine: to others it would tell in which folder the program runs.
        """
        name = str(target)
        is_relative = not Path(name).is_absolute() and "://" not in name and self.store.source(name) is None
        return name if is_relative and self.principal is not OWNER else uri_named(self.store, target)

    def list(self, target: str | Path | None = None) -> builtins.list[SourceRecord]:
        """List the sources, or those at or below a path or URI, by URI."""
        if target is None:
            return builtins.list(self.store.sources())
        uri = self.uri(target).rstrip("/")
        return [
            r for r in self.store.sources(uri) if r.source.uri == uri or r.source.uri.startswith((uri + "/", uri + "!"))
        ]

    def listed(
        self, listing: Listing, after: After | None = None, limit: int = 50
    ) -> tuple[builtins.list[SourceRecord], After | None]:
        """List sources page by page, in the order and narrowed as a listing says.

        Args:
            listing: which, and how.
            after: where the page before ended; None begins.
            limit: how many at most.

        Returns:
            The sources, and where this page ends; None when it is the last one.
        """
        return self.store.listed(listing, after, limit)

    def counts(self) -> Counts:
        """Count all sources by what a list can be narrowed to."""
        return self.store.counts()

    def document(self, target: str | Path, version: int | None = None) -> Document:
        """Give a document.

        Args:
            target: a URI, a document's id, or a path.
            version: which one; None takes the newest.

        Returns:
            The document.

        Raises:
            NotInLibrary: no such document or version.
        """
        return self.store.document(self.uri(target), version)

    def passage(self, passage_id: str) -> Passage:
        """Give a current passage.

        Args:
            passage_id: as hits and citations name it.

        Returns:
            The passage.

        Raises:
            NotInLibrary: no such passage now.
        """
        uri = self.uri(passage_id.partition("@")[0])
        for passage in self.store.passages_of(uri):
            if passage.id == passage_id:
                return passage
        raise NotInLibrary(f"There is no passage {passage_id} now.", fix="Its document may have changed; search again.")

    def page_image(self, passage_id: str) -> bytes:
        """Paint the page on which a PDF's passage starts, with the passage boxed, as PNG; SourceError if that fails."""
        from pincite.acquire.readers.pdf_boxes import page_image

        passage = self.passage(passage_id)
        document = self.document(passage.uri, passage.version)
        return page_image(document, passage.start, passage.end, password=self.password)

    def stats(self) -> Stats:
        """Count documents, passages and vectors."""
        return self.store.stats()

    def record(self, target: str | Path) -> SourceRecord:
        """Give what the catalogue says of a source, readable or not; NotInLibrary if there is none."""
        record = self.store.source(self.uri(target))
        if record is None:
            raise NotInLibrary(f"The library does not hold {target}.", fix="`pincite list` shows what it holds.")
        return record

    def versions(self, target: str | Path) -> builtins.list[VersionRecord]:
        """List the versions of a document, oldest first; [] if it was never readable."""
        return self.store.versions(self.record(target).source.uri)

    def passages(self, target: str | Path) -> builtins.list[Passage]:
        """List the current passages of a document in order of start."""
        return self.store.passages_of(self.record(target).source.uri)

    def original(self, target: str | Path, version: int | None = None) -> bytes:
        """Give the bytes that a version of a document was read from.

        Args:
            target: a URI, a document's id, or a path.
            version: which one; None takes the newest.

        Returns:
            All of them.

        Raises:
            NotInLibrary: no such document or version, or its file is not there any more as it was.
        """
        from pincite.acquire.load import load

        record = self.record(target)
        wanted = record.source.content_hash
        if version is not None:
            wanted = next((v.content_hash for v in self.versions(target) if v.version == version), "")
        fix = "Read what the library holds of it: its text."
        if not wanted or not record.source.uri.startswith("file://"):
            raise NotInLibrary("There is no file of this document.", fix=fix)
        try:
            source, data = load(record.source.uri)
        except SourceError as error:
            raise NotInLibrary("The file of this document is not there now.", fix=fix) from error
        if source.content_hash != wanted:
            raise NotInLibrary("The file of this document has changed since it was read.", fix=fix)
        return data

    def page(self, target: str | Path, number: int, version: int | None = None, *, scale: float = 2.0) -> bytes:
        """Paint a page of a PDF, as PNG.

        Args:
            target: a URI, a document's id, or a path.
            number: of the page, from 1.
            version: which one; None takes the newest.
            scale: pixels for each point (1/72 inch).

        Returns:
            The image.

        Raises:
            NotInLibrary: no such document, version or page, or no page that can be painted.
            SourceError: it cannot be painted, or not in time.
        """
        from pincite.acquire.readers.pdf_boxes import painted

        self._paged(target, number, version)
        return painted(self.original(target, version), number, (), scale, password=self.password)

    def page_boxes(
        self, target: str | Path, number: int, start: int, end: int, version: int | None = None
    ) -> builtins.list[tuple[float, float, float, float]]:
        """Say where on a page of a PDF a span of its text stands.

        Args:
            target: as for ``page``.
            number: as for ``page``.
            start: of the span, in the text of the version.
            end: of the span.
            version: as for ``page``.

        Returns:
            (left, upper, right, lower) of each line of it as fractions of the page, from its upper left corner; [] if
            none of it is on this page.

        Raises:
            NotInLibrary: as for ``page``.
            SourceError: as for ``page``.
        """
        from pincite.acquire.readers.pdf_boxes import fractions

        pages = [page for page in self._paged(target, number, version).pages if page.number == number]
        return fractions(self.original(target, version), pages, start, end, password=self.password)

    def _paged(self, target: str | Path, number: int, version: int | None) -> Document:
        """Give a PDF that has a page."""
        document = self.document(target, version)
        if document.source.media_type != "application/pdf":
            message = f"{document.title or 'This document'} has no pages that can be painted: it is no PDF."
            raise NotInLibrary(message, fix="Read its text.")
        if not any(page.number == number for page in document.pages):
            raise NotInLibrary(f"{document.title or 'This document'} has no page {number}.", fix="Count its pages.")
        return document
