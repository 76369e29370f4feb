"""sentence-transformers' ``encode`` with its defaults, as a process that answers: a line of texts in, seconds out."""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version

from sentence_transformers import SentenceTransformer


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the libraries print goes to stderr
    model = SentenceTransformer(sys.argv[1], device="cpu")
    model.encode(["warm"] * 16)
    print(json.dumps({name: version(name) for name in ("sentence-transformers", "torch")}), file=replies, flush=True)
    for line in sys.stdin:
        texts = json.loads(line)
        start, spent = time.perf_counter(), time.process_time()
        model.encode(texts)
        found = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - spent}
        print(json.dumps(found), file=replies, flush=True)


if __name__ == "__main__":
    main()
