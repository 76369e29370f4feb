"""Make the small documents of tests/data/documents, one of each format, and with --golden what reading them gives.

Run as `python -m tests.data.make_documents [--golden]` from the project's top; then look at the difference before it
is committed: the golden file is only as right as the eyes that have seen it.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import sys
import tarfile
from email.message import EmailMessage
from pathlib import Path

from pincite.types import Source
from tests.acquire.made import A, P, S, W, archive, docx, msg, ole, para, pptx, rows, shape, xlsx
from tests.data.make_pdf import Pdf, PdfPage, lines, text

FOLDER = Path(__file__).parent / "documents"
GOLDEN = Path(__file__).parent / "documents.json"
OPEN = "urn:oasis:names:tc:opendocument:xmlns:"
NAMES = " ".join(
    f'xmlns:{short}="{OPEN}{long}:1.0"'
    for short, long in (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
                        ("presentation", "presentation"), ("style", "style"))
)  # fmt: skip


def word() -> bytes:
    styles = (
        f'<w:styles xmlns:w="{W}"><w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/>'
        "</w:numPr></w:pPr></w:style></w:styles>"
    )
    numbering = (
        f'<w:numbering xmlns:w="{W}"><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/>'
        '<w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum><w:abstractNum w:abstractNumId="1">'
        '<w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
        "</w:numbering>"
    )
    notes = f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="1">{para("Measured in May.")}</w:footnote></w:footnotes>'
    bullet = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="2"/></w:numPr>'
    cell = "<w:tc>{}</w:tc>"
    table = "".join(
        f"<w:tr>{''.join(cell.format(para(text)) for text in row)}</w:tr>"
        for row in (("Fruit", "Price"), ("Plum", "-1.50 €"))
    )
    noted = (
        '<w:p><w:r><w:t>Plums fell.</w:t><w:footnoteReference w:id="1"/></w:r><w:del><w:r><w:delText>Old.</w:delText>'
    )
    body = (
        para("Market report", '<w:pStyle w:val="T"/>') + para("Prices", '<w:pStyle w:val="H1"/>')
        + f"{noted}</w:r></w:del></w:p><w:tbl>{table}</w:tbl>" + para("Outlook", '<w:pStyle w:val="H1"/>')
        + para("Rain", bullet) + para("Sun", bullet)
    )  # fmt: skip
    links = (("s", "styles", "styles.xml"), ("n", "numbering", "numbering.xml"), ("f", "footnotes", "footnotes.xml"))
    extra = {"styles.xml": styles, "numbering.xml": numbering, "footnotes.xml": notes}
    return docx(body, title="Market report", extra=extra, links=links)


def slides() -> bytes:
    notes = f'<p:notes xmlns:p="{P}" xmlns:a="{A}">{shape("Mention the rain.", kind="body")}</p:notes>'
    return pptx(
        shape("Plums", kind="title") + shape("They fell", "They rose again", kind="body"),
        shape("Thanks", kind="title"),
        extra={"notesSlides/n.xml": notes},
        links={1: (("n", "notesSlide", "../notesSlides/n.xml"),)},
    )


def sheet() -> bytes:
    note = f'<comments xmlns="{S}"><comment ref="B2"><text><t>Per kilogram</t></text></comment></comments>'
    return xlsx(
        {"Prices": rows(("Fruit", "Price"), ("Plum", -1.5)) + rows(("Sum", 3), first=5), "Notes": rows(("None",))},
        extra={"comments1.xml": note},
        links={1: (("c", "comments", "../comments1.xml"),)},
    )


def opened(kind: str, body: str) -> bytes:
    """Make an OpenDocument file."""
    content = (
        f"<office:document-content {NAMES}><office:body><office:{kind}>{body}</office:{kind}></office:body>"
        "</office:document-content>"
    )
    name = f"application/vnd.oasis.opendocument.{kind}"
    manifest = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    parts = {"mimetype": name, "META-INF/manifest.xml": manifest, "content.xml": content}
    return archive(parts, stored=("mimetype",))


def book() -> bytes:
    opf = (
        '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>On plums</dc:title><dc:creator>Ann'
        '</dc:creator></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>'
    chapter = (
        "<html><body><h1>Chapter one</h1><p>A plum is a fruit.</p><ul><li>red</li><li>blue</li></ul></body></html>"
    )
    parts = {"META-INF/container.xml": container, "book.opf": opf, "a.xhtml": chapter}
    return archive({"mimetype": "application/epub+zip", **parts}, stored=("mimetype",))


def notebook() -> bytes:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Plums\n", "\n", "Count them."]},
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "print(3)",
         "outputs": [{"output_type": "stream", "name": "stdout", "text": ["3\n"]}]},
    ]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}, indent=1).encode()


def mail() -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "Plum prices", "ann@example.org", "bob@example.org"
    message["Date"] = "Mon, 06 May 2024 07:08:09 +0200"
    message.set_content("Plums fell to 1.50 €.\n\n- rain\n- wind\n")
    message.add_attachment(b"fruit,price\nplum,1.5\n", maintype="text", subtype="csv", filename="prices.csv")
    message.set_boundary("=====1=====")
    return message.as_bytes()


def tarred() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as file:
        info = tarfile.TarInfo("notes/plum.md")
        info.size = 7
        file.addfile(info, io.BytesIO(b"# Plums"))
    return gzip.compress(buffer.getvalue(), mtime=0)


def old_sheet() -> bytes:
    """Make an XLS file: a stream of records (BIFF8), in an OLE container."""

    def record(kind: int, body: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(body)) + body

    def cell(row: int, column: int, value: str | float) -> bytes:
        place = struct.pack("<HHH", row, column, 0)
        if isinstance(value, str):
            return record(0x204, place + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))
        return record(0x203, place + struct.pack("<d", value))

    end, name = record(0x0A), "Prices"
    values = (("Fruit", "Price €"), ("Plum", -1.5), ("Pear", 1200.0))
    cells = b"".join(cell(r, c, value) for r, row in enumerate(values) for c, value in enumerate(row))
    content = record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0)) + cells + end
    begin = record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0)) + record(0x42, struct.pack("<H", 1200))
    at = len(begin) + 4 + 8 + len(name) + len(end)
    bound = record(0x85, struct.pack("<IHBB", at, 0, len(name), 0) + name.encode("ascii"))
    return ole({"Workbook": begin + bound + end + content})


PAGE = b"""<!DOCTYPE html><html lang="en"><head><title>Plums</title><style>.s { display: none }</style></head><body>
<nav>Home</nav><h1>Plums</h1><p>They fell in May, as they do in every year with much rain.</p><p class="s">Secret.</p>
<table><tr><th>Fruit</th><th>Price</th></tr><tr><td>Plum</td><td>-1.50</td></tr></table><ul><li>Rain</li><li>Sun</li>
</ul><pre><code class="language-python">x = 1</code></pre></body></html>
"""
NOTES_MD = b"""---
title: Plums
---
# Prices

