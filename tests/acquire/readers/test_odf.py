"""OpenDocument text and slides."""

from __future__ import annotations

import pytest

from pincite.acquire.readers.odf import read
from pincite.errors import SourceError
from tests.acquire.made import archive

NAMES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0"'
)
META = (
    f"<office:document-meta {NAMES}><office:meta><meta:initial-creator>Old</meta:initial-creator>"
    "<dc:creator>Ann</dc:creator><dc:date>2024-05-06</dc:date></office:meta></office:document-meta>"
)
STYLES = (
    f'<office:document-styles {NAMES}><text:list-style xmlns:style="x" style:name="N">'
    '<text:list-level-style-number text:level="1"/><text:list-level-style-bullet text:level="2"/></text:list-style>'
    "</office:document-styles>"
)


def content(body: str, kind: str = "text") -> str:
    return (
        f"<office:document-content {NAMES}><office:body><office:{kind}>{body}</office:{kind}></office:body>"
        "</office:document-content>"
    )


def odt(body: str, kind: str = "text") -> bytes:
    parts = {"mimetype": "x", "content.xml": content(body, kind), "meta.xml": META, "styles.xml": STYLES}
    return archive(parts, stored=("mimetype",))


def listed(*items: str) -> str:
    inner = "".join(f"<text:list-item>{item}</text:list-item>" for item in items)
    return f'<text:list text:style-name="N">{inner}</text:list>'


def spans(reading) -> list[tuple[str, str]]:
    return [(block.kind, reading.text[block.start : block.end]) for block in reading.blocks]


def test_text_with_headings_lists_notes_comments_and_changes():
    reading = read(
        odt(
            "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes>"
            '<text:h text:outline-level="2">A <text:span>head</text:span>ing</text:h>'
            '<text:p>One<text:s text:c="3"/>two<text:line-break/>three<text:note><text:note-citation>1'
            "</text:note-citation><text:note-body><text:p>The note.</text:p></text:note-body></text:note> end"
            "<office:annotation><dc:creator>Bob</dc:creator><text:p>Hm.</text:p></office:annotation>"
            "<draw:frame><draw:text-box><text:p>In a box</text:p></draw:text-box></draw:frame></text:p>"
            + listed("<text:p>a</text:p>" + listed("<text:p>b</text:p>"), "<text:p>c</text:p>")
            + "<text:table-of-content><text:p>A heading 1</text:p></text:table-of-content>"
        ),
        "my file.odt",
        "",
    )
    assert spans(reading) == [
        ("heading", "## A heading"),
        ("paragraph", "One two\nthree[^1] end"),
        ("paragraph", "In a box"),
        ("list", "1. a\n  - b\n2. c"),
        ("furniture", "A heading 1"),
        ("paragraph", "[^1]: The note."),
        ("paragraph", "Comment (Bob): Hm."),
    ]
    assert (reading.title, reading.metadata) == ("A heading", {"author": "Ann", "date": "2024-05-06"})


def test_tables_with_repeated_and_covered_cells():
    cell = "<table:table-cell {}><text:p>{}</text:p></table:table-cell>"
    twice = 'table:number-columns-repeated="2"'
    empty = '<table:table-cell table:number-columns-repeated="16000"/>'
    rows = (
        f"<table:table-header-rows><table:table-row>{cell.format('', 'Item')}{cell.format('', 'Price')}{empty}"
        "</table:table-row></table:table-header-rows>"
        f"<table:table-row>{cell.format(twice, '-1.5')}<table:covered-table-cell/>"
        f"{cell.format('', 'x')}</table:table-row>"
    )
    reading = read(odt(f"<table:table>{rows}</table:table>"), "t.odt", "")
    assert spans(reading) == [("table", "| Item | Price |\n| -1.5 | -1.5 |  | x |")]


