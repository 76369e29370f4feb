"""Styles and numbering of DOCX: what is a heading, what is a list, and which number it shows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from pincite.acquire.readers.xml import attribute, child, children, local, number, value_of

_HEADING = re.compile(r"heading ?([1-9])$")
_CODE = re.compile(r"(.*\b)?(code( block| text)?|preformatted( text)?|verbatim|macro text)( char)?$")
_CHAIN = 20  # styles that may be based on one another
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Style:
    """What matters of a paragraph's style."""

    heading: int = 0  # 1 is the outermost
    is_title: bool = False
    is_code: bool = False
    is_contents: bool = False  # a line of the table of contents
    list_id: str = ""
    list_level: int = 0

    def with_own(self, properties: Any) -> Style:
        """Add what a paragraph (or a style on top of this one) states itself."""
        if properties is None:
            return self
        own = self
        outline = value_of(properties, "outlineLvl")
        if outline.isdecimal():
            own = replace(own, heading=int(outline) + 1 if int(outline) < 9 else 0)
        if child(properties, "numPr") is not None:
            level = value_of(properties, "numPr", "ilvl")
            key = value_of(properties, "numPr", "numId") or own.list_id
            own = replace(own, list_id=key, list_level=min(8, number(level, own.list_level)))
        return own


def read_styles(root: Any) -> dict[str, Style]:
    """Give the paragraph styles by id, with what they take from those that they are based on."""
    nodes = {attribute(node, "styleId"): node for node in children(root) if local(node) == "style"}
    return {key: _style(key, nodes) for key in nodes}


def _style(key: str, nodes: dict[str, Any]) -> Style:
    chain: list[Any] = []
    while key in nodes and len(chain) < _CHAIN:
        chain.append(nodes[key])
        key = value_of(nodes[key], "basedOn")
    style = Style()
    for node in reversed(chain):
        name = value_of(node, "name").lower()
        match = _HEADING.match(name)
        level = int(match[1]) if match else 1 if name == "title" else style.heading
        style = replace(
            style,
            heading=level,
            is_title=name == "title",
            is_code=style.is_code or bool(_CODE.match(name)),
            is_contents=bool(re.match(r"toc \d", name)),
        ).with_own(child(node, "pPr"))
    return style


class Numbering:
    """Counts as the word processor does."""

    def __init__(self, root: Any) -> None:
        """Read the definitions; None has none."""
        nodes = children(root)
        kinds = {attribute(node, "abstractNumId"): node for node in nodes if local(node) == "abstractNum"}
        self._levels: dict[str, dict[int, tuple[str, str, int]]] = {}  # list: level: format, text, start
        self._group: dict[str, str] = {}  # lists of one definition count on together
        self._counts: dict[str, list[int]] = {}
        for node in nodes:
            if local(node) == "num":
                key, kind = attribute(node, "numId"), value_of(node, "abstractNumId")
                restarts = any(child(inner, "startOverride") is not None for inner in node)
                self._group[key] = f"{kind}/{key}" if restarts else kind
                self._levels[key] = {}
                for source in (kinds.get(kind), *(inner for inner in node if local(inner) == "lvlOverride")):
                    self._levels[key] |= _levels(source)

    def marker(self, key: str, level: int) -> str:
        """Count on, and give what stands before the paragraph: "" outside lists, "-" for a bullet."""
        levels = self._levels.get(key)
        if not levels:
            return ""
        form, text, _ = levels.get(level, ("bullet", "", 1))
        if form == "none":
            return ""
        counts = self._counts.setdefault(self._group[key], [])
        counts += [levels.get(at, ("", "", 1))[2] - (at == level) for at in range(len(counts), level + 1)]
        del counts[level + 1 :]
        counts[level] += 1
        if form == "bullet" or "%" not in text:
            return "-"
        return re.sub(r"%([1-9])", lambda match: self._shown(counts, levels, int(match[1]) - 1), text)

    def _shown(self, counts: list[int], levels: dict[int, tuple[str, str, int]], at: int) -> str:
        value = counts[at] if at < len(counts) else levels.get(at, ("", "", 1))[2]
        return written(value, levels.get(at, ("decimal", "", 1))[0])


def _levels(node: Any) -> dict[int, tuple[str, str, int]]:
    found = {}
    for level in children(node):
        if local(level) == "lvl":
            form = value_of(level, "numFmt") or "decimal"
            start = number(value_of(level, "start"), 1)
            found[number(attribute(level, "ilvl"))] = (form, value_of(level, "lvlText")[:40], start)
    return found


def written(value: int, form: str) -> str:
    """Write a number in one of the formats that lists use; unknown ones are decimal."""
    if form.endswith("Letter") and value > 0:
        text = chr(ord("a") + (value - 1) % 26) * min(8, (value - 1) // 26 + 1)
    elif form.endswith("Roman") and 0 < value < 4000:
        text = ""
        for worth, sign in _ROMAN:
            text += sign * (value // worth)
            value %= worth
    else:
        return str(value)
    return text.upper() if form.startswith("upper") else text
