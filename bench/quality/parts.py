"""Of a claim that is partly supported, are the named words those that people marked? WiCE's unsupported tokens.

    python bench/quality/parts.py DATA_FOLDER

Content words only, over all claims together; without an encoder, which aligns the same way for this. "All words":
naming the whole claim.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from calibrate_support import NEAR, read

from pincite.generate.evidence import Sentence
from pincite.generate.relevance import Terms, coverage
from pincite.ground.cite import align
from pincite.ground.verify import lacking
from pincite.types import Passage

TERMS = Terms(("en",))


def cited(claim, given):
    """Give the text that is cited for a claim."""
    wanted = TERMS.wanted(claim)
    spans = [
        Sentence(Passage(f"p{i}", i, "", "", 1, 0, len(s), s, ""), 0, len(s), s, TERMS.found(s), 0, 0, 0)
        for i, s in enumerate(given)
        if s.strip()
    ]
    near = sorted(spans, key=lambda s: -coverage(wanted, s.terms))[:NEAR]
    return "\n".join(span.text for span in align(claim, near, terms=TERMS).spans)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    rows = [
        row
        for name in ("dev", "test")
        for row in read(options.data / f"wice/unsupported_tokens_{name}.jsonl")
        if row["label"] == "partially_supported"
    ]
    said = marked = both = words = 0
    for row in rows:
        parts = lacking(row["claim"], cited(row["claim"], row["evidence"]), TERMS)
        named = {term for part in parts for term in TERMS.wanted(part)}
        asked = set(TERMS.wanted(row["claim"]))
        for token, wrong in zip(row["claim_tokens"], row["non_supported_spans"], strict=True):
            own = set(TERMS.wanted(token)) & asked
            if own:
                words, marked = words + 1, marked + wrong
                hit = bool(own & named)
                said, both = said + hit, both + (hit and wrong)
    print(f"{len(rows)} claims, {words} words, {marked / words:.3f} of them marked")
    for name, precision, recall in (("named", both / said, both / marked), ("all words", marked / words, 1.0)):
        f1 = 2 * precision * recall / (precision + recall)
        print(f"{name:10} precision {precision:.3f} recall {recall:.3f} F1 {f1:.3f}")


if __name__ == "__main__":
    main()