def test_slides_are_pages():
    slide = (
        '<draw:page draw:name="First"><draw:frame><draw:text-box><text:p>Body</text:p></draw:text-box></draw:frame>'
        '<draw:frame presentation:class="title"><draw:text-box><text:p>Title</text:p></draw:text-box></draw:frame>'
        "<presentation:notes><draw:frame><draw:text-box><text:p>Say it.</text:p></draw:text-box></draw:frame>"
        '</presentation:notes></draw:page><draw:page draw:name="Second"/>'
    )
    reading = read(odt(slide, "presentation"), "t.odp", "")
    assert [(page.number, page.label, reading.text[page.start : page.end]) for page in reading.pages] == [
        (1, "First", "# Title\n\nBody\n\nNotes: Say it."),
        (2, "Second", ""),
    ]


def test_a_flat_file_is_read_too():
    flat = content("<text:p>Flat</text:p>").replace("document-content", "document")
    assert read(flat.encode(), "t.fodt", "").text == "Flat"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged"),
        (archive({"a": "b"}), "no part 'content.xml'"),
        (archive({"META-INF/manifest.xml": "<encryption-data/>"}), "password"),
        (odt("<text:section>" * 300 + "</text:section>" * 300), "deep|damaged"),
    ],
)
def test_what_cannot_be_read_has_a_reason_and_a_remedy(data, reason):
    with pytest.raises(SourceError, match=reason) as caught:
        read(data, "x.odt", "")
    assert caught.value.fix


LOOKS = (
    '<s:style s:name="W"><s:text-properties f:color="#FFFFFF"/></s:style>'
    '<s:style s:name="C" s:parent-style-name="W"/>'
    '<s:style s:name="B" s:parent-style-name="W"><s:text-properties f:color="#000000"/></s:style>'
    '<s:style s:name="G"><s:paragraph-properties f:background-color="#102030"/><s:text-properties f:color="#ffffff"/>'
    '</s:style><s:style s:name="T"><s:text-properties f:font-size="1pt"/></s:style>'
    '<s:style s:name="N"><s:text-properties text:display="none"/></s:style>'
    '<s:style s:name="H"><s:drawing-page-properties presentation:visibility="hidden"/></s:style>'
)


def looking(body, kind="text", more=""):
    names = f'{NAMES} xmlns:s="urn:style" xmlns:f="urn:fo"'
    return (
        f"<office:document {names}><office:automatic-styles>{LOOKS}{more}</office:automatic-styles><office:body>"
        f"<office:{kind}>{body}</office:{kind}></office:body></office:document>"
    ).encode()


def test_what_cannot_be_seen_is_counted():
    body = "".join(
        f'<text:p>a <text:span text:style-name="{name}">span{name}</text:span> b</text:p>' for name in "WCBGTN"
    )
    body += "".join(f'<text:p text:style-name="{name}">all{name}</text:p>' for name in "WCBGTN")
    body += '<text:section text:display="none"><text:p>section</text:p></text:section>'
    cell = '<table:table-cell table:style-name="{}"><text:p text:style-name="W">{}</text:p></table:table-cell>'
    cells = cell.format("G", "on") + cell.format("G", "dark") + cell.format("", "bare")
    body += f"<table:table><table:table-row>{cells}</table:table-row></table:table>"
    body += '<text:p text:style-name="G"><text:span text:style-name="W">on a ground</text:span></text:p>'
    reading = read(looking(body), "a.fodt", "")
    assert reading.text.split("\n\n") == [
        "a b", "a b", "a spanB b", "a spanG b", "a b", "a b", "allB", "allG", "| on | dark |", "on a ground",
    ]  # fmt: skip
    assert reading.metadata["hidden_text"] == 4 * len("spanX") + 4 * len("allX") + len("sectionbare")


@pytest.mark.parametrize(
    ("size", "is_seen"), [("0pt", False), (".7pt", False), ("1px", False), ("1.1pt", True), ("80%", True)]
)
def test_text_of_at_most_a_point_is_not_seen(size, is_seen):
    more = f'<s:style s:name="S"><s:text-properties f:font-size="{size}"/></s:style>'
    assert (
        read(looking('<text:p text:style-name="S">small</text:p>', more=more), "a.fodt", "").text == "small" * is_seen
    )


