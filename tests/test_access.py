"""Who sees what: a reader cannot tell, by any method of the library, whether documents hidden from him exist."""

from __future__ import annotations

import random
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pincite
from pincite.access import OWNER, Principal, labels_of
from pincite.errors import AccessDenied, NotInLibrary, PathMissing, UsageError
from pincite.library import Library
from pincite.store.hashing import document_id
from pincite.types import Turn
from tests.access_worlds import WORDS, World, told, worlds
from tests.fakes import HashEncoder

CASES = 10_000
USERS = (
    Principal("open", "reader", frozenset()),
    Principal("hr", "editor", frozenset({"hr"})),
    Principal("both", "admin", frozenset({"board", "lab"})),
)
Call = Callable[[Library], Any]


def questions(rng: random.Random, world: World) -> str:
    """Ask with common words, and sometimes with those of one document, hidden or not."""
    words = rng.choices(WORDS, k=rng.randint(1, 5))
    if rng.random() < 0.4:
        words += rng.choice(world.made).text.split()[: rng.randint(1, 6)]
    if rng.random() < 0.2:
        words.append(rng.choice(world.made).canary)
    return " ".join(words)


def reading_calls(rng: random.Random, world: World) -> Iterator[tuple[str, Call]]:
    """Give calls of every method that reads, each of a document or question chosen at random."""
    made = rng.choice(world.made)
    name = rng.choice((made.uri, document_id(made.uri), made.uri.rpartition("/")[0]))
    passage = f"{document_id(made.uri)}@1:0-{rng.choice((len(made.text), 10))}"
    question, mode = questions(rng, world), rng.choice(("hybrid", "hybrid", "vector", "keyword"))
    past = [Turn(questions(rng, world), made.text)] if rng.random() < 0.3 else []
    limit, version = rng.choice((1, 3, 10)), rng.choice((1, 2))
    yield "search", lambda library: library.search(question, mode=mode, limit=limit, history=past)
    yield "document", lambda library: library.document(name)
    yield "version", lambda library: library.document(made.uri, version)
    yield "passage", lambda library: library.passage(passage)
    yield "page_image", lambda library: library.page_image(passage)
    yield "list", lambda library: library.list(name)
    yield "uri", lambda library: library.uri(name)
    yield "all", lambda library: library.list()
    yield "stats", lambda library: library.stats()
    yield "notes", lambda library: [library.store.note(note) for note in ("roots", "readers")]
    yield "failed", lambda library: library.store.failed()
    if rng.random() < 0.1:
        yield "ask", lambda library: library.ask(question, extract=True, mode=mode, history=past)
        yield "why", lambda library: library.why(question, made.uri, quote=made.text[:20], mode=mode)
        yield "check", lambda library: library.check(made.text, mode=mode)
        yield "terms", lambda library: [library.terms(question, p) for p in library.store.passages_of(made.uri)]
        yield "refresh", lambda library: library.refresh().sources


def test_row_21_ten_thousand_calls_tell_nothing_of_hidden_documents(tmp_path: Path) -> None:
    cases = hidden = 0
    for seed in range(1_000):
        for world in worlds(tmp_path, seed, USERS, count=14):
            rng = random.Random(seed)
            hidden += bool(world.hidden)
            for _ in range(24):
                for name, call in reading_calls(rng, world):
                    real, ideal = (told(lambda: call(seen)) for seen in (world.real, world.ideal))  # noqa: B023
                    assert real == ideal, (seed, world.principal.name, name)
                    cases += 1
        if cases >= CASES:
            break
    assert cases >= CASES
    assert hidden > 10, "there must be something to hide"


# --- files, folders, archives

