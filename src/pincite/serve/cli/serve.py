"""Serve the library to browsers and programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pincite.errors import UsageError
from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, open_library

ARGUMENTS = (
    argument("--host NAME", "where to listen (default: 127.0.0.1)", default="127.0.0.1"),
    argument("--port N", "the port (default: 8765; 0: a free one)", type=int, default=8765),
    argument("--allow-host NAME", "a name by which the server may be called, besides --host", many=True),
    argument("--read-only", "let nobody add, change or remove anything"),
    argument("--root PATH", "a folder whose files holders of keys may add (default: none)", many=True),
    argument("--allow-urls", "let pages of the web be added by their address"),
    argument("--audit", "write down who asked what, and what was shown"),
    argument("--no-footnotes", "give chat clients answers without the quotes below the text"),
    argument("--open", "open the page in a browser"),
)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from pincite.serve.http.app import create_app
    from pincite.serve.http.options import ServeOptions
    from pincite.serve.http.run import address, is_loopback, listen, raise_file_limit, serve
    from pincite.serve.keys import Keys

    options = ServeOptions(
        host=args.host,
        port=args.port,
        allow_hosts=tuple(args.allow_host),
        read_only=args.read_only,
        roots=tuple(Path(root).resolve() for root in args.root),
        allow_urls=args.allow_urls,
        audit=args.audit,
        footnotes=not args.no_footnotes,
    )
    with open_library(args) as library, listen(options.host, options.port) as opened:
        keys = Keys(library.path)
        if not keys.needed() and not is_loopback(opened):
            raise UsageError(
                "Others would reach this server, and there are no keys.",
                fix="Make one: pincite keys add NAME --role admin. Or leave --host away, to serve this machine alone.",
            )
        app = create_app(library, keys=keys, options=options)
        raise_file_limit(options.connections + 256)
        url = address(opened, options.host)
        said = f"Pincite serves {library.path} at {url}"
        render.result(args, {"library": str(library.path), "url": url}, lambda: render.say(said))
        if args.open and sys.stdout.isatty():
            import webbrowser

            webbrowser.open(url)
        serve(app, opened)
    return 0
