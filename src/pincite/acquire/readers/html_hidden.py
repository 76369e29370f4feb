"""Text of an HTML page that nobody sees, by inline styles and the style sheets in the document: it is left out.

Simple selectors (names, classes, ids, descendants and children) outside of @-rules are understood. Scripts may show
what a sheet hides, so sheets that would hide most of the page hide nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pincite.acquire.readers.dom import drop

_MOST_CHECKS = 200_000  # of elements against selectors
_MOST_HIDDEN = 0.5  # of the text: more is only waiting for its script
_CONTRAST = 24  # of 255, between the channels of text and ground: less is not legible
_SIMPLE = re.compile(r"(?:[\w*.#-]+(?:\s*>\s*|\s+|$))+")
_UNSHOWN = re.compile(r"::|:(?:hover|focus|active|before|after|visited)")
_LONGEST = 200  # characters of a selector or a value
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)
_NAMES = {"black": _BLACK, "white": _WHITE, "snow": (255, 250, 250), "ivory": (255, 255, 240),
          "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255)}  # fmt: skip
_POINTS = {"px": 0.75, "pt": 1.0, "em": 12.0, "rem": 12.0, "%": 0.12, "ex": 6.0, "": 0.75}  # of a length in each unit
_FAR = -700.0  # points: what is moved further is off every page
LEAST = 1.0  # points, and pixels: letters of that size cannot be read
_Colour = tuple[int, int, int] | None
"""Red, green and blue from 0 to 255; None: not known."""
_Style = dict[str, str]


def without_hidden(tree: Any) -> int:
    """Remove from a tree what is hidden; count the characters of its text, without white space."""
    inline = {node: {**_attributes(node), **_declared(node.get("style") or "")} for node in tree.iter()}
    sheet, is_known = _sheets(tree, inline)
    styles = inline
    if sheet:
        styles = {node: {**sheet.get(node, {}), **style} for node, style in inline.items()}
    unseen = list(_unseen(tree, styles))
    count = sum(map(_size, unseen))
    if sheet and count > _MOST_HIDDEN * _size(tree):
        styles = inline
        unseen = list(_unseen(tree, styles))
        count = sum(map(_size, unseen))
    for node in unseen:
        drop(node)
    return count + _without_own(tree, styles, is_known)


def _size(node: Any) -> int:
    return sum(len("".join(part.split())) for part in node.itertext())


def _unseen(tree: Any, styles: dict[Any, _Style]) -> Iterator[Any]:
    """Find the outermost elements that are not displayed, whatever is in them."""
    from lxml.etree import iterwalk

    walk = iterwalk(tree, events=("start",))
    for _, node in walk:
        if node is not tree and node.tag != "body" and _is_hidden(node, styles.get(node) or {}):
            walk.skip_subtree()
            yield node


def _is_hidden(node: Any, style: _Style) -> bool:
    if node.get("hidden") is not None or style.get("display") == "none" or style.get("visibility") == "hidden":
        return True
    if not style:  # as nearly all are
        return False
    if _number(style.get("opacity", "1"))[0] < 0.02:
        return True
    far = ("text-indent", "margin-left", "left", "top", "right")
    if any(points(style[name]) < _FAR for name in far if name in style):
        return True
    shape = style.get("clip", "") + style.get("clip-path", "")
    sides = re.findall(r"\d+(?:\.\d+)?", shape) if shape.startswith("rect(") else ("2",)
    if all(float(side) <= 1 for side in sides) or re.match(r"inset\((?:50|100)%|circle\(0", shape):
        return True
    sizes = (_number(style.get(name, "")) for name in ("width", "height"))
    return style.get("overflow") == "hidden" and any(amount <= 1 and unit != "%" for amount, unit in sizes)


def _without_own(tree: Any, styles: dict[Any, _Style], is_known: bool) -> int:
    """Take out text that is set too small, or in the colour of its ground; both are inherited."""
    is_known = is_known and not tree.xpath("boolean(//link[contains(@rel, 'stylesheet')])")
    plain = (_BLACK, _WHITE, 12.0) if is_known else (None, None, 12.0)
    seen: dict[Any, tuple[_Colour, _Colour, float]] = {None: plain}
    count = 0
    for node in tree.iter():
        colour, ground, size = seen.get(node.getparent(), seen[None])
        style = styles.get(node) or {}
        if "color" in style:
            colour = _colour(style["color"], ground)
        if "background" in style or "background-color" in style:
            ground = _colour(style.get("background-color") or style["background"], ground)
        if "background-image" in style:
            ground = None
        if "font-size" in style:
            amount, unit = _number(style["font-size"])
            size = size * amount if unit == "em" else size * amount / 100 if unit == "%" else points(style["font-size"])
        seen[node] = (colour, ground, size)
        alike = colour and ground and max(abs(a - b) for a, b in zip(colour, ground, strict=True)) < _CONTRAST
        if alike or size <= LEAST:
            count += sum(len("".join((text or "").split())) for text in (node.text, *(inner.tail for inner in node)))
            node.text = None
            for inner in node:
                inner.tail = None
    return count


# --- styles


@lru_cache(maxsize=1000)  # most pages repeat a few
def _declared(text: str) -> _Style:
    """Read declarations; the later one counts."""
    found = {}
    for part in text.lower().split(";") if text else ():
        name, _, value = part.partition(":")
        if value and len(value) <= _LONGEST:
            found[name.strip()] = value.replace("!important", "").strip()
    return found


def _attributes(node: Any) -> _Style:
    """Give what old attributes say."""
    names = (("color", "color" if node.tag == "font" else ""), ("background-color", "bgcolor"))
    return {name: node.get(old).lower() for name, old in names if old and node.get(old)}


def _sheets(tree: Any, nodes: dict[Any, _Style]) -> tuple[dict[Any, _Style], bool]:
    """Give each element its declarations in the document's sheets, and whether all that colours grounds is known."""
    rules = list(_rules(tree))
    named: dict[str, list[Any]] = defaultdict(list)
    for node in nodes if rules else ():
        for name in _names(node):
            named[name].append(node)
    found: dict[Any, _Style] = defaultdict(dict)
    checks, is_known = 0, True
    for _, _, selector, style in sorted(rules, key=lambda rule: rule[:2]):
        if not _SIMPLE.fullmatch(selector):
            is_known = is_known and (not any("background" in name for name in style) or bool(_UNSHOWN.search(selector)))
            continue
        parts = [re.findall(r">|[.#]?[\w-]+", part) for part in re.findall(r">|[^\s>]+", selector.lower())]
        wanted = [frozenset(part) for part in parts]
        for node in named[parts[-1][-1]] if parts[-1] else nodes:
            checks += 1
            if checks > _MOST_CHECKS:
                return {}, False
            if _fits(node, wanted):
                found[node] |= style
    return found, is_known


