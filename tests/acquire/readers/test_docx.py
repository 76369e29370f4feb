"""Word processor documents."""

from __future__ import annotations

import pytest

from pincite.acquire.readers.docx import read
from pincite.acquire.readers.docx_styles import written
from pincite.errors import SourceError, SourceTooLarge
from tests.acquire.made import A, R, W, archive, docx, para, relations

STYLES = f"""<w:styles xmlns:w="{W}">
<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/><w:basedOn w:val="H1"/></w:style>
<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="My own"/><w:basedOn w:val="H2"/></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
<w:style w:type="paragraph" w:styleId="Toc"><w:name w:val="toc 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="Source Code"/></w:style></w:styles>"""
NUMBERING = f"""<w:numbering xmlns:w="{W}">
<w:abstractNum w:abstractNumId="0">
<w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="%1.%2)"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl>
</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
</w:numbering>"""
LINKS = (("s", "styles", "styles.xml"), ("n", "numbering", "numbering.xml"), ("f", "footnotes", "footnotes.xml"),
         ("c", "comments", "comments.xml"), ("h", "header", "header1.xml"))  # fmt: skip


def style(name: str) -> str:
    return f'<w:pStyle w:val="{name}"/>'


def numbered(key: int, level: int = 0) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{key}"/></w:numPr>'


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{para(text)}</w:tc>"


def made(body: str, **extra: str):
    parts = {"styles.xml": STYLES, "numbering.xml": NUMBERING, **{f"{k}.xml": v for k, v in extra.items()}}
    return read(docx(body, title="", extra=parts, links=LINKS), "my file.docx", "")


def spans(reading) -> list[tuple[str, str]]:
    return [(block.kind, reading.text[block.start : block.end]) for block in reading.blocks]


def test_headings_by_style_basis_and_outline_level():
    reading = made(
        para("The title", style("T")) + para("One", style("H1")) + para("Two", style("Mine"))
        + para("Three", '<w:outlineLvl w:val="2"/>') + para("Text", style("Loop")) + para("No style", style("Gone"))
    )  # fmt: skip
    assert reading.title == "The title"
    assert [(b.level, b.label) for b in reading.blocks if b.kind == "heading"] == [
        (1, "The title"), (1, "One"), (2, "Two"), (3, "Three"),
    ]  # fmt: skip
    assert reading.text.endswith("## Two\n\n### Three\n\nText\n\nNo style")
    assert reading.metadata == {"author": "Ann Author", "date": "2024-05-06T07:08:09Z"}


