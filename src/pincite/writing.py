"""The half of the facade that writes: what is added, removed and kept up to date."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, Self

from pincite.access import OWNER, Principal, Role, labels_of
from pincite.acquire.members import CONTAINERS
from pincite.acquire.named import named_readers
from pincite.acquire.read import path_of, uri_of
from pincite.acquire.uploads import Uploads
from pincite.acquire.uri import absolute, readable
from pincite.build.commit import Build, Follower, commit, embed_rest, prepare
from pincite.build.fresh import Fresh
from pincite.build.roots import Paths, failing, forget, paths_of, remember, roots, selected, uri_named
from pincite.build.sync import Selection, sync
from pincite.errors import AccessDenied, NotInLibrary, UsageError
from pincite.find.analyze import ANALYZER, analyze
from pincite.models.lazy import Models
from pincite.reports import AddReport, Pace, SourceReport
from pincite.settings import Settings, library_path
from pincite.stop import check_stop
from pincite.store.protocol import Store
from pincite.store.sqlite.store import open_store
from pincite.types import Metadata

FAILED = frozenset({"failed"})
_SPACE = "space of "  # and an encoder's name: the note that tells which vectors are its own
_AGAIN_SECONDS = 10.0  # at least between two beginnings of that, which on a full disk fails each time
_EMBEDDED_AT_ONCE = 128  # passages: about a second's work, which a search can wait for


def silent(_: Pace) -> None:
    """Tell nobody."""


_TAKEN_IN = ("indexed", "updated", "removed")


class Writing:
    """Documents that come, change and go. ``Library`` adds the questions."""

    def __init__(self, settings: Settings, models: Models) -> None:
        """Open or make the library that the settings name."""
        self.settings = settings
        self.path = library_path(settings)
        self.uploads = Uploads(absolute(self.path) / "uploads")
        self.models = models
        self.store: Store = open_store(self.path, analyze=analyze, analyzer=ANALYZER, name_of=self.name)
        self._whole = self.store  # whatever the principal may see
        self.principal = OWNER
        self._is_view = False
        self.password = os.environ.get("PINCITE_PASSWORD", "")  # of encrypted documents; kept in memory only
        self.patience: float | None = None  # seconds that a question waits for changes on disk; None: until they are in
        self._fresh = Fresh(lambda: any(report.status in _TAKEN_IN for report in self.refresh().sources))
        self._follower: Follower | None = None  # embeds what an interrupted add has left, where the process stays
        self._again_at = 0.0  # when it may begin anew
        self._lock = RLock()  # one sync runs at a time

    def seen_by(self, principal: Principal) -> Self:
        """Give this library as a principal may see and write it; to close it closes nothing.

        Args:
            principal: for its searches, answers, counts and errors, documents that the grants do not show do not exist.

        Returns:
            A view with the same models and settings. A reader's writes raise AccessDenied. What an editor adds carries
            his grants where its place has no labels, and he can neither replace nor remove what he does not see.
        """
        view = copy.copy(self)
        view.principal, view._is_view = principal, True
        view.store = self._whole
        if not principal.is_owner:
            view.store = self._whole.restricted(principal.grants, writes=principal.may("editor"))
        return view

    def name(self, uri: str) -> str:
        """Give what people call a source: what an uploaded file was called, else the last part of its URI."""
        return self.uploads.name_of(uri) or readable(uri).rstrip("/").rpartition("/")[2] or uri

    def label(self, target: str | Path, labels: Iterable[str] = ()) -> int:
        """Say who may see a document, or all that is and will be below a folder: those who hold one of the labels.

        The nearest labels count: those of a file before those of its folder. They outlive the document: a file that
        comes back has them again. Every process sees the change with its next question.

        Args:
            target: a URI, a document's id, or a path.
            labels: none takes those of the target away; then those of the nearest folder above count.

        Returns:
            How many documents are there now.

        Raises:
            AccessDenied: the principal is not an admin who sees everything.
            UsageError: a label is no word.
            NotInLibrary: there is nothing of this name, neither in the library nor on the disk.
        """
        if not self.principal.is_owner:
            raise AccessDenied
        wanted = labels_of(labels)
        uri = uri_named(self.store, target).rstrip("/")
        is_there = uri.startswith("file:") and os.path.lexists(path_of(uri))
        if not is_there and not any(_at_or_below(uri, name) for name in self._names(uri)):
            raise NotInLibrary(f"There is no {target}.", fix="Check the path; `pincite list` shows what there is.")
        return self.store.put_labels(uri, wanted)

    def labelled(self) -> list[tuple[str, tuple[str, ...]]]:
        """List the places that labels were given to, as URIs, with these; AccessDenied to all but the owner."""
        return self.store.labelled()

    def _names(self, uri: str) -> Iterator[str]:
        """List the URIs that begin with this one, of sources and of labelled places."""
        yield from (record.source.uri for record in self.store.sources(uri))
        yield from (place for place, _ in self.store.labelled())

    def add(
        self,
        paths: Paths,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        labels: Iterable[str] = (),
    ) -> AddReport:
        """Add files and folders, or bring them up to date; later searches keep them so.

        Args:
            paths: one path or several.
            include: take only files that match one of these globs, as in .gitignore.
            exclude: leave out what matches one of these.
            labels: of the paths; see ``label``. No document is seen without them, not even for a moment.

        Returns:
            What became of each source.

        Raises:
            PathMissing: a path does not exist.
            LibraryError: the library cannot be written.
            ModelError: the encoder cannot be used.
        """
        started = time.perf_counter()
        sources = tuple(self.adding(paths, include=include, exclude=exclude, labels=labels))
        return AddReport(sources, time.perf_counter() - started)

    def adding(
        self,
        paths: Paths,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        labels: Iterable[str] = (),
        tell: Callable[[Pace], None] = silent,
    ) -> Iterator[SourceReport]:
        """Do as ``add`` does, and yield the report on each source once its text is durably committed.

        In a long run the vectors follow: the iteration ends when all are there.

        Args:
            paths: as for ``add``.
            include: as for ``add``.
            exclude: as for ``add``.
            labels: as for ``add``.
            tell: called again and again with how far it is.

        Yields:
            A report on each source.
        """
        self._must_be("editor")
        selections = [Selection(path, tuple(include), tuple(exclude)) for path in paths_of(paths)]
        wanted = labels_of(labels)
        for selection in (each for each in selections if wanted and os.path.lexists(each.path)):
            self.store.put_labels(uri_of(selection.path).rstrip("/"), wanted)
        build = replace(self._build(), retry=FAILED, tell=tell)
        yield from self._locked(sync(selections, build), build, lambda: remember(self._whole, selections))

    def _locked(
        self, reports: Iterator[SourceReport], build: Build, then: Callable[[], None] = lambda: None
    ) -> Iterator[SourceReport]:
        """Pass reports on while no other sync runs, and embed what is left."""
        with self._fresh.held(), self._lock:
            yield from reports
            then()
            self._embed_rest(build)
            self.store.flush()

    def retrying(self, paths: Paths | None = None, *, tell: Callable[[Pace], None] = silent) -> Iterator[SourceReport]:
        """Read again what failed, was not supported, or was read only partly; yield reports as ``adding`` does.

        Args:
            paths: only what is at or below these; None takes the whole library.
            tell: called again and again with how far it is.

        Yields:
            A report on each source that was looked at.
        """
        self._must_be("editor")
        build = replace(self._build(), retry=FAILED | {"unsupported", "partly"}, tell=tell)
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

        self._must_be("editor")
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
        self._must_be("editor")
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
            for place in [uri] if self.principal.is_owner else [record.source.uri for record in gone]:
                forget(self._whole, place)
            for record in gone:
                self.uploads.discard(record.source.uri)  # first, or the next start would take it in again
                self.store.remove(record.source.uri)
            self.store.collect_garbage()
            self.store.flush()
        return AddReport(tuple(SourceReport(r.source.uri, "removed", r.version or None) for r in gone))

    def refresh(self, paths: Paths | None = None) -> AddReport:
        """Bring what was added before, or some paths of it, up to date with the disk.

        Whoever does not see everything brings everything up to date, for paths would tell of what there is, and is told
        only of what he sees.
        """
        started = time.perf_counter()
        is_restricted = self.principal.grants is not None
        with self._lock:
            if paths is None or is_restricted:  # a root that is gone and empty was reported when it went
                chosen = [root for root in roots(self._whole) if root.path.exists() or self._holds(root.path)]
            else:
                chosen = selected(self._whole, paths_of(paths))
            build = replace(self._build(), store=self._whole, tell=lambda _: check_stop())
            reports = tuple(sync(chosen, build))
        self._embed_left(build)
        if is_restricted:
            reports = tuple(report for report in reports if self.store.source(report.uri) is not None)
        return AddReport(reports, time.perf_counter() - started)

    def watch(self, paths: Paths, *, stop: Any = None, **options: Any) -> Iterator[SourceReport]:
        """Add paths, with the options of ``adding``, then follow their changes until ``stop`` (an Event) is set."""
        from pincite.acquire.watch import watch

        yield from self.adding(paths, **options)
        options.pop("labels", None)  # given once: whoever changes them meanwhile is right
        for _ in watch(paths_of(paths), stop_event=stop):  # only the moment matters: the sync finds out what changed
            yield from (report for report in self.adding(paths, **options) if report.status != "unchanged")

    def _holds(self, path: Path) -> bool:
        """Tell whether the library holds anything from a path."""
        return next(iter(self._whole.sources(uri_of(path))), None) is not None

    def _must_be(self, role: Role) -> None:
        """Raise AccessDenied unless the principal has a role, or more."""
        if not self.principal.may(role):
            raise AccessDenied

    def _build(self) -> Build:
        """Collect what building needs."""
        return Build(
            self.store,
            self.models.encoder,
            self.settings.passage_pieces,
            password=self.password,
            readers=named_readers(self.settings.readers),
            about=self._about,
        )

    def _about(self, uri: str) -> Metadata:
        """Give what people call an uploaded file."""
        name = self.uploads.name_of(uri)
        return {"name": name} if name else {}

    def _embed_left(self, build: Build) -> None:
        """Embed what an interrupted add has left, if somebody wants the encoder anyway.

        A little of it is embedded at once, more of it only where the process stays, in a thread of its own.
        """
        stays = self.patience is not None and not self._is_view
        if not self.models.is_begun("encoder") or self._seem_embedded():
            return
        left = len(self._whole.unembedded(self.models.encoder().fingerprint, _EMBEDDED_AT_ONCE + 1))
        if 0 < left <= _EMBEDDED_AT_ONCE:
            embed_rest(build, waits=False)
        elif left and stays and (self._follower is None or self._follower.ended) and time.monotonic() > self._again_at:
            self._again_at = time.monotonic() + _AGAIN_SECONDS
            self._follower = Follower(replace(build, tell=silent), once=True)
            self._follower.go()

    def _embed_rest(self, build: Build) -> None:
        """Embed passages that lack a vector, as after an interruption or a change of encoder."""
        if not self._seem_embedded():
            embed_rest(build)
        encoder, note = self.models.loaded.get("encoder"), _SPACE + self.models.encoder_name
        if encoder and self._whole.note(note) != encoder.fingerprint:
            self._whole.note(note, encoder.fingerprint)

    def _seem_embedded(self) -> bool:
        """Tell whether no passage lacks a vector, without waiting for the encoder: a note says which space is its."""
        encoder = self.models.loaded.get("encoder")
        space = encoder.fingerprint if encoder else self._whole.note(_SPACE + self.models.encoder_name)
        return not self._whole.unembedded(space, 1)


def _at_or_below(place: str, uri: str) -> bool:
    """Tell whether a URI is a place, or below it: in a folder, an archive or a mail."""
    return uri == place or uri.startswith((place + "/", place + "!"))
