"""Why the library does not hold a document or words in it, with the reason that a person needs."""

from __future__ import annotations

from pathlib import Path

import pytest

import pincite
from pincite.acquire.uri import uri_of
from pincite.find.held import Held, Target, held, nearest_text
from pincite.reports import Why
from tests.fakes import HashEncoder

TEXT = "# Caches\n\nA KV cache stores the keys – and the “values”\nof earlier tokens. It is emptied at the end.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "kv.md").write_text(TEXT)
    (notes / "other.md").write_text("Temperature scales the logits before sampling.\n")
    return notes


@pytest.fixture
def library(tmp_path: Path, folder: Path):
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator="none", passage_pieces=32) as opened:
        opened.add(folder, exclude=["left-*.md"])
        yield opened


def look(library: pincite.Library, path: Path | str, **target) -> Held | Why:
    uri = path if isinstance(path, str) else uri_of(path)
    return held(Target(uri, **target), library.store, Why("q", uri, "answered", ""))


def missing(library: pincite.Library, path: Path | str) -> str:
    found = look(library, path)
    assert isinstance(found, Why)
    assert found.stage == "document_missing"
    assert found.fix
    return found.reason


@pytest.mark.parametrize(
    ("target", "span"),
    [
        ({"quote": 'keys - and the "values" of EARLIER tokens'}, "keys – and the “values”\nof earlier tokens"),
        ({"start": 10, "end": 20}, TEXT[10:20]),
        ({"start": 10, "end": 20, "quote": TEXT[12:15]}, TEXT[10:20]),
        ({"start": 0, "end": 8, "quote": "It is emptied"}, "It is emptied"),
        ({"words": ("nowhere", "emptied")}, "emptied"),
    ],
)
def test_words_are_found_where_they_stand(library: pincite.Library, folder: Path, target: dict, span: str) -> None:
    found = look(library, folder / "kv.md", **target)
    assert isinstance(found, Held)
    assert [TEXT[start:end] for start, end in found.spans] == [span]
    assert found.whole
    assert found.stale is None


def test_without_words_any_passage_will_do(library: pincite.Library, folder: Path) -> None:
    found = look(library, folder / "kv.md")
    assert isinstance(found, Held)
    assert found.spans == ()
    assert [p.id for p in found.passages] == [p.id for p in library.store.passages_of(uri_of(folder / "kv.md"))]


def test_words_across_passages_need_all_of_them(library: pincite.Library, folder: Path) -> None:
    (folder / "long.md").write_text(" ".join(f"Word {i} of a long text stands here." for i in range(40)))
    library.refresh()
    found = look(library, folder / "long.md", quote="Word 3 of a long text stands here. Word 4 of a long text stands "
                 "here. Word 5 of a long text stands here. Word 6 of a long text stands here. Word 7 of a")  # fmt: skip
    assert isinstance(found, Held)
    assert not found.whole
    assert len(found.passages) > 1


@pytest.mark.parametrize("target", [{"quote": "keys and vectors"}, {"start": 5_000, "end": 5_010}, {"words": ("key",)}])
def test_words_that_are_not_there(library: pincite.Library, folder: Path, target: dict) -> None:
    found = look(library, folder / "kv.md", **target)
    assert isinstance(found, Why)
    assert found.stage == "text_not_extracted"
    assert found.version == 1
    assert ("A KV cache stores the keys" in found.nearest) == ("start" not in target)


def test_words_of_an_earlier_version(library: pincite.Library, folder: Path) -> None:
    (folder / "kv.md").write_text(TEXT.replace("keys", "pairs"))
    library.refresh()
    found = look(library, folder / "kv.md", quote="stores the keys")
    assert isinstance(found, Why)
    assert found.stage == "text_not_extracted"
    assert "Version 1 held them" in found.reason


def test_a_document_that_was_never_taken_in_has_a_reason(
    library: pincite.Library, folder: Path, tmp_path: Path
) -> None:
    assert "nothing by this name" in missing(library, "note:never")
    assert "Neither the disk nor the library" in missing(library, folder / "none.md")
    (tmp_path / "aside.md").write_text("x y z")
    assert missing(library, tmp_path / "aside.md") == missing(library, tmp_path / "none.md"), "the disk is not asked"
    assert "never added" in missing(library, tmp_path / "aside.md")
    (folder / "left-out.md").write_text("x y z")
    assert "left out" in missing(library, folder / "left-out.md")
    (folder / ".hidden.md").write_text("x y z")
    assert "hidden" in missing(library, folder / ".hidden.md")
    (folder / "link.md").symlink_to(folder / "kv.md")
    assert "passed over: " in missing(library, folder / "link.md")
    (folder / "new.md").write_text("x y z")
    assert "has not looked since" in missing(library, folder / "new.md")
    library.remove(folder / "other.md")
    assert "It was removed from the library" in missing(library, folder / "other.md")


def test_a_document_that_could_not_be_read_has_the_recorded_reason(library: pincite.Library, folder: Path) -> None:
    (folder / "broken.docx").write_bytes(b"PK\x03\x04 not a document")
    [report] = [r for r in library.refresh().sources if r.uri.endswith("broken.docx")]
    found = look(library, folder / "broken.docx")
    assert isinstance(found, Why)
    assert report.reason in found.reason
    assert found.fix == report.fix


def test_a_document_that_may_be_outdated_says_why(library: pincite.Library, folder: Path) -> None:
    path = folder / "kv.md"
    path.write_text(TEXT + "More.\n")
    found = look(library, path)
    assert isinstance(found, Held)
    assert found.stale is not None
    assert "changed since version 1" in found.stale[0]
    lost = look(library, path, quote="More.")
    assert isinstance(lost, Why)
    assert lost.stage == "document_stale"
    path.unlink()
    gone = look(library, path)
    assert isinstance(gone, Held)
    assert gone.stale is not None
    assert "not on the disk" in gone.stale[0]


def test_the_same_bytes_at_another_time_are_not_stale(library: pincite.Library, folder: Path) -> None:
    (folder / "kv.md").write_text(TEXT)
    found = look(library, folder / "kv.md")
    assert isinstance(found, Held)
    assert found.stale is None


def test_the_nearest_text_is_the_sentence_with_most_of_the_words() -> None:
    text = "Cats sleep. Dogs bark at night. Dogs sleep at night."
    assert nearest_text("the dogs bark at night loudly", text, "en") == "Dogs bark at night."
    assert nearest_text("zebra", text, "en") == ""
