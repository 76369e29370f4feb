"""PDF files that never end: each fails alone or is read, and the next document works."""

from __future__ import annotations

import re
import time
import zlib

import pytest

from tests.data.make_pdf import Pdf, PdfPage, lines

GOOD = bytes(Pdf([PdfPage(lines(40, 500, ["The weir is good."]))]))


def stream(data: bytes, filters: str) -> bytes:
    return b"<< /Length %d /Filter %s >>\nstream\n" % (len(data), filters.encode()) + data + b"\nendstream"


def run_lengths(times: int) -> bytes:
    """Bytes that so many RunLength filters make gigabytes of: each makes 128 of two."""
    data = b"\x81 \x80"
    for _ in range(times - 1):
        data = b"".join(bytes([len(data[at : at + 128]) - 1]) + data[at : at + 128] for at in range(0, len(data), 128))
    return data + b"\x80"


def hostile(kind: str) -> bytes:
    page = Pdf([PdfPage()])
    if kind == "flate in flate":
        page.more[101] = stream(zlib.compress(zlib.compress(bytes(1 << 28), 9), 9), "[/FlateDecode /FlateDecode]")
    elif kind == "run length":
        page.more[101] = stream(run_lengths(40), f"[{'/RunLengthDecode ' * 40}]")
    elif kind == "lzw":
        page.more[101] = stream(b"\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01" * 100_000, "/LZWDecode")
    elif kind == "million pages":
        return re.sub(rb"/Count 1\b", b"/Count 1000000", GOOD)
    elif kind == "no trailer":
        return GOOD[: GOOD.rindex(b"trailer")]
    elif kind == "own stream":  # whose length is itself
        page.more[101] = b"<< /Length 101 0 R /Filter /FlateDecode >>\nstream\nx\nendstream"
    elif kind == "cross reference in a circle":
        return GOOD.replace(b"trailer\n<<", b"trailer\n<< /Prev %d" % GOOD.rindex(b"xref\n0"))
    return bytes(page)


KINDS = (
    "flate in flate",
    "run length",
    "lzw",
    "million pages",
    "no trailer",
    "own stream",
    "cross reference in a circle",
)


@pytest.mark.parametrize("kind", KINDS)
def test_row_06_a_pdf_bomb_fails_alone(library, docs, kind):
    (docs / "a.pdf").write_bytes(hostile(kind))
    (docs / "z.pdf").write_bytes(GOOD)
    started = time.process_time()
    report = {source.uri.rpartition("/")[2]: source for source in library.add(docs).sources}
    assert time.process_time() - started < 60  # of this process; the child has a limit of its own
    assert report["z.pdf"].status == "indexed"
    assert report["a.pdf"].status in ("failed", "indexed", "partly")
    assert report["a.pdf"].passages or report["a.pdf"].reason
