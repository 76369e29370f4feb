"""E-books."""

from __future__ import annotations

import pytest

from pincite.acquire.readers.epub import read
from pincite.errors import SourceError, SourceTooLarge
from tests.acquire.made import archive

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
OPF = """<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The book</dc:title>
<dc:creator>Ann</dc:creator><dc:creator>Bob</dc:creator><dc:language>en-GB</dc:language></metadata><manifest>
<item id="two" href="b%20two.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="one.xhtml" media-type="application/xhtml+xml"/>
<item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/>
<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>
<spine><itemref idref="one"/><itemref idref="two"/><itemref idref="one"/><itemref idref="x"/></spine></package>"""
NCX = """<ncx><navMap><navPoint><navLabel><text>Chapter two</text></navLabel><content src="b%20two.xhtml#a"/></navPoint>
</navMap></ncx>"""


def parts(**more: str) -> dict[str, str]:
    return {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": OPF,
        "OEBPS/toc.ncx": NCX,
        "OEBPS/one.xhtml": "<html><body><h1>One</h1><p>First.</p><aside><p>A note.</p></aside></body></html>",
        "OEBPS/b two.xhtml": "<html><head><title>t</title></head><body><p>Second.</p></body></html>",
        **more,
    }


def test_chapters_in_the_order_of_the_spine():
    reading = read(archive(parts()), "x.epub", "")
    assert reading.text == "# One\n\nFirst.\n\nA note.\n\n# Chapter two\n\nSecond."
    assert reading.title == "The book"
    assert reading.metadata == {"author": "Ann, Bob", "language": "en-GB"}
    assert reading.warnings == ()


def test_a_missing_chapter_is_told_and_the_others_are_read():
    spine = OPF.replace('<itemref idref="x"/>', '<itemref idref="gone"/>')
    reading = read(archive({**parts(), "OEBPS/book.opf": spine}), "x.epub", "")
    assert "First." in reading.text
    assert "gone.xhtml was not read" in reading.warnings[0]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04", "no whole zip"),
        (archive({"a": "b"}), "no description"),
        (archive(parts() | {"META-INF/encryption.xml": "<EncryptedData/>", "META-INF/rights.xml": ""}), "copying"),
    ],
)
def test_what_cannot_be_read_has_a_reason_and_a_remedy(data, reason):
    with pytest.raises(SourceError, match=reason) as caught:
        read(data, "x.epub", "")
    assert caught.value.fix


def test_bombs_are_refused():
    with pytest.raises(SourceTooLarge, match="inflates"):
        read(archive({**parts(), "OEBPS/one.xhtml": "<p>" + " " * (30 << 20)}), "x.epub", "")
