"""Spreadsheets."""

from __future__ import annotations

import io
import zipfile
from xml.sax.saxutils import escape

import pytest

from pincite.acquire.readers import sheets
from pincite.acquire.readers.sheets import read
from pincite.errors import SourceError, SourceTooLarge
from tests.acquire.made import A, S, archive, relations, rows, xlsx

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
        (sheets.OLE + bytes.fromhex("0908100000060500") + bytes(12) + bytes.fromhex("2f003600"), "password"),
        (archive({"META-INF/manifest.xml": "<encryption-data/>"}), "password"),
    ],
)
def test_what_cannot_be_read_has_a_reason_and_a_remedy(data, reason):
    with pytest.raises(SourceError, match=reason) as caught:
        read(data, "t.xlsx", "")
    assert caught.value.fix


STYLES = f"""<styleSheet xmlns="{S}"><numFmts><numFmt numFmtId="200" formatCode=";;;"/></numFmts>
<fonts><font/><font><color rgb="FFFFFFFF"/></font><font><color theme="0"/></font></fonts>
<fills><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="solid"/></fill></fills>
<cellXfs><xf fontId="0" fillId="0"/><xf fontId="1" fillId="0"/><xf fontId="2"/><xf fontId="1" fillId="1"/>
<xf fontId="0" numFmtId="200"/></cellXfs></styleSheet>"""


