"""What was removed is in no byte of the library's folder."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import pincite
from pincite.serve.cli.main import main
from tests.fakes import HashEncoder

CANARY = "zorblaxcanary"


def holders(folder: Path, *needles: bytes) -> list[str]:
    """Name the files that hold one of the needles."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if any(needle in path.read_bytes() for needle in needles)]


def filled(docs: Path, count: int) -> Path:
    for number in range(count):
        (docs / f"{number}.md").write_text(f"Document {number} is about weirs and their keepers.\n")
    path = docs / "secret.md"
    path.write_text(f"# The {CANARY} file\n\nThe launch code is {CANARY} until May.\n")
    return path


@pytest.mark.parametrize("reading", [False, True])
def test_row_35_a_removed_document_leaves_nothing_in_the_catalogue(library, docs, reading):
    path = filled(docs, 3)
    library.add(docs)
    vector = HashEncoder().encode([library.search(CANARY, limit=1).hits[0].passage.text])[0].tobytes()
    stays = [CANARY.encode(), vector[:64]]
    assert "catalog.sqlite-wal" in holders(library.path, stays[0])
    assert holders(library.path, stays[1])
    other = pincite.open(library.path, encoder=HashEncoder(), generator="none") if reading else None
    if other:
        assert other.search(CANARY, refresh=False).hits[0].passage.text
    library.remove(path)
    assert not [name for name in holders(library.path, *stays) if name.startswith("catalog")]
    if other:
        assert CANARY not in "".join(hit.passage.text for hit in other.search(CANARY, refresh=False).hits)
        other.close()


def keyword_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.glob("keywords-*/*")}


def test_row_35_a_repair_takes_it_out_of_the_indexes_too(docs, tmp_path, capsys):
    """Their files are packed, so that no search for bytes tells: they are made anew, from what is left."""
    path, folder = filled(docs, 30), tmp_path / "l.pincite"
    with pincite.open(folder, encoder=HashEncoder(), generator="none") as library:
        library.add(docs)
        library.remove(path)
        before = keyword_files(folder)
        assert any(name.endswith(".del") for name in before)  # it is only marked as deleted there
    main(["--library", str(folder), "--offline", "doctor", "--repair", "--json"])
    assert CANARY not in capsys.readouterr().out
    after = keyword_files(folder)
    assert after and not after & before
    assert not any(name.endswith(".del") for name in after)
    assert not holders(folder, CANARY.encode())


def test_row_35_a_repair_overwrites_what_was_deleted_before_that_was_done(library, docs):
    path = filled(docs, 3)
    library.add(docs)
    library.close()
    connection = apsw.Connection(str(library.path / "catalog.sqlite"))  # as a Pincite that did not overwrite
    connection.execute("PRAGMA secure_delete = OFF; DELETE FROM texts; PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    assert holders(library.path, CANARY.encode())
    with pincite.open(library.path, encoder=HashEncoder(), generator="none") as again:
        again.remove(path)
        again.store.rebuild()
        assert not holders(library.path, CANARY.encode())


def test_row_35_an_earlier_version_stays_until_its_document_is_removed(library, docs):
    """The documented window: citations of earlier versions stay good until then."""
    path = filled(docs, 1)
    library.add(docs)
    path.write_text("Nothing to see.\n")
    library.refresh()
    assert CANARY in library.document(path, 1).text
    library.remove(path)
    assert not [name for name in holders(library.path, CANARY.encode()) if name.startswith("catalog")]
