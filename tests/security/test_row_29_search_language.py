"""Questions that would mean something to a query language mean nothing: 10,000 random ones are in
tests/find/test_any_text.py."""

from __future__ import annotations

import pytest

QUESTIONS = (
    '"',
    "what's new?",
    "c++",
    "x-y",
    "hello AND",
    "body:hello",
    "title:weir",
    "uri:*",
    "NEAR(a b)",
    "a*",
    "^weir",
    "{a b}",
    "weir AND NOT good",
    "weir OR",
    "(((",
    "a:b:c",
    "\\",
    "--",
    "; DROP TABLE texts",
    "[weir TO zebra]",
    "weir~2",
    "+weir -good",
)


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
def test_row_29_they_are_words(library, docs, mode):
    (docs / "weirs.md").write_text("# Weirs\n\nThe weir is good.")
    (docs / "quartz.md").write_text("Quartz.")
    library.add(docs)
    for question in QUESTIONS:
        uris = [hit.passage.uri for hit in library.search(question, mode=mode).hits]
        if mode == "keyword":  # only words count, whatever stands around them
            assert uris == [(docs / "weirs.md").as_uri()] * ("weir" in question or "good" in question)


def test_row_29_no_field_can_be_named(library, docs):
    """A term before a colon selects nothing: both words are looked for everywhere."""
    (docs / "a.md").write_text("The title is good.")
    (docs / "b.md").write_text("# weir\n\nNothing.")
    library.add(docs)
    assert len(library.search("title:weir", mode="keyword").hits) == 2
