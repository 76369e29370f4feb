"""Boxes cover the cited words, and the image of the page shows them."""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

import pincite
from pincite.acquire.readers import pdf
from pincite.acquire.readers.pdf_boxes import boxes, painted
from pincite.errors import SourceUnreadable, SourceUnsupported
from pincite.types import Reading
from tests.acquire.pdf_checks import FOLDER, misses
from tests.data.make_pdf import Pdf, PdfPage, lines, small, text
from tests.fakes import HashEncoder

WORDS = ["the", "tide", "turns", "when", "a", "river", "meets", "its", "sea", "and", "every", "boat", "that", "waits"]
SHARED = ("twocol_tracemonkey", "edgar_rotated90", "table_senate", "rtl_01", "latex_multicolumn", "form_f1040")


def written(entries: str = "", matrix: str = "1 0 0 1 {x} {y}") -> bytes:
    chance = random.Random(7)
    content = ""
    for n in range(30):
        x, y = 60, 540 - 14 * n
        said = " ".join(chance.choices(WORDS, k=8))
        content += text(x, y, said).replace(f"1 0 0 1 {x} {y}", matrix.format(x=x, y=y))
    return bytes(Pdf([PdfPage(content, entries=entries)]))


def random_spans(found: Reading, count: int, seed: int = 3) -> list[tuple[int, int]]:
    """Draw spans of body text; hidden text and furniture are cited by nobody."""
    chance = random.Random(seed)
    blocks = [block for block in found.blocks if block.kind != "furniture"]
    spans = []
    for _ in range(count):
        block = chance.choice(blocks)
        start = chance.randrange(block.start, block.end)
        spans.append((start, min(block.end, start + chance.randint(1, 200))))
    return spans


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("matrix", ["1 0 0 1 {x} {y}", "0 1 -1 0 {y} {x}", "-1 0 0 -1 380 {y}"])
def test_boxes_cover_the_words_of_random_spans(rotation, matrix):
    data = written(f"/Rotate {rotation} /CropBox [10 20 600 590]", matrix)
    found = pdf.read(data, "a.pdf", "application/pdf")
    assert misses(data, found, random_spans(found, 12)) == []


def test_boxes_of_other_words_do_not_pass():
    data = written()
    found = pdf.read(data, "a.pdf", "application/pdf")
    moved = [replace(page, start=page.start + 60, end=page.end + 60) for page in found.pages]
    assert len(misses(data, replace(found, pages=tuple(moved)), random_spans(found, 12))) > 8


def test_there_is_a_box_for_each_line():
    found = pdf.read(bytes(small()), "a.pdf", "application/pdf")
    start = found.text.index("Tides are")
    cited = boxes(
        bytes(small()),
        found.pages,
        start,
        start + len("Tides are raised by the Moon and, less, by the Sun; both together"),
    )
    assert [round(box[2]) for box in cited] == sorted(round(box[2]) for box in cited)
    assert len(cited) == 2
    assert cited[0][1] == pytest.approx(40, abs=1)
    assert cited[0][2] < 600 - 470 < cited[0][4]
    across = boxes(bytes(small()), found.pages, found.text.index("angles to"), found.text.index("the range is"))
    assert [box[0] for box in across] == [1, 2]


def test_no_text_has_no_boxes():
    found = pdf.read(bytes(small()), "a.pdf", "application/pdf")
    assert boxes(bytes(small()), found.pages, 8, 10) == []


def pixels(image: bytes) -> tuple[int, int, bytes]:
    """Decode a PNG image whose rows are not filtered."""
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", image[16:24])
    place, data = 8, b""
    while place < len(image):
        size, kind = struct.unpack(">I4s", image[place : place + 8])
        data += image[place + 8 : place + 8 + size] if kind == b"IDAT" else b""
        place += size + 12
    rows = zlib.decompress(data)
    return width, height, b"".join(rows[n * (3 * width + 1) + 1 : (n + 1) * (3 * width + 1)] for n in range(height))


def test_the_image_frames_the_words():
    box = (1, 40.0, 120.0, 300.0, 132.0)
    width, height, seen = pixels(painted(bytes(small()), 1, [box], 2.0))
    assert (width, height) == (800, 1200)
    red = [(n // 3 % width, n // 3 // width) for n in range(0, len(seen), 3) if seen[n] > 0xB0 > 0x80 > seen[n + 1]]
    assert (min(x for x, _ in red), max(x for x, _ in red)) == (76, 603)
    assert (min(y for _, y in red), max(y for _, y in red)) == (236, 267)
    assert pixels(painted(bytes(small()), 1, [], 0.5))[:2] == (200, 300)


def test_a_library_paints_the_page_of_a_passage(tmp_path: Path):
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs" / "tides.pdf"
    file.write_bytes(bytes(small()))
    (tmp_path / "docs" / "a.txt").write_text("No pages here.")
    with pincite.open(tmp_path / "library", encoder=HashEncoder(), generator="none") as library:
        library.add(tmp_path / "docs")
        passages = library.store.passages_of(file.as_uri())
        by_text = {passage.text.split()[0]: passage for passage in passages}
        assert all("Field notes" not in passage.text for passage in passages)
        crossing = next(passage for passage in passages if "then the range" in passage.text)
        assert (crossing.page_from, crossing.page_to) == (1, 2)
        assert next(p for p in passages if "Nothing is" in p.text).page_from == 3
        assert pixels(library.page_image(crossing.id))[:2] == (800, 1200)
        other = next(iter(library.store.passages_of((tmp_path / "docs" / "a.txt").as_uri())))
        with pytest.raises(SourceUnsupported, match="no pages"):
            library.page_image(other.id)
        file.write_bytes(bytes(Pdf([PdfPage(lines(40, 500, ["Another text."]))])))
        with pytest.raises(SourceUnreadable, match="changed since version 1"):
            library.page_image(crossing.id)
        assert by_text


@pytest.mark.skipif(FOLDER is None, reason="the shared test documents are not here (PINCITE_DATA)")
@pytest.mark.parametrize("name", SHARED)
def test_boxes_cover_the_words_of_shared_documents(name):
    data = (FOLDER / "pdf" / f"{name}.pdf").read_bytes()
    found = pdf.read(data, "a.pdf", "application/pdf")
    assert misses(data, found, random_spans(found, 8)) == []
