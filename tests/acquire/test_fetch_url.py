"""What is fetched from the web comes from public addresses, within its limits, and carries nothing of the person."""

from __future__ import annotations

import gzip
import ipaddress
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.acquire.fetch_url import Fetched, Limits, fetch_url, is_public, parse_url
from pincite.errors import SourceTooLarge, SourceUnreadable, UsageError

Answer = Callable[[socket.socket, bytes], None]


@contextmanager
def served(*answers: bytes | Answer, wrap: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """Answer one connection after the other; gives the port and what was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)

        def serve() -> None:
            for answer in answers:
                try:
                    sock, _ = listener.accept()
                except TimeoutError:
                    return
                try:
                    with wrap.wrap_socket(sock, server_side=True) if wrap else sock as connection:
                        connection.settimeout(10)
                        head = b""
                        while b"\r\n\r\n" not in head and (block := connection.recv(4096)):
                            head += block
                        if not head:
                            continue
                        asked.append(head)
                        if callable(answer):
                            answer(connection, head)
                        else:
                            connection.sendall(answer)
                except OSError:  # the client left, as it may
                    continue

        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        try:
            yield port, asked
        finally:
            for _ in answers:  # those that were not asked for
                with socket.socket() as waker:
                    if thread.is_alive() and waker.connect_ex(("127.0.0.1", port)) == 0:
                        waker.shutdown(socket.SHUT_RDWR)
            thread.join(15)
            assert not thread.is_alive()


def get(url: str, **options) -> Fetched:
    """Fetch from this machine, by any name."""
    options.setdefault("resolve", lambda host, port: ["127.0.0.1"])
    return fetch_url(url, allow=lambda address: str(address) == "127.0.0.1", **options)


def ok(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def redirect(where: str) -> bytes:
    return ok(b"", f"Location: {where}", status="302 Found")


NOT_PUBLIC = [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1",
    "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1",
    "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:0:7f00:1::",
    "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::", "2002:808:808::", "3fff::1",
    "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1",
    "2001:4860:4860::8888%eth0",
]  # fmt: skip


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_row_12_no_form_of_a_private_address_is_public(address):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"])
def test_public_addresses_are(address):
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://example.com/",
        "ftp://example.com/",
        "javascript:alert(1)",
        "//example.com/",
        "http:example.com",
        "http://",
        "https:///etc/passwd",
        "http://ok.example\\@127.0.0.1/",
        "http://ok.example#@127.0.0.1",
        "http://user:secret@example.com/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.1.5/",
        "http://[::1%25eth0]/",
        "http://[::1/",
        "http://[::ffff:127.0.0.1]x/",
        "http://a b/",
        "http://a\t.example/",
        "http://a.example/\r\nHost: b",
        "http://a..example/",
        "http://a.example:0/",
        "http://a.example:99999/",
        "http://a.example:22/",
        "http://a.example:٣/",
        "http://a.example:80:80/",
        "http://ex%61mple.com/",
        "http://\ud800.example/",
        "http://a.example/\ud800",
        "http://a.example/" + "x" * 9_000,
        "http://xn--" + "a" * 80 + "é.example/",
    ],
)
def test_row_12_addresses_of_other_kinds_and_with_two_readings_are_refused(url):
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    if "#@" in url:  # a fragment is dropped, so that the host before it is asked for, as every parser would
        assert parse_url(url).host == "ok.example"
        return
    with pytest.raises(UsageError) as caught:
        fetch_url(url, allow=lambda address: True, resolve=resolve)
    assert not asked
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "100.64.0.1"])
def test_row_12_what_is_not_public_is_not_connected_to(host):
    with pytest.raises(UsageError, match="not on the public internet"):
        fetch_url(f"http://{host}:8080/")


def test_row_12_one_private_address_among_public_ones_refuses_all():
    with pytest.raises(UsageError, match="not on the public internet"):
        fetch_url("http://two.example/", resolve=lambda host, port: ["8.8.8.8", "10.0.0.1"])


def test_the_canonical_form_is_the_same_for_what_means_the_same():
    assert str(parse_url("HTTP://EXAMPLE.com:80")) == "http://example.com/"
    assert str(parse_url("https://Bücher.example:443/ä?q=ö x".replace(" ", "+"))) == (
        "https://xn--bcher-kva.example/%C3%A4?q=%C3%B6+x"
    )
    assert str(parse_url("https://[2606:4700:0:0::1111]:8443/a%20b#part")) == "https://[2606:4700::1111]:8443/a%20b"


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused_and_its_canonical_form_is_stable(text):
    for candidate in (text, f"http://{text}", f"https://a.example/{text}"):
        try:
            url = parse_url(candidate)
        except UsageError:
            continue
        assert str(url).isascii()
        assert parse_url(str(url)) == url


def test_what_is_asked_is_right_and_carries_nothing_else(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    answer = ok(b"# Cats", "Content-Type: Text/Markdown; charset=utf-8", 'ETag: "v1"', "Set-Cookie: a=b")
    with served(redirect("/b?c"), answer) as (port, asked):
        got = get(f"http://cats.example:{port}/a b".replace(" ", "%20"), etag='"v0"')
    assert got == Fetched(
        f"http://cats.example:{port}/a%20b", f"http://cats.example:{port}/b?c", b"# Cats", "text/markdown", '"v1"'
    )
    first, second = (head.decode().split("\r\n") for head in asked)
    assert first[0] == "GET /a%20b HTTP/1.1"
    assert second[0] == "GET /b?c HTTP/1.1"
    for head in (first, second):
        names = {line.partition(":")[0] for line in head[1:] if line}
        assert f"Host: cats.example:{port}" in head
        assert 'If-None-Match: "v0"' in head
        assert names == {"Host", "User-Agent", "Accept", "Accept-Encoding", "Connection", "If-None-Match"}


def test_what_has_not_changed_is_not_sent_again():
    with served(b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n') as (port, _):
        got = get(f"http://a.example:{port}/", etag='"v1"')
    assert not got.changed
    assert (got.data, got.etag) == (b"", '"v1"')


@pytest.mark.parametrize("etag", ['"a"\r\nX: y', "a", '"a b"', '"é"'])
def test_a_strange_etag_is_not_sent_back(etag):
    with served(ok(b"x")) as (port, asked):
        get(f"http://a.example:{port}/", etag=etag)
    assert b"If-None-Match" not in asked[0]


@pytest.mark.parametrize(
    "location",
    ["http://127.0.0.1:1/", "http://169.254.169.254/latest", "//[::1]/", "http://inner.example/", "http://0x7f.1/"],
)
def test_row_13_each_hop_is_checked_again(location):
    def resolve(host: str, port: int) -> list[str]:
        return {"outer.example": ["127.0.0.1"], "inner.example": ["10.0.0.7"]}.get(host) or [host]

    allowed = iter((True,))  # the test's own server stands for a public one, once
    with served(redirect(location)) as (port, asked), pytest.raises(UsageError):
        fetch_url(
            f"http://outer.example:{port}/", resolve=resolve, allow=lambda address: next(allowed, is_public(address))
        )
    assert len(asked) == 1


@pytest.mark.parametrize("location", ["file:///etc/passwd", "gopher://a.example/", "http://a@b/", "javascript:1"])
def test_row_13_a_redirect_to_another_scheme_or_user_is_refused(location):
    with served(redirect(location)) as (port, _), pytest.raises(UsageError):
        get(f"http://a.example:{port}/")


def test_row_13_a_name_that_changes_its_address_is_connected_to_where_it_was_checked():
    """The name is asked for once a hop: what a second look would say does not matter."""
    looks: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        looks.append(host)
        return ["127.0.0.1"] if len(looks) == 1 else ["10.0.0.1"]

    with served(ok(b"x")) as (port, _):
        assert get(f"http://flips.example:{port}/", resolve=resolve).data == b"x"
    assert looks == ["flips.example"]
    looks.clear()
    with served(redirect("/again")) as (port, _), pytest.raises(UsageError, match="not on the public internet"):
        get(f"http://flips.example:{port}/", resolve=resolve)
    assert len(looks) == 2


def test_row_13_redirects_end():
    with served(*[redirect("/again")] * 10) as (port, asked), pytest.raises(SourceUnreadable, match="more than 5"):
        get(f"http://a.example:{port}/")
    assert len(asked) == 6


@pytest.mark.parametrize("headers", ["Content-Length: 10000000000", "X: y", "Transfer-Encoding: chunked"])
def test_row_13_a_body_without_end_is_cut_at_the_limit(headers):
    sent = [0]

    def endless(sock: socket.socket, _: bytes) -> None:
        sock.sendall(f"HTTP/1.1 200 OK\r\n{headers}\r\n\r\n".encode())
        block = b"x" * 65_536
        block = b"10000\r\n" + block + b"\r\n" if "chunked" in headers else block
        while True:
            sock.sendall(block)
            sent[0] += len(block)

    with served(endless) as (port, _), pytest.raises(SourceTooLarge, match="more than 1,000,000 bytes"):
        get(f"http://a.example:{port}/", limits=Limits(bytes=1_000_000))
    assert sent[0] < 32_000_000  # what the system's buffers took


def test_row_13_what_is_packed_well_is_cut_at_the_limit():
    bomb = gzip.compress(bytes(50_000_000))
    with (
        served(ok(bomb, "Content-Encoding: gzip")) as (port, _),
        pytest.raises(SourceTooLarge, match="more than 1,000,000 bytes"),
    ):
        get(f"http://a.example:{port}/", limits=Limits(bytes=1_000_000))


@pytest.mark.parametrize("part", ["head", "body"])
def test_row_13_a_slow_drip_ends_at_the_deadline(part):
    def drip(sock: socket.socket, _: bytes) -> None:
        if part == "body":
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1_000):
            sock.sendall(b"H")
            time.sleep(0.05)

    started = time.monotonic()
    with served(drip) as (port, _), pytest.raises(SourceTooLarge, match=r"longer than 0\.5 s"):
        get(f"http://a.example:{port}/", limits=Limits(seconds=0.5))
    assert time.monotonic() - started < 8


def test_a_resolver_that_hangs_ends_at_the_deadline():
    released = threading.Event()

    def resolve(host: str, port: int) -> list[str]:
        released.wait(10)
        return []

    with pytest.raises(SourceUnreadable, match="not found"):
        get("http://a.example/", resolve=resolve, limits=Limits(seconds=0.2))
    released.set()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\xff" * 100,
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000 + b"\r\n\r\n",
        ok(b"no gzip", "Content-Encoding: gzip"),
        ok(gzip.compress(b"x" * 1000)[:-4], "Content-Encoding: gzip"),
        ok(b"x", "Content-Encoding: br"),
        ok(b"gone", status="404 Not Found"),
        ok(b"", status="302 Found"),
        redirect("http://[/"),
        ok(b"", status="500 " + "x" * 500),
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ],
)
def test_what_makes_no_sense_is_an_error_in_a_sentence(answer):
    with served(answer) as (port, _), pytest.raises((SourceUnreadable, UsageError)) as caught:
        get(f"http://a.example:{port}/")
    assert str(caught.value).endswith(".")
    assert caught.value.fix
    assert len(str(caught.value)) < 400


def test_packed_and_chunked_bodies_come_whole():
    body = bytes(range(256)) * 5_000
    packed = gzip.compress(body[:1000]) + gzip.compress(body[1000:])  # members in a row are one body
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (packed[:7], packed[7:])) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    with served(head + chunks) as (port, _):
        assert get(f"http://a.example:{port}/").data == body


def test_an_address_that_does_not_answer_is_told():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(SourceUnreadable, match="cannot be reached"):
        get(f"http://a.example:{port}/")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for cats.example, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed here")
    folder = tmp_path_factory.mktemp("tls")
    names = (
        "-subj",
        "/CN=cats.example",
        "-addext",
        "subjectAltName=DNS:cats.example",
        "-keyout",
        "key",
        "-out",
        "cert",
    )
    command = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", *names)
    command += ("-keyout", "key", "-out", "cert")
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def _contexts(folder):
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=folder / "cert")
    server.load_cert_chain(folder / "cert", folder / "key")
    names: list[str | None] = []
    server.sni_callback = lambda sock, name, context: names.append(name)
    return server, client, names


def test_the_certificate_and_the_name_are_those_of_the_host_not_of_the_address(certificate):
    server, client, names = _contexts(certificate)
    with served(ok(b"x"), wrap=server) as (port, asked):
        assert get(f"https://cats.example:{port}/", context=client).data == b"x"
    assert names == ["cats.example"]
    assert f"Host: cats.example:{port}\r\n".encode() in asked[0]


@pytest.mark.parametrize("url", ["https://dogs.example:{}/", "https://127.0.0.1:{}/"])
def test_a_certificate_for_another_name_is_refused(certificate, url):
    server, client, _ = _contexts(certificate)
    with served(ok(b"x"), wrap=server) as (port, asked), pytest.raises(SourceUnreadable, match="no safe connection"):
        get(url.format(port), context=client)
    assert not asked


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate):
    server, _, _ = _contexts(certificate)
    with served(ok(b"x"), wrap=server) as (port, asked), pytest.raises(SourceUnreadable, match="no safe connection"):
        get(f"https://cats.example:{port}/")
    assert not asked


def test_encryption_is_not_given_up_by_a_redirect(certificate):
    server, client, _ = _contexts(certificate)
    with (
        served(redirect("http://cats.example/"), wrap=server) as (port, _),
        pytest.raises(SourceUnreadable, match="without encryption"),
    ):
        get(f"https://cats.example:{port}/", context=client)
