"""Serve a library with a quick encoder, for tests that kill the server: serve_process.py LIBRARY [SECONDS A FILE]."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pincite
from pincite.build import ahead
from pincite.serve.http.app import create_app
from pincite.serve.http.options import ServeOptions
from pincite.serve.http.run import Server, listen
from tests.fakes import HashEncoder


def main() -> None:
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    read = ahead.read

    def slowly(*args: object, **options: object) -> object:
        time.sleep(seconds)
        return read(*args, **options)

    ahead.read = slowly
    with pincite.open(Path(sys.argv[1]), encoder=HashEncoder(), generator="none", offline=True) as library:
        listening = listen("127.0.0.1", 0)
        print(listening.getsockname()[1], flush=True)
        Server(create_app(library, options=ServeOptions(port=0))).run([listening])


if __name__ == "__main__":
    main()
