"""A library over archives and mail: what is inside them is found, kept fresh, shown and removed as in folders."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

import pincite
from tests.acquire.made import archive
from tests.fakes import HashEncoder


@pytest.fixture
def library(tmp_path: Path) -> Iterator[pincite.Library]:
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator="none") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "files"
    place.mkdir()
    (place / "notes.zip").write_bytes(archive({"kiwi.md": "A kiwi is a bird.", "sub/fig.txt": "A fig is a fruit."}))
    return place


def found(library: pincite.Library, question: str, **options) -> list[str]:
    hits = library.search(question, mode="keyword", **options).hits
    return [hit.passage.uri.rpartition("/files/")[2] for hit in hits]


def statuses(report) -> dict[str, str]:
    return {source.uri.rpartition("/files/")[2]: source.status for source in report.sources}


def test_members_are_documents(library, folder):
    report = statuses(library.add(folder))
    assert report == {"notes.zip": "indexed", "notes.zip/kiwi.md": "indexed", "notes.zip/sub/fig.txt": "indexed"}
    assert found(library, "bird") == ["notes.zip/kiwi.md"]
    assert library.document(folder / "notes.zip/kiwi.md").text == "A kiwi is a bird."
    assert library.document(folder / "notes.zip").text == "- kiwi.md\n- sub/fig.txt"


def test_an_unchanged_archive_is_not_read_and_a_changed_one_only_where_it_changed(library, folder):
    library.add(folder)
    assert set(statuses(library.add(folder)).values()) == {"unchanged"}
    (folder / "notes.zip").write_bytes(archive({"kiwi.md": "A kiwi is a bird.", "new.txt": "A plum is purple."}))
    assert statuses(library.add(folder)) == {
        "notes.zip": "updated",
        "notes.zip/kiwi.md": "unchanged",
        "notes.zip/new.txt": "indexed",
        "notes.zip/sub/fig.txt": "removed",
    }
    assert found(library, "purple") == ["notes.zip/new.txt"]
    assert found(library, "fruit") == []


def test_an_archive_that_is_gone_takes_its_members_with_it(library, folder):
    library.add(folder)
    (folder / "notes.zip").unlink()
    assert set(statuses(library.refresh()).values()) == {"removed"}
    assert library.list() == []


def test_a_damaged_archive_leaves_its_members_stale_not_gone(library, folder):
    library.add(folder)
    whole = (folder / "notes.zip").read_bytes()
    (folder / "notes.zip").write_bytes(whole[:-10])
    assert set(statuses(library.refresh()).values()) == {"failed"}
    result = library.search("bird", mode="keyword")
    assert [hit.text for hit in result.hits] == ["A kiwi is a bird."]
    assert any(stale.uri.endswith("notes.zip/kiwi.md") for stale in result.stale)
    (folder / "notes.zip").write_bytes(whole)
    assert set(statuses(library.refresh()).values()) == {"unchanged"}
    assert library.search("bird", mode="keyword").stale == ()


def test_a_member_that_was_removed_stays_away(library, folder):
    library.add(folder)
    library.remove(folder / "notes.zip/kiwi.md")
    (folder / "notes.zip").write_bytes(archive({"kiwi.md": "A kiwi is a bird.", "pear.txt": "A pear."}))
    library.refresh()
    assert found(library, "bird") == []
    assert found(library, "pear") == ["notes.zip/pear.txt", "notes.zip"]
    library.remove(folder / "notes.zip")
    assert library.list() == []


def test_a_path_inside_an_archive_looks_at_the_archive(library, folder):
    library.add(folder)
    inner = folder / "notes.zip/kiwi.md"
    assert found(library, "bird fruit", paths=inner) == ["notes.zip/kiwi.md"]
    (folder / "notes.zip").write_bytes(archive({"kiwi.md": "A kiwi is a green bird."}))
    assert found(library, "green", paths=inner) == ["notes.zip/kiwi.md"]
    assert len(library.list()) == 2


def test_attachments_are_documents(library, folder):
    message = EmailMessage()
    message["Subject"], message["From"] = "Report", "ann@example.org"
    message.set_content("See the table.")
    message.add_attachment(b"fruit,colour\nplum,purple\n", maintype="text", subtype="csv", filename="table.csv")
    (folder / "mail.eml").write_bytes(message.as_bytes())
    report = statuses(library.add(folder / "mail.eml"))
    assert report == {"mail.eml": "indexed", "mail.eml/table.csv": "indexed"}
    assert found(library, "purple") == ["mail.eml/table.csv"]


def test_a_member_that_cannot_be_read_is_reported_beside_the_others(library, folder):
    (folder / "mixed.zip").write_bytes(archive({"a.txt": "fine", "b.docx": b"PK\x03\x04", "c.bin": bytes(range(256))}))
    report = library.add(folder / "mixed.zip")
    assert statuses(report) == {
        "mixed.zip": "indexed",
        "mixed.zip/a.txt": "indexed",
        "mixed.zip/b.docx": "failed",
        "mixed.zip/c.bin": "unsupported",
    }
    assert all(source.fix for source in report.sources if source.status in ("failed", "unsupported"))
