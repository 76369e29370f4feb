"""Damaged files of every main format: each is read or refused with a reason, in time, and the next good file is read.

Many damaged files share one child (``mutated.survey``). Where a child ends, its batch is halved until the file that did
it is found: that file must be refused by the way on which the library reads, in time, and the parent must not notice.
"""

from __future__ import annotations

import pytest

from pincite.acquire import sandbox
from pincite.acquire.identify import media_type
from pincite.acquire.sandbox import call_in_child, read_in_child
from pincite.errors import SourceError
from tests.acquire.readers.mutated import mutation
from tests.data import make_documents
from tests.data.make_pdf import small

FORMATS = {  # name: the reader's module
    "report.docx": "docx",
    "talk.pptx": "pptx",
    "prices.xlsx": "sheets",
    "report.odt": "odf",
    "prices.ods": "sheets",
    "report.rtf": "rtf",
    "book.epub": "epub",
    "plums.ipynb": "notebook",
    "mail.eml": "mail",
    "mail.msg": "msg",
    "small.pdf": "pdf",
    "prices.pdf": "pdf",
    "notes.zip": "listing",
}
LESS_OFTEN = {  # in the soak only; without XLS, of which every tenth takes its reader all memory and so many seconds
    "talk.odp": "odf",
    "mails.mbox": "mail",
    "talk.srt": "subtitles",
    "talk.vtt": "subtitles",
    "page.html": "html",
    "notes.md": "markdown",
    "notes.rst": "rst",
    "notes.adoc": "markup",
    "notes.org": "markup",
    "notes.tex": "markup",
    "prices.csv": "data",
    "notes.tar.gz": "listing",
}
BATCH = 250
READERS = FORMATS | LESS_OFTEN
SECONDS = 60.0  # of processor time for a batch: what a single file may take is the limit of the sandbox


@pytest.fixture(autouse=True, scope="module")
def nothing_left():
    yield
    sandbox.close()


def original(name: str) -> bytes:
    return bytes(small()) if name == "small.pdf" else make_documents.documents()[name]


def surveyed(name: str, first: int, count: int) -> list[str]:
    """Give what went wrong with variants [first, first + count) of a file."""
    data, module = original(name), READERS[name]
    options = {"name": name, "media_type": media_type(name, data)}
    try:
        found = call_in_child(
            "tests.acquire.readers.mutated", "survey", data,
            seconds=SECONDS, reader=module, first=first, count=count, **options,
        )  # fmt: skip
    except SourceError as error:  # the child ended
        if count > 1:
            half = count // 2
            return [*surveyed(name, first, half), *surveyed(name, first + half, count - half)]
        return ended(name, first, error)
    assert found.get("read", 0) + found.get("refused", 0) + len(found["defects"]) >= count
    assert read_in_child(module, data, **options).text, "the next good file is read"
    return found["defects"]


def ended(name: str, number: int, error: SourceError) -> list[str]:
    """Look whether a file that ends the child is refused as the library would, with a remedy."""
    import random

    data = original(name)
    try:
        read_in_child(READERS[name], mutation(data, random.Random(number)), name, media_type(name, data))
    except SourceError as refusal:
        return [] if refusal.fix else [f"{number}: {refusal!r} has no remedy"]
    return [f"{number}: {error} in a batch, but it can be read alone"]


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("name", FORMATS)
def test_two_thousand_damaged_files(name, part):
    batches = range(part * 1000, (part + 1) * 1000, BATCH)
    assert [defect for first in batches for defect in surveyed(name, first, BATCH)] == []


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_twenty_thousand_damaged_files(name):
    batches = range(10_000, 30_000, BATCH)
    assert [defect for first in batches for defect in surveyed(name, first, BATCH)] == []
