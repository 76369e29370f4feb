"""Real papers with questions: is the right document, and the right page of it, among the first five? Prints JSON.

    python bench/quality/aragog.py [--data FOLDER] [--pypdf PYTHON] [--libraries FOLDER] [--output FILE]

The papers (``PINCITE_DATA``/aragog: 15 PDFs, 107 questions) are indexed by Pincite as they are; and by the same
pipeline with pypdf's text cut every 1,000 characters, each cut a document of its own (``--pypdf`` names a Python that
has pypdf). Both are asked by hybrid search with the defaults. A document is right if the question is about it. The
set names no pages: right ones are those of ``pages.jsonl`` (text that neither pipeline made) that hold at least 90 %
of what the best page of that document holds of the expected answer's words, where the best page holds at least half
of them; questions without such a page count for documents only. "cited page": the first citation of the answer in
quotes is on a right page of the right document.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import pincite

TOP = 5
CHARACTERS = 1_000
WORD = re.compile(r"[\w-]{3,}")
COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "that",
        "this",
        "are",
        "was",
        "were",
        "from",
        "which",
        "into",
        "its",
        "their",
        "has",
        "have",
        "been",
        "can",
        "not",
    ]
)
PYPDF = (
    "import json, sys, pypdf\nprint(json.dumps([page.extract_text() for page in pypdf.PdfReader(sys.argv[1]).pages]))"
)


def right_pages(folder: Path) -> tuple[list[dict[str, str]], dict[str, set[int]]]:
    """Give the questions, and for each the pages (from 1) that hold its answer."""
    questions = [json.loads(line) for line in (folder / "qa.jsonl").read_text(encoding="utf-8").splitlines()]
    pages: dict[str, dict[int, set[str]]] = defaultdict(dict)
    for line in (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        name, _, number = row["_id"].partition("#p")
        pages[name][int(number) + 1] = set(WORD.findall(row["text"].lower()))
    found = {}
    for question in questions:
        wanted = set(WORD.findall(question["answer"].lower())) - COMMON
        shares = {n: len(wanted & words) / max(1, len(wanted)) for n, words in pages[question["document"]].items()}
        best = max(shares.values(), default=0)
        found[question["id"]] = {n for n, share in shares.items() if share >= 0.9 * best} if best >= 0.5 else set()
    return questions, found


def ours(folder: Path, place: Path) -> pincite.Library:
    library = pincite.open(place, generator="none")
    library.add(folder / "pdfs")
    return library


def theirs(folder: Path, place: Path, python: str) -> pincite.Library:
    """Index pypdf's text, cut every so many characters; the page is that of a cut's first character."""
    library = pincite.open(place, generator="none", passage_pieces=254)
    for file in sorted((folder / "pdfs").glob("*.pdf")):
        done = subprocess.run([python, "-c", PYPDF, str(file)], capture_output=True, check=True)
        pages = json.loads(done.stdout)
        text, starts = "", []
        for page in pages:
            starts.append(len(text))
            text += page + "\n"
        for start in range(0, len(text), CHARACTERS):
            number = sum(begin <= start for begin in starts)
            library.add_text(f"cut:{file.name}#{number}#{start}", text[start : start + CHARACTERS])
    return library


def places(library: pincite.Library, question: str) -> list[tuple[str, range]]:
    """Name document and pages of the first passages."""
    found = []
    for hit in library.search(question, limit=TOP, refresh=False):
        passage = hit.passage
        if passage.uri.startswith("cut:"):
            name, number, _ = passage.uri.removeprefix("cut:").split("#")
            found.append((name, range(int(number), int(number) + 1)))
        else:
            found.append((Path(passage.uri).name, range(passage.page_from or 0, (passage.page_to or 0) + 1)))
    return found


def cited_page(library: pincite.Library, question: str) -> tuple[str, int] | None:
    answer = library.ask(question, extract=True, refresh=False)
    if not answer.citations:
        return None
    citation = answer.citations[0]
    if citation.uri.startswith("cut:"):
        name, number, _ = citation.uri.removeprefix("cut:").split("#")
        return name, int(number)
    return Path(citation.uri).name, citation.page or 0


def judged(name: str, library: pincite.Library, questions: list[dict[str, str]], right: dict[str, set[int]]) -> dict:
    documents = pages = paged = cited = answered = 0
    for question in questions:
        found = places(library, question["question"])
        documents += any(document == question["document"] for document, _ in found)
        if right[question["id"]]:
            paged += 1
            pages += any(d == question["document"] and right[question["id"]] & set(span) for d, span in found)
            place = cited_page(library, question["question"])
            answered += place is not None
            cited += place is not None and place[0] == question["document"] and place[1] in right[question["id"]]
    return {
        "reader": name,
        "passages": library.stats().passages,
        "questions": len(questions),
        f"document@{TOP}": round(documents / len(questions), 3),
        "questions with pages": paged,
        f"page@{TOP}": round(pages / paged, 3),
        "answered in quotes": answered,
        "cited page": round(cited / max(1, answered), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.pop("PINCITE_DATA", ""), "aragog"))  # no setting
    parser.add_argument("--pypdf", default=sys.executable)
    parser.add_argument("--libraries", type=Path)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    place = options.libraries or Path(tempfile.mkdtemp())
    place.mkdir(parents=True, exist_ok=True)
    questions, right = right_pages(options.data)
    rows = []
    for name, build in (("pincite", ours), ("pypdf, 1,000 characters", theirs)):
        started = time.perf_counter()
        arguments = (options.pypdf,) if build is theirs else ()
        with build(options.data, place / f"{build.__name__}.pincite", *arguments) as library:
            seconds = round(time.perf_counter() - started, 1)
            rows.append({**judged(name, library, questions, right), "indexing seconds": seconds})
        print(json.dumps(rows[-1]), flush=True)
    if options.output:
        options.output.write_text(json.dumps({"load": os.getloadavg()[0], "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
