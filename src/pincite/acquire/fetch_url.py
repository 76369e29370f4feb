"""The one client for documents from the web: it goes to public addresses only, and takes no more than it was told to.

An address is parsed once, and what is checked is what is connected to: the name is resolved here, each address that it
stands for must be public, and the connection is made to one of those, never to the name. Redirects are followed by
hand, each checked like the first. Nothing of the person travels: no cookies, no credentials, no proxy, no referrer.
"""

from __future__ import annotations

import io
import ipaddress
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from importlib.metadata import version
from typing import Any, cast
from urllib.parse import quote, urljoin

from pincite.errors import SourceError, SourceTooLarge, SourceUnreadable, UsageError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
Allow = Callable[[Address], bool]

_PARTS = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.IGNORECASE | re.DOTALL)
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::([0-9]{1,5}))?")
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")  # what some parsers take for an IPv4 address
_UNSEEN = re.compile(r"[\x00-\x20\x7f\\]")
_PORTS = {"http": 80, "https": 443}
_MOST_CHARS = 8_000
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_BLOCK = 1 << 16
_PATH_SAFE = "/%:@!$&'()*+,;=~-._"
_TRY = "Check the address, or try again later."
# Special ranges that ``is_global`` lets pass, at least in some versions of Python: relays and tunnels into IPv4.
_NOT_PUBLIC = tuple(
    map(ipaddress.ip_network, ("192.88.99.0/24", "2001::/23", "2002::/16", "3fff::/20", "64:ff9b:1::/48"))
)
_UNICAST = ipaddress.ip_network("2000::/3")
_EMBEDDING = tuple(map(ipaddress.ip_network, ("::ffff:0:0/96", "64:ff9b::/96")))  # the last 32 bits are an IPv4 address


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a fetch may take."""

    bytes: int = 64 << 20  # of the body, as it comes and as it is decoded
    seconds: float = 60.0  # for everything, redirects included
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Url:
    """An address, taken apart once for the check, the connection and the request."""

    scheme: str
    host: str  # lower case ASCII; an IPv6 address without brackets
    port: int
    target: str  # path and query, percent encoded

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def authority(self) -> str:
        """The host, and the port if it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address gave."""

    url: str  # canonical, as asked
    final: str  # where redirects led
    data: bytes  # decoded; empty if it has not changed
    media_type: str = ""  # as the server calls it, without parameters, lower case
    etag: str = ""
    changed: bool = True  # False: it is what the ETag stands for


def parse_url(text: str) -> Url:
    """Take an address apart, and write it in its canonical form; the fragment is dropped.

    Args:
        text: with the scheme http or https.

    Returns:
        The parts; ``str`` of them is the canonical form.

    Raises:
        UsageError: it is no such address, or one that two parsers might read in two ways: with user names, white space,
            backslashes, or an IPv4 address that is not four decimal numbers.
    """
    match = _PARTS.fullmatch(text)
    if match is None or _UNSEEN.search(text) or len(text) > _MOST_CHARS:
        raise _bad(text, "is no address of the web", "Give one that begins with https:// or http://.")
    scheme, authority, path, query = match[1].lower(), match[2], match[3] or "/", match[4] or ""
    if "@" in authority:
        raise _bad(authority.rpartition("@")[2], "is given with a user name", "Give it without one.")
    named = _AUTHORITY.fullmatch(_ascii(authority.lower()))
    port = int(named[2] or _PORTS[scheme]) if named else 0
    if named is None or not 0 < port < 1 << 16:
        raise _bad(authority, "names no host", "Check the address.")
    if port < 1024 and port not in _PORTS.values():
        raise _bad(authority, "has a port that is for other services", "Use 80, 443, or one above 1023.")
    return Url(scheme, _host(named[1]), port, _escaped(path) + _escaped(query, "?/"))


def is_public(address: Address) -> bool:
    """Tell whether an address belongs to the public internet, looking through the IPv4 address that it may hold."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        if any(address in network for network in _EMBEDDING):
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in _UNICAST:
            return False
    special = address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not special and not any(address in network for network in _NOT_PUBLIC)


