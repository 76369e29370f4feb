"""What the office formats of ISO/IEC 29500 share: parts, relations, properties, charts."""

from __future__ import annotations

import posixpath
from typing import Any, NamedTuple

from pincite.acquire.package import Package
from pincite.acquire.readers.base import one_line
from pincite.acquire.readers.dom import Piece, rows_text
from pincite.acquire.readers.xml import attribute, child, descendants, local, parse_xml, value_of
from pincite.errors import SourceError, SourceUndecodable
from pincite.types import Scalar

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_PROPERTIES = {  # of docProps/core.xml: our name
    "creator": "author", "created": "created", "modified": "date", "subject": "subject", "keywords": "keywords",
    "description": "description", "language": "language", "category": "category",
}  # fmt: skip


class Relation(NamedTuple):
    """Where one part refers to another."""

    kind: str  # last part of its type: "image", "footnotes"
    target: str  # name of the part


class Parts:
    """The parts of a document."""

    def __init__(self, data: bytes) -> None:
        """Open a document from its bytes; SourceError if it is no zip file, a damaged one, or encrypted."""
        if data.startswith(OLE):
            raise protected() if _ENCRYPTED in data else _another_format()
        self.package = Package(data)

    def xml(self, name: str) -> Any:
        """Parse a part; raises SourceError when it is missing or damaged."""
        return parse_xml(self.package.read(name), f"Its part {name}")

    def optional(self, name: str) -> Any:
        """Parse a part that need not be there; None when it is missing or damaged: the document is still readable."""
        try:
            return self.xml(name) if name in self.package else None
        except SourceUndecodable:
            return None

    def relations(self, part: str) -> dict[str, Relation]:
        """Give what a part refers to inside the package, by id; "" is the package itself."""
        folder, name = posixpath.split(part)
        root = self.optional(posixpath.join(folder, "_rels", f"{name}.rels"))
        found = {}
        for node in root if root is not None else ():
            if local(node) == "Relationship" and attribute(node, "TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attribute(node, "Target"))).lstrip("/")
                found[attribute(node, "Id")] = Relation(attribute(node, "Type").rpartition("/")[2], target)
        return found

    def related(self, part: str, kind: str) -> list[str]:
        """Name the parts that a part refers to in one way, in order of name."""
        return sorted(relation.target for relation in self.relations(part).values() if relation.kind == kind)

    def main(self, default: str) -> str:
        """Name the part that the document begins with."""
        return next(iter(self.related("", "officeDocument")), default)

    def properties(self) -> tuple[str, dict[str, Scalar]]:
        """Give the title ("" if none) and the metadata that the document states."""
        root = self.optional(next(iter(self.related("", "core-properties")), "docProps/core.xml"))
        values = {local(node): one_line("".join(node.itertext()), 1000) for node in (root if root is not None else ())}
        return values.get("title", ""), {ours: values[name] for name, ours in _PROPERTIES.items() if values.get(name)}


def protected() -> SourceError:
    """Say that a document is encrypted."""
    return SourceUndecodable("It is protected by a password.", fix="Save it without a password, and add that.")


def _another_format() -> SourceError:
    message = "It is in the format of before 2007, whatever its name says."
    return SourceUndecodable(message, fix="Save it in the current format of the program, and add that.")


def chart_pieces(root: Any) -> list[Piece]:
    """Write a chart as its title and a table: a row for each category, a column for each series."""
    title = child(root, "chart", "title")
    heading = one_line(" ".join(node.text or "" for node in descendants(title, "t"))) if title is not None else ""
    series = list(descendants(root, "ser"))
    names = [" ".join(_points(child(one, "tx")).values()) for one in series]
    values = [_points(_first(one, "val", "yVal")) for one in series]
    labels: dict[int, str] = {}
    for one in series:
        labels |= _points(_first(one, "cat", "xVal"))
    places = sorted({place for column in values for place in column} | set(labels))
    rows = [[labels.get(place, ""), *(column.get(place, "") for column in values)] for place in places]
    table = rows_text([["", *names], *rows])
    return [Piece("paragraph", heading), Piece("table", table)]


def _first(node: Any, *names: str) -> Any:
    found = (child(node, name) for name in names)
    return next((one for one in found if one is not None), None)


def _points(node: Any) -> dict[int, str]:
    """Give the cached values of a reference, by index."""
    found: dict[int, str] = {}
    for point in descendants(node, "pt") if node is not None else ():
        index, value = attribute(point, "idx"), child(point, "v")
        if index.isdecimal() and value is not None:
            found[int(index)] = one_line(value.text or "", 1000)
    return found


def is_on(node: Any, *path: str) -> bool:
    """Tell whether a property is set: it is there, and does not say that it is off."""
    return child(node, *path) is not None and value_of(node, *path) not in ("0", "false", "off", "none")
