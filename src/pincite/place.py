"""Places in words, for people."""

from __future__ import annotations

from urllib.parse import unquote

_PAGES = {  # file extension: what its pages are called
    **dict.fromkeys(("pptx", "ppsx", "odp", "fodp"), "slide"),
    **dict.fromkeys(("xlsx", "xlsm", "xlsb", "xls", "ods"), "sheet"),
    **dict.fromkeys(("ipynb",), "cell"),
    **dict.fromkeys(("mbox",), "message"),
}


def location(uri: str, heading_path: tuple[str, ...], page: int | None, line_from: int, line_to: int) -> str:
    """Name a place for people: path; page (slide, sheet, cell, message) or lines; headings."""
    path = unquote(uri.removeprefix("file://"))
    lines = f"line {line_from}" if line_from == line_to else f"lines {line_from}-{line_to}"
    unit = _PAGES.get(path.rpartition(".")[2].lower(), "page")
    place = f"{path}, {unit} {page}" if page is not None else f"{path}, {lines}"
    return f"{place} ({' > '.join(heading_path)})" if heading_path else place
