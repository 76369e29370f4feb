"""Uploads under hostile names: the names are only text, and nothing lies outside the library's own folder for them."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest

NAMES = (
    "../../x.md",
    "..\\..\\x.md",
    "/etc/x.md",
    "C:\\x.md",
    "C:x.md",
    "//host/share/x.md",
    "a\0b.md",
    "CON",
    "NUL.md",
    "aux.md",
    ".",
    "..",
    ".../x.md",
    "x.md.",
    " x.md ",
    "~/x.md",
    "$HOME/x.md",
    "%2e%2e%2fx.md",
    "x" * 300 + ".md",
    "e\u0301.md",
    "\u00e9.md",
    "\u202egpj.md",
    "x.md\n.exe",
    "x.md;rm -rf .md",
    "-rf.md",
    "a/" * 200 + "x.md",
    "keys.json",
    "catalog.sqlite",
    "\ud800.md",
    "",
)


def form(disposition: bytes, data: bytes = b"The weir is good.") -> tuple[bytes, dict[str, str]]:
    """A form with one file, whose head is as given."""
    body = b"--cut\r\nContent-Disposition: form-data; " + disposition + b"\r\n\r\n" + data + b"\r\n--cut--\r\n"
    return body, {"content-type": "multipart/form-data; boundary=cut"}


def everything(folder: Path) -> dict[str, float]:
    return {
        str(path): path.stat().st_mtime for path in folder.rglob("*") if not path.is_relative_to(folder / "l.pincite")
    }


def settle(client: httpx.Client, answer: httpx.Response) -> None:
    """Wait for the job that an upload became."""
    if answer.status_code != 202:
        assert answer.json()["error"]["fix"]
        return
    for _ in range(400):
        if client.get(answer.headers["location"]).json()["state"] not in ("queued", "running"):
            return
        time.sleep(0.02)
    raise AssertionError("the job does not end")


def encoded(name: str) -> list[bytes]:
    """Ways to write a name in the head of a part."""
    raw = name.encode("utf-8", "surrogatepass")
    quoted = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"%0A")
    percent = "".join(f"%{byte:02X}" for byte in raw).encode()
    return [
        b'name="files"; filename="' + quoted + b'"',
        b"name=\"files\"; filename*=utf-8''" + percent,
        b'name="files"; filename="ok.md"; filename*=utf-8\'\'' + percent,
    ]


@pytest.mark.parametrize("way", [0, 1, 2])
def test_row_01_a_name_leads_nowhere(serve, library, tmp_path, way):
    client, root = serve(), Path("/etc/x.md").exists()
    before, own = everything(tmp_path), {path.name for path in library.path.iterdir()}
    catalogue = (library.path / "catalog.sqlite").stat().st_ino
    for name in NAMES:
        body, headers = form(encoded(name)[way])
        settle(client, client.post("/v1/documents", content=body, headers=headers))
    assert everything(tmp_path) == before
    assert Path("/etc/x.md").exists() == root
    assert (library.path / "catalog.sqlite").stat().st_ino == catalogue and not (library.path / "keys.json").exists()
    new = {path.name for path in library.path.iterdir()} - own
    assert all(entry.startswith(("uploads", "keywords", "vectors", "catalog.", "jobs")) for entry in new), new
    kept = [
        path.relative_to(library.path / "uploads").parts
        for path in (library.path / "uploads").rglob("*")
        if path.is_file()
    ]
    assert all(len(parts) == 2 and parts[0].isalnum() and len(parts[1]) < 200 for parts in kept), kept
    rows = client.get("/v1/documents?limit=200").json()["documents"]
    assert len(rows) > 15 or way  # the starred form is not taken: alone it is refused, beside a plain one ignored
    for row in rows:
        assert row["uri"].startswith((library.path / "uploads").as_uri() + "/") and "/../" not in row["uri"]
        assert row["name"].isprintable() and not row["name"].startswith("/")
        original = client.get(f"/v1/documents/{row['id']}/original")
        assert original.status_code == 200 and original.content == b"The weir is good."
        disposition = original.headers["content-disposition"]
        assert disposition.startswith("attachment; filename=") and "/" not in disposition and "\\" not in disposition
