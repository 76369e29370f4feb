"""Text first, vectors behind it; readers at work ahead of it; nothing lost when it is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import pincite
from pincite import writing
from pincite.access import Principal
from pincite.build import ahead, commit
from pincite.build.outdated import newer_readers
from pincite.errors import DiskFull, ModelError
from pincite.models import lazy
from pincite.reports import Pace
from tests.fakes import HashEncoder


class SlowEncoder(HashEncoder):
    """Encodes only when it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = threading.Event()
        self.error: Exception | None = None

    def encode(self, texts):
        assert self.allowed.wait(30)
        if self.error:
            raise self.error
        return super().encode(texts)


@pytest.fixture
def encoder() -> SlowEncoder:
    return SlowEncoder()


@pytest.fixture
def library(tmp_path: Path, encoder: SlowEncoder, monkeypatch) -> Iterator[pincite.Library]:
    monkeypatch.setattr(commit, "_BATCH_PASSAGES", 4)
    with pincite.open(tmp_path / "t.pincite", encoder=encoder, generator="none") as opened:
        yield opened
        encoder.allowed.set()


def folder(path: Path, count: int) -> Path:
    path.mkdir()
    for number in range(count):
        (path / f"{number:03d}.txt").write_text(f"Document {number} says unique{number}.")
    return path


def test_keyword_search_finds_what_has_no_vector_yet_and_says_so(library, encoder, tmp_path):
    adding = library.adding(folder(tmp_path / "docs", 12))
    first = next(adding)
    assert first.status == "indexed" and first.embedded == 1 and encoder.encoded == 0
    found = library.search("unique0", mode="keyword", refresh=False)
    assert [hit.passage.uri for hit in found.hits] == [first.uri] and found.stale == ()
    encoder.allowed.set()  # the question is embedded too
    assert len(list(adding)) == 11
    assert encoder.encoded == 12
    assert library.search("unique7", refresh=False).stale == ()


def test_a_search_beside_it_says_that_vectors_are_missing(library, encoder, tmp_path):
    adding = library.adding(folder(tmp_path / "docs", 12))
    next(adding)
    with pincite.open(library.path, encoder=HashEncoder(), generator="none") as other:
        found = other.search("unique0", refresh=False)
        assert len(found.stale) == 1 and "4 of 4 passages have no vector" in found.stale[0].reason
        assert found.hits
    encoder.allowed.set()
    list(adding)


def test_what_was_interrupted_is_embedded_by_the_next_add(library, encoder, tmp_path):
    docs = folder(tmp_path / "docs", 12)
    adding = library.adding(docs)
    next(adding)
    threading.Timer(0.2, encoder.allowed.set).start()
    adding.close()
    assert library.stats().passages == 4
    assert len(library.store.unembedded(encoder.fingerprint, 100)) <= 4
    library.add(docs)
    assert library.stats().passages == 12 and library.store.unembedded(encoder.fingerprint, 1) == []
    assert encoder.encoded == 12  # each once


def test_an_add_that_changes_nothing_finds_what_lacks_a_vector(library, encoder, tmp_path, monkeypatch):
    docs = folder(tmp_path / "docs", 8)
    monkeypatch.setattr(commit.Follower, "_run", lambda self: None)  # as if killed
    list(library.adding(docs)) if encoder.allowed.set() is None else None
    assert library.store.unembedded(encoder.fingerprint, 1) == []
    assert encoder.encoded == 8


def test_a_single_batch_is_committed_with_its_vectors(library, encoder, tmp_path):
    encoder.allowed.set()
    reports = library.adding(folder(tmp_path / "docs", 3))
    assert next(reports).embedded == 1
    assert library.store.unembedded(encoder.fingerprint, 1) == []
    list(reports)


def test_an_encoder_that_fails_is_told_and_the_text_stays(library, encoder, tmp_path):
    encoder.error = ModelError("It broke.", fix="Mend it.")
    encoder.allowed.set()
    with pytest.raises(ModelError, match="broke"):
        library.add(folder(tmp_path / "docs", 12))
    assert library.search("unique0", mode="keyword", refresh=False).hits


def test_the_pace_is_told(library, encoder, tmp_path):
    encoder.allowed.set()
    seen: list[tuple[int, int, int, int]] = []

    def tell(pace: Pace) -> None:
        seen.append((pace.files, pace.files_found, pace.embedded, pace.to_embed))

    list(library.adding(folder(tmp_path / "docs", 9), tell=tell))
    assert [files for files, *_ in seen] == sorted(files for files, *_ in seen)
    assert seen[0][:2] == (1, 9) and max(seen)[:2] == (9, 9)


