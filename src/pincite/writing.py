"""The half of the facade that writes: what is added, removed and kept up to date."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any

from pincite.acquire.members import CONTAINERS
from pincite.acquire.read import path_of, uri_of
from pincite.acquire.uploads import Uploads
from pincite.acquire.uri import absolute
from pincite.build.commit import Build, commit, embed_rest, prepare
from pincite.build.roots import Paths, failing, forget, paths_of, remember, roots, selected, uri_named
from pincite.build.sync import Selection, sync
from pincite.errors import NotInLibrary, UsageError
from pincite.find.analyze import ANALYZER, analyze
from pincite.models.lazy import Models, Progress
from pincite.reports import AddReport, Pace, SourceReport
from pincite.settings import Settings, library_path, models_dir
from pincite.store.protocol import Store
from pincite.store.sqlite.store import open_store
from pincite.types import Metadata

_FAILED = frozenset({"failed"})


def _silent(_: Pace) -> None:
    """Tell nobody."""


class Writing:
    """Documents that come, change and go. ``Library`` adds the questions."""

    def __init__(self, settings: Settings, *, progress: Progress | None = None) -> None:
        """Open or make the library that the settings name; models are loaded when first needed."""
        self.settings = settings
        self.path = library_path(settings)
        self.models = Models(
            encoder_name=settings.encoder,
            generator_name=settings.generator,
            verifier_name=settings.verifier,
            reranker_name=settings.reranker,
            rerank_seconds=settings.rerank_seconds,
            folder=models_dir(settings),
            offline=settings.offline,
            threads=settings.threads,
            base_url=settings.base_url,
            adapter=settings.adapter,
            progress=progress,
        )
        self.store: Store = open_store(self.path, analyze=analyze, analyzer=ANALYZER)
        self.password = os.environ.get("PINCITE_PASSWORD", "")  # of encrypted documents; kept in memory only
        self._lock = RLock()  # one sync runs at a time

    @property
    def uploads(self) -> Uploads:
        """The files that were uploaded into this library."""
        return Uploads(absolute(self.path) / "uploads")

    def add(self, paths: Paths, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> AddReport:
        """Add files and folders, or bring them up to date; later searches keep them so.

        Args:
            paths: one path or several.
            include: take only files that match one of these globs, as in .gitignore.
            exclude: leave out what matches one of these.

        Returns:
            What became of each source.

        Raises:
            PathMissing: a path does not exist.
            LibraryError: the library cannot be written.
            ModelError: the encoder cannot be used.
        """
        started = time.perf_counter()
        sources = tuple(self.adding(paths, include=include, exclude=exclude))
        return AddReport(sources, time.perf_counter() - started)

    def adding(
        self,
        paths: Paths,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        tell: Callable[[Pace], None] = _silent,
    ) -> Iterator[SourceReport]:
        """Do as ``add`` does, and yield the report on each source once its text is durably committed.

        In a long run the vectors follow: the iteration ends when all are there.

        Args:
            paths: as for ``add``.
            include: as for ``add``.
            exclude: as for ``add``.
            tell: called again and again with how far it is.

        Yields:
            A report on each source.
        """
        selections = [Selection(path, tuple(include), tuple(exclude)) for path in paths_of(paths)]
        build = replace(self._build(), retry=_FAILED, tell=tell)
        with self._lock:
            yield from sync(selections, build)
            remember(self.store, selections)
            self._embed_rest(build)
            self.store.flush()

    def adding_url(self, url: str) -> Iterator[SourceReport]:
        """Fetch a document from the web and add it, or bring it up to date; searches do not fetch it again.

        Args:
            url: http or https, of a public address. Its canonical form is the document's URI.

        Yields:
            A report on it, and on what is inside it.

        Raises:
            UsageError: it may not be fetched, or ``offline`` is set.
        """
        from pincite.build.web import sync_url

        if self.settings.offline:
            fix = "Add it without --offline, or save the document and add the file."
            raise UsageError(f"Pincite is offline, and {url[:200]} is not on this machine.", fix=fix)
        build = self._build()
        yield from self._locked(sync_url(url, build), build)

    def taking_in(
        self, files: Sequence[Path] | None = None, *, tell: Callable[[Pace], None] = _silent
    ) -> Iterator[SourceReport]:
        """Bring the library up to date with uploaded files; searches need not look at them again.

        Args:
            files: as ``uploads.keep`` gave them; None takes all, and those that are gone.
            tell: called again and again with how far it is.

        Yields:
            A report on each source.
        """
        if files is None:
            held = (record.source.uri for record in self.store.sources(uri_of(self.uploads.folder) + "/"))
            files = sorted({*self.uploads.files(), *(path_of(uri) for uri in held if self.uploads.is_file(uri))})
        build = replace(self._build(), retry=_FAILED, tell=tell)
        yield from self._locked(sync([Selection(file) for file in files], build), build)

    def _locked(self, reports: Iterator[SourceReport], build: Build) -> Iterator[SourceReport]:
        """Pass reports on while no other sync runs, and embed what is left."""
        with self._lock:
            yield from reports
            self._embed_rest(build)
            self.store.flush()

    def retrying(self, paths: Paths | None = None, *, tell: Callable[[Pace], None] = _silent) -> Iterator[SourceReport]:
        """Read again what failed, was not supported, or was read only partly; yield reports as ``adding`` does.

        Args:
            paths: only what is at or below these; None takes the whole library.
            tell: called again and again with how far it is.

        Yields:
            A report on each source that was looked at.
        """
        build = replace(self._build(), retry=_FAILED | {"unsupported", "partly"}, tell=tell)
        chosen = failing(self.store, None if paths is None else paths_of(paths), build.retry)
        yield from self._locked(sync(chosen, build), build)

    def add_text(self, uri: str, text: str, *, title: str = "", metadata: Metadata | None = None) -> SourceReport:
        """Add a text that is no file; the same URI again replaces it.

        Args:
            uri: its identity, for instance ``note:2026-11-30``; not a ``file:`` URI.
            text: any string.
            title: shown, embedded and searched with every passage.
            metadata: to filter on.

        Returns:
            What became of it.
        """
        from pincite.acquire.given import text_source

        if ":" not in uri or uri.startswith("file:"):
            raise UsageError(f"{uri!r} is no URI for a text.", fix="Use one like note:meeting, or add the file's path.")
        source, reading = text_source(uri, text, title=title, metadata=metadata or {})
        with self._lock:
            [report] = commit([prepare(source, reading, self._build())], self._build())
        return report

    def remove(self, target: str | Path) -> AddReport:
        """Remove a document, or all documents of a folder; they are not added again until someone asks for it.

        Args:
            target: a URI, a document's id, or a path.

        Returns:
            The documents that were removed.

        Raises:
            NotInLibrary: nothing in the library goes by this name.
        """
        with self._lock:
            uri = uri_named(self.store, target)
            own = self.store.source(uri)
            if own and own.source.media_type not in CONTAINERS:
                gone = [own]  # a page of the web may have others below it
            else:
                gone = [r for r in self.store.sources(uri) if r.source.uri == uri or r.source.uri.startswith(uri + "/")]
            if not gone:
                raise NotInLibrary(
                    f"The library holds nothing from {target}.", fix="`pincite list` shows what it holds."
                )
            forget(self.store, uri)
            for record in gone:
                self.uploads.discard(record.source.uri)  # first, or the next start would take it in again
                self.store.remove(record.source.uri)
            self.store.collect_garbage()
            self.store.flush()
        return AddReport(tuple(SourceReport(r.source.uri, "removed", r.version or None) for r in gone))

    def refresh(self, paths: Paths | None = None) -> AddReport:
        """Bring what was added before, or some paths of it, up to date with the disk."""
        started = time.perf_counter()
        with self._lock:
            chosen = roots(self.store) if paths is None else selected(self.store, paths_of(paths))
            if paths is None:  # a root that is gone and empty was reported when it went
                chosen = [root for root in chosen if root.path.exists() or self._holds(root.path)]
            reports = tuple(sync(chosen, self._build()))
        return AddReport(reports, time.perf_counter() - started)

    def watch(self, paths: Paths, *, stop: Any = None, **options: Any) -> Iterator[SourceReport]:
        """Add paths, with the options of ``adding``, then follow their changes until ``stop`` (an Event) is set."""
        from pincite.acquire.watch import watch

        yield from self.adding(paths, **options)
        for _ in watch(paths_of(paths), stop_event=stop):  # only the moment matters: the sync finds out what changed
            yield from (report for report in self.adding(paths, **options) if report.status != "unchanged")

    def _holds(self, path: Path) -> bool:
        """Tell whether the library holds anything from a path."""
        return next(iter(self.store.sources(uri_of(path))), None) is not None

    def _build(self) -> Build:
        """Collect what building needs."""
        pieces = self.settings.passage_pieces
        return Build(self.store, self.models.encoder, pieces, password=self.password, about=self._about)

    def _about(self, uri: str) -> Metadata:
        """Give what people call an uploaded file."""
        name = self.uploads.name_of(uri)
        return {"name": name} if name else {}

    def _embed_rest(self, build: Build) -> None:
        """Embed passages that lack a vector, as after an interruption or a change of encoder."""
        stats = self.store.stats()
        is_one = len(stats.spaces) == 1 or not stats.passages
        unloaded = "encoder" not in self.models.loaded
        if unloaded and is_one and not any(self.store.unembedded(space, 1) for space in stats.spaces):
            return  # nothing is missing, and no model has to be loaded to see it
        embed_rest(build)
