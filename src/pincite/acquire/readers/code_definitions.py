"""The definitions in source code, by tree-sitter; in the child, as its parsers are native code."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from pincite.acquire.readers.base import Lines, of_text, one_line, words
from pincite.acquire.readers.code import GRAMMARS, chunks, language_of, parse
from pincite.types import Block, Reading

_INNERMOST = words(  # definitions in which no others are looked for
    "function_definition function_declaration generator_function_declaration function_item method_definition "
    "method_declaration constructor_declaration method singleton_method macro_definition type_alias_declaration "
    "function_signature_item type_declaration delegate_declaration"
)
_OUTER = words(
    "class_definition class_declaration abstract_class_declaration interface_declaration enum_declaration "
    "record_declaration annotation_type_declaration struct_specifier class_specifier union_specifier enum_specifier "
    "namespace_definition namespace_declaration internal_module module class struct_item enum_item trait_item "
    "impl_item mod_item union_item struct_declaration trait_declaration"
)
_AROUND = words("decorated_definition export_statement template_declaration")  # a definition and more
_DEEPEST = 30


class _Part(NamedTuple):
    """Where a definition begins, or what follows one goes on: a byte, how deep, its name ("" for what follows)."""

    start: int
    level: int
    name: str


def defined(text: str, name: str, media_type: str) -> Reading:
    """Cut code at its definitions, or as ``parse`` does if it has none."""
    language = language_of(media_type)
    parser = _parser(language)
    blocks = _defined(Lines(text), language, parser) if parser else []
    return Reading(text, one_line(name), tuple(blocks)) if blocks else parse(text, name, media_type)


@lru_cache(maxsize=len(GRAMMARS))
def _parser(language: str) -> Any:
    """Make the parser of a language, None where it is not installed."""
    module, function = GRAMMARS.get(language, ("", ""))
    try:
        import tree_sitter

        grammar = tree_sitter.Language(getattr(import_module(module), function)())
    except (ImportError, ValueError):  # ValueError: no module's name, or a grammar of another generation
        return None
    return tree_sitter.Parser(grammar)


def _defined(lines: Lines, language: str, parser: Any) -> list[Block]:
    """Make a heading of the first line of each definition, and code of the rest."""
    data = lines.text.encode("utf-8", "surrogatepass")
    starts: dict[int, _Part] = {}  # by line; the first of a line counts
    place, offset = 0, 0
    for part in sorted(_parts(parser.parse(data).root_node, 1), key=lambda part: part.start):
        offset += len(data[place : part.start].decode("utf-8", "surrogatepass"))
        place = part.start
        starts.setdefault(lines.at(offset), part)
    blocks: list[Block] = []
    edges = [0, *(line for line in sorted(starts) if line), len(lines)]
    for first, behind in pairwise(edges):
        opening = starts.get(first)
        said = "".join(lines[number] for number in range(first, behind))
        if opening is not None and (opening.name or any(map(str.isalnum, said))):  # else: the braces at the end
            while first < behind and lines.blank(first):
                first += 1
            blocks.append(lines.block("heading", first, first + 1, opening.level, opening.name))
            first += 1
        blocks += [block for block in chunks(lines, first, behind, language) if block.start < block.end]
    return blocks if starts else []


def _parts(node: Any, level: int) -> Iterator[_Part]:
    """Yield the definitions within a node, and what comes behind them, in order."""
    children = node.named_children
    for at, child in enumerate(children):
        inner = _definition(child)
        name = _name(inner) if inner is not None else ""
        if inner is None or not name:
            if level <= _DEEPEST and _leads_on(child):
                yield from _parts(child, level)
            continue
        first = at
        while first and _belongs(children[first - 1], children[first]):
            first -= 1
        yield _Part(children[first].start_byte, level, name)
        if inner.type not in _INNERMOST and level < _DEEPEST:
            yield from _parts(inner, level + 1)
        if at + 1 < len(children) and _definition(children[at + 1]) is None and "comment" not in children[at + 1].type:
            yield _Part(children[at + 1].start_byte, level, "")


def _belongs(before: Any, node: Any) -> bool:
    """Tell whether a comment or an attribute stands right above a node."""
    near = node.start_point[0] - before.end_point[0] <= 1 and before.start_point[0] != node.start_point[0]
    return near and ("comment" in before.type or before.type == "attribute_item")


def _definition(node: Any) -> Any:
    """Give the definition that a node is, or is around; None if it is none."""
    if node.type in _AROUND:
        return next((found for found in map(_definition, node.named_children) if found is not None), None)
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
        return None  # only mentions a type
    return node if node.type in _INNERMOST or node.type in _OUTER else None


def _leads_on(node: Any) -> bool:
    """Tell whether definitions may stand inside something that is none: a body, a conditional of the preprocessor."""
    kind = str(node.type)
    return kind.startswith(("preproc_if", "preproc_else", "linkage", "body")) or kind.endswith(
        ("body", "block", "list")
    )


def _name(node: Any) -> str:
    """Name a definition: C hides the name in declarators, Rust's ``impl`` has a type."""
    found = (
        node.child_by_field_name("name") or node.child_by_field_name("declarator") or node.child_by_field_name("type")
    )
    if found is None:
        found = next((child for child in node.named_children if child.child_by_field_name("name")), None)
    for _ in range(_DEEPEST):
        below = found and (found.child_by_field_name("declarator") or found.child_by_field_name("name"))
        if not below:
            break
        found = below
    return one_line(found.text.decode("utf-8", "replace"), 100) if found is not None else ""


read = of_text(defined)
