"""Hostile field names and values in every way into a filter; the meaning itself is tested in
tests/find/test_filters.py."""

from __future__ import annotations

import pytest

from pincite.serve.cli.main import main
from pincite.store.filters import Between, Glob, In, Is, Not

HOSTILE = (
    "x') OR '1'='1",
    'a" ; DROP TABLE documents; --',
    "%",
    "_",
    "\0",
    "\ud800",
    "*",
    "[",
    "json_extract(value, '$')",
    '{"$ne": null}',
    "x" * 1_000_000,
)


@pytest.fixture
def filled(library):
    for number, value in enumerate(HOSTILE[:3]):
        library.add_text(f"note:{number}", f"The weir {number} is good.", metadata={"tag": value})
    return library


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_row_28_names_and_values_are_only_compared(filled, hostile):
    wanted = {hostile} & set(HOSTILE[:3])
    for where in (Is("tag", hostile), In("tag", (hostile, 1)), Between("tag", hostile, hostile)):
        assert {
            filled.document(hit.passage.uri).metadata["tag"] for hit in filled.search("weir", where=where).hits
        } == wanted
    assert not filled.search("weir", where=Is(hostile, hostile)).hits
    assert len(filled.search("weir", where=Not(Is(hostile, hostile))).hits) == 3
    assert len(filled.search("weir", where=Glob("uri", "*")).hits) == 3
    assert not list(filled.store.sources(hostile))
    assert filled.store.note(hostile) == ""
    assert filled.stats().documents == 3


@pytest.mark.parametrize("hostile", [one for one in HOSTILE[:10] if "\0" not in one], ids=ascii)
def test_row_28_the_command_line_takes_them_as_they_are(filled, tmp_path, capsys, hostile):
    code = main(
        [
            "--library",
            str(filled.path),
            "search",
            "weir",
            "--mode",
            "keyword",
            "--where",
            f"{hostile}={hostile}",
            "--json",
        ]
    )
    assert code in (1, 2)
    assert filled.stats().documents == 3
