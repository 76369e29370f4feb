"""The keyword index: BM25 over analysed terms, kept level with the truth."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pincite.disk import write_whole
from pincite.errors import LibraryBusy, LibraryDamaged
from pincite.reports import Check
from pincite.store.derived.beside import Analysed, Analyze, Row, Statistics, analysed, score, statistics_of, token
from pincite.store.derived.segments import Segments, contents, files, verify
from pincite.store.derived.shown import Postings, search_shown
from pincite.store.derived.stamp import Stamp, load_stamp, locked, sweep
from pincite.store.derived.truth import Truth
from pincite.store.protocol import Changes
from pincite.types import Candidate

KIND = "keywords 2"
PREFIX = "keywords"
BESIDE = 64  # passages scored beside the index; more are worth a commit (16 fsyncs)
SHARE = 4  # but never more than one in this many: their scores rest on the index's statistics
KEPT = 4096  # analysed passages held in memory; those beyond are analysed for each query
BATCH = 1024  # passages read from the truth at once
STALE = 1000  # removals before the index is made anew, if more were removed than are left: they spoil the statistics
BRIEF_SECONDS = 0.5  # a search waits so long for the lock, then scores beside
LOCK_SECONDS = 10.0
OPEN_TRIES = 4  # a writer may replace files while we open them

Keys = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _State:
    """An index that was opened, with the stamp it was opened by."""

    stamp: Stamp
    segments: Segments
    checked: frozenset[str]  # files whose checksum was right

    @property
    def removed(self) -> int:
        """How many passages were removed since it was made."""
        return int(self.stamp.detail["removed"])


@dataclass(frozen=True, slots=True)
class _Gap:
    """What the truth holds and the index does not, and the other way round."""

    sequence: int = -1  # of the truth
    added: tuple[Analysed, ...] = ()
    more: tuple[int, ...] = ()  # keys of further added passages
    skip: frozenset[int] = frozenset()  # keys that the index may not give: removed, or scored beside


class KeywordIndex:
    """Passages by BM25 (k1 1.2, b 0.75). All methods may be called from several threads.

    Every search first looks what changed in the truth, by whichever process. A few new passages are scored beside the
    index; many are indexed, by one process at a time. The files are only a quicker start: they are made anew when they
    do not match their stamp. Layout: ``keywords.stamp`` names the folder ``keywords-*`` that counts.
    """

    def __init__(self, folder: Path, truth: Truth, *, analyze: Analyze, analyzer: str, readonly: bool = False) -> None:
        """Open the files. They are made, or made anew, when the first search or ``save`` needs them.

        Args:
            folder: where derived files lie; made when missing. One that cannot be written is copied to a temporary one.
            truth: where the passages come from.
            analyze: (text, language) -> terms.
            analyzer: its fingerprint.
            readonly: leave the folder as it is and work in a copy, as if it could not be written.
        """
        self._truth, self._analyze, self._analyzer = truth, analyze, analyzer
        self._lock = threading.RLock()
        self._private: tempfile.TemporaryDirectory[str] | None = None
        self._home = self._settle(folder, readonly)
        self._stamp_path, self._lock_path = self._home / f"{PREFIX}.stamp", self._home / f"{PREFIX}.lock"
        self._state: _State | None = None
        self._gap = _Gap()
        self._postings = Postings(None)
        self.rebuilt = ""  # why the index was made anew, if it was
        self.problem = ""  # why it could not be written, if so
        self._adopt()

    def search(
        self, terms: Sequence[str], limit: int, documents: Keys | None = None, shown: Keys | None = None
    ) -> list[Candidate]:
        """Find the passages with the highest BM25 score for any of the terms.

        Args:
            terms: analysed as the passages were; one that is there n times counts n ** 0.75.
            limit: how many to give.
            documents: keys of the documents whose passages may be given, ascending; None: all.
            shown: keys of the documents that there are for the reader, ascending, among them the above: the statistics
                are theirs. None: all, with the statistics of the index, in which removed ones count for a while.

        Returns:
            At most ``limit`` candidates by (-score, key); scores have 5 significant digits.

        Raises:
            LibraryDamaged: the index fails even though it was made anew.
        """
        tokens = sorted(token(term) for term in terms if term)
        if not tokens or limit <= 0 or (documents is not None and len(documents) == 0):
            return []
        try:
            rows = self._search(tokens, limit, documents, shown)
        except LibraryDamaged as error:
            with self._lock:
                self._make_alone(str(error))
            rows = self._search(tokens, limit, documents, shown)
        rows.sort(key=lambda row: (-row[0], row[1]))
        return [Candidate(key, value) for value, key in rows[:limit]]

    def save(self) -> None:
        """Bring the files up to date; files that cannot be written are no error."""
        with self._lock:
            if self._private is None:
                self._write(LOCK_SECONDS)
                self._catch_up()

    def check(self) -> Check:
        """Compare the files with their checksums, and the index's keys with the truth's."""
        with self._lock:
            self._adopt()
            self._gap = _Gap()
            self._catch_up()
            state, gap = self._state, self._gap
            beside = [*(passage.key for passage in gap.added), *gap.more]
            notes = [f"made anew: {self.rebuilt}" if self.rebuilt else "", self.problem]
            ok = True
            keys: Keys = np.empty(0, np.int64)
            try:
                if state is not None:
                    self._verify(state.stamp, frozenset())  # first: a damaged file may make tantivy panic
                    keys = state.segments.columns(state.segments.searcher)[0]
                    if load_stamp(self._stamp_path) is None:
                        raise LibraryDamaged("The keyword index has lost its stamp.")
            except LibraryDamaged as error:
                ok = False
                notes.append(str(error))
        indexed = [key for key in keys.tolist() if key not in gap.skip]
        wanted = self._truth.passage_keys()
        ok = ok and sorted(indexed + beside) == wanted.tolist()
        detail = f"{len(indexed)} of {len(wanted)} passages, {len(beside)} beside"
        detail = "; ".join([detail, *filter(None, notes)])
        return Check("keyword index", ok, detail, "" if ok else "Rebuild the library's indexes.")

    def rebuild(self) -> None:
        """Make the index anew from the truth.

        Raises:
            LibraryBusy: another process keeps writing it.
            LibraryDamaged: it cannot be written.
        """
        with self._lock:
            self._make_alone("on demand")
            self._catch_up()

    def close(self) -> None:
        """Let go of files and memory. Calling it twice is harmless."""
        with self._lock:
            self._state, self._gap, self._postings = None, _Gap(), Postings(None)
            if self._private is not None:
                self._private.cleanup()

    # --- searching

    def _search(self, tokens: Sequence[str], limit: int, among: Keys | None, shown: Keys | None) -> list[Row]:
        if shown is not None:
            return self._search_shown(tokens, limit, shown if among is None else among, shown)
        documents: list[int] | None = None if among is None else np.asarray(among, np.int64).tolist()
        with self._lock:
            self._catch_up()
            state, gap = self._state, self._gap
            rows = self._score_beside(tokens, documents)
            if state is None:
                return rows
            searcher = state.segments.searcher
        return rows + state.segments.search(searcher, tokens, limit, documents, gap.skip)

    def _search_shown(self, tokens: Sequence[str], limit: int, documents: Keys, shown: Keys) -> list[Row]:
        with self._lock:
            self._catch_up()
            gap, segments = self._gap, None if self._state is None else self._state.segments
            if self._postings.searcher is not (None if segments is None else segments.searcher):
                self._postings = Postings(segments)
            postings = self._postings
            beside = [*gap.added, *(self._passages(np.array(gap.more, np.int64)) if gap.more else ())]
        return search_shown(postings, tokens, limit, shown=shown, documents=documents, beside=beside, skip=gap.skip)

    def _score_beside(self, tokens: Sequence[str], documents: list[int] | None) -> list[Row]:
        gap = self._gap
        if not gap.added:
            return []
        allowed = None if documents is None else frozenset(documents)
        statistics = self._statistics(sorted(set(tokens)))
        rows = score(gap.added, tokens, statistics, allowed)
        if gap.more:
            rows += score(self._passages(np.array(gap.more, np.int64)), tokens, statistics, allowed)
        return rows

    def _statistics(self, tokens: Sequence[str]) -> Statistics:
        """Take the index's numbers, so that scores compare; our own when it is too small to have any."""
        added = self._gap.added
        if self._state is not None and self._state.segments.count >= len(added):
            found = self._state.segments.statistics(tokens)
            if found is not None:
                return found
        return statistics_of(added)

    # --- keeping up with the truth

    def _catch_up(self) -> None:
        if self._truth.sequence() == self._gap.sequence:
            return
        self._adopt()  # another process may have indexed what is new
        changes = self._changes()
        if len(changes.added) + len(changes.removed) > self._allowance() and self._write(BRIEF_SECONDS):
            changes = self._changes()
        known = {passage.key: passage for passage in self._gap.added}
        kept = changes.added[:KEPT]
        new = np.array([key for key in kept.tolist() if key not in known], np.int64)
        known.update((passage.key, passage) for passage in self._passages(new))
        added = tuple(known[key] for key in kept.tolist() if key in known)
        more = tuple(changes.added[KEPT:].tolist())
        skip = frozenset(changes.added.tolist()) | frozenset(changes.removed.tolist())
        self._gap = _Gap(changes.sequence, added, more, skip if self._state is not None else frozenset())

    def _changes(self) -> Changes:
        if self._state is not None:
            return self._truth.changes(self._state.stamp.sequence)
        sequence = self._truth.sequence()  # before the keys: what comes between is seen again
        return Changes(sequence, self._truth.passage_keys(), np.empty(0, np.int64))

    def _allowance(self) -> int:
        """How many changes may stay beside the index."""
        count = self._state.segments.count if self._state is not None else 0
        return BESIDE if count == 0 else max(BESIDE // 8, min(BESIDE, count // SHARE))

    def _passages(self, keys: Keys) -> Iterator[Analysed]:
        for start in range(0, len(keys), BATCH):
            for passage in self._truth.searched(keys[start : start + BATCH]):
                yield analysed(passage, self._analyze)

    # --- the files

    def _settle(self, folder: Path, readonly: bool) -> Path:
        """Choose where to work: in the folder, or in a copy when it cannot be written."""
        if not readonly:
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                with (folder / f"{PREFIX}.lock").open("ab"):
                    return folder
        self._private = tempfile.TemporaryDirectory(prefix="pincite-")
        home = Path(self._private.name)
        for path in folder.glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):  # a copy that is not whole is found out by its checksums
                if path.is_dir():
                    shutil.copytree(path, home / path.name, dirs_exist_ok=True)
                else:
                    shutil.copyfile(path, home / path.name)
        return home

    def _adopt(self) -> None:
        """Open what the stamp on disk names, if that is not what we have; without a good one, have nothing."""
        for attempt in itertools.count(1):
            stamp = None
            try:
                stamp = load_stamp(self._stamp_path)
                if stamp is None and self._state is None:
                    self.rebuilt = self.rebuilt or "there was no index"
                elif stamp is not None and (self._state is None or stamp != self._state.stamp):
                    self._state = self._open(stamp)
                return
            except (LibraryDamaged, OSError) as error:
                busy = stamp is not None and (stamp.detail.get("writing") or self._changed(stamp))
                if attempt >= OPEN_TRIES or not busy:
                    self._state, self.rebuilt = None, str(error)
                    return
                time.sleep(0.02)

    def _reopen(self) -> None:
        self._state = None
        self._adopt()

    def _changed(self, stamp: Stamp) -> bool:
        try:
            return load_stamp(self._stamp_path) != stamp
        except (LibraryDamaged, OSError):
            return False

    def _open(self, stamp: Stamp) -> _State:
        stamp.expect(KIND, self._truth.identity, self._analyzer)
        if stamp.sequence > self._truth.sequence():
            raise LibraryDamaged("The keyword index is newer than the library.")
        folder = str(stamp.detail["folder"])
        same = self._state is not None and self._state.stamp.detail["folder"] == folder
        known = self._state.checked if self._state is not None and same else frozenset[str]()
        checked = self._verify(stamp, known)
        return _State(stamp, Segments(self._home / folder), checked)

    def _verify(self, stamp: Stamp, known: frozenset[str]) -> frozenset[str]:
        wanted = None if stamp.detail["writing"] else int(stamp.detail["contents"])
        return verify(self._home / str(stamp.detail["folder"]), wanted, known)

    def _write(self, seconds: float) -> bool:
        """Index all that is missing. False when another process is at it, or the disk does not take it."""
        try:
            with locked(self._lock_path, seconds):
                sweep(self._stamp_path)
                self._adopt()
                try:
                    self._update()
                except LibraryDamaged as error:
                    self._reopen()
                    if self._state is not None:  # the files are whole, so making them anew would not help
                        raise
                    self._make(str(error))
        except LibraryBusy:
            return False
        except (LibraryDamaged, OSError) as error:
            self._reopen()
            self.problem = f"could not be written: {error}"
            return False
        self.problem = ""
        return True

    def _update(self) -> None:
        state = self._state
        if state is None:
            self._make(self.rebuilt)
            return
        changes = self._truth.changes(state.stamp.sequence)
        removed = state.removed + len(changes.removed)
        settled = self._stamp_path.exists() and not state.stamp.detail["writing"]
        if len(changes.added) + len(changes.removed) == 0 and settled:
            return
        left = state.segments.count + len(changes.added) - len(changes.removed)  # the truth's own count takes long
        if removed > max(STALE, left):
            self._make("more passages were removed than are left")
            return
        writing = replace(state.stamp, detail={**state.stamp.detail, "writing": True})
        write_whole(self._stamp_path, writing.encode())
        stale = np.concatenate([changes.removed, changes.added])  # the added too: a killed writer may have got so far
        state.segments.write(self._passages(changes.added), stale.tolist())
        self._seal(state.segments, str(state.stamp.detail["folder"]), changes.sequence, removed)

    def _make_alone(self, reason: str) -> None:
        with locked(self._lock_path, LOCK_SECONDS):
            self._make(reason)

    def _make(self, reason: str) -> None:
        """Make a new folder, let the stamp name it. The caller holds the lock."""
        sequence = self._truth.sequence()  # before the keys: what comes between is applied again
        folder = self._home / f"{PREFIX}-{secrets.token_hex(8)}"
        folder.mkdir()
        try:
            segments = Segments(folder)
            segments.write(self._passages(self._truth.passage_keys()), ())
            self._seal(segments, folder.name, sequence, 0)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.rebuilt = reason

    def _seal(self, segments: Segments, folder: str, sequence: int, removed: int) -> None:
        """Write the stamp that makes the last commit count, and remove other folders."""
        detail: dict[str, str | int | bool] = {
            "folder": folder,
            "contents": contents(self._home / folder),
            "removed": removed,
            "writing": False,
        }
        stamp = Stamp(KIND, self._truth.identity, self._analyzer, sequence, detail)
        write_whole(self._stamp_path, stamp.encode())
        self._state, self._gap = _State(stamp, segments, files(self._home / folder)), _Gap()
        for other in self._home.glob(f"{PREFIX}-*"):  # replaced now, or left by a killed writer
            if other.name != folder:
                shutil.rmtree(other, ignore_errors=True)
