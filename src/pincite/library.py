"""The facade: it wires the stages and holds no algorithm."""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from pincite.acquire.read import uri_of
from pincite.build.roots import Paths, forget, paths_of, remember, roots, selected, uri_named, within
from pincite.build.sync import Build, Selection, commit, prepare, sync
from pincite.errors import EmptyQuestion, LibraryError, ModelError, NotInLibrary, UsageError
from pincite.find.analyze import ANALYZER, analyze
from pincite.find.search import search
from pincite.models.lazy import Models, Progress
from pincite.models.protocols import Encoder
from pincite.settings import Settings, changed, library_path, models_dir
from pincite.store.filters import Filter
from pincite.store.protocol import SourceRecord, Stats, Store
from pincite.store.sqlite.store import open_store
from pincite.types import (
    AddReport,
    Answer,
    Document,
    DoneEvent,
    Event,
    Finding,
    Metadata,
    Mode,
    Passage,
    SearchResult,
    SourceReport,
    Stage,
    StaleSource,
    Trace,
)

if TYPE_CHECKING:
    from pincite.ground.check import Checked


class Library:
    """Documents, and answers from them. Use it in a ``with`` statement, or close it."""

    def __init__(self, settings: Settings, *, progress: Progress | None = None) -> None:
        """Open or make the library that the settings name; models are loaded when first needed."""
        self.settings = settings
        self.path = library_path(settings)
        self.models = Models(
            encoder_name=settings.encoder,
            generator_name=settings.generator,
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
        self._lock = RLock()  # one sync runs at a time

    # --- writing

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
        self, paths: Paths, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
    ) -> Iterator[SourceReport]:
        """Do as ``add`` does, and yield the report on each source once it is durably committed."""
        selections = [Selection(path, tuple(include), tuple(exclude)) for path in paths_of(paths)]
        with self._lock:
            yield from sync(selections, replace(self._build(), retry=True))
            remember(self.store, selections)
            self._embed_rest()
            self.store.flush()

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
            gone = [r for r in self.store.sources(uri) if r.source.uri == uri or r.source.uri.startswith(uri + "/")]
            if not gone:
                raise NotInLibrary(
                    f"The library holds nothing from {target}.", fix="`pincite list` shows what it holds."
                )
            forget(self.store, uri)
            for record in gone:
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

    def watch(self, paths: Paths, *, stop: Any = None, **globs: Sequence[str]) -> Iterator[SourceReport]:
        """Add paths, then follow their changes until ``stop`` (a threading.Event) is set."""
        from pincite.acquire.watch import watch

        yield from self.adding(paths, **globs)
        for _ in watch(paths_of(paths), stop_event=stop):  # only the moment matters: the sync finds out what changed
            yield from (report for report in self.adding(paths, **globs) if report.status != "unchanged")

    def _holds(self, path: Path) -> bool:
        """Tell whether the library holds anything from a path."""
        return next(iter(self.store.sources(uri_of(path))), None) is not None

    def _build(self) -> Build:
        """Collect what building needs."""
        return Build(self.store, self.models.encoder, self.settings.passage_pieces)

    def _embed_rest(self) -> None:
        """Embed passages that lack a vector in the encoder's space, as after a change of encoder."""
        from pincite.build.embed import embed_missing

        if self.models.loaded_encoder is None and len(self.store.stats().spaces) <= 1:
            return  # nothing was embedded in this run and there is one space: nothing can be missing
        encoder = self.models.encoder()
        while rest := self.store.unembedded(encoder.fingerprint, 512):
            self.store.put_vectors(embed_missing(dict(rest), encoder), encoder.fingerprint)

    # --- reading

    def search(
        self,
        question: str,
        *,
        limit: int | None = None,
        mode: str | None = None,
        where: Filter | None = None,
        paths: Paths | None = None,
        refresh: bool = True,
    ) -> SearchResult:
        """Find the passages that bear on a question, in the newest state of the documents.

        Args:
            question: any text.
            limit: how many passages; None takes the setting.
            mode: "hybrid", "vector" or "keyword"; None takes the setting.
            where: which documents may be found.
            paths: bring only these up to date, and find only in them.
            refresh: look for changes on disk first.

        Returns:
            The hits, best first, what is stale, and what each stage took.

        Raises:
            EmptyQuestion: the question holds no text.
            FilterError: the filter is malformed.
        """
        if not question.strip():
            raise EmptyQuestion("The question is empty.", fix="Ask something.")
        settings = changed(self.settings, mode=mode, limit=limit)
        if settings.mode != "keyword":
            self.models.begin("encoder")
        started = time.perf_counter()
        behind = self._caught_up(paths) if refresh else ()
        refreshed = (Stage("refresh", time.perf_counter() - started),) if refresh else ()
        mode_now = cast(Mode, settings.mode)
        encoder = None if mode_now == "keyword" else self.models.encoder()
        hits, trace = search(
            question,
            store=self.store,
            encoder=encoder,
            mode=mode_now,
            limit=settings.limit,
            candidates=settings.candidates,
            where=within(paths_of(paths), where) if paths is not None else where,
            reranker=self.models.reranker(),
            rerank_seconds=settings.rerank_seconds,
        )
        stale = (*behind, *self._unembedded(encoder), *self._stale())
        return SearchResult(question, mode_now, hits, stale, Trace((*refreshed, *trace.stages)))

    def ask(self, question: str, **options: Any) -> Answer:
        """Answer a question from the documents, with citations. The options are those of ``stream``."""
        for event in self.stream(question, **options):
            if isinstance(event, DoneEvent):
                return event.answer
        raise AssertionError("the stream ended without its last event")

    def stream(
        self,
        question: str,
        *,
        extract: bool = False,
        policy: str = "flag",
        mode: str | None = None,
        where: Filter | None = None,
        paths: Paths | None = None,
        refresh: bool = True,
    ) -> Iterator[Event]:
        """Answer a question, event by event; the last one is a DoneEvent with the whole answer.

        Args:
            question: any text.
            extract: answer with quotes only, without a generator.
            policy: "flag" marks unsupported claims, "drop" leaves them out.
            mode: as in ``search``.
            where: as in ``search``.
            paths: as in ``search``.
            refresh: as in ``search``.

        Yields:
            The events of ``answer_events``.
        """
        from pincite.ground.answer import answer_events

        if not extract and question.strip():
            self.models.begin("generator")
        found = self.search(question, mode=mode, where=where, paths=paths, refresh=refresh)
        settings = self.settings
        for event in answer_events(
            question,
            found.hits,
            generator=None if extract else self.models.generator,  # loaded only if the evidence is sufficient
            encoder=None if found.mode == "keyword" else self.models.encoder(),
            text_of=lambda passage: self.store.document(passage.uri, passage.version).text,
            evidence_tokens=settings.evidence_tokens,
            answer_tokens=settings.answer_tokens,
            answer_seconds=settings.answer_seconds,
            policy=policy,
            languages=self.store.stats().languages,
        ):
            if isinstance(event, DoneEvent):
                stages = (*found.trace.stages, *event.answer.trace.stages)
                event = DoneEvent(replace(event.answer, stale=found.stale, trace=Trace(stages)))
            yield event

    def check(self, text: str, *, mode: str | None = None, refresh: bool = True) -> Checked:
        """Check each sentence of any text against the documents; the options are those of ``search``."""
        from pincite.ground.check import check_text

        behind = self._caught_up(None) if refresh else ()
        keyword = changed(self.settings, mode=mode).mode == "keyword"
        checked = check_text(
            text,
            lambda sentence: self.search(sentence, mode=mode, refresh=False).hits,
            encoder=None if keyword else self.models.encoder(),
            text_of=lambda passage: self.store.document(passage.uri, passage.version).text,
            languages=self.store.stats().languages,
        )
        stale = tuple(Finding("stale", source.reason, source.fix) for source in (*behind, *self._stale()))
        return replace(checked, findings=(*checked.findings, *stale))

    def _caught_up(self, paths: Paths | None) -> tuple[StaleSource, ...]:
        """Refresh; what cannot be written or embedded now does not stop a search, which then says that it is behind."""
        try:
            self.refresh(paths)
        except (LibraryError, ModelError) as error:
            reason = f"Changes on disk were not taken in: {error}"
            return (StaleSource(uri_of(self.path), 0, reason, error.fix),)
        return ()

    def _unembedded(self, encoder: Encoder | None) -> tuple[StaleSource, ...]:
        """Say so when vector search cannot see some passages, as after a change of encoder."""
        spaces = self.store.stats().spaces
        if encoder is None or (len(spaces) <= 1 and encoder.fingerprint in spaces) or not spaces:
            return ()
        if not self.store.unembedded(encoder.fingerprint, 1):
            return ()
        reason = f"Some passages have no vector of {encoder.name}, so only keyword search finds them."
        return (StaleSource(uri_of(self.path), 0, reason, "Run `pincite add` on any path with this encoder."),)

    def _stale(self) -> tuple[StaleSource, ...]:
        """List what is searched in a version that may not be the newest."""
        return tuple(StaleSource(r.source.uri, r.version, r.reason, r.fix) for r in self.store.failed() if r.version)

    def list(self, target: str | Path | None = None) -> builtins.list[SourceRecord]:
        """List the sources, or those at or below a path or URI, by URI."""
        if target is None:
            return builtins.list(self.store.sources())
        uri = uri_named(self.store, target).rstrip("/")
        return [
            r for r in self.store.sources(uri) if r.source.uri == uri or r.source.uri.startswith((uri + "/", uri + "!"))
        ]

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
        return self.store.document(uri_named(self.store, target), version)

    def passage(self, passage_id: str) -> Passage:
        """Give a current passage.

        Args:
            passage_id: as hits and citations name it.

        Returns:
            The passage.

        Raises:
            NotInLibrary: no such passage now.
        """
        uri = uri_named(self.store, passage_id.partition("@")[0])
        for passage in self.store.passages_of(uri):
            if passage.id == passage_id:
                return passage
        raise NotInLibrary(f"There is no passage {passage_id} now.", fix="Its document may have changed; search again.")

    def page_image(self, passage_id: str) -> bytes:
        """Paint the page on which a PDF's passage starts, with the passage boxed, as PNG; SourceError if that fails."""
        from pincite.acquire.readers.pdf_boxes import page_image

        passage = self.passage(passage_id)
        return page_image(self.document(passage.uri, passage.version), passage.start, passage.end)

    def stats(self) -> Stats:
        """Count documents, passages and vectors."""
        return self.store.stats()

    # --- the end

    def close(self) -> None:
        """Close the library; what was acknowledged is on disk already."""
        self.store.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