def _rules(tree: Any) -> Iterator[tuple[tuple[int, ...], int, str, _Style]]:
    """Yield the rules of the style sheets: weight, order, selector, declarations."""
    sheets = (node for node in tree.iter("style") if (node.get("media") or "all").lower() in ("all", "screen"))
    for order, (names, body) in enumerate(rule for node in sheets for rule in _plain(node.text or "")):
        style = _declared(body)
        for selector in names.split(",") if style else ():
            selector = selector.strip()[:_LONGEST]
            yield (selector.count("#"), selector.count("."), len(selector.split())), order, selector, style


def _plain(text: str) -> Iterator[tuple[str, str]]:
    """Yield the rules of a style sheet that are in no @-rule, without its comments."""
    first, *rest = text.split("/*")
    text = " ".join([first, *(part.partition("*/")[2] for part in rest)])
    depth = begun = opened = 0
    for token in re.finditer(r"[{};]", text):
        depth += {"{": 1, "}": -1, ";": 0}[token[0]]
        if depth == 1 and token[0] == "{":
            opened = token.end()
        elif depth <= 0:
            names, body = text[begun : opened - 1].strip(), text[opened : token.start()]
            if opened > begun and not names.startswith("@") and "{" not in body:
                yield names, body
            depth, begun = 0, token.end()


def _names(node: Any) -> frozenset[str]:
    """Give what selectors can call an element."""
    return _called(str(node.tag), node.get("class") or "", node.get("id") or "")


@lru_cache(maxsize=1000)  # an ancestor is asked once for each element below and each selector
def _called(tag: str, classes: str, identifier: str) -> frozenset[str]:
    return frozenset((tag.lower(), f"#{identifier.lower()}", *(f".{name}" for name in classes.lower().split())))


def _fits(node: Any, parts: list[frozenset[str]]) -> bool:
    """Tell whether a selector means an element; of ancestors, the nearest that fits is taken."""
    if not parts[-1] <= _names(node):
        return False
    above, rest, direct = node.getparent(), parts[:-1], False
    while rest:
        if rest[-1] == {">"}:
            direct, rest = True, rest[:-1]
            continue
        while above is not None and not rest[-1] <= _names(above):
            if direct:
                return False
            above = above.getparent()
        if above is None:
            return False
        above, rest, direct = above.getparent(), rest[:-1], False
    return True


@lru_cache(maxsize=1000)
def _number(value: str) -> tuple[float, str]:
    """Read a number and its unit; what is none is large, so that nothing is hidden by it."""
    match = re.match(r"([+-]?\d*\.?\d+)\s*(%|[a-z]*)", value)
    return (float(match[1]), match[2]) if match else (1000.0, "")


def points(value: str) -> float:
    """Give a length in points, of a style; one that is not understood is large."""
    amount, unit = _number(value)
    return amount * _POINTS.get(unit, 12.0)


def _colour(value: str, ground: _Colour) -> _Colour:
    """Read a colour; one that is not understood, or an image, is not known; what is transparent is as its ground."""
    match = re.match(r"#([0-9a-f]{3,8})\b", value)
    if match and len(match[1]) in (3, 4, 6, 8):
        step = 1 if len(match[1]) < 6 else 2
        red, green, blue = (int((match[1][at : at + step] * 2)[:2], 16) for at in (0, step, 2 * step))
        return red, green, blue
    match = re.match(r"rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)(?:[\s,/]+(0?\.\d+|\d+%?))?\s*\)", value)
    if match:
        faint = match[4] is not None and _number(match[4])[0] < 0.02
        return ground if faint else (int(match[1]), int(match[2]), int(match[3]))
    if value.split(" ")[0] in ("transparent", "none"):
        return ground
    return _NAMES.get(value.split(" ")[0])
