"""XML from someone else: no document type, no entities, no network; elements by their local names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pincite.errors import SourceUndecodable

_RESAVE = "Open it in the program that made it, save it again, and add that."
_DEPTH = 200  # of elements: readers call themselves for each level


def parse_xml(data: bytes, name: str = "Its XML") -> Any:
    """Parse with lxml.

    Args:
        data: a document. What its document type declares is not loaded, and entities of its own are left out.
        name: what it is, for people.

    Returns:
        The root element, without comments and processing instructions.

    Raises:
        SourceUndecodable: it is not well-formed, or nested too deeply.
    """
    from lxml import etree

    options = {"resolve_entities": False, "load_dtd": False, "remove_comments": True, "remove_pis": True}
    parser = etree.XMLParser(no_network=True, huge_tree=False, **options)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        if parser.error_log and all(entry.level < etree.ErrorLevels.FATAL for entry in parser.error_log):
            # Well-formed; a prefix that nobody declared, or an id of an odd form, is no reason to refuse the text.
            return _bounded(etree.fromstring(data, etree.XMLParser(no_network=True, recover=True, **options)), name)
        reason = " ".join(str(error).split())[:120].rstrip(".")
        raise SourceUndecodable(f"{name} is damaged: {reason}.", fix=_RESAVE) from error
    return _bounded(root, name)


def _bounded(root: Any, name: str) -> Any:
    """Refuse what is nested too deeply."""
    if _is_deeper(root, _DEPTH):
        raise SourceUndecodable(f"{name} is nested more than {_DEPTH} levels deep.", fix=_RESAVE)
    return root


def _is_deeper(root: Any, limit: int) -> bool:
    """Tell whether elements nest deeper than a limit."""
    from lxml.etree import iterwalk

    depth = 0
    for event, _ in iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > limit:
            return True
    return False


def local(node: Any) -> str:
    """Give an element's name without its namespace or prefix, "" for what is no element (an entity)."""
    tag = node.tag
    return tag[max(tag.rfind("}"), tag.rfind(":")) + 1 :] if isinstance(tag, str) else ""


def text_of(node: Any) -> str:
    """Give an element's own text; of an entity inside it, nothing."""
    return (node.text or "") + "".join(inner.tail or "" for inner in node)


def attribute(node: Any, name: str) -> str:
    """Give an attribute by its local name, "" when it is not there."""
    value = node.get(name)
    if value is None:
        value = next((value for key, value in node.attrib.items() if key.endswith((f"}}{name}", f":{name}"))), "")
    return str(value)


def child(node: Any, *path: str) -> Any:
    """Follow local names down, first child by first child; None where there is none."""
    for name in path:
        node = next((inner for inner in node if local(inner) == name), None) if node is not None else None
    return node


def children(node: Any) -> list[Any]:
    """Give the elements inside one that may not be there."""
    return list(node) if node is not None else []


def value_of(node: Any, *path: str, name: str = "val") -> str:
    """Give an attribute of the element at the end of a path, "" when either is not there."""
    found = child(node, *path)
    return attribute(found, name) if found is not None else ""


def descendants(node: Any, *names: str) -> Iterator[Any]:
    """Yield the elements below that have one of the local names, in document order; below None is nothing."""
    return (inner for inner in (() if node is None else node.iterdescendants()) if local(inner) in names)


def number(text: str, default: int = 0) -> int:
    """Read a small whole number; what is none, or absurd, is the default."""
    try:
        value = int(text) if len(text) < 12 else default
    except ValueError:
        return default
    return value
