"""Tables of a PDF: rows whole, cells in their columns, and nothing else taken for a table."""

from __future__ import annotations

import pytest

from pincite.acquire.readers import pdf
from pincite.acquire.readers.pdf_boxes import boxes
from tests.data.make_pdf import Pdf, PdfPage, lines, text

HEAD = ("Station", "Depth (m)", "Litres", "Year")
ROWS = (("Alder", "3.5", "4,200", "1911"), ("Birch", "-12.0", "", "1934"), ("Cedar", "7.25", "18,050", "1902"))
PLACES = (40, 130, 220, 300)
PROSE = "The stations were measured again after the flood, and all of them held. "


def table(*, top: float = 500) -> str:
    rows = enumerate((HEAD, *ROWS))
    return "".join(text(x, top - 16 * n, said) for n, row in rows for x, said in zip(PLACES, row, strict=True) if said)


def tables(*pages: str) -> list[str]:
    found = pdf.read(bytes(Pdf([PdfPage(page) for page in pages])), "a.pdf", "application/pdf")
    return [found.text[block.start : block.end] for block in found.blocks if block.kind == "table"]


EXPECTED = """| Station | Depth (m) | Litres | Year |
| Alder | 3.5 | 4,200 | 1911 |
| Birch | -12.0 | | 1934 |
| Cedar | 7.25 | 18,050 | 1902 |"""


def test_rows_are_whole_and_an_empty_cell_stays_empty():
    before, after = lines(40, 560, [PROSE] * 2), lines(40, 400, [PROSE] * 2)
    assert tables(before + table() + after) == [EXPECTED]


def test_a_table_on_its_side_is_one_too():
    [found] = tables(f"q 0 1 -1 0 500 0 cm {table()} Q")
    assert found == EXPECTED


def by_columns(rows: tuple[tuple[str, ...], ...], places: tuple[float, ...], *, top: float = 500) -> str:
    """Draw a table column by column, as spreadsheets and layout programs do."""
    cells = [(x, n, row[at]) for at, x in enumerate(places) for n, row in enumerate(rows) if row[at]]
    return "".join(text(x, top - 16 * n, said) for x, n, said in cells)


def test_a_table_drawn_column_by_column_is_read_by_rows():
    before, after = lines(40, 560, [PROSE] * 2), lines(40, 400, [PROSE] * 2)
    assert tables(before + by_columns((HEAD, *ROWS), PLACES) + after) == [EXPECTED]
    labelled = by_columns(tuple(row[:1] for row in (HEAD, *ROWS)), PLACES[:1])
    numbers = "".join(
        text(x, 500 - 16 * n, said)
        for n, row in enumerate((HEAD, *ROWS))
        for x, said in zip(PLACES[1:], row[1:], strict=True)
        if said
    )
    assert tables(labelled + numbers) == [EXPECTED]


@pytest.mark.parametrize(
    "rows",
    [
        (("Ada Alder", "Bo Birch"), ("Weir Institute", "Dam Office"), ("Brest", "Venice"), ("a@weir", "b@dam")),
        tuple((f"{n}", f"open the gate of lock {n}") for n in range(1, 6)),
    ],
    ids=["authors", "numbered lines"],
)
def test_other_columns_are_read_one_after_the_other(rows):
    content = lines(40, 560, [PROSE] * 2) + by_columns(rows, (40, 200))
    found = pdf.read(bytes(Pdf([PdfPage(content)])), "a.pdf", "application/pdf")
    assert found.text.split() == " ".join([PROSE * 2, *(row[at] for at in (0, 1) for row in rows)]).split()


def test_tables_side_by_side_stay_apart():
    right = "".join(
        text(x, 500 - 16 * n, said)
        for n, row in enumerate((("Rate", "Tax"), ("Paid", "0.00"), ("Due", "9.50"), ("Sum", "9.50")))
        for x, said in zip((250, 330), row, strict=True)
    )
    left = "".join(
        text(x, 500 - 16 * n, said)
        for n, row in enumerate((("Item", "Price"), ("Coal", "1.50"), ("Peat", "4.00"), ("Wood", "4.00")))
        for x, said in zip((40, 120), row, strict=True)
    )
    assert [said.splitlines()[1] for said in tables(left + right)] == ["| Coal | 1.50 |", "| Paid | 0.00 |"]


def test_a_label_of_several_lines_and_its_cells_are_one_row():
    page = text(40, 500, "Source") + text(180, 500, "Kind") + text(260, 500, "Words")
    page += lines(40, 480, ["Alder weir", "the upper one"], leading=1)
    page += text(180, 480, "Web") + text(260, 480, "3.3")
    page += text(40, 454, "Birch") + text(180, 454, "Code") + text(260, 454, "70.0")
    page += (
        lines(40, 434, ["Cedar"]) + text(60, 425, "and its sons", 8) + text(180, 434, "Mail") + text(260, 434, "5.1")
    )
    page += text(40, 410, "Total") + text(260, 410, "78.4")
    expected = """| Source | Kind | Words |
| Alder weir | Web | 3.3 |
| the upper one | | |
| Birch | Code | 70.0 |
| Cedar | Mail | 5.1 |
| and its sons | | |
| Total | | 78.4 |"""
    assert tables(page) == [expected]


def test_every_cell_leads_back_to_its_place():
    data = bytes(Pdf([PdfPage(table())]))
    found = pdf.read(data, "a.pdf", "application/pdf")
    start = found.text.index("18,050")
    [(page, x0, y0, x1, y1)] = boxes(data, found.pages, start, start + 6)
    assert (page, round(x0)) == (1, 220) and 137 < y0 < y1 < 155 and x1 < 260
    row = found.text.index("| Cedar")
    assert len(boxes(data, found.pages, row, row + len(EXPECTED.splitlines()[3]))) >= 1


@pytest.mark.parametrize(
    "content",
    [
        lines(40, 500, [PROSE] * 8),
        lines(40, 500, [PROSE[:40]] * 8, size=8) + lines(220, 500, [PROSE[:42]] * 8, size=8),  # two columns
        "".join(text(40, 500 - 14 * n, f"{n + 1}.") + text(70, 500 - 14 * n, PROSE[:50]) for n in range(6)),  # a list
        "".join(
            text(40, 500 - 14 * n, f"Chapter {n} " + ". " * 30) + text(320, 500 - 14 * n, f"{n}") for n in range(6)
        ),
        text(40, 500, "Name") + text(200, 500, "Value") + text(40, 486, "a") + text(200, 486, "b"),  # too small to tell
    ],
    ids=["prose", "columns", "list", "contents", "two rows"],
)
def test_what_is_no_table_is_none(content):
    assert tables(content) == []


def test_columns_are_found_where_every_cell_is_right_aligned():
    rows = [("Coal", "9"), ("Peat", "1,200"), ("Wood", "17"), ("Wind", "140,003")]
    page = "".join(
        text(40, 500 - 14 * n, name) + text(200 - 5 * len(value), 500 - 14 * n, value)
        for n, (name, value) in enumerate(rows)
    )
    assert tables(page) == ["\n".join(f"| {name} | {value} |" for name, value in rows)]
