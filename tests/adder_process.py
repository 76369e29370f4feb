"""Another process that adds a folder, for the tests that kill it: one JSON report a line."""

from __future__ import annotations

import sys

from pincite.serve.cli.main import main
from tests.fakes import HashEncoder

if __name__ == "__main__":
    import pincite.models.lazy
    import pincite.models.load

    pincite.models.lazy.load_encoder = lambda *args, **kwargs: HashEncoder()  # type: ignore[assignment]
    sys.exit(main(["--library", sys.argv[1], "--generator", "none", "add", *sys.argv[2:], "--json"]))
