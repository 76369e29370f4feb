"""What an attacker may put into any format of XML parts, and page trees that lead in a circle."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

from pincite.acquire.identify import media_type
from pincite.acquire.read import read
from pincite.errors import SourceError
from pincite.types import Source
from tests.acquire.made import archive
from tests.data import make_documents
from tests.data.make_pdf import Pdf, PdfPage, lines

PACKED = ("report.docx", "talk.pptx", "prices.xlsx", "report.odt", "talk.odp", "prices.ods", "book.epub")
LAUGHS = '<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12)
)  # 10^12 times


def read_or_refused(name: str, data: bytes) -> str:
    """Give the text, or the reason; every refusal says what to do."""
    try:
        return read(Source(f"file:///{name}", media_type(name, data), "", 0, len(data)), data).text
    except SourceError as error:
        assert error.fix
        return str(error)


def poisoned(data: bytes, declaration: str, use: str) -> bytes:
    """Declare a document type in each part of XML, and use its entity in every text."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    for name, content in parts.items():
        text = content.decode("utf-8", "replace")
        root = re.search(r"<(?![?!])([\w:]+)", text)
        if root and name not in ("mimetype", "[Content_Types].xml") and not name.endswith(".rels"):
            opened = re.sub(r">([^<>\s][^<]*)<", rf">\1{use}<", text[root.start() :])
            text = f"<!DOCTYPE {root[1]} [{declaration}]>{opened}"
            parts[name] = text.encode()
    return archive(parts, stored=("mimetype",))


@pytest.mark.parametrize("name", PACKED)
def test_external_entities_are_never_read(name, tmp_path):
    canary = tmp_path / "canary.txt"
    canary.write_text("SECRET-OF-THIS-MACHINE")
    data = poisoned(make_documents.documents()[name], f'<!ENTITY x SYSTEM "{canary.as_uri()}">', "&x;")
    assert "SECRET" not in read_or_refused(name, data)


@pytest.mark.parametrize("name", PACKED)
def test_laughs_do_not_multiply(name):
    said = read_or_refused(name, poisoned(make_documents.documents()[name], LAUGHS, "&m;"))
    assert len(said) < 100_000


@pytest.mark.parametrize("name", ["a.xml", "a.svg", "a.html", "a.rss"])
def test_plain_xml_stays_as_it_stands(name, tmp_path):
    canary = tmp_path / "canary.txt"
    canary.write_text("SECRET-OF-THIS-MACHINE")
    text = (
        f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "{canary.as_uri()}">{LAUGHS}]><r><p>said &x; &m;</p></r>'
    )
    said = read_or_refused(name, text.encode())
    assert "SECRET" not in said and len(said) < 100_000


def cyclic(*, within: bool) -> bytes:
    """A page tree whose node has its parent, or itself, among its kids."""
    pages = Pdf([PdfPage(lines(40, 500, ["The weir holds 4,200 litres."]))])
    data = bytes(pages)
    kids = re.search(rb"/Kids \[([^\]]*)\]", data)
    assert kids is not None
    node = b"1000 0 R" if within else b"2 0 R"
    pages.more[1000] = b"<< /Type /Pages /Parent 2 0 R /Count 1 /Kids [1000 0 R 2 0 R] >>"
    data = bytes(pages)
    place = data.index(kids[0])
    return data[:place] + b"/Kids [" + kids[1] + b" " + node + b"]" + data[place + len(kids[0]) :]


@pytest.mark.parametrize("within", [False, True])
def test_page_trees_in_a_circle_end(within):
    said = read_or_refused("a.pdf", cyclic(within=within))
    assert "4,200" in said or "damaged" in said or "pages" in said


def test_a_page_tree_that_claims_millions_of_pages_ends():
    data = re.sub(rb"/Count 1\b", b"/Count 9999999", bytes(Pdf([PdfPage(lines(40, 500, ["It holds 4,200."]))])))
    said = read_or_refused("a.pdf", data)
    assert "4,200" in said or "pages" in said
