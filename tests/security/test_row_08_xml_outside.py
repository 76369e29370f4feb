"""XML that asks for files or for the network, in every way that XML has: nobody comes to the listener."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.acquire.test_hostile import PACKED, poisoned
from tests.data import make_documents

SECRET = "SECRET-OF-THIS-MACHINE"


class Listener:
    """Counts who comes."""

    def __init__(self) -> None:
        self.came = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.came += 1
            connection.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.socket.close()


def declarations(outside: str, canary: str) -> dict[str, tuple[str, str]]:
    """What a document type may declare, and what uses it."""
    return {
        "file": (f'<!ENTITY x SYSTEM "{canary}">', "&x;"),
        "web": (f'<!ENTITY x SYSTEM "{outside}/e">', "&x;"),
        "parameter": (f'<!ENTITY % p SYSTEM "{outside}/p"> %p; <!ENTITY x "y">', "&x;"),
        "two steps": (f'<!ENTITY % f SYSTEM "{canary}"> <!ENTITY % p SYSTEM "{outside}/q"> %p;', ""),
    }


@pytest.mark.parametrize("way", ["file", "web", "parameter", "two steps"])
def test_row_08_packages_ask_for_nothing(library, docs, tmp_path, listener, way):
    canary = tmp_path / "canary.txt"
    canary.write_text(SECRET)
    declared, used = declarations(f"http://127.0.0.1:{listener.port}", canary.as_uri())[way]
    for name in PACKED:
        (docs / name).write_bytes(poisoned(make_documents.documents()[name], declared, used))
    check(library, docs, listener)


NOTES = (
    "<en-export><note><title>N</title><content><![CDATA["
    '<?xml version="1.0"?>{}<en-note>{}</en-note>]]></content></note></en-export>'
)


def test_row_08_plain_xml_and_pages_ask_for_nothing(library, docs, tmp_path, listener):
    canary = tmp_path / "canary.txt"
    canary.write_text(SECRET)
    outside, inside = f"http://127.0.0.1:{listener.port}", canary.as_uri()
    for way, (declared, used) in declarations(outside, inside).items():
        kind = f'<!DOCTYPE r PUBLIC "-//x" "{outside}/d.dtd" [{declared}]>'
        body = f'<r xmlns:xi="http://www.w3.org/2001/XInclude"><p>said {used}</p>'
        body += f'<xi:include href="{inside}" parse="text"/>'
        sheet = f'<?xml-stylesheet type="text/xsl" href="{outside}/s.xsl"?>'
        look = f'<style>@import "{outside}/i.css"; p {{ background: url({outside}/b.png) }}</style>'
        look += f'<img src="{outside}/i.png"/>'
        text = f'<?xml version="1.0"?>{sheet}{kind}{body}{look}<image href="{inside}"/></r>'
        for suffix in ("xml", "svg", "html", "xhtml", "rss", "xsl", "mht"):
            (docs / f"{way} {suffix}.{suffix}".replace(" ", "-")).write_text(text)
        (docs / f"{way.replace(' ', '-')}.enex").write_text(NOTES.format(kind, used))
        (docs / f"{way.replace(' ', '-')}.fodt").write_text(
            text.replace(
                "<r ", '<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
            ).replace("</r>", "</office:document>")
        )
    check(library, docs, listener)


def check(library, docs, listener) -> None:
    started = time.process_time()
    report = library.add(docs)
    assert time.process_time() - started < 30
    assert len(report.sources) >= 7
    said = "".join(library.document(r.source.uri).text for r in library.list() if r.version)
    assert SECRET not in said
    assert len(said) < 1_000_000
    assert listener.came == 0
