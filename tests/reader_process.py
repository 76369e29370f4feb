"""A second process for the freshness tests: one JSON question a line in, its hits out; it never looks at the files."""

from __future__ import annotations

import json
import sys

import pincite
from tests.fakes import HashEncoder

if __name__ == "__main__":
    with pincite.open(sys.argv[1], encoder=HashEncoder(), generator="none") as library:
        for line in sys.stdin:
            hits = library.search(json.loads(line), mode="keyword", limit=100, refresh=False)
            print(json.dumps([(hit.passage.uri, hit.text) for hit in hits]), flush=True)
