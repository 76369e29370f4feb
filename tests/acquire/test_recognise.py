"""Scanned pages and images: read where Tesseract is, and never an empty success."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pincite.acquire import recognise
from pincite.acquire.read import load, read
from pincite.acquire.readers.pdf_boxes import boxes, painted
from pincite.acquire.readers.scan import compose, page_of
from pincite.errors import SourceTooLarge, SourceUndecodable, SourceUnsupported
from tests.data.make_pdf import Pdf, PdfPage, lines

SAID = ["The weir at Alder holds 4,200 litres.", "It was built in 1911 by Mara Quist."]


def image_of_text() -> bytes:
    return painted(bytes(Pdf([PdfPage(lines(40, 500, SAID, size=14))])), 1, (), 200 / 72)


def scanned_pdf() -> bytes:
    """A page that is a picture of text, behind a page of text."""
    import zlib

    png = image_of_text()
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    data, place = b"", 8
    while place < len(png):
        size, kind = int.from_bytes(png[place : place + 4], "big"), png[place + 4 : place + 8]
        data += png[place + 8 : place + 8 + size] if kind == b"IDAT" else b""
        place += size + 12
    rows = zlib.decompress(data)
    pixels = b"".join(rows[row * (3 * width + 1) + 1 : (row + 1) * (3 * width + 1)] for row in range(height))
    packed = zlib.compress(pixels)
    header = f"/Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceRGB"
    stream = f"<< {header} /BitsPerComponent 8 /Filter /FlateDecode /Length {len(packed)} >>\nstream\n".encode()
    page = PdfPage("q 400 0 0 600 0 0 cm /Im Do Q", resources="/XObject << /Im 1000 0 R >>")
    first = PdfPage(lines(40, 500, ["A first page of text that everybody can read."]))
    return bytes(Pdf([first, page], more={1000: stream + packed + b"\nendstream"}))


def table(*words: tuple[str, int, int, int, int]) -> str:
    """Tesseract's table for words on lines of one block, by (word, line, left, upper, confidence)."""
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    rows = [f"5\t1\t1\t1\t{line}\t1\t{x}\t{y}\t50\t20\t{sure}\t{word}" for word, line, x, y, sure in words]
    return "\n".join([head, "1\t1\t0\t0\t0\t0\t0\t0\t800\t1000\t-1\t", *rows])


def test_without_tesseract_an_image_says_what_it_needs(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(image_of_text())
    with pytest.raises(SourceUnsupported, match="OCR") as caught:
        read(*load(path))
    assert "Install Tesseract" in caught.value.fix and "--retry" in caught.value.fix
    path = tmp_path / "a.pdf"
    path.write_bytes(scanned_pdf())
    assert read(*load(path)).warnings == ("Page 2 is without text: text recognition (OCR) is needed.",)


def test_words_become_lines_with_boxes_and_doubts():
    scans = recognise._parsed(table(("Alder", 1, 10, 20, 91), ("weir", 1, 70, 20, 20), ("4,200", 2, 10, 45, 20)), 0.5)
    assert scans == [
        ([[("Alder", 5, 10, 30, 20), ("weir", 35, 10, 60, 20)], [("4,200", 5, 22.5, 30, 32.5)]], 400, 500, 131 / 3)
    ]
    page = page_of(scans[0], 0)
    assert [page.raw[start:end] for start, end, *_ in page.words] == ["Alder", "weir", "4,200"]
    found = compose(scans, "t")
    assert found.text == "Alder weir\n4,200"
    assert found.warnings == ("Text recognition was unsure on page 1.",)
    assert boxes(b"", found.pages, 6, len(found.text)) == [(1, 35, 10, 60, 20), (1, 5, 22.5, 30, 32.5)]
    assert boxes(b"", found.pages, 0, 10) == [(1, 5, 10, 60, 20)]


def test_an_image_is_read(tesseract, tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(image_of_text())
    found = read(*load(path))
    assert found.text.split() == " ".join(SAID).split()
    assert found.metadata["recognised_pages"] == 1 and found.warnings == ()


def test_a_scanned_page_is_read_and_its_words_are_boxed(tesseract, tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(scanned_pdf())
    found = read(*load(path))
    assert found.warnings == () and found.metadata["recognised_pages"] == 1
    start = found.text.index("4,200")
    assert found.pages[1].start <= start < found.pages[1].end
    [(page, x0, y0, x1, y1)] = boxes(path.read_bytes(), found.pages, start, start + 5)
    assert page == 2 and 150 < x0 < x1 < 300 and 85 < y0 < y1 < 105  # 14 points high, base line at 100


def test_an_image_without_text_and_one_that_is_damaged_are_refused(tesseract, tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(painted(bytes(Pdf([PdfPage()])), 1, (), 1.0))
    with pytest.raises(SourceUnsupported, match="no text"):
        read(*load(path))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"nonsense")
    with pytest.raises(SourceUndecodable) as caught:
        read(*load(path))
    assert caught.value.fix


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_a_recognition_that_hangs_is_ended(monkeypatch, tmp_path: Path):
    script = tmp_path / "tesseract"
    script.write_text("#!/bin/sh\nexec sleep 100\n")
    script.chmod(0o700)
    monkeypatch.setattr(recognise, "program", lambda: str(script))
    monkeypatch.setattr(recognise, "_languages", lambda: "eng")
    monkeypatch.setattr(recognise, "_SECONDS", 1)
    with pytest.raises(SourceTooLarge, match="longer"):
        recognise.recognise(b"", 1.0)