READER, EDITOR = Principal("r"), Principal("e", "editor", frozenset({"lab"}))
HR = Principal("h", "reader", frozenset({"hr"}))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with pincite.open(tmp_path / "library", encoder=HashEncoder(), generator="none") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one open document, and one that is to be hidden, with an archive."""
    root = tmp_path / "documents"
    (root / "hr").mkdir(parents=True)
    (root / "open.md").write_text("The bridge was repaired in 1999.")
    (root / "hr" / "pay.md").write_text("The salary of the canaryzebra is 900 crowns.")
    with zipfile.ZipFile(root / "hr" / "old.zip", "w") as archive:
        archive.writestr("letter.txt", "The canaryzebra got a letter on his salary.")
    return root


def names(library: Library) -> list[str]:
    return [record.source.uri.rpartition("/documents/")[2] for record in library.list()]


def test_a_folder_is_added_with_its_label_archives_too(library: Library, folder: Path) -> None:
    library.label(folder / "hr", ["hr"])
    library.add(folder)
    everything = ["hr/old.zip", "hr/old.zip/letter.txt", "hr/pay.md", "open.md"]
    assert (names(library), names(library.seen_by(HR))) == (everything, everything)
    assert names(library.seen_by(READER)) == ["open.md"]
    assert not library.seen_by(READER).search("canaryzebra salary").hits[0].passage.uri.endswith("pay.md")
    assert "canaryzebra" not in repr(library.seen_by(READER).ask("What is the salary of the canaryzebra?").evidence)


def test_add_with_a_label_labels_what_is_added(library: Library, folder: Path) -> None:
    library.add(folder / "hr", labels=["hr"])
    library.add(folder)
    assert names(library.seen_by(READER)) == ["open.md"]
    library.label(folder / "hr" / "pay.md", ["lab"])
    assert names(library.seen_by(EDITOR)) == ["hr/pay.md", "open.md"]
    library.label(folder / "hr" / "pay.md")
    assert names(library.seen_by(EDITOR)) == ["open.md"], "the label of the folder counts again"
    library.label(folder / "hr", [])
    assert len(names(library.seen_by(READER))) == 4


def test_a_file_takes_the_labels_of_where_it_is(library: Library, folder: Path) -> None:
    library.add(folder)
    library.label(folder / "hr", ["hr"])
    seen = library.seen_by(READER)
    (folder / "open.md").rename(folder / "hr" / "moved.md")
    assert not seen.search("bridge").hits
    (folder / "hr" / "moved.md").rename(folder / "back.md")
    assert [hit.passage.uri.rpartition("/")[2] for hit in seen.search("bridge").hits] == ["back.md"]
    text = (folder / "hr" / "pay.md").read_text()
    (folder / "hr" / "pay.md").unlink()
    library.refresh()
    (folder / "hr" / "pay.md").write_text(text)
    assert "canaryzebra" not in repr(seen.search("salary canaryzebra").hits)
    assert names(seen) == ["back.md"]
    assert "canaryzebra" in repr(library.search("salary canaryzebra").hits)


def test_a_restricted_search_refreshes_everything_and_names_nothing(library: Library, folder: Path) -> None:
    library.add(folder)
    library.label(folder / "hr", ["hr"])
    seen = library.seen_by(READER)
    (folder / "hr" / "pay.md").write_text("Now the salary of the canaryzebra is 1000 crowns.")
    (folder / "hr" / "broken.pdf").write_bytes(b"%PDF-1.4 canaryzebra")
    found = seen.search("salary", paths=folder / "hr")
    assert (found.hits, found.stale) == ((), ())
    assert library.document(folder / "hr" / "pay.md").version == 2, "the whole library is brought up to date"
    (folder / "hr" / "pay.md").write_text("The canaryzebra has gone.")
    (folder / "open.md").write_text("The bridge was repaired in 2001.")
    assert [report.uri for report in seen.refresh().sources if report.status == "updated"] == [
        (folder / "open.md").as_uri()
    ]
    (folder / "hr" / "pay.md").unlink()
    assert "hr" not in repr(seen.refresh().sources).replace("the", "")


def test_what_cannot_be_read_now_is_named_to_those_who_see_it(library: Library, folder: Path) -> None:
    library.add(folder)
    library.label(folder / "hr", ["hr"])
    (folder / "hr" / "pay.md").unlink()
    (folder / "hr" / "pay.md").mkdir()
    record = library.list(folder / "hr" / "pay.md")[0]
    library.store.put_failure(record.source, "failed", "It is broken.", "Mend it.")
    assert library.search("salary", refresh=False).stale
    assert library.seen_by(READER).search("salary", refresh=False).stale == ()
    checked = library.seen_by(READER).check("The salary is 900 crowns.", refresh=False)
    assert [finding.kind for finding in checked.findings if finding.kind == "stale"] == []


def test_an_error_of_the_library_names_nothing(library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library.add(folder)
    seen = library.seen_by(READER)

    def fail(*_: object) -> None:
        raise pincite.errors.LibraryError(f"{folder}/hr/pay.md broke.", fix=f"Look at {folder}/hr/pay.md.")

    monkeypatch.setattr(seen, "refresh", fail)
    assert "pay.md" not in repr(seen.search("bridge").stale)
    monkeypatch.setattr(library, "refresh", fail)
    assert "pay.md" in repr(library.search("bridge").stale)


@pytest.mark.parametrize("name", ["hr/pay.md", "hr/none.md", "none.md", "hr/old.zip/letter.txt", "hr/old.zip/none.txt"])
def test_why_does_not_look_at_the_disk_for_those_who_do_not_see(library: Library, folder: Path, name: str) -> None:
    library.add(folder)
    library.label(folder / "hr", ["hr"])
    (folder / "hr" / "new.md").write_text("Not taken in yet.")
    told_of = [
        repr(library.seen_by(READER).why("salary", folder / target, refresh=False)).replace(target, "")
        for target in (name, "hr/nothing/at/all.md")
    ]
    assert told_of[0] == told_of[1]


def test_a_search_that_begins_after_a_label_was_given_does_not_find(library: Library) -> None:
    """While labels come and go, and documents too, in another thread."""
    library.add_text("note:hr/1", "The canaryzebra is paid.")
    epoch, over = [0], threading.Event()  # odd while the folder is labelled

    def change() -> None:
        for number in range(40):
            library.label("note:hr/1", ["hr"])
            epoch[0] += 1
            library.add_text("note:open", f"The canaryzebra is number {number}.")
            time.sleep(0.005)
            epoch[0] += 1
            library.label("note:hr/1")
            time.sleep(0.005)
        over.set()

    writer = threading.Thread(target=change)
    writer.start()
    seen, labelled, found = library.seen_by(READER), 0, 0
    while not over.is_set():
        before = epoch[0]
        hits = seen.search("canaryzebra", refresh=False).hits
        if before % 2 and before == epoch[0]:
            labelled += 1
            assert not [hit for hit in hits if hit.passage.uri == "note:hr/1"]
        found += any(hit.passage.uri == "note:hr/1" for hit in hits)
    writer.join()
    assert labelled
    assert found


class Spelling(HashEncoder):
    """Spells every word, as an encoder does that does not read a language: then the documents' languages count."""

    class pieces:
        count = len
        starts = staticmethod(lambda text: np.arange(len(text)))


