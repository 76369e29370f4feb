"""Pages a second of the PDF readers, in turns, and peak memory on a very long PDF and a very long sheet. Prints JSON.

    python bench/speed/pdf.py FOLDER_OF_PDFS [--alternatives PYTHON] [--rounds 2] [--large] [--output FILE]

Each reader reads each file in a process of its own, which says how much processor time the reading took, without the
start; files that any of them needs more than 60 s for, or refuses, count for none. ``--alternatives`` names a Python
that has pypdf and pdfminer.six; "pypdfium2" is its raw text alone, without structure, furniture, hidden text or places.
``--large`` makes a PDF of 5,000 pages and a sheet of 300,000 rows, and gives the memory of the child that read them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.acquire.made import xlsx
from tests.data.make_pdf import Pdf, PdfPage, lines

READERS = {
    "pincite": "from pincite.acquire.readers import pdf\n"
    "def run(f): return len(pdf.read(open(f, 'rb').read(), 'a.pdf', 'application/pdf').pages)",
    "pypdfium2": "import pypdfium2 as p\n"
    "def run(f):\n d = p.PdfDocument(f)\n for page in d: page.get_textpage().get_text_range()\n return len(d)",
    "pypdf": "import pypdf\n"
    "def run(f):\n d = pypdf.PdfReader(f)\n for page in d.pages: page.extract_text()\n return len(d.pages)",
    "pdfminer.six": "from pdfminer.high_level import extract_pages\n"
    "def run(f): return sum(1 for _ in extract_pages(f))",
}
FRAME = (
    "import sys, json, time, resource\n{}\nstarted = time.process_time()\npages = run(sys.argv[1])\n"
    "spent = time.process_time() - started\n"
    "print(json.dumps([pages, spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024]))"
)
LARGE = {
    "5,000-page PDF": ("pdf", "application/pdf", "a.pdf"),
    "300,000-row sheet": (
        "sheets",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "a.xlsx",
    ),
}


def taken(python: str, program: str, file: Path) -> tuple[int, float, int] | None:
    """Give pages, processor seconds and peak MB; None if it did not end well in time."""
    command = [python, "-c", FRAME.format(program), str(file)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    except subprocess.SubprocessError:
        return None
    pages, seconds, memory = json.loads(done.stdout)
    return pages, seconds, memory


def compared(folder: Path, python: str, rounds: int) -> dict[str, Any]:
    files = sorted(folder.rglob("*.pdf"))
    best: dict[str, dict[Path, tuple[int, float, int]]] = {name: {} for name in READERS}
    for _ in range(rounds):
        for file in files:
            for name, program in READERS.items():
                found = taken(sys.executable if name == "pincite" else python, program, file)
                if found and (file not in best[name] or found[1] < best[name][file][1]):
                    best[name][file] = found
    common = [file for file in files if all(file in rows for rows in best.values())]
    result: dict[str, Any] = {"files": len(files), "compared": len(common)}
    for name, rows in best.items():
        pages, seconds = (sum(rows[file][at] for file in common) for at in (0, 1))
        speeds = [rows[file][0] / max(rows[file][1], 1e-4) for file in common]
        result[name] = {
            "read": len(rows),
            "pages": pages,
            "pages per CPU second": round(pages / seconds, 1),
            "median of files": round(median(speeds), 1),
            "peak MB": max(rows[file][2] for file in common),
        }
    return result


def large(name: str) -> dict[str, Any]:
    """Read a large file as ``add`` does, in the child; the child's peak is that of all children of this process."""
    from pincite.acquire import sandbox

    module, media_type, title = LARGE[name]
    if module == "pdf":
        said = [f"The weir at station {n} holds {n * 7} litres in spring and more in autumn." for n in range(45)]
        data = bytes(Pdf([PdfPage(lines(20, 580, said, size=9)) for _ in range(5_000)]))
    else:
        row = '<row r="{0}"><c r="A{0}" t="inlineStr"><is><t>name{0}</t></is></c>' + "".join(
            f'<c r="{column}{{0}}"><v>{{0}}.5</v></c>' for column in "BCDEFGHIJ"
        )
        data = xlsx({"S": "".join(row.format(n) + "</row>" for n in range(1, 300_001))})
    found = sandbox.read_in_child(module, data, title, media_type)
    sandbox.close()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "name": name,
        "megabytes": round(len(data) / 1e6, 1),
        "characters": len(found.text),
        "pages": len(found.pages),
        "child CPU seconds": round(children.ru_utime + children.ru_stime, 1),
        "child peak MB": children.ru_maxrss // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--alternatives", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--one", choices=list(LARGE), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(large(options.one)))
        return
    result: dict[str, Any] = {"load": os.getloadavg()[0]}
    if options.folder:
        result |= compared(options.folder, options.alternatives, options.rounds)
    for name in LARGE if options.large else ():
        command = [sys.executable, __file__, "--one", name]
        result[name] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    print(json.dumps(result, indent=1))
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
