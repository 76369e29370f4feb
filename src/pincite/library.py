"""The facade: it wires the stages and holds no algorithm."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from pincite.acquire.read import uri_of
from pincite.build.roots import Paths, paths_of, within
from pincite.errors import EmptyQuestion, LibraryError, ModelError
from pincite.find.followup import FollowUp, understand
from pincite.find.search import search
from pincite.holdings import Holdings
from pincite.models.protocols import Encoder
from pincite.settings import Settings, changed
from pincite.stop import check_stop
from pincite.store.filters import Filter
from pincite.types import (
    Answer,
    DoneEvent,
    Event,
    Finding,
    Hit,
    Mode,
    Passage,
    SearchResult,
    Stage,
    StaleSource,
    Trace,
    Turn,
)

if TYPE_CHECKING:
    from pincite.find.search import Ranking
    from pincite.ground.check import Checked
    from pincite.measure.ceiling import Asked
    from pincite.reports import Why


class Library(Holdings):
    """Documents, and answers from them. Use it in a ``with`` statement, or close it."""

    def search(
        self,
        question: str,
        *,
        limit: int | None = None,
        mode: str | None = None,
        where: Filter | None = None,
        paths: Paths | None = None,
        refresh: bool = True,
        history: Sequence[Turn] = (),
    ) -> SearchResult:
        """Find the passages that bear on a question, in the newest state of the documents.

        Args:
            question: any text.
            limit: how many passages; None takes the setting.
            mode: "hybrid", "vector" or "keyword"; None takes the setting.
            where: which documents may be found.
            paths: bring only these up to date, and find only in them.
            refresh: look for changes on disk first.
            history: the conversation before, oldest turn first; the trace says what is taken from it.

        Returns:
            The hits, best first, what is stale, and what each stage took.

        Raises:
            EmptyQuestion: the question holds no text.
            FilterError: the filter is malformed.
        """
        check_stop()
        if not question.strip():
            raise EmptyQuestion("The question is empty.", fix="Ask something.")
        settings = changed(self.settings, mode=mode, limit=limit)
        if settings.mode != "keyword":
            self.models.begin("encoder")
        behind, refreshed = self._refreshed(paths) if refresh else ((), ())
        encoder = None if settings.mode == "keyword" else self.models.encoder()
        form = understand(question, history, self.store.stats().languages)
        hits, trace = self._found(form, settings, encoder, _within(paths, where))
        stale = (*behind, *self._unembedded(encoder), *self._stale())
        stages = (*refreshed, *form.stages, *trace.stages)
        return SearchResult(question, cast(Mode, settings.mode), hits, stale, Trace(stages), form.whole)

    def _found(
        self, form: FollowUp, settings: Settings, encoder: Encoder | None, where: Filter | None
    ) -> tuple[tuple[Hit, ...], Trace]:
        """Search as the settings say."""
        return search(
            form.question,
            store=self.store,
            encoder=encoder,
            mode=cast(Mode, settings.mode),
            limit=settings.limit,
            candidates=settings.candidates,
            where=where,
            reranker=self.models.reranker(),
            rerank_seconds=settings.rerank_seconds,
            past=form.past,
        )

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
        policy: str | None = None,
        mode: str | None = None,
        where: Filter | None = None,
        paths: Paths | None = None,
        refresh: bool = True,
        history: Sequence[Turn] = (),
        answer_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> Iterator[Event]:
        """Answer a question, event by event; the last one is a DoneEvent with the whole answer.

        Args:
            question: any text.
            extract: answer with quotes only, without a generator.
            policy: "flag" marks unsupported claims, "drop" leaves them out, "strict" answers with quotes alone if
                there is any; None takes the setting.
            mode: as in ``search``.
            where: as in ``search``.
            paths: as in ``search``.
            refresh: as in ``search``.
            history: as in ``search``; ``Answer.turn`` gives what to keep of an answer.
            answer_tokens: of the draft, at most; None takes the setting.
            temperature: of the draft; None takes the setting.
            seed: where chance starts; None takes the setting.

        Yields:
            The events of ``answer_events``.
        """
        how = {"policy": policy, "answer_tokens": answer_tokens, "temperature": temperature, "seed": seed}
        settings = changed(self.settings, **how)
        if not extract and question.strip():
            self.models.begin("generator")
        found = self.search(question, mode=mode, where=where, paths=paths, refresh=refresh, history=history)
        yield from self._answered(found, None if extract else self.models.generator, settings)

    def _answered(self, found: SearchResult, generator: Any, settings: Settings) -> Iterator[Event]:
        """Answer a question from what was found."""
        from pincite.ground.answer import answer_events

        for event in answer_events(
            found.question,
            found.hits,
            whole=found.whole,
            generator=generator,  # loaded only if the evidence is sufficient
            encoder=None if found.mode == "keyword" else self.models.encoder(),
            text_of=lambda passage: self.store.document(passage.uri, passage.version).text,
            evidence_tokens=settings.evidence_tokens,
            answer_tokens=settings.answer_tokens,
            answer_seconds=settings.answer_seconds,
            policy=settings.policy,
            strictness=settings.strictness,
            temperature=settings.temperature,
            seed=settings.seed,
            languages=self.store.stats().languages,
            verifier=self.models.verifier,  # loaded only if there is a draft
        ):
            check_stop()
            if isinstance(event, DoneEvent):
                stages = (*found.trace.stages, *event.answer.trace.stages)
                event = DoneEvent(replace(event.answer, stale=found.stale, trace=Trace(stages)))
            yield event

    def asked(
        self,
        question: str,
        *,
        extract: bool = True,
        limit: int | None = None,
        mode: str | None = None,
        where: Filter | None = None,
        paths: Paths | None = None,
        refresh: bool = True,
        history: Sequence[Turn] = (),
    ) -> Asked:
        """Ask, and keep what each stage had: for ``why`` and the ceiling report. The options are theirs."""
        from pincite.find.explain import Searched
        from pincite.find.search import rank
        from pincite.measure.ceiling import Asked

        how = {"limit": limit, "mode": mode, "where": where, "paths": paths, "refresh": refresh, "history": history}
        found = self.search(question, **how)  # type: ignore[arg-type]
        past = understand(question, history, self.store.stats().languages).past
        *_, last = self._answered(found, None if extract else self.models.generator, self.settings)
        if not isinstance(last, DoneEvent):
            raise AssertionError("the stream ended without its last event")
        limit_now, encoder = self.settings.limit if limit is None else limit, None
        if found.mode != "keyword":
            encoder = self.models.encoder()
        allowed = _within(paths, where)

        def again(candidates: int) -> Ranking:
            return rank(
                question,
                store=self.store,
                encoder=encoder,
                mode=found.mode,
                candidates=max(candidates, limit_now),
                where=allowed,
                past=past,
            )

        candidates = max(self.settings.candidates, limit_now)
        return Asked(Searched(question, found.mode, found.hits, limit_now, candidates, allowed, again), last.answer)

    def why(self, question: str, target: str | Path, *, quote: str = "", **options: Any) -> Why:
        """Say why a question did, or did not, find a document or words in it, and get them into the answer.

        Args:
            question: any text.
            target: a URI, a document's id, or a path; it need not be in the library.
            quote: words of the document; "" means any of its passages.
            **options: extract (default True: answer with quotes alone), and limit, mode, where, paths, refresh, history
                as in ``search``.

        Returns:
            The first stage at which it was lost, or "answered"; with reason, fix, and places in each list.
        """
        from pincite.find.held import Target
        from pincite.measure.ceiling import why

        asked = self.asked(question, **options)
        return replace(why(Target(self.uri(target), quote), asked, self.store), stale=asked.answer.stale)

    def terms(self, question: str, passage: Passage) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Tell which terms of a question a passage has, and which it lacks, as keyword search sees them."""
        from pincite.find.explain import terms_of

        return terms_of(question, passage, self.store)

    def check(
        self, text: str, *, mode: str | None = None, where: Filter | None = None, refresh: bool = True
    ) -> Checked:
        """Check each sentence of any text against the documents; the options are those of ``search``."""
        from pincite.ground.check import check_text

        behind = self._caught_up(None) if refresh else ()
        keyword = changed(self.settings, mode=mode).mode == "keyword"
        checked = check_text(
            text,
            lambda sentence: self.search(sentence, mode=mode, where=where, refresh=False).hits,
            encoder=None if keyword else self.models.encoder(),
            text_of=lambda passage: self.store.document(passage.uri, passage.version).text,
            languages=self.store.stats().languages,
            verifier=self.models.verifier(),
        )
        stale = tuple(Finding("stale", source.reason, source.fix) for source in (*behind, *self._stale()))
        return replace(checked, findings=(*checked.findings, *stale))

    def _refreshed(self, paths: Paths | None) -> tuple[tuple[StaleSource, ...], tuple[Stage, ...]]:
        """Refresh, and take the time."""
        started = time.perf_counter()
        behind = self._caught_up(paths)
        return behind, (Stage("refresh", time.perf_counter() - started),)

    def _caught_up(self, paths: Paths | None) -> tuple[StaleSource, ...]:
        """Refresh; what cannot be written or embedded now does not stop a search, which then says that it is behind."""
        try:
            if paths is not None or self.patience is None:
                self.refresh(paths)
            elif age := self._fresh.wait(self.patience):
                reason = "Changes on disk are still being taken in; what was there before was searched."
                if age < math.inf:
                    reason = f"Of changes on disk in the last {age:.1f} seconds, some may not be in yet."
                return (StaleSource(uri_of(self.path), 0, reason, "Ask again in a moment."),)
        except (LibraryError, ModelError) as error:
            told = error if self.principal.grants is None else "ask whose library it is."  # it may name any document
            reason = f"Changes on disk were not taken in: {told}"
            fix = error.fix if self.principal.grants is None else ""
            return (StaleSource(uri_of(self.path), 0, reason, fix),)
        return ()

    def _unembedded(self, encoder: Encoder | None) -> tuple[StaleSource, ...]:
        """Say so when vector search cannot see some passages, as after a change of encoder."""
        if encoder is None or not self.store.unembedded(encoder.fingerprint, 1):
            return ()
        stats = self.store.stats()
        done = min(stats.spaces.get(encoder.fingerprint, 0), stats.passages - 1)
        reason = (
            f"About {stats.passages - done:,} of {stats.passages:,} passages have no vector of {encoder.name} yet, "
            "so only keyword search finds them."
        )
        fix, follower = "Let `pincite add` end, or run it again on any path.", self._follower
        if self.patience is not None:
            fix = "They are being made; ask again in a while."
        failure = None if follower is None else follower.failure
        if failure is not None:
            told = str(failure) if self.principal.grants is None else "ask whose library it is."
            fix = f"They could not be made: {told} {getattr(failure, 'fix', '')}".rstrip()
        return (StaleSource(uri_of(self.path), 0, reason, fix),)

    def _stale(self) -> tuple[StaleSource, ...]:
        """List what is searched in a version that may not be the newest."""
        return tuple(StaleSource(r.source.uri, r.version, r.reason, r.fix) for r in self.store.failed() if r.version)

    # --- the end

    def close(self) -> None:
        """Close the library; what was acknowledged is on disk already. A view of ``seen_by`` leaves it open."""
        if self._is_view:
            return
        self._fresh.close()
        if self._follower is not None:
            self._follower.stop()
        self.store.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _within(paths: Paths | None, where: Filter | None) -> Filter | None:
    """Restrict a filter to some paths, if there are any."""
    return where if paths is None else within(paths_of(paths), where)
