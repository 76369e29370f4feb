"""Docling's document becomes a reading; made by hand after its JSON, for its models cannot be had in tests."""

from __future__ import annotations

from pincite.acquire.readers.docling import reading_of
from pincite.acquire.readers.pdf_boxes import boxes


def prov(page, left, upper, right, lower):
    """Give a place as Docling does: from the lower left corner."""
    box = {"l": left, "t": upper, "r": right, "b": lower, "coord_origin": "BOTTOMLEFT"}
    return [{"page_no": page, "bbox": box, "charspan": [0, 1]}]


def text(label, said, place=(), children=(), **more):
    refs = [{"$ref": ref} for ref in children]
    return {"label": label, "text": said, "orig": said, "prov": list(place), "children": refs, **more}


def cell(row, column, said):
    return {"start_row_offset_idx": row, "start_col_offset_idx": column, "text": said}


TEXTS = [
    text("page_header", "Field notes", prov(1, 40, 790, 100, 780), content_layer="furniture"),
    text("title", "On  tides", prov(1, 40, 700, 200, 680)),
    text("section_header", "Causes", prov(1, 40, 650, 100, 636), level=1),
    text("text", "Raised by the Moon.", prov(1, 40, 620, 300, 600)),
    text("list_item", "one", prov(1, 50, 580, 80, 570), enumerated=True, marker="1."),
    text("list_item", "two", prov(1, 50, 560, 90, 550), enumerated=True, marker="2.", children=["#/groups/1"]),
    text("list_item", "inner", prov(1, 60, 540, 90, 530)),
    text("caption", "Table 1: ranges", prov(2, 40, 700, 200, 690)),
    text("code", "x = 1\ny = 2", prov(2, 40, 500, 100, 480), code_language="Python"),
    text("text", "Some", ()),
    text("text", "words.", ()),
    text("footnote", "See there.", prov(2, 40, 60, 100, 50)),
]
DOCUMENT = {
    "schema_name": "DoclingDocument",
    "body": {"children": [{"$ref": f"#/{ref}"} for ref in (
        "texts/0", "texts/1", "texts/2", "texts/3", "groups/0", "tables/0", "texts/8", "groups/2", "texts/11",
        "texts/11", "texts/99", "nowhere/1",
    )]},
    "groups": [
        {"label": "list", "children": [{"$ref": "#/texts/4"}, {"$ref": "#/texts/5"}]},
        {"label": "list", "children": [{"$ref": "#/texts/6"}]},
        {"label": "inline", "children": [{"$ref": "#/texts/9"}, {"$ref": "#/texts/10"}]},
    ],
    "texts": TEXTS,
    "tables": [{
        "label": "table", "prov": prov(2, 40, 680, 300, 600), "children": [{"$ref": "#/texts/7"}],
        "data": {"num_rows": 2, "num_cols": 2, "table_cells": [
            cell(0, 0, "Place"), cell(0, 1, "Range"), cell(1, 0, "Brest"), cell(1, 1, "6.9\n m"), cell(7, 7, "lost"),
        ]},
    }],
    "pages": {str(n): {"page_no": n, "size": {"width": 600, "height": 800}} for n in (1, 2, 3)},
}  # fmt: skip


def test_structure_pages_and_text():
    found = reading_of(DOCUMENT, "a.pdf")
    assert [(b.kind, b.level, found.text[b.start : b.end]) for b in found.blocks] == [
        ("furniture", 0, "Field notes"),
        ("heading", 1, "# On tides"),
        ("heading", 2, "## Causes"),
        ("paragraph", 0, "Raised by the Moon."),
        ("list", 0, "1. one\n2. two\n  - inner"),
        ("table", 0, "| Place | Range |\n| Brest | 6.9 m |"),
        ("paragraph", 0, "Table 1: ranges"),
        ("code", 0, "x = 1\ny = 2"),
        ("paragraph", 0, "Some words."),
        ("paragraph", 0, "See there."),
    ]
    assert found.title == "On tides"
    assert [(page.number, found.text[page.start : page.end][:11]) for page in found.pages] == [
        (1, "Field notes"), (2, "| Place | R"), (3, ""),
    ]  # fmt: skip


def test_each_block_has_its_box_from_the_upper_left_corner():
    found = reading_of(DOCUMENT, "a.pdf")

    def where(said):
        start = found.text.index(said)
        return boxes(b"", found.pages, start, start + len(said))

    assert where("Raised by the Moon.") == [(1, 40.0, 180.0, 300.0, 200.0)]
    assert where("inner") == [(1, 50.0, 220.0, 90.0, 270.0)], "a list is one block"
    assert where("Brest") == [(2, 40.0, 120.0, 300.0, 200.0)]
    assert where("Some words.") == [], "nothing says where"


def test_without_pages_and_without_anything():
    plain = {"body": {"children": [{"$ref": "#/texts/0"}]}, "texts": [text("paragraph", "Only this.")]}
    found = reading_of(plain, "a.docx", ("odd",))
    assert (found.text, found.pages, found.title, found.warnings) == ("Only this.", (), "a", ("odd",))
    assert reading_of({}, "a.docx").text == ""


def test_groups_that_hold_themselves_end():
    circle = {"body": {"children": [{"$ref": "#/groups/0"}]}, "groups": [
        {"label": "list", "children": [{"$ref": "#/groups/0"}, {"$ref": "#/texts/0"}]},
    ], "texts": [text("list_item", "once")]}  # fmt: skip
    assert reading_of(circle, "a").text == "- once"
