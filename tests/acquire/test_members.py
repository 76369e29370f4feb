"""Archives and mail as folders."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import random
import stat
import tarfile
import zipfile
from email.message import EmailMessage

import pytest

from pincite.acquire.identify import media_type
from pincite.acquire.members import members
from pincite.acquire.package import INFLATED, MEMBERS, RATIO, Package
from pincite.acquire.readers.listing import read
from pincite.errors import SourceError, SourceTooLarge, SourceUndecodable
from pincite.types import Source
from tests.acquire.made import archive
from tests.acquire.readers.mutated import mutations

ROOT = "file:///a/x"


def source(data: bytes, name: str = "x.zip") -> Source:
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    return Source(f"file:///a/{name}", media_type(name, data[: 1 << 16]), digest, 7, len(data))


def inside(data: bytes, name: str = "x.zip") -> dict[str, bytes | str]:
    """Give address below the container: its content, or the reason why there is none."""
    found = list(members(source(data, name), data))
    return {
        inner.uri.removeprefix(f"file:///a/{name}/"): content if isinstance(content, bytes) else str(content)
        for inner, content in found
    }


def tar(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as file:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_members_are_sources_with_the_time_of_the_archive():
    data = archive({"a.txt": "one", "b/ü.md": "# two"})
    found = list(members(source(data), data))
    assert [(inner.uri, inner.media_type, inner.size, inner.modified_ns) for inner, _ in found] == [
        ("file:///a/x.zip/a.txt", "text/plain", 3, 7),
        ("file:///a/x.zip/b/%C3%BC.md", "text/markdown", 5, 7),
    ]
    assert found[0][0].content_hash == hashlib.blake2b(b"one", digest_size=16).hexdigest()


def test_names_never_step_out_and_hidden_files_are_passed_over():
    names = ("../../etc/passwd", "/etc/passwd", "C:\\x\\y.txt", "a/./b.txt", "a//b.txt", ".git/config", "__MACOSX/._a",
             "node_modules/x.js", "..", "new\nline", "%2e%2e/x", "n" * 300)  # fmt: skip
    assert sorted(inside(archive(dict.fromkeys(names, "x")))) == sorted(
        ("etc/passwd", "etc/passwd%20%282%29", "C%3A/x/y.txt", "a/b.txt", "a/b%20%282%29.txt", "new_line",
         "%252e%252e/x", "n" * 200)
    )  # fmt: skip


def test_names_in_an_old_code_page():
    name = "自动巡检需求文档.txt"
    data = archive({"x" * len(name.encode("gbk")): "text"})
    data = data.replace(b"x" * len(name.encode("gbk")), name.encode("gbk"))
    assert "自动巡检需求文档" in read(data, "x.zip", "application/zip").text


def test_links_and_folders_are_left_out():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc/passwd")
        file.writestr("folder/", "")
        file.writestr("file", "x")
    assert inside(buffer.getvalue()) == {"file": b"x"}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tarred:
        for kind, name in (
            (tarfile.SYMTYPE, "s"),
            (tarfile.LNKTYPE, "l"),
            (tarfile.FIFOTYPE, "f"),
            (tarfile.CHRTYPE, "c"),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tarred.addfile(info)
    assert inside(buffer.getvalue(), "x.tar") == {}


@pytest.mark.parametrize(
    ("name", "pack"),
    [("x.tar", bytes), ("x.tar.gz", gzip.compress), ("x.tar.bz2", bz2.compress), ("x.tar.xz", lzma.compress)],
)
def test_tar_in_every_packing(name, pack):
    data = pack(tar(**{"a.txt": b"one", "b/c.md": b"two"}))
    assert inside(data, name) == {"a.txt": b"one", "b/c.md": b"two"}
    assert read(data, name, media_type(name, data)).text == "- a.txt\n- b/c.md"


def test_one_compressed_file():
    assert inside(gzip.compress(b"hello"), "notes.txt.gz") == {"notes.txt": b"hello"}


def test_containers_within_containers_up_to_a_depth():
    data = archive({"deep.txt": "deep"})
    for _ in range(3):
        data = archive({"n.zip": data})
    found = inside(data)
    assert found["n.zip/n.zip/n.zip"] == "It is more than 3 archives deep."
    assert sorted(found) == ["n.zip", "n.zip/n.zip", "n.zip/n.zip/n.zip"]


def test_attachments_of_mail_in_an_archive():
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content("text")
    message.add_attachment(b"a,b\n", maintype="text", subtype="csv", filename="../t.csv")
    found = inside(archive({"mail.eml": message.as_bytes()}))
    assert found["mail.eml/t.csv"] == b"a,b\n"


def test_bombs_are_refused_by_what_they_inflate_to():
    bomb = archive({"zeros": bytes(RATIO * 200_000), "small.txt": "fine"})
    found = inside(bomb)
    assert "inflates" in found["zeros"]
    assert found["small.txt"] == b"fine"
    with pytest.raises(SourceTooLarge):
        list(
            members(
                source(gzip.compress(tar(zeros=bytes(50 << 20))), "x.tgz"), gzip.compress(tar(zeros=bytes(50 << 20)))
            )
        )
    assert INFLATED == 512 << 20


def test_too_many_members_are_refused_before_they_are_listed():
    data = archive(dict.fromkeys(map(str, range(MEMBERS + 1)), ""))
    with pytest.raises(SourceTooLarge, match="members"):
        Package(data)
    lying = bytearray(data)
    end = data.rfind(b"PK\x05\x06")
    lying[end + 8 : end + 12] = b"\x01\x00\x01\x00"
    with pytest.raises(SourceError):
        Package(bytes(lying))


def test_a_locked_member_is_told_and_the_others_are_read():
    data = bytearray(archive({"a.txt": "one", "b.txt": "two"}))
    at = data.find(b"PK\x01\x02")
    data[at + 8] |= 1
    assert inside(bytes(data)) == {"a.txt": "It is protected by a password.", "b.txt": b"two"}


@pytest.mark.parametrize("name", ["x.zip", "x.tar", "x.tar.gz"])
def test_mutated_archives_are_read_or_refused(name):
    data = {"x.zip": archive({"a.txt": "one", "b.zip": archive({"c.txt": "two"})}), "x.tar": tar(a=b"one", b=b"two")}
    data["x.tar.gz"] = gzip.compress(data["x.tar"], mtime=0)
    kind = media_type(name, data[name])
    for mutant in mutations(data[name], 200, random.Random(13)):
        outer = Source(f"file:///a/{name}", kind, "", 0, len(mutant))
        for use in (lambda: list(members(outer, mutant)), lambda: read(mutant, name, kind)):  # noqa: B023
            try:
                use()
            except (SourceTooLarge, SourceUndecodable) as error:
                assert error.fix


def test_a_member_without_a_name_is_passed_over():
    assert inside(archive({"": "nobody", "a.txt": "one"})) == {"a.txt": b"one"}
