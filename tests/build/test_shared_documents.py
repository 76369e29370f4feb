"""Every passage of the shared test documents is exactly the text that it points to, and says rightly where that is.

Documents go the way of the product: read in the child, cut, committed, and read again from the store. A third of them
in each run, in a fixed order; all of them in the soak, with those that only end at a limit.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import pytest

import pincite
from pincite.types import Document, Passage
from tests.acquire.test_documents import FOLDER
from tests.fakes import HashEncoder

SLOW = ("made/text_bomb_12m_glyphs.pdf", "made/xobject_laughs_10e11.pdf", "made/flate_bomb_2g.pdf", "made/bomb_2g.docx")
LEAST = 50  # documents with passages of a third of the files

pytestmark = pytest.mark.skipif(FOLDER is None, reason="the shared test documents are not here (PINCITE_DATA)")


def check_structure(document: Document) -> None:
    """Assert that blocks and pages are in order and inside the text."""
    text, blocks, pages = document.text, document.blocks, document.pages
    assert all(0 <= block.start < block.end <= len(text) for block in blocks)
    assert all(one.end <= other.start for one, other in pairwise(blocks))
    assert all(0 <= page.start <= page.end <= len(text) for page in pages)
    assert all(one.number < other.number and one.start <= other.start for one, other in pairwise(pages))


def starts_of_lines(text: str) -> list[int]:
    """Find where lines start, one character after the other."""
    ends = [at + 1 for at, char in enumerate(text) if char == "\n" or (char == "\r" and text[at + 1 : at + 2] != "\n")]
    return [0, *ends]


def check_passages(document: Document, passages: list[Passage]) -> None:
    """Assert the place of each passage, and that all of them hold what is neither white space nor furniture."""
    text, lines = document.text, starts_of_lines(document.text)
    held = bytearray(len(text))
    for passage in passages:
        start, end = passage.start, passage.end
        assert text[start:end] == passage.text
        assert passage.text.strip()
        assert (passage.line_from, passage.line_to) == (bisect_right(lines, start), bisect_right(lines, end - 1))
        assert passage.column_from in (None, start - lines[passage.line_from - 1] + 1)
        on = [page.number for page in document.pages if page.start < end and start < page.end]
        assert (passage.page_from, passage.page_to) == ((on[0], on[-1]) if on else (None, None))
        assert not any(held[start:end])
        held[start:end] = b"\1" * (end - start)
    furniture = bytearray(len(text))
    for block in document.blocks:
        if block.kind == "furniture":
            furniture[block.start : block.end] = b"\1" * (block.end - block.start)
    assert all(held[at] != furniture[at] for at, char in enumerate(text) if not char.isspace())


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_passages_are_what_they_point_to(tmp_path, every):
    files = sorted(path for path in FOLDER.rglob("*") if path.is_file() and path.name != "MANIFEST.tsv")
    chosen = [path for path in files if every == 1 or path.relative_to(FOLDER).as_posix() not in SLOW][::every]
    with pincite.open(tmp_path / "all.pincite", encoder=HashEncoder(), generator="none") as library:
        library.add(chosen)
        sources = [record for record in library.store.sources() if record.version]
        passages = 0
        for record in sources:
            document = library.store.document(record.source.uri)
            check_structure(document)
            found = library.store.passages_of(record.source.uri)
            check_passages(document, found)
            passages += len(found)
    assert len(sources) >= LEAST * 3 / every
    assert passages > 1000