def test_several_documents_are_read_at_a_time_in_order(library, encoder, tmp_path, monkeypatch):
    encoder.allowed.set()
    together = threading.Barrier(2, timeout=30)  # passed only if two are read at once

    def read(source, data, **_):
        together.wait()
        return pincite.types.Reading(data.decode(), "t")

    monkeypatch.setattr(ahead, "read", read)
    monkeypatch.setattr(ahead, "_READERS", 2)
    monkeypatch.setattr(ahead, "is_read_in_child", lambda *_: True)
    reports = library.add(folder(tmp_path / "docs", 6)).sources
    assert [report.uri for report in reports] == sorted(report.uri for report in reports)
    assert {report.status for report in reports} == {"indexed"}


def test_what_an_older_reader_read_is_read_again_once(library, encoder, tmp_path, monkeypatch):
    from tests.build.test_sync import settle

    encoder.allowed.set()
    docs = folder(tmp_path / "docs", 2)
    settle(docs / "001.txt")
    library.add(docs)
    assert newer_readers(library.store, {}, keep=False).keys() >= {"application/pdf"}
    assert {source.status for source in library.add(docs).sources} == {"unchanged"}
    monkeypatch.setattr("pincite.build.outdated.REVISIONS", {"text/plain": 2})
    assert {source.status for source in library.refresh().sources} == {"unchanged"}  # a search does not wait for it
    again = library.add(docs).sources
    assert [(source.status, source.version, source.embedded) for source in again] == [("updated", 1, 0)] * 2
    assert {source.status for source in library.add(docs).sources} == {"unchanged"}


def test_which_texts_share_a_batch_depends_on_their_order_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(commit, "_BATCH_PASSAGES", 3)
    monkeypatch.setattr(commit, "_EMBEDDED_TOGETHER", 5)
    docs = folder(tmp_path / "docs", 33)
    for number in (4, 9, 20):
        (docs / f"{number:03d}.txt").write_text("The same in several.")
    seen: list[list[list[str]]] = []
    for pause in (0.0, 0.02, 0.2):
        batches: list[list[str]] = []

        class Recorder(HashEncoder):
            def encode(self, texts, batches=batches, pause=pause):
                threading.Event().wait(pause)
                batches.append(list(texts))
                return super().encode(texts)

        with pincite.open(tmp_path / f"{pause}.pincite", encoder=Recorder(), generator="none") as library:
            library.add(docs)
        seen.append(batches)
    assert seen[0] == seen[1] == seen[2]
    assert sum(map(len, seen[0])) == 31


def left_over(tmp_path: Path, count: int) -> Path:
    """Make a library in which no passage has a vector of the encoder "later"."""
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator="none") as opened:
        opened.add(folder(tmp_path / "docs", count))
    return tmp_path / "t.pincite"


class Later(SlowEncoder):
    """Another vector space."""

    def __init__(self) -> None:
        super().__init__()
        self.fingerprint = "later"


def test_a_search_embeds_the_little_that_an_interrupted_add_has_left(tmp_path, encoder):
    path, later = left_over(tmp_path, 5), Later()
    later.allowed.set()
    with pincite.open(path, encoder=later, generator="none") as opened:
        assert opened.search("unique3", refresh=False).stale
        assert opened.search("unique3").stale == ()
        assert opened.store.unembedded("later", 1) == [] and later.encoded == 5 + 2


def test_an_add_that_changes_nothing_embeds_all_for_another_encoder(tmp_path, encoder_folder):
    docs, other = folder(tmp_path / "docs", 3), tmp_path / "other"
    other.symlink_to(encoder_folder)
    for name in (encoder_folder, other):
        with pincite.open(tmp_path / "l.pincite", encoder=str(name), generator="none") as opened:
            opened.add(docs)
            assert opened.search("unique2", refresh=False).stale == ()
        with pincite.open(tmp_path / "l.pincite", encoder=str(name), generator="none") as again:
            again.add(docs)
            assert "encoder" not in again.models.loaded, "nothing is missing, and no model has to be loaded to see it"


