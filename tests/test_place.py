"""How a place is named for people."""

from __future__ import annotations

import pytest

from pincite.place import location


@pytest.mark.parametrize(
    ("uri", "page", "place"),
    [
        ("file:///a/b%20c.pdf", 3, "/a/b c.pdf, page 3"),
        ("file:///a/talk.pptx", 3, "/a/talk.pptx, slide 3"),
        ("file:///a/notes.zip/x.XLSX", 1, "/a/notes.zip/x.XLSX, sheet 1"),
        ("file:///a/x.ipynb", 4, "/a/x.ipynb, cell 4"),
        ("file:///a/x.mbox", 4, "/a/x.mbox, message 4"),
        ("file:///a/x.md", None, "/a/x.md, lines 2-5"),
    ],
)
def test_a_place_says_what_its_number_counts(uri, page, place):
    assert location(uri, (), page, (2, 5)) == location(uri, (), page, (2, 5), 7) == place
    assert location(uri, ("One", "Two"), page, (2, 5)) == f"{place} (One > Two)"


def test_a_place_in_source_code_is_one_that_editors_take():
    assert location("file:///a/x.PY", (), None, (2, 2), 5) == "/a/x.PY:2:5"
    assert location("file:///a/x.ts", ("A", "b"), None, (2, 5), 1) == "/a/x.ts:2:1, lines 2-5 (A > b)"
    assert location("file:///a/x.ts", (), None, (2, 5)) == "/a/x.ts, lines 2-5"
