"""A path and its URI name each other, whatever bytes the name is made of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.acquire.read import document_id, path_of, uri_of
from pincite.acquire.uri import absolute, shown
from pincite.errors import UsageError

names = st.binary(min_size=1, max_size=60).filter(
    lambda name: not set(name) & set(b"/\0") and name not in (b".", b"..")
)


@given(st.lists(names, min_size=1, max_size=4))
def test_every_name_comes_back_from_its_uri(parts):
    path = Path(os.fsdecode(b"/" + b"/".join(parts)))
    uri = uri_of(path)
    assert uri.isascii()
    assert not set(uri) & set(" #?\n\\")
    assert os.fsencode(path_of(uri)) == os.fsencode(path)


@given(st.lists(names, min_size=1, max_size=3))
def test_shown_names_can_be_printed(parts):
    assert shown(Path(os.fsdecode(b"/" + b"/".join(parts)))).isprintable()


@pytest.mark.parametrize(
    ("name", "quoted"), [("a b#c?d%e", "a%20b%23c%3Fd%25e"), ("é~.md", "%C3%A9~.md"), ("\udcff", "%FF")]
)
def test_uris_are_written_one_way(name, quoted):
    assert uri_of(Path("/x") / name) == f"file:///x/{quoted}"


def test_one_file_has_one_uri(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    wanted = uri_of(tmp_path / "a.md")
    assert {uri_of(name) for name in ("a.md", "./a.md", "sub/../a.md", str(tmp_path / "a.md"))} == {wanted}


def test_links_keep_their_own_identity(tmp_path):
    (tmp_path / "real.md").write_text("x")
    (tmp_path / "link.md").symlink_to("real.md")
    assert uri_of(tmp_path / "link.md").endswith("/link.md")
    assert absolute(tmp_path / "link.md") == tmp_path / "link.md"


@pytest.mark.parametrize("uri", ["http://example.org/a", "/plain/path", "file:relative", ""])
def test_other_uris_are_refused(uri):
    with pytest.raises(UsageError, match="not a file URI"):
        path_of(uri)


def test_ids_are_twelve_hex_digits_and_the_same_in_every_process():
    uri = "file:///notes/a.md"
    code = f"from pincite.acquire.read import document_id; print(document_id({uri!r}))"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert other.stdout.strip() == document_id(uri)
    assert len(document_id(uri)) == 12
    assert int(document_id(uri), 16) >= 0
    assert document_id(uri) != document_id(uri + "x")
