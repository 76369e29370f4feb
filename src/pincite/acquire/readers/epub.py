"""EPUB: the chapters in the order of the book's spine, as one text."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pincite.acquire.decode import decode
from pincite.acquire.package import Package
from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.dom import Piece, assembled
from pincite.acquire.readers.html import visible_pieces
from pincite.acquire.readers.xml import attribute, child, descendants, local, parse_xml
from pincite.errors import SourceError, SourceUndecodable
from pincite.types import Reading, Scalar

_CHAPTERS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_META = {  # of the package: our name
    "creator": "author", "date": "date", "language": "language", "publisher": "publisher", "subject": "subject",
    "description": "description", "identifier": "identifier",
}  # fmt: skip
_DAMAGED = "Fetch it again, or convert it to another format."


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read an e-book.

    Args:
        data: the document.
        name: the file's name, the title when there is no better.
        media_type: not used; every reader has it.

    Returns:
        The chapters as HTML is read, all of their visible text; a chapter without a heading gets the one that the
        table of contents names. Metadata: what the book states of itself, and the number of characters that are hidden
        by styles in the chapters and so left out. A chapter that is damaged or missing is
        in the warnings.

    Raises:
        SourceError: damaged, protected against copying, or larger inside than is reasonable.
    """
    package = Package(data)
    if b"EncryptedData" in _optional(package, "META-INF/encryption.xml") and "META-INF/rights.xml" in package:
        raise SourceUndecodable("It is protected against copying.", fix="Add a copy without protection.")
    path = _package_path(package)
    root = parse_xml(package.read(path), path)
    folder = posixpath.dirname(path)
    labels = _labels(package, root, folder)
    pieces: list[Piece] = []
    warnings, left_out = [], Counter[str]()
    for part in _spine(root, folder):
        try:
            chapter = visible_pieces(decode(package.read(part))[0], left_out)
        except SourceUndecodable as error:
            warnings.append(f"The chapter {one_line(part)} was not read: {error}")
            continue
        pieces += _with_heading(chapter, labels.get(part, ""))
    title, metadata = _metadata(root)
    metadata |= +left_out
    text, blocks = assembled(pieces)
    heading = next((block.label for block in blocks if block.kind == "heading"), "")
    return Reading(text, title or heading or stem(name), blocks, metadata=metadata, warnings=tuple(warnings))


def _optional(package: Package, name: str) -> bytes:
    return package.read(name) if name in package else b""


def _package_path(package: Package) -> str:
    """Find the file that describes the book."""
    container = _optional(package, "META-INF/container.xml")
    root = parse_xml(container, "META-INF/container.xml") if container else None
    files = descendants(root, "rootfile") if root is not None else ()
    paths = [attribute(file, "full-path") for file in files]
    paths += [member.filename for member in package.members if member.filename.endswith(".opf")]
    found = next((path for path in paths if path in package), "")
    if not found:
        raise SourceUndecodable("It has no description of the book (OPF).", fix=_DAMAGED)
    return found


def _manifest(root: Any, folder: str) -> dict[str, tuple[str, str, str]]:
    """Give name, media type and properties of each file, by id."""
    found = {}
    for item in descendants(root, "item"):
        path = posixpath.normpath(posixpath.join(folder, unquote(attribute(item, "href"))))
        found[attribute(item, "id")] = (path, attribute(item, "media-type"), attribute(item, "properties"))
    return found


def _spine(root: Any, folder: str) -> Iterator[str]:
    """Name the chapters in the order of the book, each once."""
    manifest = _manifest(root, folder)
    seen = set()
    for item in descendants(root, "itemref"):
        path, kind, _ = manifest.get(attribute(item, "idref"), ("", "", ""))
        if kind in _CHAPTERS and path not in seen:
            seen.add(path)
            yield path


def _with_heading(chapter: list[Piece], label: str) -> list[Piece]:
    """Put the label of the table of contents above a chapter that has text, but no heading."""
    if not chapter or not label or any(piece.kind == "heading" for piece in chapter):
        return chapter
    if label in chapter[0].text:  # the text begins with it already
        return chapter
    return [Piece("heading", f"# {label}", 1, label), *chapter]


def _labels(package: Package, root: Any, folder: str) -> dict[str, str]:
    """Give what the table of contents calls each file: the first entry that leads to it."""
    found: dict[str, str] = {}
    for path, kind, properties in _manifest(root, folder).values():
        if (kind != "application/x-dtbncx+xml" and "nav" not in properties.split()) or path not in package:
            continue
        try:
            contents = parse_xml(package.read(path), path)
        except SourceError:
            continue  # the book is readable without
        for entry in descendants(contents, "navPoint", "a"):
            link = child(entry, "content")
            target = attribute(link, "src") if link is not None else attribute(entry, "href")
            holder = child(entry, "navLabel") if link is not None else entry
            label = one_line("".join(holder.itertext())) if holder is not None else ""
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(target.partition("#")[0])))
            found.setdefault(place, label)
    return found


def _metadata(root: Any) -> tuple[str, dict[str, Scalar]]:
    """Give the title, and what else the book states of itself."""
    holder = child(root, "metadata")
    nodes = list(holder.iter()) if holder is not None else []
    values: dict[str, list[str]] = {}
    for node in nodes:
        text = one_line("".join(node.itertext()), 1000)
        if text and text not in values.setdefault(local(node), []):
            values[local(node)].append(text)
    metadata: dict[str, Scalar] = {ours: ", ".join(values[key]) for key, ours in _META.items() if values.get(key)}
    return one_line(next(iter(values.get("title", [])), "")), metadata
