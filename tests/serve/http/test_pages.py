"""Pages as images, and where words stand on them."""

from __future__ import annotations

import struct
from pathlib import Path

import httpx
import pytest

from pincite.library import Library
from tests.data.make_pdf import Pdf, PdfPage, lines
from tests.serve.http.documents import finished, listed, upload


@pytest.fixture
def report(client: httpx.Client) -> dict:
    """A PDF of two pages, 400 by 600 points."""
    pages = [PdfPage(lines(40, 500, ["The weir holds 4,200 litres."])), PdfPage(lines(40, 300, ["A dam is taller."]))]
    finished(client, upload(client, ("report.pdf", bytes(Pdf(pages)))))
    return client.get(f"/v1/documents/{listed(client)['report.pdf']['id']}").json()


def test_a_page_is_painted_at_a_scale(client: httpx.Client, report: dict) -> None:
    assert report["pages"] == 2
    base = f"/v1/documents/{report['id']}/pages"
    for scale in (1, 2):
        image = client.get(f"{base}/2.png", params={"scale": scale})
        assert image.headers["content-type"] == "image/png"
        assert image.content.startswith(b"\x89PNG\r\n\x1a\n")
        assert struct.unpack(">II", image.content[16:24]) == (400 * scale, 600 * scale)
    assert client.get(f"{base}/2.png").content == client.get(f"{base}/2.png", params={"scale": 2}).content
    assert client.get(f"{base}/1.png").content != client.get(f"{base}/2.png").content


def test_boxes_are_fractions_of_the_page(client: httpx.Client, report: dict) -> None:
    text = client.get(f"/v1/documents/{report['id']}/text").json()["text"]
    start = text.index("4,200")
    base = f"/v1/documents/{report['id']}/pages"
    [[x0, y0, x1, y1]] = client.get(f"{base}/1/boxes", params={"start": start, "end": start + 5}).json()["boxes"]
    assert 0.1 < x0 < x1 < 0.6 and x1 - x0 < 0.1  # five characters of ten points, behind 40 points and 15 characters
    assert 90 / 600 - 0.01 < y0 < 100 / 600 < y1 < 105 / 600 + 0.01  # the baseline is 100 points below the upper edge
    assert client.get(f"{base}/2/boxes", params={"start": start, "end": start + 5}).json() == {"boxes": []}
    assert client.get(f"{base}/1/boxes", params={"start": 9, "end": 3}).json() == {"boxes": []}


def test_what_has_no_such_page_is_told(client: httpx.Client, report: dict) -> None:
    base = f"/v1/documents/{report['id']}/pages"
    assert client.get(f"{base}/3.png").status_code == 404
    assert client.get(f"{base}/1.png", params={"version": 2}).status_code == 404
    bread = listed(client)["bread.md"]["id"]
    for route in ("1.png", "1/boxes?start=0&end=3"):
        answer = client.get(f"/v1/documents/{bread}/pages/{route}")
        assert answer.status_code == 404
        assert "no PDF" in answer.json()["error"]["message"]
    for route in ("0.png", "-1.png", "x.png", "1.png?scale=0", "1.png?scale=99", "1.png?scale=nan", "1/boxes"):
        assert client.get(f"{base}/{route}").status_code in (404, 422), route


def test_a_page_of_a_file_that_changed_is_not_painted(client: httpx.Client, report: dict, library: Library) -> None:
    base = f"/v1/documents/{report['id']}/pages"
    [file] = library.uploads.files()
    file.write_bytes(bytes(Pdf([PdfPage(lines(40, 500, ["Something else."]))])))
    assert client.get(f"{base}/1.png").status_code == 404
    assert client.get(f"{base}/1/boxes", params={"start": 0, "end": 5}).status_code == 404


def test_a_file_that_harms_what_paints_it_harms_no_one_else(
    client: httpx.Client, report: dict, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Painting runs in a process with limits; here it is one that dies."""
    from pincite.acquire.readers import pdf_boxes

    call = pdf_boxes.call_in_child

    def dying(module: str, function: str, data: bytes, **arguments: object) -> object:
        return call("tests.acquire.hostile_readers", "read", b"segfault", name="x", media_type="application/pdf")

    base = f"/v1/documents/{report['id']}/pages"
    with monkeypatch.context() as patched:
        patched.setattr(pdf_boxes, "call_in_child", dying)
        refused = client.get(f"{base}/1.png", params={"scale": 3})
        assert refused.status_code == 422
        assert "crashed its reader" in refused.json()["error"]["message"]
        assert client.get("/health").status_code == 200
    assert client.get(f"{base}/1.png", params={"scale": 3}).status_code == 200


def test_the_pages_of_a_hidden_document_are_not_there(client: httpx.Client, report: dict, library: Library) -> None:
    from pincite.access import Principal
    from pincite.errors import NotInLibrary

    client.get(f"/v1/documents/{report['id']}/pages/1.png")
    library.label(report["uri"], ["hr"])
    for grants in (frozenset[str](), frozenset({"it"})):
        view = library.seen_by(Principal("x", "reader", grants))
        with pytest.raises(NotInLibrary):
            view.page(report["id"], 1)
        with pytest.raises(NotInLibrary):
            view.page_boxes(report["id"], 1, 0, 5)
    assert library.seen_by(Principal("x", "reader", frozenset({"hr"}))).page(report["id"], 1)
    assert Path(library.uploads.files()[0]).suffix == ".pdf"
