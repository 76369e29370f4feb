"""Spreadsheets of OpenDocument."""

from __future__ import annotations

import pytest

from pincite.acquire.readers.sheets import read
from pincite.errors import SourceError, SourceTooLarge
from tests.acquire.made import archive
from tests.acquire.readers.test_odf import LOOKS, META, NAMES, content

ODS = "application/vnd.oasis.opendocument.spreadsheet"
NUMBER = '<table:table-cell office:value-type="float" office:value="{}"><text:p>rounded</text:p></table:table-cell>'


def cell(text: str, more: str = "", inner: str = "") -> str:
    return f'<table:table-cell office:value-type="string" {more}><text:p>{text}</text:p>{inner}</table:table-cell>'


def row(*cells: str, more: str = "") -> str:
    return f"<table:table-row {more}>{''.join(cells)}</table:table-row>"


def sheet(*rows: str, more: str = 'table:name="S"', columns: str = "") -> str:
    return f"<table:table {more}>{columns}{''.join(rows)}</table:table>"


def flat(*sheets: str, styles: str = "") -> bytes:
    return (
        f'<office:document {NAMES} xmlns:s="urn:style" xmlns:f="urn:fo"><office:automatic-styles>{LOOKS}{styles}'
        f"</office:automatic-styles><office:body><office:spreadsheet>{''.join(sheets)}</office:spreadsheet></office:body>"
        "</office:document>"
    ).encode()


def spans(data: bytes) -> list[tuple[str, str, str]]:
    reading = read(data, "t.ods", ODS)
    return [(block.kind, block.label, reading.text[block.start : block.end]) for block in reading.blocks][1:]


def test_values_are_written_in_full_and_empty_rows_part_tables():
    kinds = {
        "percentage": 'office:value="0.125"', "currency": 'office:value="-2.5" office:currency="EUR"',
        "date": 'office:date-value="2021-01-31"',
        "time": 'office:time-value="PT08H05M00S"', "boolean": 'office:boolean-value="true"',
    }  # fmt: skip
    typed = "".join(f'<table:table-cell office:value-type="{kind}" {value}/>' for kind, value in kinds.items())
    moment = '<table:table-cell office:value-type="date" office:date-value="2021-01-31T10:00:00"/>'
    error = '<table:table-cell office:value-type="float" office:value="0"><text:p>#DIV/0!</text:p></table:table-cell>'
    rows = (
        row("<table:table-cell/>", cell("a<text:s/>b"), cell("two", 'table:number-columns-repeated="2"')),
        row("<table:table-cell/>", NUMBER.format(1234567.89), NUMBER.format(3), more='table:number-rows-repeated="2"'),
        row('<table:table-cell table:number-columns-repeated="16384"/>', more='table:number-rows-repeated="1000"'),
        row(typed, moment, error),
        row('<table:table-cell table:number-columns-repeated="16384"/>', more='table:number-rows-repeated="1047000"'),
    )
    assert spans(flat(sheet(*rows))) == [
        ("table", "B1:D3", "| a b | two | two |\n| 1234567.89 | 3 |\n| 1234567.89 | 3 |"),
        ("table", "A1004:G1004", "| 12.5% | -2.5 EUR | 2021-01-31 | 08:05:00 | TRUE | 2021-01-31 10:00:00 | #DIV/0! |"),
    ]


def test_what_cannot_be_seen_is_furniture():
    columns = '<table:table-column table:number-columns-repeated="2"/><table:table-column table:visibility="collapse"/>'
    rows = (
        row(cell("a"), cell("white", 'table:style-name="W"'), cell("column"), cell("on blue", 'table:style-name="G"')),
        row(cell("row"), more='table:visibility="collapse"'),
        row(cell("b"), f"<table:covered-table-cell office:value-type='string'>{'<text:p>under</text:p>'}"
            "</table:covered-table-cell>"),
    )  # fmt: skip
    assert spans(flat(sheet(*rows, columns=columns))) == [
        ("table", "A1:D3", "| a |  |  | on blue |\n| b |"),
        ("furniture", "hidden cells", "B1: white\nC1: column\nA2: row\nB3: under"),
    ]
    styles = '<s:style s:name="X"><s:table-properties table:display="false"/></s:style>'
    hidden = flat(sheet(row(cell("x")), more='table:name="Far" table:style-name="X"'), styles=styles)
    assert read(hidden, "t.ods", ODS).metadata == {"hidden_sheets": "Far"}


def test_comments_and_drawn_texts_come_behind_the_cells():
    note = "<office:annotation><dc:creator>Bob</dc:creator><text:p>Why?</text:p></office:annotation>"
    shapes = (
        "<table:shapes><draw:frame><draw:text-box><text:p>Over it</text:p></draw:text-box></draw:frame></table:shapes>"
    )
    assert spans(flat(sheet(shapes, row(cell("x"), cell("y", inner=note))))) == [
        ("table", "A1:B1", "| x | y |"), ("paragraph", "", "Over it"), ("paragraph", "", "Comment (B1): Why?"),
    ]  # fmt: skip


def test_a_package_states_who_wrote_it():
    data = archive({"mimetype": ODS, "content.xml": content(sheet(row(cell("x"))), "spreadsheet"), "meta.xml": META})
    reading = read(data, "t.ods", ODS)
    assert (reading.text, reading.metadata["author"]) == ("# S\n\n| x |", "Ann")


@pytest.mark.parametrize("cut", [40, 400])
def test_content_that_ends_early_is_refused(cut):
    with pytest.raises(SourceError, match="damaged"):
        read(flat(sheet(row(cell("x" * 400))))[:-cut], "t.ods", ODS)


def test_more_cells_than_a_sheet_may_have_are_refused_before_they_are_written():
    data = flat(
        sheet(row(cell("x", 'table:number-columns-repeated="16384"'), more='table:number-rows-repeated="9999"'))
    )
    with pytest.raises(SourceTooLarge, match="more cells"):
        read(data, "t.ods", ODS)


def test_long_files_and_odd_counts_are_read():
    rows = row(cell("a", 'table:number-columns-repeated="-5"'), cell("b"), more='table:number-rows-repeated="-3"')
    columns = '<table:table-column table:number-columns-repeated="1"/>' * 200_000
    assert spans(flat(sheet(rows, columns=columns))) == [("table", "A1:B1", "| a | b |")]
