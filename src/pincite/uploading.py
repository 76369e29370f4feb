"""What is handed over instead of named: uploaded files and pages of the web."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from pincite.access import labels_of
from pincite.acquire.read import document_id, path_of, uri_of
from pincite.acquire.uploads import clean_name
from pincite.build.sync import Selection, sync
from pincite.errors import AccessDenied, UsageError
from pincite.reports import Pace, SourceReport
from pincite.writing import FAILED, Writing, silent


class Uploading(Writing):
    """Documents that lie nowhere on this disk until they are handed over. ``Library`` adds the questions."""

    def adding_url(self, url: str, *, labels: Iterable[str] = ()) -> Iterator[SourceReport]:
        """Fetch a document from the web and add it, or bring it up to date; searches do not fetch it again.

        Args:
            url: http or https, of a public address. Its canonical form is the document's URI.
            labels: of the document; see ``label``.

        Yields:
            A report on it, and on what is inside it.

        Raises:
            UsageError: it may not be fetched, or ``offline`` is set.
        """
        from pincite.acquire.fetch_url import parse_url
        from pincite.build.web import sync_url

        self._must_be("editor")
        if self.settings.offline:
            fix = "Add it without --offline, or save the document and add the file."
            raise UsageError(f"Pincite is offline, and {url[:200]} is not on this machine.", fix=fix)
        wanted = labels_of(labels)
        if wanted:
            self.store.put_labels(str(parse_url(url)).rstrip("/"), wanted)
        build = self._build()
        yield from self._locked(sync_url(url, build), build)

    def again(self, uri: str, *, tell: Callable[[Pace], None] = silent) -> Iterator[SourceReport]:
        """Read one source again if it failed, was not supported or was read only partly; fetch it if it is of the web.

        Args:
            uri: of the source.
            tell: called again and again with how far it is.

        Yields:
            A report on it, and on what is inside it; none if there was nothing to read again.

        Raises:
            UsageError: it can be neither read nor fetched again.
        """
        if uri.startswith(("http://", "https://")):
            yield from self.adding_url(uri)
        elif uri.startswith("file://"):
            yield from self.retrying(path_of(uri), tell=tell)
        else:
            raise UsageError("This text has no file that could be read again.", fix="Add it again.")

    def keep_upload(self, file: Path, name: str, labels: Iterable[str] = ()) -> Path:
        """Keep an uploaded file, for ``taking_in`` to read. The same name and labels again replace it.

        Args:
            file: in a folder of ``uploads.coming``.
            name: what its sender calls it; only ever shown.
            labels: who may see it; without, what a principal holds who does not see everything.

        Returns:
            Where it stays.

        Raises:
            AccessDenied: the principal may not add, or does not hold one of the labels.
        """
        self._must_be("editor")
        held, name = self.principal.grants, clean_name(name)
        wanted = labels_of(labels) or held or frozenset()
        if held is not None and not wanted <= held:
            raise AccessDenied
        for number in count():
            place = self.uploads.place(name, wanted, number)
            there = self._whole.source(uri_of(place))
            if there is None or self.store.source(uri_of(place)) is not None:
                break  # not of those that he does not see, since someone changed their labels
        if there is None and wanted:
            self._whole.put_labels(uri_of(place), wanted)
        return self.uploads.keep(file, name, place)

    def give_up(self, files: Iterable[Path]) -> None:
        """Delete uploaded files that were not read; what they were to replace is stale until someone reads them."""
        for file in files:
            record = self._whole.source(uri_of(file))
            if record is None:
                self.uploads.discard(uri_of(file))
            elif record.version and file.stat().st_mtime_ns > record.added_ns:
                reason = "A newer version was uploaded, and its reading was cancelled."
                self._whole.put_failure(record.source, "failed", reason, "Read it again, or upload it again.")

    def identify(self, uri: str) -> dict[str, str]:
        """Give the document's "id" that a URI has, and the "name" that people call it by."""
        return {"id": document_id(uri), "name": self.name(uri)}

    def taking_in(
        self, files: Sequence[Path] | None = None, *, tell: Callable[[Pace], None] = silent
    ) -> Iterator[SourceReport]:
        """Bring the library up to date with uploaded files; searches need not look at them again.

        Args:
            files: as ``uploads.keep`` gave them; None takes all, and those that are gone.
            tell: called again and again with how far it is.

        Yields:
            A report on each source.
        """
        self._must_be("editor")
        if files is None:
            held = (record.source.uri for record in self.store.sources(uri_of(self.uploads.folder) + "/"))
            files = sorted({*self.uploads.files(), *(path_of(uri) for uri in held if self.uploads.is_file(uri))})
        build = replace(self._build(), retry=FAILED, tell=tell)
        yield from self._locked(sync([Selection(file) for file in files], build), build)
