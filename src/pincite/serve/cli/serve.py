"""Serve the library to browsers and programs."""

from __future__ import annotations

import argparse

from pincite.serve.cli import render
from pincite.serve.cli.opening import open_library


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--host", default="127.0.0.1", metavar="NAME", help="where to listen (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8765, metavar="N", help="the port (default: 8765; 0: a free one)")
    parser.add_argument("--read-only", action="store_true", help="let nobody add, change or remove anything")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    import uvicorn

    from pincite.serve.http.app import create_app
    from pincite.serve.http.options import ServeOptions

    options = ServeOptions(host=args.host, port=args.port, read_only=args.read_only)
    with open_library(args) as library:
        library.models.begin("encoder")
        app = create_app(library, options=options)
        render.say(f"http://{options.host}:{options.port}/")
        uvicorn.run(app, host=options.host, port=options.port, log_level="warning", server_header=False)
    return 0
