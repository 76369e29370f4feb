"""Small documents of each format, made by tests/data/make_documents.py, against what reading them has to give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pincite.acquire.identify import IMAGES
from pincite.acquire.read import READERS
from tests.data import make_documents

WANTED = json.loads(make_documents.GOLDEN.read_text(encoding="utf-8"))


KEPT = {path.name: path.read_bytes() for path in sorted(make_documents.FOLDER.iterdir())}


@pytest.mark.parametrize("name", sorted(WANTED))
def test_reading_gives_what_it_gave_when_people_looked_at_it(name):
    assert make_documents.golden({name: KEPT[name]})[name] == WANTED[name]


def test_the_script_makes_these_files():
    # Not byte by byte: packed bytes differ between versions of zlib.
    assert make_documents.golden(make_documents.documents()) == WANTED


def test_there_is_a_file_for_each_format_with_parts():
    read = {wanted["media_type"] for wanted in WANTED.values()}
    packed = {kind for kind, reader in READERS.items() if not isinstance(reader, str)}
    missing = packed - read - set(IMAGES)  # which have tests of their own
    assert missing <= {"application/x-bzip2", "application/x-tar", "application/x-xz"}  # as gzip
    assert {Path(name).suffix for name in WANTED} >= {
        ".srt",
        ".vtt",
        ".adoc",
        ".org",
        ".tex",
        ".md",
        ".rst",
        ".html",
        ".py",
        ".csv",
    }