def test_numbers_of_lists_and_headings_are_those_that_are_shown():
    reading = made(
        para("a", numbered(1)) + para("b", numbered(1, 1)) + para("c", numbered(1, 1)) + para("d", numbered(1))
        + para("e", numbered(2)) + para("Chapter", style("H1") + numbered(1)) + para("x", numbered(9))
    )  # fmt: skip
    assert spans(reading) == [
        ("list", "3. a\n  3.i) b\n  3.ii) c\n4. d\n- e"), ("heading", "# 5. Chapter"), ("paragraph", "x"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [(3, "decimal", "3"), (28, "lowerLetter", "bb"), (1949, "upperRoman", "MCMXLIX"), (0, "lowerLetter", "0"),
     (5000, "lowerRoman", "5000"), (2, "ideographDigital", "2")],
)  # fmt: skip
def test_formats_of_numbers(value, form, text):
    assert written(value, form) == text


def test_inserted_text_is_in_and_deleted_and_hidden_text_is_out():
    run = '<w:r>{}<w:t xml:space="preserve">{}</w:t></w:r>'
    hidden, not_hidden = "<w:rPr><w:vanish/></w:rPr>", '<w:rPr><w:vanish w:val="0"/></w:rPr>'
    reading = made(
        f"<w:p>{run.format('', 'kept ')}<w:ins>{run.format('', 'new ')}</w:ins>"
        "<w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        f"{run.format(hidden, 'secret')}{run.format(not_hidden, 'shown')}</w:p>"
    )
    assert reading.text == "kept new shown"
    assert (reading.metadata["hidden_text"], reading.metadata["deleted_text"]) == (6, 8)


@pytest.mark.parametrize(
    ("looks", "around", "seen"),
    [
        ('<w:color w:val="FFFFFF"/>', "<w:p>{}</w:p>", False),
        ('<w:sz w:val="2"/>', "<w:p>{}</w:p>", False),
        ('<w:color w:val="FF0000"/><w:sz w:val="16"/>', "<w:p>{}</w:p>", True),
        ('<w:color w:val="FFFFFF"/><w:highlight w:val="black"/>', "<w:p>{}</w:p>", True),
        ('<w:color w:val="FFFFFF"/>', '<w:p><w:pPr><w:shd w:fill="000080"/></w:pPr>{}</w:p>', True),
        ('<w:color w:val="FFFFFF"/>', "<w:tbl><w:tr><w:tc><w:p>{}</w:p></w:tc></w:tr></w:tbl>", True),
    ],
)
def test_white_and_tiny_text_is_left_out_and_counted_unless_something_is_behind_it(looks, around, seen):
    reading = made(
        "<w:p><w:r><w:t>shown</w:t></w:r></w:p>" + around.format(f"<w:r><w:rPr>{looks}</w:rPr><w:t>secret</w:t></w:r>")
    )
    assert ("secret" in reading.text) is seen
    assert reading.metadata.get("hidden_text", 0) == (0 if seen else 6)


def test_notes_comments_text_boxes_and_headers():
    note = '<w:footnote w:id="7"><w:p><w:r><w:t>The note.</w:t></w:r></w:p></w:footnote>'
    reading = made(
        '<w:p><w:r><w:t>See</w:t><w:footnoteReference w:id="7"/><w:t xml:space="preserve"> it.</w:t>'
        f"</w:r><w:r><w:txbxContent>{para('In a box')}</w:txbxContent></w:r></w:p>{para('Next')}",
        footnotes=f'<w:footnotes xmlns:w="{W}">{note}</w:footnotes>',
        comments=f'<w:comments xmlns:w="{W}"><w:comment w:author="Bob">{para("Hm.")}</w:comment></w:comments>',
        header1=f'<w:hdr xmlns:w="{W}">{para("Letterhead")}</w:hdr>',
    )
    assert spans(reading) == [
        ("paragraph", "See[^1] it."), ("paragraph", "In a box"), ("paragraph", "Next"),
        ("paragraph", "[^1]: The note."), ("paragraph", "Comment (Bob): Hm."), ("furniture", "Letterhead"),
    ]  # fmt: skip


def test_diagrams_charts_and_texts_of_drawings_are_read_where_they_hang():
    names = f'xmlns:a="{A}" xmlns:c="urn:c" xmlns:dgm="urn:d" xmlns:w="{W}" xmlns:r="{R}"'
    point = "<dgm:pt><dgm:t><a:p><a:r><a:t>{}</a:t></a:r></a:p></dgm:t></dgm:pt>"
    chart = f"<c:s {names}><c:chart><c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:title></c:chart></c:s>"
    extra = {
        "diagrams/d.xml": f"<dgm:dataModel {names}>{point.format('Plan')}{point.format('Do')}</dgm:dataModel>",
        "footer1.xml": f'<w:ftr {names}><w:p><w:r><c:chart r:id="c"/></w:r></w:p></w:ftr>',
        "_rels/footer1.xml.rels": relations(("c", "chart", "charts/c.xml")),
        "charts/c.xml": chart,
    }
    body = (
        f'<w:p {names}><w:r><w:t>See</w:t></w:r><w:r><dgm:relIds r:dm="d"/></w:r><w:r><a:txBody><a:p><a:r><a:t>In a'
        "</a:t></a:r></a:p><a:p><a:r><a:t>canvas</a:t></a:r></a:p></a:txBody></w:r></w:p>"
    )
    links = (("d", "diagramData", "diagrams/d.xml"), ("f", "footer", "footer1.xml"))
    assert spans(read(docx(body, extra=extra, links=links), "t.docx", "")) == [
        ("paragraph", "See"), ("list", "- Plan\n- Do"), ("paragraph", "In a"), ("paragraph", "canvas"),
        ("furniture", "Sales"),
    ]  # fmt: skip


def test_prefixes_that_nobody_declared_are_no_reason_to_refuse():
    main = f'<w:document xmlns:w="{W}"><w:body>{para("Kept", "<x:odd/>")}</w:body></w:document>'
    assert read(archive({"word/document.xml": main}), "s.docx", "").text == "Kept"


def test_tables_with_merged_cells_and_tables_that_arrange_a_page():
    wide, begins = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>'
    control = f"<w:sdt><w:sdtContent>{cell('c')}</w:sdtContent></w:sdt>"
    table = (
        f"<w:tbl><w:tr>{cell('Item', wide)}{cell('Price')}</w:tr>"
        f"<w:tr>{cell('a', begins)}{cell('b')}{cell('-1.50 €')}</w:tr>"
        f"<w:tr>{cell('a', '<w:vMerge/>')}{control}{cell('2')}</w:tr></w:tbl>"
    )
    layout = f"<w:tbl><w:tr>{cell('One column')}</w:tr><w:tr>{cell('only')}</w:tr></w:tbl>"
    assert spans(made(table + layout)) == [
        ("table", "| Item |  | Price |\n| a | b | -1.50 € |\n|  | c | 2 |"),
        ("paragraph", "One column"), ("paragraph", "only"),
    ]  # fmt: skip


def test_code_contents_breaks_and_formulas():
    reading = made(
        para("1 Intro 3", style("Toc")) + para("def f():", style("Code")) + para("return 1", style("Code"))
        + "<w:p><w:r><w:t>a</w:t><w:br/><w:t>b</w:t><w:tab/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r></w:p>"
        + "<w:p><w:f><w:num><w:r><w:t>x+1</w:t></w:r></w:num><w:den><w:r><w:t>2</w:t></w:r></w:den></w:f></w:p>"
    )  # fmt: skip
    assert spans(reading) == [
        ("furniture", "1 Intro 3"), ("code", "def f():\nreturn 1"), ("paragraph", "a\nb c-d"), ("paragraph", "(x+1)/2"),
    ]  # fmt: skip


def test_the_strict_variant_has_other_namespaces():
    parts = {
        "word/document.xml": '<w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"><w:body>'
        f"{para('Strict')}</w:body></w:document>"
    }
    assert read(archive(parts), "s.docx", "").text == "Strict"


def hostile(declarations: str, body: str) -> bytes:
    xml = f'<!DOCTYPE d [{declarations}]><w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
    return archive({"word/document.xml": xml})


def test_external_entities_are_not_read(tmp_path):
    canary = tmp_path / "canary.txt"
    canary.write_text("TOPSECRET")
    reading = read(hostile(f'<!ENTITY x SYSTEM "{canary.as_uri()}">', para("before &x; after")), "x.docx", "")
    assert reading.text == "before  after"


def test_billion_laughs_are_not_told():
    laughs = '<!ENTITY a "ha">' + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12))
    with pytest.raises(SourceError, match="damaged"):
        read(hostile(laughs, para("&m;")), "x.docx", "")


