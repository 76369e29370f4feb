"""A page of the web is a source: fetched when it is added, and again only when it is added again."""

from __future__ import annotations

from functools import partial

import pytest

import pincite
from pincite.acquire.fetch_url import fetch_url
from pincite.build import web
from pincite.errors import UsageError
from tests.acquire.test_fetch_url import ok, redirect, served
from tests.fakes import HashEncoder

PAGE = b"<html><title>Cats</title><body><h1>Cats</h1><p>A cat sleeps sixteen hours a day.</p></body></html>"


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A library that may fetch from this machine, as if it were the internet."""
    here = partial(fetch_url, allow=lambda address: True, resolve=lambda host, port: ["127.0.0.1"])
    monkeypatch.setattr(web, "fetch_url", here)
    with pincite.open(tmp_path / "library", encoder=HashEncoder(), generator="none") as opened:
        yield opened


def added(library, url):
    return [(report.uri, report.status) for report in library.adding_url(url)]


def test_a_page_is_found_under_its_address_and_not_fetched_by_a_search(library):
    with served(redirect("/now"), ok(PAGE, "Content-Type: text/html", 'ETag: "1"')) as (port, asked):
        url = f"http://cats.example:{port}/about"
        assert added(library, url.upper().replace("/ABOUT", "/about#top")) == [(url, "indexed")]
        [hit, *_] = library.search("How long does a cat sleep?").hits
        assert (hit.passage.uri, hit.passage.title, len(asked)) == (url, "Cats", 2)
    document = library.document(url)
    assert document.source.media_type == "text/html"
    assert document.metadata["fetched_from"] == f"http://cats.example:{port}/now"


def test_added_again_it_is_asked_for_with_its_etag(library):
    answers = [
        ok(PAGE, 'ETag: "1"'),
        b"HTTP/1.1 304 Not Modified\r\n\r\n",
        ok(PAGE),
        ok(PAGE.replace(b"sixteen", b"9")),
    ]
    with served(*answers) as (port, asked):
        url = f"http://a.example:{port}/cats.html"
        statuses = [added(library, url)[0][1] for _ in answers]
    assert statuses == ["indexed", "unchanged", "unchanged", "updated"]
    assert [b'If-None-Match: "1"' in head for head in asked] == [False, True, True, True]
    assert library.document(url).version == 2


def test_what_cannot_be_fetched_now_stays_and_is_stale(library):
    with served(ok(PAGE), ok(b"", status="500 Broken"), ok(PAGE)) as (port, _):
        url = f"http://a.example:{port}/cats.html"
        assert added(library, url) == [(url, "indexed")]
        assert added(library, url) == [(url, "failed")]
        [stale] = library.search("cat").stale
        assert (stale.uri, stale.version) == (url, 1)
        assert "status 500" in stale.reason
        [report] = library.adding_url(url)  # read once more, for its reader was improved since version 1 of the format
        assert (report.status, report.version) in (("unchanged", 1), ("updated", 1))
        assert not library.search("cat").stale


def test_what_was_never_fetched_leaves_nothing(library):
    with served(ok(b"", status="404 Not Found")) as (port, _):
        assert added(library, f"http://a.example:{port}/") == [(f"http://a.example:{port}/", "failed")]
    assert library.list() == []


def test_a_page_is_removed_alone_though_others_lie_below_its_address(library):
    with served(ok(PAGE), ok(PAGE)) as (port, _):
        for path in ("docs", "docs/cats"):
            added(library, f"http://a.example:{port}/{path}")
    library.remove(f"http://a.example:{port}/docs")
    assert [record.source.uri for record in library.list()] == [f"http://a.example:{port}/docs/cats"]


def test_the_server_says_what_a_text_is_and_the_content_what_bytes_are(library):
    with served(ok(PAGE, "Content-Type: text/html"), ok(b"%PDF-1.4 x", "Content-Type: text/html")) as (port, _):
        added(library, f"http://a.example:{port}/cats.php")
        assert library.document(f"http://a.example:{port}/cats.php").source.media_type == "text/html"
        [[_, status]] = added(library, f"http://a.example:{port}/x")
        assert status == "failed"


def test_offline_nothing_is_asked_for(tmp_path):
    with (
        pincite.open(tmp_path / "library", encoder=HashEncoder(), generator="none", offline=True) as library,
        pytest.raises(UsageError, match="Pincite is offline"),
    ):
        list(library.adding_url("https://cats.example/"))


def test_row_12_the_library_refuses_what_is_not_public(tmp_path):
    with (
        pincite.open(tmp_path / "library", encoder=HashEncoder(), generator="none") as library,
        pytest.raises(UsageError, match="not on the public internet"),
    ):
        list(library.adding_url("http://127.0.0.1:8765/"))
