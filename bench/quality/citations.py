"""Does every citation resolve, word for word? And how often are true sources said to conflict?

    python bench/quality/citations.py DATA_FOLDER [--work FOLDER] [--drafts 17] [--every 1]

All questions of squad2-small-en, clapnq-dev and xquad/en, asked as a person asks, quotes alone, with the gate open, so
that each gets an answer; then so many of each with the default generator. A citation resolves if its passage is in the
library, the document has that version, and its characters from start to end are the quote.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from calibrate_sufficiency import COLLECTIONS, indexed, read, the_encoder

import pincite
from pincite.errors import NotInLibrary


def resolves(library, citation):
    try:
        library.passage(citation.passage_id)
        text = library.document(citation.uri, citation.version).text
    except NotInLibrary:
        return False
    return text[citation.start : citation.end] == citation.quote != ""


def count(library, answer, tally, shown):
    """Count what holds of one answer."""
    tally["answers"] += 1
    tally["without a citation"] += not answer.citations
    for citation in answer.citations:
        tally["citations"] += 1
        tally["resolved"] += resolves(library, citation)
    numbers = {citation.number for citation in answer.citations}
    for claim in answer.claims:
        tally["claims"] += 1
        tally["claims that name a citation that is not there"] += not numbers.issuperset(claim.citations)
        tally["claims that are not at their offsets"] += answer.text[claim.start : claim.end] != claim.text
        tally[claim.verdict] += 1
    conflicts = [finding.message for finding in answer.findings if finding.kind == "sources_conflict"]
    tally["answers with a conflict"] += bool(conflicts)
    shown += conflicts[:1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--drafts", type=int, default=17)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        for name, path in COLLECTIONS.items():
            indexed(name, options.data / path, work)[0].close()
            asked = [row["text"] for row in read(options.data / path / "queries.jsonl")]
            for kind, some in (
                ("none", asked[:: options.every]),
                (None, asked[:: len(asked) // max(1, options.drafts)]),
            ):
                tally, shown = Counter(), []
                at = work / f"{name}.pincite"
                with pincite.open(at, encoder=the_encoder(), generator=kind, offline=True, strictness=0.0) as library:
                    for question in some[: options.drafts] if kind is None else some:
                        count(library, library.ask(question, refresh=False), tally, shown)
                print(name, "quotes" if kind else "drafts", dict(tally), flush=True)
                print(*shown, sep="\n", flush=True)


if __name__ == "__main__":
    main()