def hiding(data, before="", behind=""):
    made = xlsx({"S": data}, extra={"styles.xml": STYLES})
    with zipfile.ZipFile(io.BytesIO(made)) as file:
        parts = {name: file.read(name).decode() for name in file.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    sheet = sheet.replace("<sheetData>", f"{before}<sheetData>").replace("</sheetData>", f"</sheetData>{behind}")
    reading = read(archive(parts | {"xl/worksheets/sheet1.xml": sheet}), "t.xlsx", "")
    return [(block.kind, reading.text[block.start : block.end]) for block in reading.blocks][1:], reading.metadata


def test_hidden_rows_and_columns_are_furniture_and_do_not_cut_the_table():
    data = rows(("Fruit", "Price", "Cost"), ("Plum", 1, 7), ("Pear", 2, 8), ("Fig", 3, 9))
    hidden = data.replace('<row r="3">', '<row r="3" spans="1:3" hidden="1">')
    columns = '<cols><col min="3" max="3" width="9" hidden="1"/></cols>'
    blocks, metadata = hiding(hidden, columns)
    assert blocks == [
        ("table", "| Fruit | Price |\n| Plum | 1 |\n| Fig | 3 |"),
        ("furniture", "C1: Cost\nC2: 7\nA3: Pear\nB3: 2\nC3: 8\nC4: 9"),
    ]
    assert metadata == {"hidden_cells": 6}
    assert len(hiding(hidden, behind='<autoFilter ref="A1:C4"/>')[0]) == 1, "a filter only puts rows out of sight"


def test_white_cells_without_a_fill_are_furniture():
    data = rows(("a", "b", "c", "d", "e"))
    for column, style in zip("ABCDE", "01234", strict=True):
        data = data.replace(f'<c r="{column}1"', f'<c r="{column}1" s="{style}"')
    assert hiding(data)[0] == [("table", "| a |  |  | d |"), ("furniture", "B1: b\nC1: c\nE1: e")]
    assert hiding(data, behind="<tableParts/>")[0] == [("table", "| a | b | c | d | e |")]


UNITS = {
    "0.00%": "12.5%",
    '"$"#,##0.00_);[Red]\\("$"#,##0.00\\)': "$0.125",
    '_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-': "0.125 €",
    "#,##0.00 [$USD]": "0.125 USD",
    '0.0"°C"': "0.125°C",
    "#,##0": "0.125",
    "0.00E+00": "0.125",
    '[>=100]0" big";0': "0.125",
    '#,##0,"K"': "0.125",  # shown as thousands
    "# ?/?": "0.125",
    "[h]:mm": None,  # a time
}


def test_numbers_have_the_units_of_their_formats():
    formats = "".join(
        f'<numFmt numFmtId="{200 + n}" formatCode="{escape(code, {chr(34): "&quot;"})}"/>'
        for n, code in enumerate(UNITS)
    )
    styles = "".join(f'<xf numFmtId="{200 + n}"/>' for n in range(len(UNITS)))
    styles = f'<cellXfs>{styles}<xf numFmtId="9"/></cellXfs>'
    made = f'<styleSheet xmlns="{S}"><numFmts>{formats}</numFmts>{styles}</styleSheet>'
    data = rows(*((code, 0.125, -0.125) for code in UNITS), ("built in", 0.285, "12"))
    for n in range(len(UNITS) + 1):
        for column in "BC":
            data = data.replace(f'<c r="{column}{n + 1}"', f'<c r="{column}{n + 1}" s="{n}"')
    lines = read(xlsx({"S": data}, extra={"styles.xml": made}), "t.xlsx", "").text.splitlines()[2:]
    for line, (code, expected) in zip(lines, UNITS.items(), strict=False):
        if expected:
            assert line == f"| {code} | {expected} | -{expected} |"
    assert lines[-1] == "| built in | 28.5% | 12 |", "text has no unit"


def test_units_are_kept_by_runs_of_rows():
    survey = sheets._Survey(0, set(), set(), set(), {}, [], {})
    cells = [(row, column) for row in range(1, 1001) for column in (1, 2) if column == 1 or row % 100]
    for row, column in [*cells, *cells[-40:]]:  # the end of a part is seen again with the next
        survey.measures(row, column, ("", "%"))
    assert len(survey.units[1]) == 1 and len(survey.units[2]) == 10
    for row in (1, 99, 100, 101, 1000, 1001):
        assert dict(survey.units_in(row)) == {c: ("", "%") for r, c in cells if r == row}


def test_text_boxes_titles_of_charts_and_running_heads_come_behind_the_cells():
    said = "<x:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p><a:p><a:r><a:t>again</a:t></a:r></a:p></x:txBody>"
    chart = "<c:s {}><c:chart><c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:title></c:chart></c:s>"
    names = f'xmlns:a="{A}" xmlns:x="urn:x" xmlns:c="urn:c"'
    made = xlsx(
        {"S": rows(("x",))},
        extra={
            "drawings/d.xml": f"<x:wsDr {names}>{said.format('Note')}</x:wsDr>",
            "drawings/_rels/d.xml.rels": relations(("c", "chart", "../charts/c.xml")),
            "charts/c.xml": chart.format(names),
        },
        links={1: (("d", "drawing", "../drawings/d.xml"),)},
    )
    with zipfile.ZipFile(io.BytesIO(made)) as file:
        parts = {name: file.read(name).decode() for name in file.namelist()}
    head = '<headerFooter><oddHeader>&amp;L&amp;"Arial,Bold"&amp;12Plums&amp;CPage &amp;P</oddHeader></headerFooter>'
    sheet = parts["xl/worksheets/sheet1.xml"].replace("</worksheet>", f"{head}</worksheet>")
    assert spans(read(archive(parts | {"xl/worksheets/sheet1.xml": sheet}), "t.xlsx", ""))[1:] == [
        ("table", "A1:A1", "| x |"), ("paragraph", "", "Note\nagain"), ("paragraph", "", "Sales"),
        ("furniture", "", "Plums Page"),
    ]  # fmt: skip


def test_a_workbook_that_the_library_refuses_is_read_cell_by_cell():
    data = xlsx({"S": '<row r="1"><c r="A1" t="s"><v>7</v></c><c r="B1"><v>2</v></c></row>'})
    assert read(data, "t.xlsx", "").text == "# S\n\nB1: 2", "a shared text that is not there"


def test_errors_are_what_their_formulas_show():
    data = xlsx({"S": '<row r="2"><c r="B2" s="1" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="C2"><v>2</v></c></row>'
                 '<row r="3"><c r="C3" t="e"><v>#N/A</v></c></row>'})  # fmt: skip
    assert spans(read(data, "t.xlsx", ""))[1:] == [("table", "B2:C3", "| #DIV/0! | 2 |\n|  | #N/A |")]
