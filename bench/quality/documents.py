"""How much of what PDF documents must say do readers give, and do boxes cover the words?

    python bench/quality/documents.py                        Pincite's reader
    python bench/quality/documents.py --alternatives         and pypdfium2, pypdf, pdfminer.six, in this run; each from
                                                             the Python that --alternatives names, "" for this one
    python bench/quality/documents.py --spans 1000           and boxes of so many random spans
    python bench/quality/documents.py --office PYTHON        other formats too, against xberg, markitdown, mammoth,
                                                             python-docx, python-pptx, openpyxl and striprtf there

The documents are the shared ones (``PINCITE_DATA``). A check that a reader fails by an error or by taking longer than
60 s is a check failed. "once absent" are running heads that only a single page shows, which is no evidence to go by.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pincite.acquire.read import load, read
from pincite.acquire.readers import pdf
from pincite.acquire.readers.pdf_boxes import _spans
from pincite.acquire.sandbox import read_in_child
from pincite.errors import SourceError
from pincite.types import Reading
from tests.acquire.pdf_checks import BOMBS, FOLDER, Check, checks, misses
from tests.acquire.test_documents import checks as office_checks
from tests.acquire.test_documents import holds, rendered
from tests.acquire.test_documents import rows as office_rows

ALTERNATIVES = {  # programs that print {"text", "seconds"}; argv[1] is the file
    "pypdfium2": "import pypdfium2 as p; d = p.PdfDocument(f)\n"
    "text = '\\n'.join(d[i].get_textpage().get_text_range() for i in range(len(d)))",
    "pypdf": "import pypdf; text = '\\n'.join(p.extract_text() for p in pypdf.PdfReader(f).pages)",
    "pdfminer.six": "from pdfminer.high_level import extract_text; text = extract_text(f)",
}
OFFICE = {  # likewise, for the formats that each of them reads; markup in what they give is kept, as checks ask for it
    "xberg": (
        "*",
        "import xberg, asyncio; text = asyncio.run(xberg.extract(xberg.ExtractInput(kind='uri', uri=f),"
        " xberg.ExtractionConfig(output_format='markdown'))).results[0].content",
    ),
    "markitdown": (
        "docx pptx xlsx csv html ipynb epub msg txt json xml",
        "import markitdown; text = markitdown.MarkItDown().convert(f).text_content",
    ),
    "mammoth": ("docx", "import mammoth; text = mammoth.convert_to_markdown(open(f, 'rb')).value"),
    "python-docx": (
        "docx",
        "import docx; d = docx.Document(f); text = '\\n'.join([p.text for p in d.paragraphs]"
        " + [c.text for t in d.tables for r in t.rows for c in r.cells])",
    ),
    "python-pptx": (
        "pptx",
        "import pptx; d = pptx.Presentation(f); text = '\\n'.join(s.text_frame.text for p in d.slides for s in p.shapes"
        " if s.has_text_frame)",
    ),
    "openpyxl": (
        "xlsx",
        "import openpyxl; b = openpyxl.load_workbook(f, data_only=True)\n"
        "text = '\\n'.join(' | '.join(str(c) for c in r if c is not None) for w in b for r in w.values)",
    ),
    "striprtf": ("rtf", "import striprtf.striprtf as s; text = s.rtf_to_text(open(f, errors='replace').read())"),
}
FRAME = (
    "import json, sys, time; f = sys.argv[1]\n{}\nstarted = time.process_time()\n{}\n"
    "print(json.dumps({{'text': text, 'seconds': time.process_time() - started}}))"
)


def ours(path: str) -> tuple[str, str, float]:
    """Give the whole text, the text without furniture, and the processor seconds (in this process)."""
    started = time.process_time()
    found = pdf.read((FOLDER / path).read_bytes(), path, "application/pdf")
    seconds = time.process_time() - started
    kept, position = [], 0
    for block in found.blocks:
        if block.kind == "furniture":
            kept.append(found.text[position : block.start])
            position = block.end
    return found.text, "".join(kept) + found.text[position:], seconds


def theirs(python: str, program: str, path: str) -> tuple[str, str, float]:
    """Run an alternative in a process of its own."""
    first, _, rest = program.partition("; ")
    command = [python or sys.executable, "-c", FRAME.format(first, rest), str(FOLDER / path)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    said = json.loads(done.stdout.splitlines()[-1] if done.stdout else b"")  # what it said counts, not how it ended
    return said["text"], said["text"], said["seconds"]


def judge(name: str, read: object, asked: list[Check]) -> dict[str, object]:
    """Put a reader to all checks."""
    texts: dict[str, tuple[str, str]] = {}
    seconds, failures = 0.0, []
    for path in dict.fromkeys(check.path for check in asked):
        try:
            text, body, spent = read(path)
            texts[path], seconds = (text, body), seconds + spent
        except (SourceError, subprocess.SubprocessError, ValueError) as error:
            failures.append(f"{path}: {type(error).__name__}")
    count: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    failed = []
    for check in asked:
        good = check.path in texts and check.passed(*texts[check.path])
        count[check.group][0] += good
        count[check.group][1] += 1
        if not good and check.group != "once absent":
            failed.append(f"{check.path}: {check.group} {check.wanted[:60]!r}")
    judged = [value for group, value in count.items() if group != "once absent"]
    share = sum(good for good, _ in judged) / sum(all_ for _, all_ in judged)
    groups = {group: f"{good}/{all_}" for group, (good, all_) in count.items()}
    return {
        "reader": name,
        "passed": round(share, 4),
        **groups,
        "seconds": round(seconds, 1),
        "errors": failures,
        "failed": failed,
    }


def office(python: str) -> list[dict[str, object]]:
    """Put Pincite and the alternatives to the checks of all formats but PDF, each for the formats that it reads.

    Hostile files are left out: what readers make of them is a matter of safety, not of quality.
    """
    asked = [row for row in office_rows() if office_checks(row) and not row["path"].startswith("made/")]
    table = [_office_row("pincite", "*", asked, lambda path: rendered(read(*load(FOLDER / path))))]
    for name, (kinds, program) in OFFICE.items():
        table.append(_office_row(name, kinds, asked, lambda path, program=program: theirs(python, program, path)[0]))
    return table


def _office_row(name: str, kinds: str, asked: list[dict[str, str]], text_of: Callable[[str], str]) -> dict[str, object]:
    count: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    failed, started = [], time.perf_counter()
    for row in asked:
        kind = row["path"].split("/")[0]
        if kinds != "*" and Path(row["path"]).suffix.lstrip(".").lower() not in kinds.split():
            continue
        try:
            text = text_of(row["path"])
        except (SourceError, subprocess.SubprocessError, ValueError) as error:
            text = None
            failed.append(f"{row['path']}: {type(error).__name__}")
        for wanted, present in office_checks(row):
            good = text is not None and holds(wanted, text) == present
            count[kind][0] += good
            count[kind][1] += 1
            failed += [] if good or text is None else [f"{row['path']}: {'' if present else 'not '}{wanted[:50]!r}"]
    good, all_ = (sum(pair[at] for pair in count.values()) for at in (0, 1))
    groups = {kind: f"{passed}/{asked}" for kind, (passed, asked) in count.items()}
    seconds = round(time.perf_counter() - started, 1)
    return {"reader": name, "passed": f"{good}/{all_}", **groups, "seconds": seconds, "failed": failed}


def spans(count: int) -> dict[str, object]:
    """Draw spans from all documents and look whether their boxes cover exactly their words."""
    chance, missed, drawn = random.Random(1), [], Counter()
    readings: list[tuple[str, bytes, Reading]] = []
    for file in sorted([*(FOLDER / "pdf").glob("*.pdf"), *(FOLDER / "olmocr").glob("*.pdf")]):
        if file.name == "evil_xobjects.pdf":
            continue  # its letters lie upon each other, a thousandth of a point high
        data = file.read_bytes()
        try:
            found = read_in_child("pdf", data, file.name, "application/pdf")
        except SourceError:
            continue
        if any(block.kind != "furniture" for block in found.blocks) and len(found.pages) < 100:
            readings.append((file.name, data, found))
    for n in range(count):
        name, data, found = readings[n % len(readings)]
        block = chance.choice([block for block in found.blocks if block.kind != "furniture"])
        start = chance.randrange(block.start, block.end)
        if any(first < 0 for _, first, _ in _spans(found.pages, start, block.end)):
            continue  # said by a form or an annotation, which PDFium's text does not hold
        wrong = misses(data, found, [(start, min(block.end, start + chance.randint(1, 200)))])
        missed += [f"{name}: {what[:200]}" for what in wrong]
        drawn[name] += 1
    return {
        "spans": drawn.total(),
        "documents": len(drawn),
        "covered": round(1 - len(missed) / drawn.total(), 4),
        "missed": missed[:20],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alternatives", nargs="?", const="", default=None, metavar="PYTHON")
    parser.add_argument("--spans", type=int, default=0)
    parser.add_argument("--office", metavar="PYTHON")
    args = parser.parse_args()
    if FOLDER is None:
        sys.exit("the shared test documents are not here (PINCITE_DATA)")
    asked = [check for check in checks() if check.path not in BOMBS]
    print(json.dumps({"checks": len(asked), "load": os.getloadavg()[0]}))
    print(json.dumps(judge("pincite", ours, asked), ensure_ascii=False))
    if args.alternatives is not None:
        for name, program in ALTERNATIVES.items():
            read = lambda path, program=program: theirs(args.alternatives, program, path)  # noqa: E731
            print(json.dumps(judge(name, read, asked), ensure_ascii=False), flush=True)
    for row in office(args.office) if args.office else ():
        print(json.dumps(row, ensure_ascii=False), flush=True)
    if args.spans:
        print(json.dumps(spans(args.spans), ensure_ascii=False))


if __name__ == "__main__":
    main()
