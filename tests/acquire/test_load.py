"""Bytes are read whole, of one state of the file, or the reason is told."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

import pincite.acquire.load as load_module
from pincite.acquire.load import changed_ns
from pincite.acquire.read import load, uri_of
from pincite.errors import SourceError, SourceTooLarge, SourceUnreadable


def test_a_source_describes_the_bytes(tmp_path):
    path = tmp_path / "a b.md"
    path.write_bytes(b"# Title\r\n\xff")
    source, data = load(path)
    assert data == b"# Title\r\n\xff"
    assert source.uri == uri_of(path)
    assert source.media_type == "text/markdown"
    assert source.content_hash == hashlib.blake2b(data, digest_size=16).hexdigest()
    assert (source.size, source.modified_ns) == (10, changed_ns(path.stat()))


@pytest.mark.parametrize("name", ["a b#c?d%e.txt", "é.txt", os.fsdecode(b"\xff\xfe.txt"), "-", "new\nline"])
def test_a_file_is_found_by_its_uri(tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    source, data = load(uri_of(tmp_path / name))
    assert data == b"x"
    assert source == load(tmp_path / name)[0]


def test_an_empty_file_has_no_bytes(tmp_path):
    (tmp_path / "a").touch()
    assert load(tmp_path / "a")[1] == b""


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(SourceUnreadable, match="no longer exists"):
        load(tmp_path / "nowhere")
    with pytest.raises(SourceUnreadable, match="is a folder"):
        load(tmp_path)


def test_a_fifo_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SourceUnreadable, match="not a regular file"):
        load(tmp_path / "fifo")


def test_devices_and_loops_and_impossible_names_are_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for path in ("/dev/zero", tmp_path / "loop", tmp_path / ("x" * 300), tmp_path / "a\0b", tmp_path / "f" / "g"):
        (tmp_path / "f").touch()
        with pytest.raises(SourceUnreadable) as caught:
            load(path)
        assert caught.value.fix
        assert str(caught.value).isprintable()


def test_the_limit_is_told_with_the_size(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 1001)
    with pytest.raises(SourceTooLarge, match="1,001 bytes; the limit is 1,000") as caught:
        load(tmp_path / "a", limit=1000)
    assert "Split" in caught.value.fix
    assert len(load(tmp_path / "a", limit=1001)[1]) == 1001


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.EACCES, "permission denied"),
        (errno.EIO, "cannot be read: input/output error"),
        (errno.EMFILE, "too many open files"),
        (errno.ENOENT, "no longer exists"),
    ],
)
def test_each_refusal_is_one_sentence(tmp_path, monkeypatch, code, words):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(load_module.os, "open", refuse)
    with pytest.raises(SourceUnreadable, match=words) as caught:
        load(tmp_path / "a.md")
    assert str(caught.value).endswith(".")
    assert caught.value.fix.endswith(".")


class Writer:
    """Changes the file after each of the first reads."""

    def __init__(self, path: Path, times: int) -> None:
        self.path, self.left = path, times
        self.real = load_module._bytes

    def __call__(self, *arguments):
        result = self.real(*arguments)
        if self.left:
            self.left -= 1
            self.path.write_bytes(self.path.read_bytes() + b"more")
            return result[0], result[1], self.path.stat()
        return result


def test_a_file_that_changed_once_is_read_again(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one")
    monkeypatch.setattr(load_module, "_bytes", Writer(path, 1))
    source, data = load(path)
    assert data == b"onemore"
    assert source.size == 7


def test_a_file_that_keeps_changing_is_reported(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one")
    monkeypatch.setattr(load_module, "_bytes", Writer(path, 9))
    with pytest.raises(SourceUnreadable, match="changed while it was being read") as caught:
        load(path)
    assert caught.value.fix == "Add it again."


def test_a_file_cut_while_it_is_read_is_not_taken(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 1000)
    real = os.fstat
    calls = []

    def cutting(descriptor):
        status = real(descriptor)
        calls.append(status)
        if len(calls) in (1, 3):  # behind the first look at it, in both attempts
            path.write_bytes(b"x" * (500 // len(calls)))
        return status

    monkeypatch.setattr(load_module.os, "fstat", cutting)
    with pytest.raises(SourceUnreadable, match="changed"):
        load(path)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_file_without_permission_is_reported(tmp_path, modes_bind):
    path = tmp_path / "a.txt"
    path.touch(mode=0o000)
    with pytest.raises(SourceUnreadable, match="permission denied"):
        load(path)


def test_every_refusal_is_a_source_error():
    assert issubclass(SourceUnreadable, SourceError)
    assert SourceUnreadable.exit_code == SourceTooLarge.exit_code == 3
