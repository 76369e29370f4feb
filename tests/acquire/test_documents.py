"""The shared test documents against what their list says that they must, and must not, contain.

The documents are not part of the project: ``PINCITE_DATA`` names the folder that holds ``documents/MANIFEST.tsv``.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from pincite.acquire.members import members
from pincite.acquire.read import load, read
from pincite.errors import SourceError, SourceUnsupported
from pincite.types import Reading

FOLDERS = [os.environ.get("PINCITE_DATA", ""), *(str(up / "shared/data") for up in Path(__file__).parents)]
FOLDER = next(
    (Path(folder, "documents") for folder in FOLDERS if Path(folder, "documents/MANIFEST.tsv").is_file()), None
)
READ_HERE = (
    *("txt", "md", "html", "rst", "csv", "json", "yaml", "xml", "code", "tex", "srt", "adoc", "made"),
    *("docx", "pptx", "xlsx", "odt", "rtf", "epub", "ipynb", "eml", "msg", "mbox"),
)
# Checks that suppose another output than the source itself, or that the documents do not bear out.
NOT_FOR_US = {
    "csv/semicolon.csv",  # wants a pipe table
    "csv/comma_in_cell.csv",  # wants a pipe table
    "txt/cp500.txt",  # the word that is asked for is not in the document
    "tex/attention.tex",  # wants the commands taken out
}
REMARK = re.compile(
    r"linear time|warn|refused|clean error|limit|parent survives|never|^no |external entity|longer than|read$|kept$"
    r"|split on|one blob|^error or|dense grid"
)
REFUSED = (  # what must end as an error with a reason, in time and without harm
    *("docx/truncated.docx", "docx/protected_passtika.docx", "xlsx/password.xlsx", "xlsx/dos_594.ods"),
    *("made/bomb_2g.docx", "made/laughs.docx"),
)


def rows() -> list[dict[str, str]]:
    with (FOLDER / "MANIFEST.tsv").open(encoding="utf-8") as file:
        found = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    left_out = {*NOT_FOR_US, *REFUSED}
    here = [row for row in found if row["path"].split("/")[0] in READ_HERE and not row["path"].endswith(".pdf")]
    return [row for row in here if row["path"] not in left_out]


def checks(row: dict[str, str]) -> list[tuple[str, bool]]:
    """Take the checks of a row: what to look for, and whether it must be there. Remarks in words are left out."""
    found = []
    for column, present in (("must_contain", True), ("must_not_contain", False)):
        for wanted in re.split(r' ¦ | … |", "', row[column] or ""):
            wanted = wanted.partition(" (utf-8")[0].strip().strip('"')
            if wanted and not REMARK.search(wanted):
                found.append((wanted, present))
    return found


def rendered(reading: Reading) -> str:
    """Write headings of any format as Markdown, below the text: some checks ask for them."""
    headings = [f"{'#' * block.level} {block.label}" for block in reading.blocks if block.kind == "heading"]
    return "\n".join([reading.title, reading.text, *headings])


def holds(wanted: str, text: str) -> bool:
    if wanted.startswith("ORDER "):
        first, second = wanted.removeprefix("ORDER ").split(" < ")
        return -1 < text.find(first) < text.rfind(second)
    if wanted.startswith("REGEX "):
        return re.search(wanted.removeprefix("REGEX "), text) is not None
    return wanted in text


@pytest.mark.skipif(FOLDER is None, reason="the shared test documents are not here (PINCITE_DATA)")
def test_the_documents_hold_what_they_must(record_property):
    passed: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    failed = []
    for row in rows():
        kind = row["path"].split("/")[0]
        try:
            text = rendered(read(*load(FOLDER / row["path"])))
        except SourceUnsupported:
            continue
        for wanted, present in checks(row):
            asked[kind] += 1
            passed[kind] += holds(wanted, text) == present
            if holds(wanted, text) != present:
                failed.append((row["path"], wanted, present))
    for kind in asked:
        record_property(f"checks passed, {kind}", f"{passed[kind]}/{asked[kind]}")
    print({kind: f"{passed[kind]}/{asked[kind]}" for kind in asked})
    assert sum(asked.values()) >= 30
    assert failed == []


@pytest.mark.skipif(FOLDER is None, reason="the shared test documents are not here (PINCITE_DATA)")
@pytest.mark.parametrize("path", REFUSED)
def test_hostile_documents_are_refused_with_a_reason(path):
    with pytest.raises(SourceError) as caught:
        read(*load(FOLDER / path))
    assert caught.value.fix


@pytest.mark.skipif(FOLDER is None, reason="the shared test documents are not here (PINCITE_DATA)")
def test_hostile_documents_that_can_be_read_are_read():
    sparse = read(*load(FOLDER / "made/sparse_corner.xlsx")).text
    assert "A1: first" in sparse and "XFD1048576: last" in sparse
    assert read(*load(FOLDER / "made/xxe.docx")).text == "before  after"


@pytest.mark.skipif(FOLDER is None, reason="the shared test documents are not here (PINCITE_DATA)")
def test_archives_are_unpacked_within_limits():
    def inside(name: str) -> dict[str, bytes | SourceError]:
        outer, data = load(FOLDER / name)
        return {inner.uri.removeprefix(outer.uri + "/"): content for inner, content in members(outer, data)}

    droste = inside("zip/droste.zip")
    assert "droste.jpg" in droste
    assert str(droste["droste.zip/droste.zip/droste.zip"]).endswith("archives deep.")
    assert "需求文档" in read(*load(FOLDER / "zip/gbk.zip")).text
    assert list(inside("zip/overlapping.zip").values()) == [b"hello world4", b"hello world5"]
    assert len(inside("made/nested_60.zip")) == 3
    assert sum(isinstance(content, bytes) for content in inside("zip/markitdown.zip").values()) == 7
