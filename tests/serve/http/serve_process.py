"""Serve a library with a quick encoder, for tests that kill the server: serve_process.py LIBRARY [SECONDS A FILE]."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import uvicorn

import pincite
from pincite.build import ahead
from pincite.serve.http.app import create_app
from pincite.serve.http.options import ServeOptions
from tests.fakes import HashEncoder


def main() -> None:
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    read = ahead.read

    def slowly(*args: object, **options: object) -> object:
        time.sleep(seconds)
        return read(*args, **options)

    ahead.read = slowly
    with pincite.open(Path(sys.argv[1]), encoder=HashEncoder(), generator="none", offline=True) as library:
        app = create_app(library, options=ServeOptions(port=0))
        config = uvicorn.Config(app, port=0, log_level="warning")
        server = uvicorn.Server(config)
        sock = config.bind_socket()
        print(sock.getsockname()[1], flush=True)
        server.run(sockets=[sock])


if __name__ == "__main__":
    main()