They fell.

| Fruit | Price |
| --- | --- |
| Plum | -1.50 |

```python
# no heading
```

Outlook
-------
- Rain
- Sun
"""
NOTES_RST = b"""Plums
=====

Prices
------

They fell::

    x = 1

- Rain
- Sun
"""
SHOP = b'''"""A shop."""


class Shop:
    """Sells plums."""

    def price(self, kilos):
        return 1.5 * kilos
'''


def page() -> bytes:
    cells = (("Fruit", "Price", "Kilos"), ("Plum", "-1.50", "12"), ("Pear", "", "1,200"), ("Quince", "3.25", "7"))
    table = "".join(
        text(40 + 90 * at, 460 - 14 * n, cell) for n, row in enumerate(cells) for at, cell in enumerate(row)
    )
    said = lines(40, 520, ["Plums fell in May, as they do in every year with much rain.", "Pears did not."])
    return bytes(Pdf([PdfPage(text(40, 550, "Prices", size=18) + said + table)]))


def documents() -> dict[str, bytes]:
    """Make all of them, by name."""
    table = (
        "<table:table>"
        + "".join(
            "<table:table-row>"
            + "".join(
                f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
                for cell in row
            )
            + "</table:table-row>"
            for row in (("Fruit", "Price"), ("Plum", "-1.50"))
        )
        + "</table:table>"
    )
    items = "".join(f"<text:list-item><text:p>{item}</text:p></text:list-item>" for item in ("Rain", "Sun"))
    slide = '<draw:frame presentation:class="title"><draw:text-box><text:p>Plums</text:p></draw:text-box></draw:frame>'
    heading = '<text:h text:outline-level="1">Prices</text:h>'
    vtt = "WEBVTT - Plums\n\n00:01.000 --> 00:04.000\n<v Ann>Plums fell.\n\n02:00.000 --> 02:03.000\nThey rose.\n"
    letters = (mail(), mail().replace(b"Plum prices", b"Pear prices"))
    return {
        "prices.pdf": page(),
        "report.docx": word(),
        "talk.pptx": slides(),
        "prices.xlsx": sheet(),
        "report.odt": opened("text", f"{heading}<text:p>Plums fell.</text:p>{table}<text:list>{items}</text:list>"),
        "talk.odp": opened("presentation", f'<draw:page draw:name="One">{slide}</draw:page>'),
        "prices.ods": opened("spreadsheet", table.replace("<table:table>", '<table:table table:name="Prices">')),
        "report.rtf": rb"{\rtf1\ansi\ansicpg1252{\stylesheet{\s1 heading 1;}}\pard\s1 Prices\par\pard Plums fell."
        rb" 1.50 \'80\par\trowd\pard\intbl Fruit\cell Price\cell\row\pard{\listtext\'b7\tab}Rain\par}",
        "book.epub": book(),
        "plums.ipynb": notebook(),
        "mail.eml": mail(),
        "mails.mbox": b"".join(b"From ann Mon May  6 07:08:09 2024\n" + letter + b"\n" for letter in letters),
        "mail.msg": msg({"0037": "Plum prices", "1000": "Plums fell.", "0C1A": "Ann"}, {"prices.csv": b"a,b\n" * 1024}),
        "talk.srt": b"1\n00:00:01,000 --> 00:00:04,500\n<i>Plums</i> fell.\n\n2\n00:00:05,000 --> 00:00:09,000\nUp.\n",
        "talk.vtt": vtt.encode(),
        "notes.adoc": b"= Plums\n:author: Ann\n\n== Prices\n\nThey fell.\n\n----\nx = 1\n----\n",
        "notes.org": b"#+TITLE: Plums\n\n* Prices\nThey fell.\n| a | b |\n",
        "notes.tex": b"\\title{Plums}\n\\section{Prices}\nThey fell.\n\\begin{verbatim}\nx = 1\n\\end{verbatim}\n",
        "page.html": PAGE,
        "notes.md": NOTES_MD,
        "notes.rst": NOTES_RST,
        "shop.py": SHOP,
        "prices.csv": "Fruit;Price €\nPlum;-1,50\nPear;1 200\n".encode("cp1252"),
        "prices.xls": old_sheet(),
        "notes.zip": archive({"plum.md": "# Plums", "sub/pear.txt": "Pears"}),
        "notes.tar.gz": tarred(),
    }


def golden(files: dict[str, bytes]) -> dict[str, object]:
    """Read files as they would be read from the disk."""
    from pincite.acquire.identify import media_type
    from pincite.acquire.read import read

    found = {}
    for name, data in sorted(files.items()):
        source = Source(f"file:///{name}", media_type(name, data), "", 0, len(data))
        reading = read(source, data)
        found[name] = {
            "media_type": source.media_type,
            "title": reading.title,
            "metadata": dict(reading.metadata),
            "warnings": list(reading.warnings),
            "pages": [f"{p.number} {p.label}: {p.start}-{p.end}" for p in reading.pages],
            "blocks": [f"{b.kind} {b.level} {b.label}: {reading.text[b.start : b.end]}" for b in reading.blocks],
            "text": reading.text,
        }
    return found


def main() -> None:
    """Write the files, and what reading them gives."""
    FOLDER.mkdir(exist_ok=True)
    for name, content in documents().items():
        (FOLDER / name).write_bytes(content)
    if "--golden" in sys.argv:
        GOLDEN.write_text(json.dumps(golden(documents()), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
