"""What the office formats of ISO/IEC 29500 share: parts, relations, properties, charts."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pincite.acquire.package import Package
from pincite.acquire.readers.base import one_line
from pincite.acquire.readers.dom import Piece, list_line, rows_text
from pincite.acquire.readers.xml import attribute, child, children, descendants, local, parse_xml, text_of, value_of
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
        for node in children(root):
            if local(node) == "Relationship" and attribute(node, "TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attribute(node, "Target"))).lstrip("/")
                found[attribute(node, "Id")] = Relation(attribute(node, "Type").rpartition("/")[2], target)
        return found

    def follower(self, part: str) -> Callable[[str], Any]:
        """Make a function that parses what a part refers to by an id; None where that is nothing or damaged."""
        relations = self.relations(part)
        return lambda key: self.optional(relations[key].target) if key in relations else None

    def related(self, part: str, kind: str) -> list[str]:
        """Name the parts that a part refers to in one way, in order of name."""
        return sorted(relation.target for relation in self.relations(part).values() if relation.kind == kind)

    def main(self, default: str) -> str:
        """Name the part that the document begins with."""
        return next(iter(self.related("", "officeDocument")), default)

    def properties(self) -> tuple[str, dict[str, Scalar]]:
        """Give the title ("" if none) and the metadata that the document states."""
        root = self.optional(next(iter(self.related("", "core-properties")), "docProps/core.xml"))
        values = {local(node): one_line("".join(node.itertext()), 1000) for node in children(root)}
        return values.get("title", ""), {ours: values[name] for name, ours in _PROPERTIES.items() if values.get(name)}


def protected() -> SourceError:
    """Say that a document is encrypted."""
    return SourceUndecodable("It is protected by a password.", fix="Save it without a password, and add that.")


def _another_format() -> SourceError:
    message = "It is in the format of before 2007, whatever its name says."
    return SourceUndecodable(message, fix="Save it in the current format of the program, and add that.")


def relation_id(node: Any) -> str:
    """Give r:id; the plain id beside it is another thing."""
    return next((str(value) for key, value in node.attrib.items() if key.endswith("}id")), "")


def line_of(paragraph: Any) -> str:
    """Give the text of a paragraph of a drawing; its line breaks are lines."""
    parts = []
    for node in descendants(paragraph, "t", "br", "tab"):
        parts.append({"br": "\n", "tab": " "}.get(local(node)) or text_of(node))
    return "".join(parts).replace("\v", "\n").strip()


def lines_of(node: Any) -> list[str]:
    """Give the paragraphs inside a part of a drawing that have text; None has none."""
    return [line for inner in descendants(node, "p") if (line := line_of(inner))]


def graphic_pieces(node: Any, follow: Callable[[str], Any]) -> Iterator[Piece]:
    """Write the chart or diagram that an element ("chart", "relIds") refers to, nothing when it is not there."""
    root = follow(relation_id(node) or attribute(node, "dm"))
    if root is None:
        return
    if local(node) == "chart":
        yield from chart_pieces(root)
    else:
        bodies = (body for body in descendants(root, "t") if local(body.getparent()) == "pt")
        texts = (" ".join(lines_of(body)) for body in bodies)
        yield Piece("list", "\n".join(list_line(text, "-", 0) for text in texts if text))


def chart_texts(root: Any) -> tuple[str, list[str]]:
    """Give a chart's title, and what else is written in it: titles of axes, labels; not what stands for a value."""
    title = child(root, "chart", "title")
    shown = lines_of(title) or [*_points(title).values()]
    behind = set(descendants(title, "p"))
    others = (line_of(inner) for inner in descendants(root, "p") if inner not in behind)
    return one_line(" ".join(shown)), [line for line in others if line and not (line[0] == "[" and line[-1] == "]")]


def chart_pieces(root: Any) -> list[Piece]:
    """Write a chart as its title, a table (a row for each category, a column for each series) and its other texts."""
    heading, others = chart_texts(root)
    series = list(descendants(root, "ser"))
    names = [" ".join(_points(child(one, "tx")).values()) for one in series]
    values = [_points(_first(one, "val", "yVal")) for one in series]
    labels: dict[int, str] = {}
    for one in series:
        labels |= _points(_first(one, "cat", "xVal"))
    places = sorted({place for column in values for place in column} | set(labels))
    rows = [[labels.get(place, ""), *(column.get(place, "") for column in values)] for place in places]
    table = rows_text([["", *names], *rows])
    return [Piece("paragraph", heading), Piece("table", table), Piece("paragraph", "\n".join(others))]


def _first(node: Any, *names: str) -> Any:
    found = (child(node, name) for name in names)
    return next((one for one in found if one is not None), None)


def _points(node: Any) -> dict[int, str]:
    """Give the cached values of a reference, by index."""
    found: dict[int, str] = {}
    for point in descendants(node, "pt"):
        index, value = attribute(point, "idx"), child(point, "v")
        if index.isdecimal() and value is not None:
            found[int(index)] = one_line(value.text or "", 1000)
    return found


def is_on(node: Any, *path: str) -> bool:
    """Tell whether a property is set: it is there, and does not say that it is off."""
    return child(node, *path) is not None and value_of(node, *path) not in ("0", "false", "off", "none")
