"""Spreadsheets."""

from __future__ import annotations

import pytest

from pincite.acquire.readers import sheets
from pincite.acquire.readers.sheets import read
from pincite.errors import SourceError, SourceTooLarge
from tests.acquire.made import S, archive, rows, xlsx

ODS = "application/vnd.oasis.opendocument.spreadsheet"


def spans(reading) -> list[tuple[str, str, str]]:
    return [(block.kind, block.label, reading.text[block.start : block.end]) for block in reading.blocks]


def test_sheets_are_pages_and_runs_of_rows_are_tables_with_their_range():
    data = xlsx(
        {
            "Prices": rows(("Item", "Price"), ("Tea", -2.5), ("Milk", 3), first=2, columns="CD")
            + rows(("Sum", 0.5), first=6),
            "Empty": "",
            "More": rows((None, 1e21, 0.1, 1234567.89)),
        }
    )
    reading = read(data, "prices.xlsx", "")
    assert reading.title == "prices"
    assert spans(reading) == [
        ("heading", "Prices", "# Prices"),
        ("table", "C2:D4", "| Item | Price |\n| Tea | -2.5 |\n| Milk | 3 |"),
        ("table", "A6:B6", "| Sum | 0.5 |"),
        ("heading", "Empty", "# Empty"),
        ("heading", "More", "# More"),
        ("table", "B1:D1", "| 1e+21 | 0.1 | 1234567.89 |"),
    ]
    assert [(page.number, page.label) for page in reading.pages] == [(1, "Prices"), (2, "Empty"), (3, "More")]


def test_hidden_sheets_are_furniture_and_comments_name_their_cell():
    note = f'<comments xmlns="{S}"><comment ref="A1"><text><t>Why?</t></text></comment></comments>'
    data = xlsx(
        {"Seen": rows(("x",)), "Unseen": rows(("y",))},
        states={"Unseen": "hidden"},
        extra={"comments1.xml": note},
        links={1: (("c", "comments", "../comments1.xml"),)},
    )
    reading = read(data, "t.xlsx", "")
    assert reading.text == "# Seen\n\n| x |\n\nComment (A1): Why?\n\n# Unseen\n\n| y |"
    assert [block.kind for block in reading.blocks][-2:] == ["furniture", "furniture"]
    assert reading.metadata == {"hidden_sheets": "Unseen"}


def test_a_cell_in_each_corner_is_read_cell_by_cell():
    corners = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576" t="s"><v>0</v></c></row>'
    strings = f'<sst xmlns="{S}"><si><r><t>la</t></r><r><t>st</t></r></si></sst>'
    data = xlsx({"Wide": corners}, extra={"sharedStrings.xml": strings})
    assert read(data, "t.xlsx", "").text == "# Wide\n\nA1: 1\nXFD1048576: last"


def test_bombs_are_refused_before_anybody_opens_them():
    bomb = xlsx({"Bomb": "<row>" + " " * (30 << 20) + "</row>"})
    with pytest.raises(SourceTooLarge, match="inflates"):
        read(bomb, "t.xlsx", "")


def test_many_repeated_cells_of_an_ods_are_refused():
    cell = '<table:table-cell table:number-columns-repeated="16384" office:value-type="float" office:value="1"/>'
    content = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body><office:spreadsheet>'
        f'<table:table table:name="a"><table:table-row table:number-rows-repeated="1048576">{cell}</table:table-row>'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    data = archive({"mimetype": ODS, "META-INF/manifest.xml": "<a/>", "content.xml": content}, stored=("mimetype",))
    with pytest.raises(SourceTooLarge, match="more cells"):
        read(data, "t.ods", ODS)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no whole zip"),
        (archive({"a": "b"}), "no whole spreadsheet"),
        (sheets.OLE + "EncryptedPackage".encode("utf-16-le"), "password"),
        (sheets.OLE + bytes(2000), "damaged"),
        (archive({"META-INF/manifest.xml": "<encryption-data/>"}), "password"),
    ],
)
def test_what_cannot_be_read_has_a_reason_and_a_remedy(data, reason):
    with pytest.raises(SourceError, match=reason) as caught:
        read(data, "t.xlsx", "")
    assert caught.value.fix