def addresses_of(host: str, port: int) -> list[str]:
    """Ask the system for the addresses of a host; OSError if it knows none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


def fetch_url(
    url: str,
    *,
    etag: str = "",
    limits: Limits | None = None,
    allow: Allow = is_public,
    resolve: Resolve = addresses_of,
    context: ssl.SSLContext | None = None,
) -> Fetched:
    """Fetch a document.

    Args:
        url: http or https.
        etag: of what is there already; "" fetches anyhow.
        limits: None takes the usual ones.
        allow: which addresses may be connected to.
        resolve: gives the addresses of a host and port.
        context: whom to trust; None trusts whom the system trusts.

    Returns:
        The body, or that it has not changed.

    Raises:
        UsageError: the address, or one that it redirects to, is none that may be fetched.
        SourceTooLarge: the body has more bytes than allowed, or took too long.
        SourceUnreadable: the server does not give the document.
    """
    limits = limits or Limits()
    first = here = parse_url(url)
    deadline = time.monotonic() + limits.seconds
    for _ in range(limits.redirects + 1):
        with _opened(here, deadline, allow, resolve, context) as sock, _explained(here, limits):
            sock.sendall(_request(here, etag))
            with closing(HTTPResponse(cast(socket.socket, _Pipe(sock, deadline)), method="GET")) as response:
                response.begin()
                if response.status not in _REDIRECTS:
                    return _taken(response, first, here, limits)
                location = response.headers.get("Location", "")
        here = _next(here, location)
    message = f"{first} redirects more than {limits.redirects} times."
    raise SourceUnreadable(message, fix="Give the address where the document is.")


# --- the address


def _bad(text: str, problem: str, fix: str) -> UsageError:
    return UsageError(f"{text[:200]!r} {problem}.", fix=fix)


def _ascii(host: str) -> str:
    """Write an international name in ASCII."""
    try:
        return host if host.isascii() else host.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise _bad(host, "names no host", "Check the address.") from error


def _host(name: str) -> str:
    """Check a host: a name, or an address that has one reading only."""
    if name.startswith("[") or _NUMERIC.fullmatch(name):
        try:
            return str(ipaddress.ip_address(name.strip("[]")))
        except ValueError as error:
            raise _bad(name, "is no address of a host", "Write it as four decimal numbers, or use a name.") from error
    return name


def _escaped(text: str, also: str = "") -> str:
    """Percent encode what an address may not hold; what is encoded already stays so."""
    try:
        return quote(text, safe=_PATH_SAFE + also)
    except UnicodeEncodeError as error:
        raise _bad(text, "holds what is no character", "Check the address.") from error


def _next(here: Url, location: str) -> Url:
    """Take where a redirect leads; from https only to https."""
    try:
        there = parse_url(urljoin(str(here), location.encode("latin-1", "replace").decode("utf-8", "replace")))
    except ValueError as error:  # urljoin finds brackets that do not match
        raise SourceUnreadable(f"{here} redirects to no address.", fix=_TRY) from error
    if not location or (here.scheme, there.scheme) == ("https", "http"):
        where = "an address without encryption" if location else "no address"
        raise SourceUnreadable(f"{here} redirects to {where}.", fix="Give the address where the document is.")
    return there


# --- the connection


@contextmanager
def _opened(
    url: Url, deadline: float, allow: Allow, resolve: Resolve, context: ssl.SSLContext | None
) -> Iterator[socket.socket]:
    """Connect to an address that was checked."""
    sock = _connected(url, _checked(url, deadline, allow, resolve), deadline)
    try:
        if url.scheme == "https":
            sock = (context or ssl.create_default_context()).wrap_socket(sock, server_hostname=url.host)
    except (OSError, ValueError) as error:
        sock.close()
        raise SourceUnreadable(f"{url} gives no safe connection: {_said(error)}.", fix=_TRY) from error
    try:
        yield sock
    finally:
        sock.close()


def _checked(url: Url, deadline: float, allow: Allow, resolve: Resolve) -> list[Address]:
    """Resolve a host; one address that is not allowed among the others makes it all suspicious."""
    found: list[Any] = []

    def ask() -> None:
        try:
            found.extend(map(ipaddress.ip_address, resolve(url.host, url.port)))
        except (OSError, ValueError) as error:
            found[:] = [error]

    thread = threading.Thread(target=ask, name="pincite-resolve", daemon=True)  # the system's resolver has no deadline
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    addresses = list(found)
    if not addresses or isinstance(addresses[0], Exception):
        raise SourceUnreadable(f"The host {url.host} is not found.", fix="Check the address and the network.")
    if not all(allow(address) for address in addresses):
        message = f"{url.host} is not on the public internet, and only what is there is fetched."
        raise UsageError(message, fix="Save the document, and add the file.")
    return cast(list[Address], addresses)


def _connected(url: Url, addresses: Sequence[Address], deadline: float) -> socket.socket:
    """Connect to the first address that answers."""
    problem = "it took too long"
    for address in addresses:
        sock = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
        sock.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            sock.connect((str(address), url.port))
            return sock
        except OSError as error:
            sock.close()
            problem = _said(error)
    raise SourceUnreadable(f"{url} cannot be reached: {problem}.", fix=_TRY)


def _request(url: Url, etag: str) -> bytes:
    """Write the request; an ETag goes back only if it is one."""
    lines = [
        f"GET {url.target} HTTP/1.1",
        f"Host: {url.authority}",
        f"User-Agent: Pincite/{version('pincite')}",
        "Accept: */*",
        "Accept-Encoding: gzip",
        "Connection: close",
    ]
    if re.fullmatch(r'(?:W/)?"[\x21\x23-\x7e]*"', etag):
        lines.append(f"If-None-Match: {etag}")
    return "\r\n".join((*lines, "", "")).encode("ascii")


class _Pipe(io.RawIOBase):
    """What comes from a socket until a deadline, however slowly it drips."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        """Remember both."""
        self._sock, self._deadline = sock, deadline

    def makefile(self, *_: Any) -> io.BufferedReader:
        """Be read in blocks, as a response reads a socket."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for some bytes; TimeoutError at the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._sock.recv_into(buffer)


