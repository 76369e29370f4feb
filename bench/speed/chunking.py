"""Compare the speed of chunking with semantic-text-splitter on the same Markdown, in one run: prints one JSON object.

python bench/speed/chunking.py TOKENIZER_JSON [MARKDOWN_FILE ...]     (default: the project's own Markdown)
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import semantic_text_splitter

from pincite.build.chunk import chunk
from pincite.models.pieces import WordPieces
from pincite.types import Reading

LIMIT = 128  # word pieces
CHARACTERS = 300_000  # of each run: the files are repeated up to this size


def speed(split: Callable[[str], list], text: str) -> tuple[float, int]:
    """Give megabytes of UTF-8 per CPU second (all threads), best of three, and the number of passages."""
    best, count = 0.0, 0
    for _ in range(3):
        begun = time.process_time()
        count = len(split(text))
        best = max(best, len(text.encode()) / 1e6 / (time.process_time() - begun))
    return round(best, 3), count


def main() -> None:
    """Run the comparison."""
    root = Path(__file__).parents[2]
    pieces = WordPieces(Path(sys.argv[1]))
    files = [Path(name) for name in sys.argv[2:]] or sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])
    once = "\n\n".join(path.read_text(encoding="utf-8") for path in files)
    text = (once + "\n\n") * max(1, CHARACTERS // len(once))
    ours, passages = speed(lambda text: chunk(Reading(text, ""), pieces, limit=LIMIT), text)
    report = {"characters": len(text), "limit": LIMIT, "pincite": {"mb_per_cpu_second": ours, "passages": passages}}
    for name in ("TextSplitter", "MarkdownSplitter"):
        splitter = getattr(semantic_text_splitter, name).from_huggingface_tokenizer(pieces.tokenizer, LIMIT)
        theirs, passages = speed(splitter.chunks, text)
        report[name] = {"mb_per_cpu_second": theirs, "passages": passages, "ratio": round(ours / theirs, 2)}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
