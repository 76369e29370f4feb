"""The report is one safe page: everything escaped, nothing from elsewhere, no link into nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from pincite.measure.report import MOST_EXAMPLES, report_html
from pincite.reports import Ceiling, Diagnosis, Why
from pincite.types import Hit
from tests.ground.fakes import passage

HOSTILE = "<script>alert(1)</script> & \"quotes\" 'x' \x00 \x1b[31m \ud800 \u202e ]]> </details><img src=x onerror=y>"


class Strict(HTMLParser):
    """Fails on tags that do not match, and keeps what it meets."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.met: list[tuple[str, dict]] = []

    def handle_starttag(self, tag, attrs):
        self.met.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.met.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def hostile_report(count: int = 1) -> Ceiling:
    hit = Hit(1, 1.0, passage(f"kv cache {HOSTILE}", title=HOSTILE), {"vector": 0.5}, {"vector": 1})
    lost = Why(
        HOSTILE, hit.passage.uri, "not_used", HOSTILE, HOSTILE, HOSTILE, 1, ((3, 12),), (hit.passage.id,),
        matched=("caches",), lacking=(HOSTILE,), ahead=(hit,), nearest=HOSTILE,
    )  # fmt: skip
    evidence = ("a Cache & more", HOSTILE)
    cases = tuple(Diagnosis(str(i), (HOSTILE,), lost, HOSTILE, evidence, (hit,)) for i in range(count))
    return Ceiling(HOSTILE, "hybrid", HOSTILE, cases, 2)


def test_the_report_escapes_everything_and_needs_nothing_from_elsewhere() -> None:
    page = report_html(hostile_report())
    page.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
    parser = Strict()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    tags = {tag for tag, _ in parser.met}
    assert not tags & {"script", "img", "link", "iframe", "object"}
    links = [attrs["href"] for tag, attrs in parser.met if "href" in attrs]
    assert links
    assert all(link[0] == "#" and f'id="{link[1:]}"' in page for link in links)
    assert not [attrs for _, attrs in parser.met if any(name.startswith("on") or name == "src" for name in attrs)]
    assert "default-src 'none'" in page
    assert report_html(hostile_report()) == page


def test_the_report_marks_the_gold_and_counts_what_it_leaves_out() -> None:
    page = report_html(hostile_report(MOST_EXAMPLES + 7))
    assert page.count("<details>") == MOST_EXAMPLES
    assert "… and 7 more, in the JSON." in page
    assert "<mark class=gold>cache &lt;" in page
    assert "a <mark>Cache</mark> &amp; more" in page