def test_white_text_on_pages_of_another_colour_is_seen():
    more = '<s:page-layout><s:page-layout-properties f:background-color="#000080"/></s:page-layout>'
    reading = read(looking('<text:p text:style-name="W">seen</text:p>', more=more), "a.fodt", "")
    assert (reading.text, reading.metadata) == ("seen", {})


def test_hidden_slides_are_furniture():
    page = (
        '<draw:page draw:style-name="{}" draw:name="n"><draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box>'
        "</draw:frame></draw:page>"
    )
    reading = read(looking(page.format("X", "seen") + page.format("H", "unseen"), "presentation"), "a.fodp", "")
    assert [(b.kind, reading.text[b.start : b.end]) for b in reading.blocks] == [
        ("paragraph", "seen"),
        ("furniture", "unseen"),
    ]
    assert reading.metadata["hidden_slides"] == 1


def packed(body: str, **parts: str) -> bytes:
    return archive({"mimetype": "x", "content.xml": content(body)} | parts, stored=("mimetype",))


def test_headers_and_footers_of_the_pages_in_use_are_furniture():
    page = '<s:master-page s:name="{}"><s:{}><text:p>{}</text:p></s:{}></s:master-page>'
    pages = "".join(
        page.format(name, kind, text, kind)
        for name, kind, text in (
            ("Standard", "header", "Letterhead"), ("First", "footer-first", "Page one"), ("Unused", "header", "Never"),
        )
    )  # fmt: skip
    styles = f'<office:document-styles {NAMES} xmlns:s="urn:style">{pages}</office:document-styles>'
    body = '<text:p xmlns:s="urn:style" s:master-page-name="First">Text</text:p>'
    assert spans(read(packed(body, **{"styles.xml": styles}), "a.odt", "")) == [
        ("paragraph", "Text"), ("furniture", "Letterhead"), ("furniture", "Page one"),
    ]  # fmt: skip
    assert spans(read(packed(body, **{"styles.xml": styles[:-9], "meta.xml": "<"}), "a.odt", "")) == [
        ("paragraph", "Text")
    ], "damaged parts that are not needed"


def test_charts_and_formulas_are_read_where_they_stand():
    row = "<table:table-row><table:table-cell><text:p>{}</text:p></table:table-cell><table:table-cell><text:p>{}"
    rows = "".join(row.format(*cells) + "</text:p></table:table-cell></table:table-row>" for cells in ("aB", "c1"))
    chart = content(f"<text:p>Sales</text:p><table:table>{rows}</table:table>", "chart")
    loop = content('<draw:object draw:href="./Object 2"/><text:p>Once</text:p>')
    maths = '<math xmlns="urn:m"><semantics><mi>E</mi><annotation>E = m c^2</annotation></semantics></math>'
    frame = '<text:p>{}<draw:frame><draw:object draw:href="./Object {}"/></draw:frame></text:p>'
    body = frame.format("See", 1) + frame.format("", 2) + frame.format("and", 3) + frame.format("", 4)
    parts = {"Object 1/content.xml": chart, "Object 2/content.xml": loop, "Object 3/content.xml": maths}
    assert [text for _, text in spans(read(packed(body, **parts), "a.odt", ""))] == [
        "See", "Sales", "| a | B |\n| c | 1 |", "Once", "and", "E = m c^2",
    ]  # fmt: skip


def test_lists_keep_headings_boxes_and_tables_inside_them():
    box = "<draw:frame><draw:text-box><text:p>In a box</text:p></draw:text-box></draw:frame>"
    inside = listed(
        '<text:h text:outline-level="2">Part</text:h>', f"<text:p>one{box}</text:p>", "<text:p>two</text:p>"
    )
    assert spans(read(odt(inside), "a.odt", "")) == [
        ("heading", "## Part"), ("list", "1. one\n2. two"), ("paragraph", "In a box"),
    ]  # fmt: skip
