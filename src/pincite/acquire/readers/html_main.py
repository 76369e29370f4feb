"""The main text of an HTML page: where trafilatura sees it, with all that stands between in the page's own markup.

trafilatura knows which parts of a page are an article, and loses some of its headings, lists and tables. So it only
says where the main text is; what is taken is the page itself, without the parts beside it and without lists of links.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pincite.acquire.readers.base import words
from pincite.acquire.readers.dom import BLOCKS, SKIPPED, drop, squashed

_LEAST = 12  # letters that a text must have to tell one place from another
_NEAR = 20_000  # letters of the main text that are searched on either side of the last place found
_SHARE = 0.25  # of the visible text that is no link: with less of it the page is no article
_FLOW = words("p ul ol dl menu table blockquote pre h1 h2 h3 h4 h5 h6 figure li dt dd details")


class _Size(NamedTuple):
    """Letters and digits in an element: all, those in links, those of the main text."""

    all: int = 0
    linked: int = 0
    main: int = 0


def only_main(tree: Any) -> bool:
    """Remove from a page what is beside its main text.

    Args:
        tree: the page, an lxml tree not deeper than some hundred elements; it is changed.

    Returns:
        Whether there is a main text; the page is as it was if not.
    """
    sizes = _sizes(tree, _extracted(tree))
    whole = sizes[tree]
    if not whole.main or whole.main < _SHARE * (whole.all - whole.linked):
        return False
    beside = list(_beside(tree, sizes))
    if not any(sizes[node].linked for node in beside):
        return False  # a document of its own, without the links of a site around it
    for node in beside:
        drop(node)
    return True


def _extracted(tree: Any) -> str:
    """Let trafilatura find the main text; its letters and digits, "" when it finds none."""
    from lxml.etree import LxmlError
    from trafilatura import bare_extraction

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # that it finds nothing is no news to anyone
    try:
        found = bare_extraction(tree, favor_precision=True, include_comments=False)
    except (LxmlError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return ""  # it stumbled over broken markup; the visible text is still there
    body = getattr(found, "body", None)
    return "" if body is None else squashed("".join(body.itertext()))


def _sizes(tree: Any, main: str) -> dict[Any, _Size]:
    """Measure every element."""
    own: dict[Any, tuple[int, int]] = {}
    nodes, at = list(tree.iter()), 0
    for node in nodes:
        count = taken = 0
        for text in map(squashed, _texts(node)):
            count += len(text)
            if len(text) >= _LEAST:
                place = main.find(text, max(0, at - _NEAR), at + _NEAR + len(text))
                if place >= 0:
                    taken, at = taken + len(text), place
        own[node] = count, taken
    found: dict[Any, _Size] = {}
    for node in reversed(nodes):
        inner = [found[part] for part in node]
        count, taken = own[node]
        count += sum(part.all for part in inner)
        linked = count if node.tag == "a" and node.get("href") else sum(part.linked for part in inner)
        size = _Size(count, linked, taken + sum(part.main for part in inner))
        found[node] = _Size() if node.tag in SKIPPED else size
    return found


def _texts(node: Any) -> Iterator[str]:
    return (text for text in (node.text, *(inner.tail for inner in node)) if text)


def _beside(tree: Any, sizes: dict[Any, _Size]) -> Iterator[Any]:
    """Find the outermost elements that are not of the main text."""
    todo = [tree]
    while todo:
        node = todo.pop()
        inner = [part for part in node if sizes[part].all]
        main = [place for place, part in enumerate(inner) if sizes[part].main]
        within = range(main[0], main[-1]) if main else range(0)
        is_text = any(_is_flow(inner[place]) for place in main) or sizes[node].main > sum(
            sizes[part].main for part in inner
        )
        for place, part in enumerate(inner):
            if sizes[part].main:
                todo += [part] if part.tag not in _FLOW else []
            elif not _belongs(part, sizes[part], place in within, is_text) and not (
                main and place < main[-1] and re.match(r"h[1-6]$", part.tag)
            ):
                yield part


def _belongs(node: Any, size: _Size, is_within: bool, is_text: bool) -> bool:
    """Tell whether what stands among the main text, or below text of it, is of it: anything but boxes of links."""
    is_linked = 2 * size.linked > size.all
    if is_within:
        return not is_linked or _is_flow(node) or node.find(".//pre") is not None
    return is_text and not is_linked and (_is_flow(node) or node.tag not in BLOCKS)


def _is_flow(node: Any) -> bool:
    """Tell whether an element is text, or only wraps it: a box of one table."""
    while node.tag not in _FLOW and len(node) == 1 and not any(text.strip() for text in _texts(node)):
        node = node[0]
    return node.tag in _FLOW