def test_languages_of_hidden_documents_move_no_weight(tmp_path: Path) -> None:
    texts = {f"note:hr/{n}": "Das Wehr ist alt und die Pumpe ist neu, sagt der Bericht." for n in range(3)}
    with pincite.open(tmp_path / "library", encoder=Spelling(), generator="none") as library:
        library.add_text("note:open", "The weir is old and the pump is new, says the report of the crew.")
        before = library.seen_by(READER).search("weir 12")
        for uri, text in texts.items():
            library.add_text(uri, text)
            library.label(uri, ["hr"])
        assert library.stats().languages == ("de", "en")
        assert library.seen_by(READER).stats().languages == ("en",)
        weights = [
            [stage.detail["weight"] for stage in found.trace.stages if stage.name == "fuse"]
            for found in (before, library.seen_by(READER).search("weir 12"), library.search("weir 12"))
        ]
    assert weights[0] == weights[1] != weights[2]


# --- who may write


def test_a_reader_changes_nothing(library: Library, folder: Path) -> None:
    library.add(folder)
    reader = library.seen_by(Principal("r", "reader", None))
    for call in (
        lambda: reader.add(folder),
        lambda: reader.add_text("note:a", "text"),
        lambda: reader.remove(folder / "open.md"),
        lambda: list(reader.retrying()),
        lambda: list(reader.adding_url("https://example.org/")),
        lambda: list(reader.taking_in()),
        lambda: reader.label(folder, ["lab"]),
        lambda: reader.labelled() or reader.store.put_labels("file:///x", ["lab"]),
    ):
        with pytest.raises(AccessDenied):
            call()
    assert len(reader.list()) == 4, "he sees everything"


