"""The vector index: approximate search over codes, exact scores from the truth."""

from __future__ import annotations

import hashlib
import threading
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import numpy as np

from pincite.disk import TEMPORARY, write_whole
from pincite.errors import LibraryBusy, LibraryDamaged, SpaceMismatch
from pincite.reports import Check
from pincite.store.derived.codes import CodeIndex, usable
from pincite.store.derived.exact import ExactIndex, Keys, Vectors, best, dot, held
from pincite.store.derived.stamp import Stamp, checksum, locked, read_stamp, sweep
from pincite.store.derived.truth import Truth
from pincite.types import Candidate

KIND = "vectors 1"
EXACT_ROWS = 4096  # up to here exact search over float vectors in memory costs 1.7 CPU ms, and nothing from the truth
EXACT_ALLOWED = 1024  # an allow-list up to here is scored from the truth, without the index
CANDIDATES = 100  # re-scored at least; real MiniLM vectors: recall@50 1.0
FACTOR = 3  # re-scored for each one asked for
FILTERED = 2  # times as many under a filter: it may correlate with the query
SAFE = 0.9  # a result found in the last tenth of the candidates means that more may lie beyond
BATCH = 4096  # rows read from the truth at once: 6 MB at 384 dimensions
SAVE_SHARE = 50  # save writes the whole file, so it waits until one row in this many has changed
LOCK_SECONDS = 10.0

Engine = ExactIndex | CodeIndex


