"""What a PDF says outside its text: values of form fields, annotations, the outline, metadata, attached files."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from pincite.acquire.readers.base import one_line
from pincite.types import Scalar

_MOST_NOTES = 100_000  # annotations of a page
_MOST_OPTIONS = 10_000  # of a list in a form
_MOST_OUTLINE = 20_000  # entries
_MOST_ATTACHMENTS = 100
_MOST_CHARACTERS = 10_000_000  # of one value
_MOST_PACKETS = 100  # parts of an XFA form
_XFA_TEXTS = (
    "//*[local-name()='draw' or local-name()='caption']/*[local-name()='value']"
    "/*[(local-name()='text' or local-name()='exData') and normalize-space() and"
    " not(ancestor::*[@presence='hidden' or @presence='invisible' or @presence='inactive'])]"
)
_XFA_VALUES = "/*[local-name()='datasets']/*[local-name()='data']//*[not(*) and normalize-space()]"
_UNSEEN = 2 | 32  # annotation flags: hidden, not to be viewed (ISO 32000-1, 12.5.3)
_PASSWORD = 1 << 13  # field flag: what is typed is a secret (12.7.4.3)
_OFF = ("", "Off")
_DATE = re.compile(r"D?:?(\d{4})-?(\d\d)?-?(\d\d)?")
_NO_TITLE = re.compile(
    r"(?i)\s*(untitled.*|microsoft (word|powerpoint|excel)\b.*|.* - notepad|print"
    r"|(document|dokument|slide|page|title) ?\d*"
    r"|[\W\d_]*|.*\.(docx?|indd|pdf|tex|dvi|qxd|rtf|pptx?|xlsx?|ps|eps|fm|txt))\s*"
)
_FIELDS = {"Author": "author", "Subject": "subject", "Keywords": "keywords"}
_DATES = {"CreationDate": "date", "ModDate": "modified"}


class Note(NamedTuple):
    """What a form field or an annotation says."""

    said: str
    number: int | None  # the annotation's; None where it has no place
    hidden: bool = False  # viewers do not show it


def notes_of(page: Any, form: Any) -> list[Note]:
    """Give what the form fields and annotations of a page say, in order.

    Args:
        page: pypdfium2's page.
        form: PDFium's form handle, or None where the document has no form.

    Returns:
        The notes.
    """
    import pypdfium2.raw as pdfium

    found = []
    for number in range(min(_MOST_NOTES, pdfium.FPDFPage_GetAnnotCount(page))):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        if pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_WIDGET:
            said = _field(form, annotation) if form else ""
        else:
            said = _utf16(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents\0")
        hidden = bool(pdfium.FPDFAnnot_GetFlags(annotation) & _UNSEEN)
        pdfium.FPDFPage_CloseAnnot(annotation)
        if said.strip():
            found.append(Note(said.replace("\r\n", "\n").replace("\r", "\n").strip(), number, hidden))
    return found


def _field(form: Any, annotation: Any) -> str:
    """Give a filled form field as "name: value", the value as it is displayed."""
    import pypdfium2.raw as pdfium

    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind == pdfium.FPDF_FORMFIELD_PUSHBUTTON or pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        return ""
    if kind == pdfium.FPDF_FORMFIELD_RADIOBUTTON and not pdfium.FPDFAnnot_IsChecked(form, annotation):
        return ""  # the group's value is that of another button
    options = range(min(_MOST_OPTIONS, pdfium.FPDFAnnot_GetOptionCount(form, annotation)))
    chosen = [at for at in options if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, at)]
    value = ", ".join(_utf16(pdfium.FPDFAnnot_GetOptionLabel, form, annotation, at) for at in chosen)
    value = value or _utf16(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation).strip()
    name = _utf16(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation).strip()
    name = name or _utf16(pdfium.FPDFAnnot_GetFormFieldName, form, annotation).strip()
    return "" if value in _OFF else f"{name}: {value}" if name else value


def _packet(document: Any, number: int) -> bytes:
    """Give a part of a form's XML."""
    import pypdfium2.raw as pdfium

    size = ctypes.c_ulong()
    pdfium.FPDF_GetXFAPacketContent(document, number, None, 0, size)
    buffer = ctypes.create_string_buffer(size.value)
    pdfium.FPDF_GetXFAPacketContent(document, number, buffer, size.value, size)
    return buffer.raw[: size.value]


def _utf16(function: Any, *arguments: Any) -> str:
    """Call a function of PDFium that fills a buffer with UTF-16."""
    size = min(function(*arguments, None, 0), 2 * _MOST_CHARACTERS)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    function(*arguments, buffer, size)
    return bytes(buffer)[:size].decode("utf-16-le", "replace").rstrip("\0")


def xfa_of(document: Any) -> list[str]:
    """Give what a form says whose pages only ask for Adobe Reader, which draws it from XML (XFA); [] for others.

    The first string has the texts and captions in the template's order, the other the values as "name: value".
    """
    import pypdfium2.raw as pdfium
    from lxml import etree

    if pdfium.FPDF_GetFormType(document) != pdfium.FORMTYPE_XFA_FULL:
        return []
    parser = etree.XMLParser(recover=True, resolve_entities=False, load_dtd=False, no_network=True, remove_pis=True)
    said: tuple[list[str], list[str]] = ([], [])
    for number in range(min(_MOST_PACKETS, pdfium.FPDF_GetXFAPacketCount(document))):
        root = etree.fromstring(_packet(document, number) or b"<none/>", parser)
        for found, path in zip(said, (_XFA_TEXTS, _XFA_VALUES), strict=True) if root is not None else ():
            for element in root.xpath(path):
                name = f"{etree.QName(element).localname}: " if path == _XFA_VALUES else ""
                found.append(name + " ".join(" ".join(element.itertext()).split()))
    return ["\n".join(lines) for lines in said if lines]


def outline_of(document: Any) -> Iterator[tuple[int, int, str]]:
    """Yield the outline's entries as (page from 0, level from 1, title), a bounded number of them."""
    for bookmark in islice(document.get_toc(), _MOST_OUTLINE):
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        title = one_line(bookmark.get_title())
        if page is not None and title:
            yield page, bookmark.level + 1, title


def metadata_of(document: Any) -> dict[str, Scalar]:
    """Give author, dates and the like, and the names of attached files, which are not read."""
    found: dict[str, Scalar] = {}
    for key, name in _FIELDS.items():
        value = one_line(document.get_metadata_value(key))
        if value:
            found[name] = value
    for key, name in _DATES.items():
        match = _DATE.match(document.get_metadata_value(key))
        if match:
            found[name] = "-".join(part for part in match.groups() if part)
    language = _catalog_language(document)
    if language:
        found["language"] = language
    names = [_attachment(document, n) for n in range(min(_MOST_ATTACHMENTS, document.count_attachments()))]
    if names:
        found["attachments"] = "; ".join(names)
    return found


def _attachment(document: Any, number: int) -> str:
    """Name an attached file; "?" if the document is damaged there."""
    import pypdfium2

    try:
        return one_line(document.get_attachment(number).get_name()) or "?"
    except pypdfium2.PdfiumError:
        return "?"


def _catalog_language(document: Any) -> str:
    import pypdfium2.raw as pdfium

    return _utf16(pdfium.FPDFCatalog_GetLanguage, document).strip()[:35]


def stated_title(document: Any) -> str:
    """Give the title that the metadata state, "" if it is what programs write when nobody has given one."""
    title = one_line(document.get_metadata_value("Title"))
    return "" if _NO_TITLE.fullmatch(title) else title
