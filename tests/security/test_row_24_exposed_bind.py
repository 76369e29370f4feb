"""Others never reach a server without keys: it does not start."""

from __future__ import annotations

import socket

import pytest

from pincite.serve.cli.main import main, parser
from pincite.serve.http.options import ServeOptions
from pincite.serve.keys import Keys


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "machine"])
def test_row_24_without_keys_no_other_bind_starts(library, monkeypatch, capsys, host):
    if host in ("::", "") and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    name = socket.gethostname() if host == "machine" else host
    monkeypatch.setattr("pincite.serve.http.run.serve", lambda *_: pytest.fail("it served"))
    assert main(["--library", str(library.path), "--offline", "serve", "--host", name, "--port", "0"]) in (0, 2)
    said = capsys.readouterr()
    if host != "machine":  # its name may stand for a loopback address
        assert "pincite keys add" in said.err
    Keys(library.path).add("anna")
    Keys(library.path).revoke("anna")  # a file of keys that holds none is no key
    if host == "0.0.0.0":
        assert main(["--library", str(library.path), "--offline", "serve", "--host", host, "--port", "0"]) == 2


def test_row_24_the_default_is_this_machine(library, monkeypatch):
    assert ServeOptions().host == parser().parse_args(["serve"]).host == "127.0.0.1"
    assert not ServeOptions().allow_urls and not ServeOptions().roots and not ServeOptions().allow_hosts
    bound = []
    monkeypatch.setattr("pincite.serve.http.run.serve", lambda app, opened: bound.append(opened.getsockname()[0]))
    assert main(["--library", str(library.path), "--offline", "serve", "--port", "0"]) == 0
    assert bound == ["127.0.0.1"]