class VectorIndex:
    """Passages of one vector space by cosine. All methods may be called from several threads.

    Every search first applies what changed in the truth, by whichever process. The file is only a quicker start:
    it is never needed, and made anew when it does not match its stamp.
    """

    def __init__(self, folder: Path, truth: Truth, *, fingerprint: str, dimension: int, readonly: bool = False) -> None:
        """Open the file in the folder, or make the index from the truth; ``readonly`` writes nothing."""
        name = hashlib.blake2b(fingerprint.encode(), digest_size=8).hexdigest()
        self._path = folder / f"vectors-{name}.index"
        self._truth, self._fingerprint, self._dimension, self._readonly = truth, fingerprint, dimension, readonly
        self._lock = threading.RLock()
        self._engine: Engine = ExactIndex(dimension)
        self._sequence = 0
        self._unsaved = 0  # rows changed since the file was written
        self.rebuilt = ""  # why the index was made anew, if it was
        self.problem = ""  # why it could not be saved, if so
        try:
            self._load()
        except FileNotFoundError:
            self._rebuild("there was no index file")
        except (LibraryDamaged, OSError, ValueError) as error:
            self._rebuild(str(error))

    def search(self, vector: Vectors, limit: int, allow: Keys | None = None) -> list[Candidate]:
        """Find the passages nearest to a vector.

        Args:
            vector: unit length, shape (dimension,).
            limit: how many to give.
            allow: keys of the passages that may be given, in any order; None: all.

        Returns:
            At most ``limit`` candidates by (-score, key); the score is the exact cosine, rounded to 7 decimals.

        Raises:
            SpaceMismatch: the vector is not of this space.
        """
        if vector.shape != (self._dimension,) or not np.isfinite(vector).all():
            self._refuse(vector)
        engine = self._current()
        if limit <= 0 or (allow is not None and len(allow) == 0):
            return []
        if isinstance(engine, ExactIndex):
            return engine.search(vector, limit, allow)
        if allow is not None:
            allow = held(engine.keys, allow)
            if len(allow) <= max(EXACT_ALLOWED, limit):
                return self._score(vector, allow, limit)
        return self._search_codes(engine, vector, limit, allow)

    def save(self) -> None:
        """Write the file if enough has changed to be worth it; a file that cannot be written is no error."""
        with self._lock:
            self._current()
            if self._readonly or self._unsaved * SAVE_SHARE < max(1, len(self._engine.keys)):
                return
            try:
                self._write()
                self.problem, self._unsaved = "", 0
            except (LibraryBusy, OSError) as error:
                self.problem = f"could not be saved: {error}"

    def check(self) -> Check:
        """Compare the file with its checksum, and the index's keys with the truth's."""
        engine = self._current()
        wanted = self._truth.vector_changes(0, self._fingerprint).added
        ok = np.array_equal(engine.keys, wanted)
        detail = f"{len(engine.keys)} of {len(wanted)} vectors, {engine.name}"
        for note in (f"made anew: {self.rebuilt}" if self.rebuilt else "", self.problem):
            detail += f"; {note}" if note else ""
        try:
            self._read_file()
        except FileNotFoundError:
            detail += "; not on disk yet"
        except (LibraryDamaged, OSError, ValueError) as error:
            ok, detail = False, f"{detail}; {error}"
        return Check("vector index", bool(ok), detail, "" if ok else "Rebuild the library's indexes.")

    def rebuild(self) -> None:
        """Make the index anew from the truth, and its file."""
        with self._lock:
            self._rebuild("on demand")
            self.save()

    def close(self) -> None:
        """Let go of the memory. Calling it twice is harmless."""
        with self._lock:
            self._engine, self._sequence, self._unsaved = ExactIndex(self._dimension), 0, 0

    def _refuse(self, vector: Vectors) -> NoReturn:
        raise SpaceMismatch(
            f"The query vector has shape {vector.shape}, or holds numbers that are not finite; "
            f"this library needs {self._dimension} finite numbers.",
            fix="Search with the encoder that embedded the library, or embed it again with this one.",
        )

    # --- searching

    def _search_codes(self, engine: CodeIndex, vector: Vectors, limit: int, allow: Keys | None) -> list[Candidate]:
        """Re-score enough candidates: more when a result lies so far down that a better one may be beyond."""
        width = max(CANDIDATES, FACTOR * limit) * (1 if allow is None else FILTERED)
        while True:
            try:
                found, rough = engine.search(vector, width, allow)
            except KeyError:  # an allowed passage was removed while we searched
                return self.search(vector, limit, allow)
            ranked = self._score(vector, np.sort(found), limit)
            if len(found) < width or not ranked:
                return ranked
            safe = rough[int(SAFE * width)]
            results = np.isin(found, np.fromiter((candidate.key for candidate in ranked), np.int64, len(ranked)))
            if rough[results].min() > safe:
                return ranked
            width *= 4

    def _score(self, vector: Vectors, keys: Keys, limit: int) -> list[Candidate]:
        keys, vectors = self._truth.vectors(keys, self._fingerprint)
        return best(keys, dot(vectors, vector), limit)

    # --- keeping up with the truth

    def _current(self) -> Engine:
        if self._truth.sequence() != self._sequence:
            with self._lock:
                self._catch_up()
        return self._engine

    def _catch_up(self) -> None:
        """Apply what changed. Applying it twice is harmless, so an interruption is too."""
        changes = self._truth.vector_changes(self._sequence, self._fingerprint)
        self._engine.remove(changes.removed)
        for start in range(0, len(changes.added), BATCH):
            self._add(*self._truth.vectors(changes.added[start : start + BATCH], self._fingerprint))
        self._unsaved += len(changes.added) + len(changes.removed)
        self._sequence = max(self._sequence, changes.sequence)

    def _add(self, keys: Keys, vectors: Vectors) -> None:
        """Add rows, going over to codes when there are many."""
        self._engine.add(keys, vectors)
        if isinstance(self._engine, ExactIndex) and len(self._engine.keys) > EXACT_ROWS and usable(self._dimension):
            codes = CodeIndex(self._dimension)
            codes.add(self._engine.keys, self._engine.vectors)
            self._engine = codes

    def _rebuild(self, reason: str) -> None:
        self._engine = engine = ExactIndex(self._dimension)
        sequence = self._truth.sequence()  # before the rows: what comes between is applied again
        batches = self._truth.vector_batches(self._fingerprint)
        if usable(self._dimension):
            for keys, vectors in batches:
                self._add(keys, vectors)
        else:
            engine.extend(batches)
        self._sequence, self._unsaved, self.rebuilt = sequence, len(self._engine.keys) + 1, reason

    # --- the file: a stamp, the keys, the engine's bytes

    def _write(self) -> None:
        folder, keys = self._path.parent, self._engine.keys.astype("<i8").tobytes()
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / "vectors.lock", LOCK_SECONDS):
            sweep(self._path)
            with TemporaryDirectory(prefix=f"{self._path.name}.", suffix=TEMPORARY, dir=folder) as scratch:
                data = Path(scratch) / "data"
                self._engine.dump(data)
                detail: dict[str, str | int | bool] = {
                    "engine": self._engine.name,
                    "keys": len(keys),
                    "data": data.stat().st_size,
                    "crc": checksum(data, value=zlib.crc32(keys)),
                }
                stamp = Stamp(KIND, self._truth.identity, self._fingerprint, self._sequence, detail)
                write_whole(self._path, stamp.encode(), keys, data)

    def _load(self) -> None:
        stamp, keys, data = self._read_file()
        stamp.expect(KIND, self._truth.identity, self._fingerprint)
        if stamp.sequence > self._truth.sequence():
            raise LibraryDamaged("The index is newer than the library.")
        if stamp.detail["engine"] == ExactIndex.name:
            self._engine = ExactIndex.from_bytes(keys + data, self._dimension)
        elif stamp.detail["engine"] == CodeIndex.name and usable(self._dimension):
            self._engine = CodeIndex.from_bytes(keys, data)
        else:
            raise LibraryDamaged(f"The index needs {stamp.detail['engine']}, which is not here.")
        self._sequence, self._unsaved = stamp.sequence, 0

    def _read_file(self) -> tuple[Stamp, bytes, bytes]:
        with self._path.open("rb") as stream:
            stamp = read_stamp(stream)
            sizes = [stamp.detail.get(name, 0) for name in ("keys", "data")]
            keys, data = (stream.read(int(size)) for size in sizes)
            whole = [len(keys), len(data)] == sizes and not stream.read(1)
        if not whole or zlib.crc32(data, zlib.crc32(keys)) != stamp.detail.get("crc"):
            raise LibraryDamaged("The index file does not match its checksum.")
        return stamp, keys, data
