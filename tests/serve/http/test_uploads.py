"""Files are taken while they come, within limits; what does not come whole leaves nothing."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from pincite.library import Library
from tests.acquire.test_uploads import NAMES
from tests.data.make_pdf import Pdf, PdfPage, lines
from tests.serve.http.documents import files_below, finished, idle, listed, upload


def test_a_person_uploads_asks_and_uploads_again(client: httpx.Client) -> None:
    """The journey: three files, one of which cannot be read; a question; a new version; another question."""
    pdf = bytes(Pdf([PdfPage(lines(40, 500, ["The weir holds 4,200 litres."]))]))
    job = finished(
        client,
        upload(
            client,
            ("papers/Cats é.md", b"# Cats\n\nA cat sleeps sixteen hours a day."),
            ("weir.pdf", pdf),
            ("song.mp3", b"ID3" + os.urandom(500)),
        ),
    )
    assert (job["state"], job["kind"], job["name"], job["files"]) == ("done", "add", "3 files", 3)
    assert job["summary"] == {"indexed": 2, "unsupported": 1}
    reports = {report["name"]: report for report in job["sources"]}
    assert {name: report["status"] for name, report in reports.items()} == {
        "papers/Cats é.md": "indexed",
        "weir.pdf": "indexed",
        "song.mp3": "unsupported",
    }
    song = reports["song.mp3"]
    assert song["reason"].startswith("song.mp3 is a sound")
    assert song["fix"]
    answer = client.post("/v1/ask", json={"question": "How long does a cat sleep?", "extract": True}).json()
    assert "sixteen hours" in answer["text"]
    assert answer["citations"][0]["title"] == "Cats"

    cats = listed(client)["papers/Cats é.md"]
    again = finished(client, upload(client, ("papers/Cats é.md", "# Cats\n\nA cat sleeps fifteen hours a day.")))
    assert [(report["status"], report["id"]) for report in again["sources"]] == [("updated", cats["id"])]
    whole = client.get(f"/v1/documents/{cats['id']}").json()
    assert (whole["version"], [version["version"] for version in whole["versions"]]) == (2, [1, 2])
    assert whole["metadata"]["name"] == "papers/Cats é.md"
    answer = client.post("/v1/ask", json={"question": "How long does a cat sleep?", "extract": True}).json()
    assert "fifteen hours" in answer["text"] and "sixteen" not in answer["text"]
    old = client.get(f"/v1/documents/{cats['id']}/text", params={"version": 1}).json()
    assert "sixteen" in old["text"]

    unchanged = finished(client, upload(client, ("weir.pdf", pdf)))
    assert unchanged["summary"] == {"unchanged": 1}


def test_row_01_names_lead_nowhere(client: httpx.Client, library: Library, tmp_path: Path) -> None:
    outside = {path for path in tmp_path.rglob("*") if "library" not in path.parts}
    names = [name for name in NAMES if name and name.isascii() and not set(name) & set('"\0\r\n')]
    finished(client, upload(client, *((name, f"Text of number {number}.") for number, name in enumerate(names))))
    assert {path for path in tmp_path.rglob("*") if "library" not in path.parts} == outside
    for place in files_below(library.path):
        parts = place.split("/")
        assert parts[0] == "uploads" and len(parts) <= 3
        assert all(part.isascii() and ".." not in part for part in parts)
    shown = listed(client)
    assert {"etc/x", "x", "CON", "x" * 300, "~/.ssh/x", "..%2f..%2fx"} <= shown.keys()
    for row in shown.values():
        assert not {"", ".", ".."} & set(row["name"].split("/"))


FILE = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
RAW = [
    b"name=\"files\"; filename*=utf-8''..%2Fevil.txt",
    b'name="files"; filename="a.txt"; filename*=utf-8\'\'..%2F..%2Fevil.txt',
    b'name="files"; filename="..\\\\..\\\\evil.txt"',
    b'name="files"; filename="a\0../evil.txt"',
    b'name="files"; filename="/etc/evil.txt"; filename="b.txt"',
    b'name="files"; filename="\xff\xfe.txt"',
    b'name="other"; filename="evil.txt"',
    b'filename="evil.txt"',
    b'name="labels"; filename="evil.txt"',
    b'name="files"',
    b"",
]


@pytest.mark.parametrize("disposition", RAW)
def test_row_01_forged_headers_lead_nowhere(client: httpx.Client, library: Library, disposition: bytes) -> None:
    body = b"--x\r\nContent-Disposition: form-data; %s\r\n\r\nSome words.\r\n--x--\r\n" % disposition
    response = client.post("/v1/documents", content=body, headers={"content-type": "multipart/form-data; boundary=x"})
    if response.status_code == 202:
        finished(client, response)
    else:
        assert response.status_code in (400, 422), response.text
        assert files_below(library.path) <= {"uploads"}
    assert not list(library.path.parent.rglob("*evil*")) or b"filename=" in disposition
    for place in library.path.parent.rglob("*evil*"):
        assert place.parent.parent == library.uploads.folder
        assert place.name == "evil.txt"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "multipart/form-data; boundary=x"),
        (b"--x\r\n", "multipart/form-data; boundary=x"),
        (
            b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nhalf',
            "multipart/form-data; boundary=x",
        ),
        (b"--x--\r\n", "multipart/form-data; boundary=x"),
        (b"no form", "multipart/form-data; boundary=x"),
        (b"--x--\r\n", "multipart/form-data"),
        (b"--x--\r\n", "multipart/form-data; boundary=" + "y" * 300),
        (b"--x\r\n" + b"a: b\r\n" * 1_000 + b"\r\n\r\n--x--", "multipart/form-data; boundary=x"),
        (b"--x\r\na: " + b"b" * 100_000 + b"\r\n\r\n\r\n--x--", "multipart/form-data; boundary=x"),
        (b"--x--\r\n", "multipart/mixed; boundary=x"),
        (b"{", "application/json"),
        (b"{}", "application/json"),
        (b'{"path": "/a", "url": "https://a.example/"}', "application/json"),
        (b'{"path": "/a", "more": 1}', "application/json"),
        (b'{"path": "relative"}', "application/json"),
        (b'{"path": "/a\\u0000b"}', "application/json"),
        (b'{"url": "https://a.example/"}', "application/json"),
    ],
)
def test_malformed_bodies_are_refused_and_leave_nothing(
    client: httpx.Client, library: Library, content: bytes, kind: str
) -> None:
    response = client.post("/v1/documents", content=content, headers={"content-type": kind})
    assert response.status_code in (400, 403, 415, 422), response.text
    assert set(response.json()["error"]) == {"code", "message", "fix"}
    assert files_below(library.path) <= {"uploads"}
    assert client.get("/v1/jobs").json() == {"jobs": []}


def test_a_file_over_its_limit_is_cut_while_it_comes(serve, library: Library) -> None:
    with httpx.Client(base_url=serve(file_bytes=100_000), timeout=20) as client:
        response = upload(client, ("small.txt", b"x" * 100_000), ("large.txt", b"x" * 100_001))
        assert response.status_code == 413
        assert "large.txt" in response.json()["error"]["message"]
        assert files_below(library.path) <= {"uploads"}
        assert finished(client, upload(client, ("small.txt", b"x" * 100_000)))["state"] == "done"


def test_too_many_files_and_labels_and_too_long_names_are_refused(serve, library: Library) -> None:
    with httpx.Client(base_url=serve(upload_files=3), timeout=20) as client:
        assert upload(client, *((f"{n}.txt", b"x") for n in range(4))).status_code == 413
        assert upload(client, ("x" * 1_001, b"x")).status_code == 413
        assert upload(client, ("a", b"x"), labels=["l"] * 101).status_code == 413
        assert upload(client, ("a", b"x"), labels="l" * 1_001).status_code == 413
        assert upload(client, ("a", b"x"), labels="no/label").status_code == 400
        assert files_below(library.path) <= {"uploads"}


def memory() -> int:
    """The memory that this process, in which the server runs, holds now, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory held is read from /proc")
