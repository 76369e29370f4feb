"""Archives and packages whose entries step out: names are only ever addresses, and nothing is unpacked."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.acquire.made import docx, para

NAMES = (
    "../../evil.md",
    "/etc/evil.md",
    "..\\..\\evil.md",
    "C:\\evil.md",
    "a/../../../evil.md",
    "evil\0.md",
    "./evil.md",
)
TEXT = b"The weir of this archive is evil."


def zipped(*, base: bytes = b"") -> bytes:
    """A zip, or a package with more in it, that holds each name and a link."""
    buffer = io.BytesIO(base)
    with zipfile.ZipFile(buffer, "a") as file:
        for name in NAMES:
            file.writestr(zipfile.ZipInfo(name), TEXT)
        link = zipfile.ZipInfo("link.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc/passwd")
    return buffer.getvalue()


def tarred() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        for name in NAMES:
            info = tarfile.TarInfo(name.replace("\0", ""))
            info.size = len(TEXT)
            file.addfile(info, io.BytesIO(TEXT))
        for kind, target in ((tarfile.SYMTYPE, "/etc/passwd"), (tarfile.LNKTYPE, "/etc/passwd")):
            info = tarfile.TarInfo("link.md")
            info.type, info.linkname = kind, target
            file.addfile(info)
    return buffer.getvalue()


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".pincite" not in str(path)
    }


@pytest.mark.parametrize("name", ["a.zip", "a.tgz", "a.docx", "a.epub"])
def test_row_04_nothing_is_written_anywhere(library, docs, tmp_path, name):
    path = docs / name
    if name == "a.docx":
        path.write_bytes(zipped(base=docx(para("The weir is good."))))
    else:
        path.write_bytes(tarred() if name == "a.tgz" else zipped())
    before, machine = everything(tmp_path), Path("/etc/evil.md").exists()
    library.add(docs)
    assert everything(tmp_path) == before
    assert Path("/etc/evil.md").exists() == machine
    uris = [record.source.uri for record in library.list()]
    assert uris and all(uri.startswith(docs.as_uri()) and ".." not in uri and "passwd" not in uri for uri in uris)
    assert not any("root:" in library.document(r.source.uri).text for r in library.list() if r.version)
    if name in ("a.zip", "a.tgz"):  # what is inside is a document all the same, below its archive
        assert any("evil" in uri for uri in uris)