def test_a_search_takes_changes_in_before_the_encoder_is_there(tmp_path, encoder_folder, monkeypatch):
    docs, loading = folder(tmp_path / "docs", 3), threading.Event()
    with pincite.open(tmp_path / "l.pincite", encoder=str(encoder_folder), generator="none") as opened:
        opened.add(docs)
    load = lazy.load_encoder
    monkeypatch.setattr(lazy, "load_encoder", lambda *given, **how: loading.wait(10) and load(*given, **how))
    with pincite.open(tmp_path / "l.pincite", encoder=str(encoder_folder), generator="none") as opened:
        opened.models.begin("encoder")
        opened.refresh()
        assert "encoder" not in opened.models.loaded
        loading.set()
        assert opened.search("unique2").hits


def test_more_of_it_is_left_to_the_next_add(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_EMBEDDED_AT_ONCE", 4)
    path, later = left_over(tmp_path, 5), Later()
    later.allowed.set()
    with pincite.open(path, encoder=later, generator="none") as opened:
        [stale] = opened.search("unique3").stale
        assert "About 5 of 5 passages have no vector" in stale.reason and "pincite add" in stale.fix
        opened.add(tmp_path / "docs")
        assert opened.search("unique3").stale == ()


def test_where_the_process_stays_more_of_it_is_embedded_beside_the_searches(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_EMBEDDED_AT_ONCE", 4)
    path, later = left_over(tmp_path, 5), Later()
    with pincite.open(path, encoder=later, generator="none") as opened:
        opened.patience = 30.0
        opened.refresh()  # comes back though the encoder does not
        opened.refresh()
        later.allowed.set()
        for _ in range(300):
            if not opened.store.unembedded("later", 1):
                break
            threading.Event().wait(0.1)
        assert opened.store.unembedded("later", 1) == [] and later.encoded == 5, "each once"
        assert opened.search("unique3").stale == ()


def test_closing_ends_what_is_embedded_beside(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_EMBEDDED_AT_ONCE", 4)
    monkeypatch.setattr(commit, "_EMBEDDED_TOGETHER", 2)
    path, later = left_over(tmp_path, 9), Later()
    with pincite.open(path, encoder=later, generator="none") as opened:
        opened.patience = 30.0
        opened.refresh()
        threading.Timer(0.2, later.allowed.set).start()
    assert later.encoded == 2, "the batch at hand, and no more"


def test_what_another_process_embeds_is_left_to_it(tmp_path, monkeypatch):
    """Another ``add`` holds the job: a search does not wait for it, and who stays waits until it is over, or dead."""
    monkeypatch.setattr(writing, "_EMBEDDED_AT_ONCE", 4)
    for documents in (3, 5):  # to embed at once, and beside the searches
        (tmp_path / str(documents)).mkdir()
        path, later = left_over(tmp_path / str(documents), documents), Later()
        later.allowed.set()
        with (
            pincite.open(path, encoder=HashEncoder(), generator="none") as another,
            pincite.open(path, encoder=later, generator="none") as opened,
        ):
            opened.patience = 30.0
            with another.store.claimed("embedding") as held:
                assert held
                opened.models.begin("encoder")
                for _ in range(3):
                    [stale] = opened.search("unique1").stale
                    assert f"About {documents} of {documents} passages" in stale.reason and "being made" in stale.fix
                    opened.refresh()
                assert later.encoded == 3, "the questions alone"
            for _ in range(300):
                opened.refresh()
                if not opened.store.unembedded("later", 1):
                    break
                threading.Event().wait(0.1)
            assert later.encoded == 3 + documents and opened.search("unique1").stale == ()


def test_where_vectors_cannot_be_kept_a_search_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_EMBEDDED_AT_ONCE", 4)
    path, later = left_over(tmp_path, 5), Later()
    later.allowed.set()
    with pincite.open(path, encoder=later, generator="none") as opened:
        opened.patience = 30.0

        def full(*_: object) -> int:
            raise DiskFull("The disk is full.", fix="Make room.")

        monkeypatch.setattr(opened.store, "put_vectors", full)
        opened.refresh()
        while not opened._follower.ended:
            threading.Event().wait(0.01)
        [stale] = opened.search("unique1", mode="vector").stale
        assert "About 5 of 5 passages" in stale.reason
        assert stale.fix == "They could not be made: The disk is full. Make room."
        encoded = later.encoded
        opened.refresh()
        assert later.encoded == encoded, "it is not tried again at once"
        [told] = opened.seen_by(Principal("r")).search("unique1", mode="vector").stale
        assert "disk" not in told.fix
