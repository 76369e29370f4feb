"""What the shared PDF documents must and must not say: their list's checks, those of olmOCR's sample, and some in code.

The documents are not part of the project: ``PINCITE_DATA`` names the folder that holds ``documents/MANIFEST.tsv``.
"""

from __future__ import annotations

import csv
import ctypes
import json
import os
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import regex

from pincite.acquire.readers.pdf_boxes import Box, _spans, find_boxes
from pincite.types import Reading

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

FOLDERS = [os.environ.get("PINCITE_DATA", ""), *(str(up / "shared/data") for up in Path(__file__).parents)]
FOLDER = next(
    (Path(folder, "documents") for folder in FOLDERS if Path(folder, "documents/MANIFEST.tsv").is_file()), None
)
QUOTES = str.maketrans(
    {"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "ﬁ": "fi", "ﬂ": "fl", "\u00a0": " "}
)
REMARK = regex.compile(
    r"needs.ocr|OCR|error|clean|empty|lam-alef|hyphen|pages|bounded|U\+|2 GiB|limit|TABLE"
    r"|^\"GIANT|^\"more|silent|see |crash|loop|RSS|RecursionError|/Count"
)
BY_HAND = {  # what the list says in words
    "pdf/twocol_tracemonkey.pdf": (("mixed-mode execution approach",), ("\ufffe", "mixedmode")),
    "pdf/rtl_01.pdf": (("المشكلات", "الإنتاجية"), ("المشكالت", "اإلنتاجية")),
    "pdf/code_and_formula.pdf": ((), ("\ufffe", "\x02")),
    "pdf/bomb_giant.pdf": (("GIANT JBIG2 BOMB",), ()),
    "made/huge_count.pdf": (("hi there",), ()),
    "made/junk_prefix.pdf": (("Trace-based Just-in-Time Type Specialization",), ()),
}
REFUSED = {  # the reason must say this
    "pdf/enc_r6_user.pdf": "password",
    "pdf/scan_docling.pdf": "OCR",
    "pdf/scan_skew.pdf": "OCR",
    "pdf/table_multirow.pdf": "OCR",
    "pdf/fuzz_poppler742.pdf": "damaged",
    "pdf/fuzz_poppler937.pdf": "None of its pages",
    "made/truncated_1k.pdf": "damaged",
    "olmocr/lincoln_letter.pdf": "OCR",
    "olmocr/buildingnotes.pdf": "OCR",
}
PAGES = {
    "pdf/labelled_pages.pdf": 11,
    "made/junk_prefix.pdf": 14,
    "made/huge_count.pdf": 1,
    "pdf/long_400p.pdf": 400,
    "pdf/failure_after_repair.pdf": 76,
}
BOMBS = ("made/flate_bomb_2g.pdf", "made/text_bomb_12m_glyphs.pdf", "made/xobject_laughs_10e11.pdf")


class Check(NamedTuple):
    """One thing to look for."""

    path: str
    group: str  # "present", "absent", "order"; "once absent": furniture that a single page cannot tell
    wanted: str
    second: str = ""  # of an order check
    slips: int = 0  # characters that may differ

    def passed(self, text: str, body: str) -> bool:
        """Tell whether a text passes; ``body`` is the text without what the reader has set aside."""
        if self.group == "order":
            first, last = self._place(self.wanted, text), self._place(self.second, text)
            return -1 < first[0] <= last[1]
        if "absent" in self.group:
            return self._place(self.wanted, body)[0] < 0
        return self._place(self.wanted, text)[0] >= 0

    def _place(self, wanted: str, text: str) -> tuple[int, int]:
        """Give where the first and the last occurrence start, -1 for nowhere."""
        wanted, text = plain(wanted), plain(text)
        if self.slips:
            found = [m.start() for m in regex.finditer(f"(?:{regex.escape(wanted)}){{e<={self.slips}}}", text)]
            return (found[0], found[-1]) if found else (-1, -1)
        return text.find(wanted), text.rfind(wanted)


def plain(text: str) -> str:
    """Make white space and quotes alike, as olmOCR's checks do; control characters stay."""
    return regex.sub(r"[ \t\r\n\f]+", " ", text.translate(QUOTES).replace("''", '"')).strip()


def checks() -> Iterator[Check]:
    """Yield all checks that look at text."""
    with (FOLDER / "MANIFEST.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        path = row["path"]
        if path.startswith(("pdf/", "made/")) and path.endswith(".pdf") and path not in REFUSED:
            yield from _listed(path, row)
    for line in (FOLDER / "olmocr" / "dataset.jsonl").read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield from _sampled(json.loads(line))


def _listed(path: str, row: dict[str, str]) -> Iterator[Check]:
    for column, group in (("must_contain", "present"), ("must_not_contain", "absent")):
        for wanted in (row[column] or "").split(" ¦ "):
            order = regex.match(r'ORDER: "(.*)" before "(.*)"', wanted)
            if order:
                yield Check(path, "order", order[1], order[2])
            elif wanted.strip() and not REMARK.search(wanted):
                yield Check(path, group, wanted.strip())
    present, absent = BY_HAND.get(path, ((), ()))
    yield from (Check(path, "present", wanted) for wanted in present)
    yield from (Check(path, "absent", wanted) for wanted in absent)


def _sampled(sample: dict) -> Iterator[Check]:
    path = f"olmocr/{Path(sample['pdf']).name}"
    if not (FOLDER / path).is_file() or path in REFUSED or "last_n" in sample:
        return
    slips = sample.get("max_diffs", 0)
    if sample["type"] == "present":
        yield Check(path, "present", sample["text"], slips=slips)
    elif sample["type"] == "absent":
        yield Check(path, "once absent", sample["text"], slips=slips)
    elif sample["type"] == "order":
        yield Check(path, "order", sample["before"], sample["after"], slips)


def table_checks() -> Iterator[dict[str, str]]:
    """Yield olmOCR's checks of tables: a cell, what is beside it, and its headings, with the document's path."""
    for line in (FOLDER / "olmocr" / "dataset.jsonl").read_text(encoding="utf-8").splitlines():
        sample = json.loads(line) if line.strip() else {"type": ""}
        path = f"olmocr/{Path(sample.get('pdf', '')).name}"
        if sample["type"] == "table" and (FOLDER / path).is_file():
            yield {**sample, "path": path}


def has_cell(reading: Reading, wanted: dict[str, str]) -> bool:
    """Tell whether a cell stands in a table of a reading where the check says."""
    for block in reading.blocks:
        if block.kind == "table":
            rows = reading.text[block.start : block.end].split("\n")
            table = [[bare(cell) for cell in row[1:-1].split("|")] for row in rows]
            if any(_stands(table, at, column, wanted) for at, row in enumerate(table) for column in range(len(row))):
                return True
    return False


def _stands(table: list[list[str]], at: int, column: int, wanted: dict[str, str]) -> bool:
    """Tell whether a cell of a table is the wanted one, between its neighbours and under its headings."""

    def cell(row: int, place: int) -> str:
        return table[row][place] if 0 <= row < len(table) and 0 <= place < len(table[row]) else ""

    found = {
        "cell": [cell(at, column)],
        "up": [cell(at - 1, column)],
        "down": [cell(at + 1, column)],
        "left": [cell(at, column - 1)],
        "right": [cell(at, column + 1)],
        "top_heading": [cell(row, column) for row in range(at)],
        "left_heading": [cell(at, place) for place in range(column)],
    }
    return all(bare(wanted[key]) in there for key, there in found.items() if wanted.get(key))


def bare(text: str) -> str:
    """Leave out white space and case."""
    return "".join(plain(text).lower().split())


def misses(data: bytes, reading: Reading, spans: list[tuple[int, int]]) -> list[str]:
    """Say for which spans of a reading the boxes do not cover exactly the words, as PDFium itself places them."""
    import pypdfium2

    found = []
    with pypdfium2.PdfDocument(data) as document:
        for start, end in spans:
            boxes = find_boxes(data, list(_spans(reading.pages, start, end)))
            inside = "".join(
                _inside(document, page, [box for box in boxes if box[0] == page]) for page in pages_of(boxes)
            )
            cited = letters(reading.text[start:end])
            if not is_within(cited, letters(inside)) or len(letters(inside)) > 1.3 * len(cited) + 20:
                found.append(f"{cited!r} is not in {inside!r}")
    return found


def pages_of(boxes: list[Box]) -> list[int]:
    return sorted({box[0] for box in boxes})


def letters(text: str) -> str:
    """Keep letters and digits, accents set apart from their letters left out."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if char.isalnum())


def is_within(part: str, whole: str) -> bool:
    """Tell whether all characters of a part are in the whole, in any order: lines may be put in order."""
    return not Counter(part) - Counter(whole)


def _inside(document: PdfDocument, number: int, boxes: list[Box]) -> str:
    """Give the characters whose middle, by PDFium's own reckoning, is displayed inside one of the boxes."""
    import pypdfium2.raw as pdfium

    page = document[number - 1]
    textpage, (width, height), fine = page.get_textpage(), page.get_size(), 20
    kept, x, y = [], ctypes.c_int(), ctypes.c_int()
    for index in range(textpage.count_chars()):
        left, bottom, right, top = textpage.get_charbox(index)
        pdfium.FPDF_PageToDevice(
            page, 0, 0, int(width * fine), int(height * fine), 0, (left + right) / 2, (bottom + top) / 2, x, y
        )
        if any(box[1] <= x.value / fine <= box[3] and box[2] <= y.value / fine <= box[4] for box in boxes):
            kept.append(chr(pdfium.FPDFText_GetUnicode(textpage, index)))
    return "".join(kept)
