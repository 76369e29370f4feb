"""Row 15: markup in titles, file names, headings, metadata, text, citations and questions runs nowhere in the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.driving import Server, ask, running
from tests.browser.payloads import SCRIPTS

RUBRIC = "The keeper of lamp number {n} in the northern harbour is called Keeper{n}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("markup") / "library", GENERATOR="none") as started:
        started.add(dict(documents()))
        yield started


def documents() -> Iterator[tuple[str, str]]:
    """A document a payload, which stands in its file name, title, metadata, headings, text, and in an address."""
    for n, payload in enumerate(SCRIPTS):
        quoted = json.dumps(payload)
        flat = " ".join(payload.split())
        name = f"{n:03} {payload}".replace("/", "∕").replace("\0", "").replace("\n", " ")[:120]
        yield (
            f"{name}.md",
            (
                f"---\ntitle: {quoted}\nauthor: {quoted}\n---\n\n# {flat}\n\n## {n} {flat}\n\n"
                f"{RUBRIC.format(n=n)}. {payload}\n\nSee https://example.com/{n}?{flat.replace(' ', '+')} or `{flat}`\n"
            ),
        )


def test_row_15_there_are_at_least_60_payloads() -> None:
    assert len(set(SCRIPTS)) >= 60


def test_row_15_the_watch_sees_what_must_not_be(server: Server, visit) -> None:
    """Were markup taken as markup, the tests below would fail: the policy would refuse it, and that is told."""
    opened = visit(server.url)
    page = opened.go("/library")
    page.evaluate("html => { document.body.insertAdjacentHTML('beforeend', html); }", SCRIPTS[0])
    page.evaluate("() => { window.ran = 1; new Image().src = 'https://evil.test/'; alert('x'); }")
    for _ in range(100):
        if len(opened.watched.told) >= 3:
            break
        page.wait_for_timeout(50)
    assert {what for what, _ in opened.watched.told} == {"refused", "ran"}
    assert any("script-src" in detail for what, detail in opened.watched.told if what == "refused")
    assert any("evil.test" in detail for what, detail in opened.watched.told if what == "refused")
    assert opened.watched.dialogs == ["x"]


def test_row_15_markup_in_documents_is_only_text_in_the_library(server: Server, visit) -> None:
    opened = visit(server.url)
    page = opened.go("/library")
    page.wait_for_function("n => document.querySelectorAll('.doc').length >= n", arg=len(SCRIPTS))
    shown = page.locator(".docs").text_content()
    assert shown.count("onerror=") > 20  # it is there, as text
    for record in server.documents():
        page.goto(f"{server.url}/#/library/{record['id']}?start=0&end=5")
        page.locator(f"a[href*='{record['id']}'], .reader mark").first.wait_for()
        page.wait_for_function("() => document.querySelector('.reader .text')?.textContent.includes('keeper of lamp')")
    opened.innocent()


def test_row_15_markup_is_only_text_in_answers_evidence_why_and_conversations(server: Server, visit) -> None:
    opened = visit(server.url, accept_downloads=True)
    page = opened.go("/")
    for n in (0, 6, 31, 44, 61):
        turn = ask(page, f"Who is the keeper of lamp number {n} in the northern harbour?")
        chip = turn.locator("button[data-claim]")
        if chip.count():
            chip.first.click()
            page.locator("#side .place .context").wait_for()
            for _ in range(5):
                page.keyboard.press("j")
            page.keyboard.press("Escape")
        turn.get_by_role("button", name=re.compile("^(Why this answer|What was done)")).click()
        page.locator("#side .hits > li").first.wait_for()
        for hit in page.locator("#side .hits summary").all()[:5]:
            hit.click()
        page.keyboard.press("Escape")
    for payload in (SCRIPTS[0], SCRIPTS[31], SCRIPTS[41]):  # as a question, and so as a conversation's name
        page.goto(f"{server.url}/#/")
        page.locator(".asking:not(.begun)").wait_for()
        ask(page, payload)
        page.locator("#conversations").get_by_text(" ".join(payload.split())[:12]).first.wait_for()
    assert page.locator("article.turn").count() == 1
    page.reload()
    page.locator("article.turn").wait_for()
    opened.innocent()


def test_row_15_markup_is_only_text_in_the_evaluation(server: Server, visit) -> None:
    records = server.documents()
    cases = [
        {"question": f"{payload} Who keeps lamp {n}?", "answers": [payload], "uri": records[n]["uri"], "quote": payload}
        for n, payload in list(enumerate(SCRIPTS))[:6]
    ]
    opened = visit(server.url)
    page = opened.go("/evaluation")
    server.call("/v1/cases", {"cases": cases}, method="PUT")
    page.reload()
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".case").first.wait_for(timeout=60_000)
    for case in page.locator(".case > summary").all():
        case.click()
    assert "onerror=" in page.locator(".case-list").inner_text()
    opened.innocent()


def test_row_15_an_original_is_only_ever_downloaded(server: Server, visit) -> None:
    """Even a file of HTML is given as an attachment, which no browser opens in this origin."""
    server.add({"page.html": "<html><body><script>window.ran=1;alert(1)</script><p>The lamp is out.</p></body></html>"})
    record = next(one for one in server.documents() if one["name"].endswith("page.html"))
    opened = visit(server.url, accept_downloads=True)
    page = opened.go(f"/library/{record['id']}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Original file").click()
    assert download.value.suggested_filename == "page.html"
    with page.expect_download():
        page.evaluate("path => { location.href = path; }", f"/v1/documents/{record['id']}/original")
    opened.innocent()