@pytest.mark.parametrize("what", ["one endless file", "100,000 parts"])
def test_row_31_a_body_without_end_is_cut_and_memory_stays_flat(serve, library: Library, what: str) -> None:
    """A chunked body that goes on until it is refused: here 10 GB, if nobody stopped it."""
    address = urlsplit(serve(file_bytes=20_000_000, upload_files=2_000))
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="%d.txt"\r\n\r\n'
    part = head % 1 + b"words\r\n"
    sent, most, before = 0, 0, memory()
    with socket.create_connection((address.hostname, address.port)) as sock:
        sock.settimeout(20)
        sock.sendall(
            b"POST /v1/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
            b"Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        )
        block = b"x" * 1_000_000 if what == "one endless file" else part * 1_000
        first = head % 0 if what == "one endless file" else b""
        answer = b""
        try:
            for number in range(10_000 if what == "one endless file" else 100):
                data = first + block if number == 0 else block
                sock.sendall(b"%x\r\n%s\r\n" % (len(data), data))
                sent += len(data)
                most = max(most, memory() - before)
        except OSError:  # refused: the connection was ended
            pass
        try:
            answer = sock.recv(65_536)
        except OSError:  # the refusal was lost with the connection, as TCP may
            answer = b"HTTP/1.1 413 "
    assert answer.startswith(b"HTTP/1.1 413 "), answer[:200]
    assert sent < 5_000_000_000  # what comes after the refusal is taken off for a second and dropped
    assert most < 60_000_000
    deadline = time.monotonic() + 20
    while files_below(library.path) > {"uploads"} and time.monotonic() < deadline:
        time.sleep(0.05)
    assert files_below(library.path) <= {"uploads"}


def test_a_client_that_leaves_half_way_leaves_nothing(serve, library: Library) -> None:
    address = urlsplit(serve())
    with socket.create_connection((address.hostname, address.port)) as sock:
        body = FILE + b"x" * 300_000
        head = b"POST /v1/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9000000\r\n"
        sock.sendall(head + b"Content-Type: multipart/form-data; boundary=x\r\n\r\n" + body)
        deadline = time.monotonic() + 20
        while not list(library.uploads.folder.glob(".coming-*/0")) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert list(library.uploads.folder.glob(".coming-*/0"))
    while list(library.uploads.folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not list(library.uploads.folder.iterdir())


def test_a_full_disk_is_told(client: httpx.Client, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, *args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pincite.acquire.uploads.Path.replace", full)
        response = upload(client, ("a.txt", b"x"))
    assert response.status_code == 507
    assert response.json()["error"]["code"] == "disk_full"
    assert not any(path.is_file() for path in library.uploads.folder.rglob("*.txt"))


def test_uploads_at_the_same_time_do_not_meet(client: httpx.Client) -> None:
    def send(number: int) -> None:
        finished(client, upload(client, (f"{number}.txt", f"The number is {number}.")))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    idle(client)
    for number in range(4):
        one = listed(client)[f"{number}.txt"]
        assert client.get(f"/v1/documents/{one['id']}/text").json()["text"] == f"The number is {number}."
