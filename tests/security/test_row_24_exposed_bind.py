"""Others never reach a server without keys: it does not start."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest

from pincite.serve.cli.main import main, parser
from pincite.serve.http.options import ServeOptions
from pincite.serve.keys import Keys


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "machine"])
def test_row_24_without_keys_no_other_bind_starts(library, monkeypatch, capsys, host):
    if host in ("::", "") and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    name = socket.gethostname() if host == "machine" else host
    bound = []
    monkeypatch.setattr("pincite.serve.http.run.serve", lambda app, opened: bound.append(opened.getsockname()[0]))
    command = ["--library", str(library.path), "--offline", "serve", "--host", name, "--port", "0"]
    code, said = main(command), capsys.readouterr()
    assert (code, bool(bound)) == (0, True) or "pincite keys add" in said.err
    assert all(ip_address(address).is_loopback for address in bound)
    if host in ("0.0.0.0", "::"):
        assert code == 2
        Keys(library.path).add("anna")
        Keys(library.path).revoke("anna")  # a file of keys that holds none is no key
        assert main(command) == 2


def test_row_24_the_default_is_this_machine(library, monkeypatch):
    assert ServeOptions().host == parser().parse_args(["serve"]).host == "127.0.0.1"
    assert not ServeOptions().allow_urls and not ServeOptions().roots and not ServeOptions().allow_hosts
    bound = []
    monkeypatch.setattr("pincite.serve.http.run.serve", lambda app, opened: bound.append(opened.getsockname()[0]))
    assert main(["--library", str(library.path), "--offline", "serve", "--port", "0"]) == 0
    assert bound == ["127.0.0.1"]
