"""Nothing that a document names is loaded as code: CMaps by path, as in CVE-2025-64512, and what parsers import."""

from __future__ import annotations

import gzip
import os
import pickle
import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.data.make_pdf import Pdf, PdfPage, lines


class Touch:
    """A pickle that makes a file when it is loaded."""

    def __init__(self, canary: Path) -> None:
        self.canary = str(canary)

    def __reduce__(self):
        return os.system, (f"touch '{self.canary}'",)


@pytest.mark.parametrize("place", ["absolute", "relative", "escaped"])
def test_row_07_an_encoding_that_names_a_pickle_loads_nothing(library, docs, tmp_path, place):
    canary, bait = tmp_path / "canary", tmp_path / "bait"
    data = pickle.dumps(Touch(canary))
    for name in ("bait.pickle", "bait.pickle.gz"):
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    named = {"absolute": str(bait), "relative": "../bait", "escaped": str(bait).replace("/", "#2F")}[place]
    made = bytes(Pdf([PdfPage(lines(40, 500, ["The weir holds 4,200 litres."]))]))
    made = re.sub(rb"/Encoding /WinAnsiEncoding", b"/Encoding /" + named.encode(), made)
    assert named.encode() in made
    (docs / "a.pdf").write_bytes(made)
    (docs / "a.pdf").with_name("b.pickle").write_bytes(data)  # and as a document
    library.add(docs)
    assert not canary.exists()


def test_row_07_the_parsers_with_that_past_are_not_here():
    wanted = {re.split(r"[ ;<>=!\[]", name)[0].lower() for name in metadata.requires("pincite") or ()}
    assert wanted.isdisjoint(
        {"pdfminer.six", "pdfminer", "playa-pdf", "pypdf", "pypdf2", "pymupdf", "nltk", "unstructured"}
    )
    assert not {name for name in sys.modules if name.startswith(("pdfminer", "playa", "pypdf."))}
