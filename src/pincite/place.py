"""Places in words, for people."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from urllib.parse import unquote

_PAGES = {  # file extension: what its pages are called
    **dict.fromkeys(("pptx", "ppsx", "odp", "fodp"), "slide"),
    **dict.fromkeys(("xlsx", "xlsm", "xlsb", "xls", "ods"), "sheet"),
    **dict.fromkeys(("ipynb",), "cell"),
    **dict.fromkeys(("mbox",), "message"),
}


def location(
    uri: str, heading_path: tuple[str, ...], page: int | None, lines: tuple[int, int], column: int | None = None
) -> str:
    """Name a place for people: path; page (slide, sheet, cell, message) or lines; headings.

    In source code it begins as editors take it: path:line:column.
    """
    path = unquote(uri.removeprefix("file://"))
    extension = path.rpartition(".")[2].lower()
    said = f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]}-{lines[1]}"
    if page is not None:
        place = f"{path}, {_PAGES.get(extension, 'page')} {page}"
    elif column is not None and extension in _code():
        place = f"{path}:{lines[0]}:{column}" + (f", {said}" if lines[1] > lines[0] else "")
    else:
        place = f"{path}, {said}"
    return f"{place} ({' > '.join(heading_path)})" if heading_path else place


@cache
def _code() -> frozenset[str]:
    """Give the extensions of source code."""
    table = tomllib.loads((Path(__file__).parent / "acquire" / "extensions.toml").read_text(encoding="utf-8"))
    return frozenset(" ".join(table["code"].values()).split())