# --- the answer


@contextmanager
def _explained(url: Url, limits: Limits) -> Iterator[None]:
    """Say what went wrong in one sentence."""
    try:
        yield
    except TimeoutError as error:
        message = f"{url} took longer than {limits.seconds:g} s."
        raise SourceTooLarge(message, fix="Save the document, and add the file.") from error
    except (OSError, HTTPException, ValueError, zlib.error) as error:
        raise SourceUnreadable(f"{url} broke off or made no sense: {_said(error)}.", fix=_TRY) from error


def _said(error: Exception) -> str:
    """Give what an error says, without its numbers."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)[:200].lower().rstrip(".")


def _taken(response: HTTPResponse, first: Url, here: Url, limits: Limits) -> Fetched:
    """Take the body of an answer that is no redirect."""
    etag = response.headers.get("ETag", "")[:_MOST_CHARS]
    if response.status == 304:
        return Fetched(str(first), str(here), b"", etag=etag, changed=False)
    if response.status != 200:
        message = f"{here} answered with status {response.status} {response.reason[:60]}".rstrip() + "."
        raise SourceUnreadable(message, fix=_TRY)
    if int(response.length or 0) > limits.bytes:
        raise _too_large(here, limits)
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip"):
        raise SourceUnreadable(f"{here} is packed in a way that was not asked for ({coding[:40]}).", fix=_TRY)
    body = bytearray()
    for block in _unpacked(_blocks(response, here, limits)) if "gzip" in coding else _blocks(response, here, limits):
        body += block
        if len(body) > limits.bytes:
            raise _too_large(here, limits)
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return Fetched(str(first), str(here), bytes(body), kind, etag)


def _blocks(response: HTTPResponse, here: Url, limits: Limits) -> Iterator[bytes]:
    """Yield a body as it comes, up to the limit; HTTPException if it ends too early."""
    size = 0
    while block := response.read(_BLOCK):
        size += len(block)
        if size > limits.bytes:
            raise _too_large(here, limits)
        yield block
    if response.length:
        raise HTTPException("the end is missing")


def _unpacked(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what gzip has packed, never more than a block at a time, however well it is packed."""
    unpacking = zlib.decompressobj(wbits=31)
    for rest in blocks:
        while rest:
            if unpacking.eof:
                unpacking = zlib.decompressobj(wbits=31)  # another member
            yield unpacking.decompress(rest, _BLOCK)
            rest = unpacking.unconsumed_tail or unpacking.unused_data
    if not unpacking.eof:
        raise HTTPException("the end is missing")


def _too_large(url: Url, limits: Limits) -> SourceError:
    message = f"{url} has more than {limits.bytes:,} bytes."
    return SourceTooLarge(message, fix="Save the document in parts, and add the files.")
