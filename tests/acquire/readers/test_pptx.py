"""Presentations."""

from __future__ import annotations

import pytest

from pincite.acquire.readers.pptx import read
from tests.acquire.made import A, P, pptx, relations, shape

CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"


def spans(reading) -> list[tuple[str, str]]:
    return [(block.kind, reading.text[block.start : block.end]) for block in reading.blocks]


def frame(inner: str) -> str:
    return f"<p:graphicFrame><a:graphic><a:graphicData>{inner}</a:graphicData></a:graphic></p:graphicFrame>"


def cells(*texts: str) -> str:
    inner = "".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>" for text in texts)
    return f"<a:tr>{inner.replace('a:txBody', 'p:txBody')}</a:tr>"


def test_slides_are_pages_with_their_titles():
    data = pptx(
        shape("A point", "Another", kind="body", properties="") + shape("The title", kind="ctrTitle"),
        shape("7", kind="sldNum") + shape("Only text") + f"<p:grpSp>{shape('Grouped')}</p:grpSp>",
        "",
        shape("Last", kind="title"),
    )
    reading = read(data, "talk.pptx", "")
    assert reading.title == "The title"
    assert [(page.number, page.label, reading.text[page.start : page.end]) for page in reading.pages] == [
        (1, "The title", "# The title\n\n- A point\n- Another"),
        (2, "", "7\n\nOnly text\n\nGrouped"),
        (3, "", ""),
        (4, "Last", "# Last"),
    ]
    assert ("furniture", "7") in spans(reading)


def test_tables_and_charts():
    series = (
        "<c:ser><c:tx><c:v/><c:pt idx='0'><c:v>2024</c:v></c:pt></c:tx><c:cat><c:pt idx='0'><c:v>Q1</c:v></c:pt>"
        "<c:pt idx='1'><c:v>Q2</c:v></c:pt></c:cat><c:val><c:pt idx='0'><c:v>-1.5</c:v></c:pt>"
        "<c:pt idx='1'><c:v>20</c:v></c:pt></c:val></c:ser>"
    )
    title = "<c:title><a:p><a:r><a:t>Sal</a:t></a:r><a:r><a:t>es</a:t></a:r></a:p></c:title>"
    axis = "<c:catAx><c:title><a:p><a:r><a:t>Quarter</a:t></a:r></a:p></c:title></c:catAx>"
    label = "<c:dLbl><a:p><a:fld><a:t>[VALUE]</a:t></a:fld></a:p></c:dLbl>"
    chart = f'<c:s xmlns:c="{CHART}" xmlns:a="{A}"><c:chart>{title}{series}{axis}{label}</c:chart></c:s>'
    data = pptx(
        frame(f"<a:tbl>{cells('Item', 'Price')}{cells('Tea', '-2 €')}</a:tbl>")
        + frame(f'<c:chart xmlns:c="{CHART}" r:id="c1"/>'),
        extra={"charts/chart1.xml": chart},
        links={1: (("c1", "chart", "../charts/chart1.xml"),)},
    )
    assert spans(read(data, "t.pptx", "")) == [
        ("table", "| Item | Price |\n| Tea | -2 € |"),
        ("paragraph", "Sales"),
        ("table", "|  | 2024 |\n| Q1 | -1.5 |\n| Q2 | 20 |"),
        ("paragraph", "Quarter"),
    ]


def test_notes_comments_and_hidden_slides():
    written = shape("Say hello.", kind="body") + shape("Beside.") + shape("1", kind="sldNum")
    notes = f'<p:notes xmlns:p="{P}" xmlns:a="{A}">{written}</p:notes>'
    comments = f'<p:cmLst xmlns:p="{P}"><p:cm><p:text>Really?</p:text></p:cm></p:cmLst>'
    data = pptx(
        shape("Seen", kind="title"),
        'show="0"|SHOW|' + shape("Unseen", kind="title"),
        extra={"notesSlides/n.xml": notes, "comments/c.xml": comments},
        links={1: (("n", "notesSlide", "../notesSlides/n.xml"), ("c", "comments", "../comments/c.xml"))},
    )
    reading = read(data, "t.pptx", "")
    assert spans(reading) == [
        ("heading", "# Seen"),
        ("paragraph", "Comment: Really?"),
        ("paragraph", "Notes: Say hello."),
        ("paragraph", "Notes: Beside."),
        ("furniture", "1"),
        ("furniture", "# Unseen"),
    ]
    assert reading.metadata == {"hidden_slides": 1}


