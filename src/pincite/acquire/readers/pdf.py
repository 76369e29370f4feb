"""PDF: one text layer, PDFium's, read character by character, so that every span leads back to its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import chain, groupby
from typing import Any

from pincite.acquire.readers.base import stem
from pincite.acquire.readers.pdf_compose import Composer
from pincite.acquire.readers.pdf_hidden import without_hidden
from pincite.acquire.readers.pdf_layout import mark_furniture, mark_headings
from pincite.acquire.readers.pdf_notes import Note, metadata_of, notes_of, outline_of, stated_title, xfa_of
from pincite.acquire.readers.pdf_page import (
    GONE,
    MOST_CHARACTERS,
    Glyphs,
    PageText,
    characters,
    frame_of,
    lines_of,
    unmapped_share,
    upright_textpage,
)
from pincite.acquire.readers.pdf_tables import mark_tables
from pincite.acquire.readers.scan import Scanned, doubts, page_of
from pincite.errors import SourceTooLarge, SourceUndecodable
from pincite.types import Block, Reading, Scalar

_MOST_PAGES = 20_000
_MOST_BROKEN = 50  # pages in a row that cannot be read: the document has fewer than it says
_FEW = 20  # characters; a page with fewer and a large image is a scan with a stamp, and fewer hidden ones no matter
_LARGE = 0.5  # of the page's area
_MANY_PATHS = 50  # on a page without text: letters drawn as outlines
_UNMAPPED = 0.3  # share of characters without a meaning from which a page counts as unreadable
_RECOGNISE = "Install Tesseract (the program tesseract), then run `pincite add --retry`."
_UNLOCK = "Put its password into the environment variable PINCITE_PASSWORD, or save a copy without one; add it again."
_RECOGNISABLE = ("image", "unmapped")
_TROUBLES = {
    "image": "{} without text: text recognition (OCR) is needed",
    "unmapped": "{} with fonts that do not say which letters they draw: text recognition (OCR) is needed",
    "damaged": "{} damaged and not read",
    "long": f"{{}} with more than {MOST_CHARACTERS:,} characters and not read",
}


def read(
    data: bytes,
    name: str,
    media_type: str,
    *,
    password: str = "",
    list_scans: bool = False,
    scans: Mapping[str, Scanned] | None = None,
) -> Reading | list[tuple[int, float]]:
    """Read a PDF; see ``Reader``. It is meant to run in the child: PDFium is native code, and PDFs are hostile.

    Args:
        data: the document.
        name: its file name.
        media_type: what it is.
        password: opens it if it is encrypted.
        list_scans: where pages need text recognition, give only their (number, width in points) instead of a reading.
        scans: what was recognised, by page number.

    Returns:
        The reading, or the pages that need text recognition.

    Raises:
        SourceError: as for every reader.
    """
    with closing(opened(data, password)) as document:
        form = _form(document)
        pages = _pages(document, form)
        outline = list(outline_of(document))
        metadata = metadata_of(document)
        title = stated_title(document)
        drawn = xfa_of(document)
        unread = [number for number, page in enumerate(pages) if page.trouble in _RECOGNISABLE]
        if list_scans and unread:
            return [(number + 1, document.get_page_size(number)[0]) for number in unread]
    doubtful = _put_in(pages, scans or {}, metadata)
    warnings = [*_troubles(pages), *doubtful, *_put_form(pages, drawn)]
    mark_furniture(pages)
    mark_tables(pages)
    mark_headings(pages, outline)
    composer = Composer(pages)
    text = composer.compose()
    hidden = sum(b.end - b.start for b in composer.blocks if b.label == "hidden text")
    if hidden:
        metadata["hidden_text"] = hidden
    if hidden > _FEW:
        warnings.append(f"{hidden} characters cannot be seen on the pages; they are not searched.")
    title = title or _first_heading(composer.blocks) or stem(name)
    return Reading(text, title, tuple(composer.blocks), tuple(composer.pages), metadata, warnings=tuple(warnings))


def _put_in(pages: list[PageText], scans: Mapping[str, Scanned], metadata: dict[str, Scalar]) -> list[str]:
    """Put what was recognised in place of pages that say nothing; give what is to be doubted."""
    recognised = {int(number) - 1: scan for number, scan in scans.items()}
    for number, scan in recognised.items():
        pages[number] = page_of(scan, number, pages[number].label)
    if recognised:
        metadata["recognised_pages"] = len(recognised)
    return doubts(recognised)


def _put_form(pages: list[PageText], said: list[str]) -> list[str]:
    """Put what an XFA form says in place of its pages, which only ask for another program; say so."""
    if not said:
        return []
    pages[0].notes[:0] = [Note(part, None) for part in said]
    for line in chain.from_iterable(page.lines for page in pages):
        line.kind, line.label = "furniture", "placeholder"
    return ["It is a form that only Adobe Reader draws: its texts and values are read without their places."]


def opened(data: bytes, password: str = "") -> Any:
    """Open a PDF; SourceUndecodable if it is encrypted and the password does not open it, or it is damaged."""
    import pypdfium2
    import pypdfium2.raw as pdfium

    try:
        document = pypdfium2.PdfDocument(data, password=password or None)
        count = len(document)
    except pypdfium2.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code == pdfium.FPDF_ERR_PASSWORD:
            told = "The password that was given does not open it" if password else "It is encrypted"
            raise SourceUndecodable(f"{told}: it needs its password.", fix=_UNLOCK) from error
        if code == pdfium.FPDF_ERR_SECURITY:
            raise SourceUndecodable(
                "It is encrypted in a way that is not known.", fix="Save a copy without encryption, and add that."
            ) from error
        raise SourceUndecodable(
            "It is damaged: PDFium finds no PDF document in it.",
            fix="Get it again, or open and save it in a PDF program.",
        ) from error
    if not count:
        document.close()
        raise SourceUndecodable("It has no pages.", fix="Open it in a PDF program, and save it again.")
    return document


def _form(document: Any) -> Any:
    """Give the handle through which form fields are asked, None where there is no form or it is damaged."""
    import pypdfium2

    try:
        document.init_forms()
    except pypdfium2.PdfiumError:
        return None
    return document.formenv.raw if document.formenv else None


def _pages(document: Any, form: Any) -> list[PageText]:
    """Read all pages; trailing ones that are not there are left out."""
    count = len(document)
    found: list[PageText] = []
    broken = 0
    for number in range(min(count, _MOST_PAGES)):
        page = _page(document, number, form)
        found.append(page)
        broken = broken + 1 if page.trouble == "damaged" else 0
        if broken == _MOST_BROKEN:
            break
    if count > len(found) or broken == _MOST_BROKEN:
        if broken < _MOST_BROKEN:
            message = f"It has {count:,} pages; the limit is {_MOST_PAGES:,}."
            raise SourceTooLarge(message, fix="Split it into smaller files.")
        del found[-broken:]
    if all(page.trouble == "damaged" for page in found):
        raise SourceUndecodable("None of its pages can be read.", fix="Open it in a PDF program, and save it again.")
    return found


def _page(document: Any, number: int, form: Any) -> PageText:
    """Read a page."""
    import pypdfium2

    label = document.get_page_label(number)
    try:
        return _page_text(document[number], number, label, form)
    except pypdfium2.PdfiumError:
        return PageText(label=label, trouble="damaged")


def _page_text(page: Any, number: int, label: str, form: Any) -> PageText:
    """Read an open page, and close it."""
    with closing(page), closing(upright_textpage(page)) as textpage:
        count = textpage.count_chars()
        if count > MOST_CHARACTERS:
            return PageText(label=label, trouble="long")
        glyphs, frame = Glyphs(textpage), frame_of(page)
        raw = characters(glyphs, count)
        lines = without_hidden(page, lines_of(number, raw, glyphs, frame), raw, glyphs, frame)
        trouble = _trouble(page, raw, frame.size)
        return PageText(raw, lines, notes_of(page, form), label, trouble=trouble)


def _trouble(page: Any, raw: str, size: tuple[float, float]) -> str:
    """Tell why a page has less text than a person sees on it, "" if it has not."""
    if unmapped_share(raw) > _UNMAPPED:
        return "unmapped"
    seen = len(raw.replace(GONE, "").strip())
    return "image" if seen < _FEW and _is_picture(page, seen, size) else ""


def _is_picture(page: Any, seen: int, size: tuple[float, float]) -> bool:
    """Tell whether a page with few or no characters shows what may be text: an image, or letters as outlines."""
    import pypdfium2.raw as pdfium

    images = paths = 0
    area = 0.0
    for item in page.get_objects(max_depth=3):
        if item.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            images += 1
            x0, y0, x1, y1 = item.get_bounds()
            area += (x1 - x0) * (y1 - y0)
        paths += item.type == pdfium.FPDF_PAGEOBJ_PATH
        if images + paths > 10 * _MANY_PATHS:
            break
    if not seen:
        return images > 0 or paths >= _MANY_PATHS
    return area >= _LARGE * size[0] * size[1]


def _troubles(pages: Sequence[PageText]) -> list[str]:
    """Say which pages have less text than they show; SourceUndecodable if that is all of them."""
    if not any(page.lines or page.notes for page in pages):
        kinds = {page.trouble for page in pages}
        for kind in _RECOGNISABLE:
            if kind in kinds:
                raise SourceUndecodable(f"{_TROUBLES[kind].format(f'Its {_count(len(pages))}')}.", fix=_RECOGNISE)
        if kinds == {""}:
            return [f"It holds no text: its {_count(len(pages))} blank."]
    found = []
    for kind, message in _TROUBLES.items():
        numbers = [number for number, page in enumerate(pages, 1) if page.trouble == kind]
        if numbers:
            verb = "is" if len(numbers) == 1 else "are"
            found.append(message.format(f"{_numbered(numbers)} {verb}") + ".")
    return found


def _count(pages: int) -> str:
    return "one page is" if pages == 1 else f"{pages} pages are"


def _numbered(numbers: Iterable[int]) -> str:
    """Write page numbers as people do: "Pages 1, 4-7"."""
    parts = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        parts.append(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]))
    single = len(parts) == 1 and "-" not in parts[0]
    return f"{'Page' if single else 'Pages'} {', '.join(parts)}"


def _first_heading(blocks: Sequence[Block]) -> str:
    """Take the outermost heading among the first blocks as a title."""
    heads = [block for block in blocks[:10] if block.kind == "heading"]
    return min(heads, key=lambda block: (block.level, block.start)).label if heads else ""
