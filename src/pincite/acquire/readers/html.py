"""HTML: the main text, without boilerplate, scripts and what is hidden, as Markdown-like text with exact blocks."""

from __future__ import annotations

import html as entities
import re
from collections import Counter
from typing import Any

from pincite.acquire.decode import decode
from pincite.acquire.readers.base import Lines, one_line, stem, words
from pincite.acquire.readers.dom import Piece, assembled, pieces_of
from pincite.acquire.readers.html_hidden import without_hidden
from pincite.acquire.readers.html_main import only_main
from pincite.types import Reading, Scalar

_TAG = re.compile(r"<!--|<(/?)([a-zA-Z][\w:-]*)[^<>]*>")
_CDATA = re.compile(r"(?<![/*]{2})<!\[CDATA\[(.*?)\]\]>", re.DOTALL)  # of XHTML; not in a comment of a script
_RAW = frozenset({"script", "style", "noscript", "template"})
_UNNESTED = words(  # void elements, and those whose end may be left out
    "area base br col embed hr img input link meta param source track wbr p li td th tr dt dd option thead tbody "
    "tfoot colgroup html head body"
)
_DEPTH = 2000  # of elements: beyond, parsers take quadratic time, so only the bare text is taken
_MAIN_DEPTH = 200  # up to which the main text is looked for: the extractor calls itself for each level
_MAIN_SIZE = 8 << 20  # characters up to which it is looked for: it takes more than a second for each million
_NOTE = re.compile(r"\b(?:doc-)?(?:foot|end)?note|admonition|\b(?:tip|hint|caution|warning|important|danger|callout)\b")
_META = {  # metadata: names of meta elements, the best first
    "author": ("author", "article:author", "dc.creator"),
    "date": ("article:published_time", "date", "dc.date", "dcterms.created", "datepublished"),
    "description": ("description", "og:description"),
}


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Extract the main text (trafilatura), or all visible text when there is no article to be found.

    Args:
        data: the document; its own statement of its encoding counts when the bytes do not speak against it.
        name: the file's name, the title when there is no better.
        media_type: not used; every reader has it.

    Returns:
        Text whose blocks are headings ("## ..."), paragraphs, lists ("- ..."), tables ("| ... |") and code, with
        blank lines between them. Metadata: title is ``og:title``, the heading that ``title`` repeats, or
        ``title``; author, date and description as the page declares them; ``hidden_text`` counts the characters
        of text that is not displayed, off the page, tiny or in the colour of its ground, which is left out.

    Raises:
        SourceUndecodable: the bytes are no text.
    """
    source, encoding, warnings = decode(data)
    metadata: dict[str, Scalar] = {"encoding": encoding}
    if _too_deep(source):
        warnings = (*warnings, "Elements are nested too deeply; only the text was taken, without its structure.")
        return _bare(source, name, metadata, warnings)
    tree = _parsed(source)
    if tree is None:
        return Reading("", stem(name), metadata=metadata, warnings=warnings)
    title = _title(tree) or stem(name)
    metadata |= _metadata(tree)
    hidden = without_hidden(tree)
    for node in tree.iter("aside"):
        if _NOTE.search(f"{node.get('class', '')} {node.get('role', '')}"):
            node.tag = "div"
    for node in tree.iterfind(".//blockquote//footer"):  # whose words they are
        node.tag = "div"
    if hidden:
        metadata["hidden_text"] = hidden
    text, blocks = assembled(_main_pieces(tree, len(source)))
    return Reading(text, title, blocks, metadata=metadata, warnings=warnings)


def visible_pieces(source: str, left_out: Counter[str]) -> list[Piece]:
    """Give the pieces of all that is visible in a part of a larger document: a chapter, a mail; asides included.

    Characters that are hidden are counted in ``left_out["hidden_text"]``.
    """
    if _too_deep(source):
        text = _bare(source, "", {}, ()).text
        return [Piece("paragraph", part) for part in text.split("\n\n") if part]
    tree = _parsed(source)
    if tree is None:
        return []
    left_out["hidden_text"] += without_hidden(tree)
    for node in tree.iter("aside", "footer"):
        node.tag = "div"
    return pieces_of(tree)[0]


def _too_deep(source: str) -> bool:
    """Count how deep elements nest, without parsing: an end tag only ends what is open."""
    opened: Counter[str] = Counter()
    depth = position = 0
    while depth <= _DEPTH:
        match = _TAG.search(source, position)
        if not match:
            return False
        position = _behind(source, match)
        tag = (match[2] or "").lower()
        if not tag or tag in _UNNESTED or tag in _RAW:
            continue
        step = -1 if match[1] else 1
        if step > 0 or opened[tag]:
            opened[tag] += step
            depth += step
    return True


def _behind(source: str, match: re.Match[str]) -> int:
    """Give the place behind a tag: of a comment or a script behind all of it."""
    if match[2] is None:
        end = source.find("-->", match.end())
    elif match[2].lower() in _RAW and not match[1]:
        closing = re.compile(f"</{match[2]}", re.IGNORECASE).search(source, match.end())
        end = closing.start() if closing else -1
    else:
        return match.end()
    return end if end >= 0 else len(source)


def _bare(source: str, name: str, metadata: dict[str, Scalar], warnings: tuple[str, ...]) -> Reading:
    """Take the tags away and keep the text between them."""
    parts, position = [], 0
    while match := _TAG.search(source, position):
        parts.append(source[position : match.start()])
        position = _behind(source, match)
    text = re.sub(r"\n\s+", "\n\n", entities.unescape("\n".join([*parts, source[position:]]))).strip()
    lines = Lines(text)
    blocks = tuple(lines.block("paragraph", *run) for run in lines.paragraphs())
    return Reading(text, stem(name), blocks, metadata=metadata, warnings=warnings)


def _parsed(source: str) -> Any:
    """Parse with lxml, None when there is no element at all. The encoding is settled, so the bytes are UTF-8."""
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    if source.startswith("<?xml"):
        source = _CDATA.sub(lambda match: entities.escape(match[1], quote=False), source)
    data = source.replace("\0", "\ufffd").encode("utf-8", "replace")
    try:
        return html.document_fromstring(data, parser=parser)
    except etree.ParserError:  # an empty document
        return None


def _title(tree: Any) -> str:
    """Choose the title: a page's ``title`` often has the site's name behind the heading."""
    own = one_line("".join(tree.xpath("string(//title)")))
    headings = [one_line("".join(node.itertext())) for node in tree.iter("h1", "h2")]
    named = tree.xpath("string(//meta[@property='og:title']/@content)")
    inside = [heading for heading in headings if heading in own and 3 * len(heading) > len(own)]
    return one_line(named) or max(inside, key=len, default=own) or next(iter(headings), "")


def _metadata(tree: Any) -> dict[str, Scalar]:
    """Read what the page declares about itself; nothing is guessed from its text."""
    declared: dict[str, str] = {}
    for node in tree.iter("meta"):
        key = node.get("name") or node.get("property") or node.get("itemprop") or ""
        declared.setdefault(key.lower(), one_line(node.get("content") or "", 1000))
    found = {key: next((declared[name] for name in names if declared.get(name)), "") for key, names in _META.items()}
    found["language"] = (tree.get("lang") or "")[:35]
    return {key: value for key, value in found.items() if value}


def _main_pieces(tree: Any, size: int) -> list[Piece]:
    """Give the main text's pieces, or those of all visible text when there is no main text to be found."""
    visible, depth = pieces_of(tree)
    if depth > _MAIN_DEPTH or size > _MAIN_SIZE or not only_main(tree):
        return visible
    return pieces_of(tree)[0]