def look(said, run="", properties="", name=""):
    """Make an object with one run."""
    return (
        f"<p:sp><p:nvSpPr><p:cNvPr {name}/><p:nvPr/></p:nvSpPr><p:spPr>{properties}</p:spPr><p:txBody><a:p><a:r>"
        f"<a:rPr {run}</a:rPr><a:t>{said}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def test_what_cannot_be_seen_is_counted():
    fill = '<a:solidFill><a:srgbClr val="{}"/></a:solidFill>'
    place = '<a:xfrm><a:off x="{}" y="{}"/><a:ext cx="100" cy="100"/></a:xfrm>'
    slide = (
        look("tiny", 'sz="100">')
        + look("alike", f">{fill.format('FFFFFF')}", fill.format("ffffff"))
        + look("left", ">", place.format(-5000, 0))
        + look("above", ">", place.format(0, -101))
        + look("hidden", 'sz="100">', name='hidden="1"')
        + look("plain", 'sz="1800">', place.format(0, 0))
        + look("white on blue", f">{fill.format('FFFFFF')}", fill.format("0000FF"))
        + look("partly out", ">", place.format(-50, 0))
    )
    reading = read(pptx(slide), "t.pptx", "")
    assert reading.text.split("\n\n") == ["plain", "white on blue", "partly out"]
    assert reading.metadata == {"hidden_text": len("tinyalikeleftabovehidden")}


WHITE = '<a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill>'
PAPER = '<a:solidFill><a:schemeClr val="bg1"/></a:solidFill>'


@pytest.mark.parametrize(
    ("run", "beside", "master", "is_seen"),
    [
        (WHITE, "", "", False),
        (PAPER, "", "", False),
        (PAPER.replace("/></a:s", '><a:lumMod val="50000"/></a:schemeClr></a:s'), "", "", True),
        (WHITE, "<p:pic/>", "", True),
        (WHITE, f"<p:sp><p:spPr>{PAPER}</p:spPr></p:sp>", "", True),
        (WHITE, "", "<p:cSld><p:bg><p:bgRef idx='1'><a:schemeClr val='tx2'/></p:bgRef></p:bg></p:cSld>", True),
        (WHITE, "", "<p:cSld><p:bg><p:bgPr><a:blipFill/></p:bgPr></p:bg></p:cSld>", True),
        (WHITE, "", '<p:clrMap bg1="dk1"/>', True),
    ],
)
def test_text_in_the_colour_of_a_bare_slide_is_not_seen(run, beside, master, is_seen):
    theme = '<a:theme xmlns:a="x"><a:lt1><a:sysClr val="window" lastClr="FFFFFF"/></a:lt1></a:theme>'
    data = pptx(
        look("secret", f">{run}") + beside,
        extra={
            "l.xml": f'<p:l xmlns:p="{P}"/>', "_rels/l.xml.rels": relations(("m", "slideMaster", "m.xml")),
            "m.xml": f'<p:m xmlns:p="{P}" xmlns:a="{A}">{master}</p:m>',
            "_rels/m.xml.rels": relations(("t", "theme", "t.xml")), "t.xml": theme,
        },
        links={1: (("l", "slideLayout", "../l.xml"),)},
    )  # fmt: skip
    reading = read(data, "t.pptx", "")
    assert (reading.text, reading.metadata.get("hidden_text", 0)) == (("secret", 0) if is_seen else ("", 6))