def test_only_the_owner_labels(library: Library, folder: Path) -> None:
    library.add(folder)
    for principal in (HR, EDITOR, Principal("a", "admin", frozenset({"hr"})), Principal("e", "editor", None)):
        with pytest.raises(AccessDenied):
            library.seen_by(principal).label(folder, ["lab"])
    assert library.seen_by(OWNER).label(folder, ["lab"]) == 4
    with pytest.raises(NotInLibrary):
        library.label(folder / "mistyped", ["hr"])
    with pytest.raises(PathMissing):
        library.add(folder / "mistyped", labels=["hr"])
    assert [uri for uri, _ in library.labelled()] == [folder.as_uri()]
    for label in ("", "a b", "a,b", "x" * 65, "a\n"):
        with pytest.raises(UsageError):
            library.label(folder, [label])
    assert labels_of(["hr", "größe-1.2:x@y"]) == {"hr", "größe-1.2:x@y"}


def test_an_editor_adds_for_those_who_share_his_grants(library: Library, folder: Path) -> None:
    library.add(folder / "hr", labels=["hr"])
    editor = library.seen_by(EDITOR)
    editor.add_text("note:a", "The weir is closed.")
    editor.add(folder / "open.md")
    assert names(editor) == ["open.md", "note:a"]
    assert names(library.seen_by(READER)) == []
    with pytest.raises(AccessDenied) as existing:
        editor.add(folder / "hr" / "pay.md")
    (folder / "hr" / "new.md").write_text("The canaryzebra is new.")
    with pytest.raises(AccessDenied) as new:
        editor.add(folder / "hr" / "new.md")
    assert str(existing.value).replace("pay", "new") == str(new.value)
    for target in ("hr/pay.md", "hr/none.md"):
        with pytest.raises(NotInLibrary):
            editor.remove(folder / target)
    editor.remove(folder / "open.md")
    assert names(library) == ["hr/old.zip", "hr/old.zip/letter.txt", "hr/pay.md", "note:a"]
    library.refresh()
    (folder / "hr" / "late.md").write_text("The folder is followed still.")
    assert "late.md" in repr(library.search("folder followed").hits)


def test_a_view_shares_the_library_and_closes_nothing(library: Library, folder: Path) -> None:
    library.add(folder)
    with library.seen_by(READER) as seen:
        assert seen.models is library.models
    assert library.seen_by(READER).seen_by(OWNER).store is library.store, "who holds a view is trusted code"
    library.seen_by(OWNER).close()
    assert library.search("bridge").hits


def test_an_upload_carries_its_labels(library: Library) -> None:
    editor = library.seen_by(EDITOR)
    file = library.uploads.coming() / "0"
    file.write_text("The canaryzebra was uploaded.")
    kept = editor.keep_upload(file, "notes.md")
    assert [report.status for report in editor.taking_in([kept])] == ["indexed"]
    assert names(library.seen_by(READER)) == []
    assert len(names(editor)) == 1