def test_bombs_and_towers_are_refused():
    bomb = archive({"word/document.xml": b"<a>" + b" " * (30 << 20) + b"</a>"})
    assert len(bomb) < 100_000
    with pytest.raises(SourceTooLarge, match="inflates"):
        read(bomb, "x.docx", "")
    tower = "<w:tbl><w:tr><w:tc>" * 5000 + "</w:tc></w:tr></w:tbl>" * 5000
    with pytest.raises(SourceError, match=r"damaged|deep"):
        read(docx(tower), "x.docx", "")


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "no whole zip"), (docx("x")[:-30], "no whole zip"), (archive({"a": "b"}), "no part"),
     (archive({"word/document.xml": "<a>"}), "damaged"),
     (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "password"),
     (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "before 2007")],
)  # fmt: skip
def test_what_cannot_be_read_has_a_reason_and_a_remedy(data, reason):
    with pytest.raises(SourceError, match=reason) as caught:
        read(data, "x.docx", "")
    assert caught.value.fix


MHT = """MIME-Version: 1.0
Content-Type: multipart/related; type="text/html"; boundary="b"

--b
Content-Type: text/html; charset="utf-8"
Content-Transfer-Encoding: quoted-printable

<html><body><h2>Page</h2><p>Caf=C3=A9 from a page.</p></body></html>
--b--
"""


def test_enclosed_documents_are_read_where_they_stand_once():
    chunk = '<w:altChunk r:id="{}"/>'
    inner = docx(para("Inside") + chunk.format("a"), extra={"c.html": "<p>Twice enclosed</p>"},
                 links=(("a", "aFChunk", "c.html"),))  # fmt: skip
    body = para("Before") + "".join(chunk.format(key) for key in "abcx") + para("After")
    extra = {"c.mht": MHT, "c.docx": inner, "c.html": "<p>Plain words of a page.</p>"}
    links = (("a", "aFChunk", "c.mht"), ("b", "aFChunk", "c.docx"), ("c", "aFChunk", "c.html"))
    assert [text for _, text in spans(read(docx(body, extra=extra, links=links), "t.docx", ""))] == [
        "Before", "## Page", "Café from a page.", "Inside", "Plain words of a page.", "After",
    ]  # fmt: skip
