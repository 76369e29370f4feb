"""Row 16: whatever a language model writes, showing it sends nothing anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.driving import LEASE, Server, ask, model, running
from tests.browser.payloads import LEAKS

PER_ANSWER = 9
# What an answer never has.
FETCHING = "img, picture, video, audio, iframe, object, embed, link, style, script, form, base"
SENTENCES = [
    {"passages": [1], "text": f"The rent is 1,250 euros and due on the third working day {leak.format(n=n)}"}
    for n, leak in enumerate(LEAKS)
]
ANSWERS = [SENTENCES[start : start + PER_ANSWER] for start in range(0, len(SENTENCES), PER_ANSWER)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("exfiltration")
    with model(ANSWERS) as settings, running(folder / "library", **settings, ANSWER_TOKENS="2000") as started:
        linked = LEASE + "\nThe rules of the house stand at https://house.example/rules?v=2 for everyone to read.\n"
        started.add({"lease.md": linked})
        yield started


def test_row_16_nothing_in_an_answer_is_fetched_when_it_is_shown(server: Server, visit) -> None:
    opened = visit(server.url)
    page = opened.go("/")
    for _ in ANSWERS:
        turn = ask(page, "When is the rent due, and how much is it?")
        assert turn.locator(FETCHING).count() == 0
        assert turn.locator("a[href*='evil.test']").count() == 0
        for chip in turn.locator("button[data-claim]").all()[:2]:
            chip.click()
            page.keyboard.press("Escape")
        turn.get_by_role("button", name="Why this answer?").click()
        page.locator("#side .hits > li").first.wait_for()
        page.keyboard.press("Escape")
    seen = set(page.evaluate("[...window.seen]"))
    assert {f"evil.test/{n}" for n in range(len(LEAKS))} <= seen, "each was on the page, as text"
    page.reload()
    page.locator("article.turn").first.wait_for()
    opened.innocent()


def test_row_16_a_link_works_only_when_its_exact_address_stands_in_a_cited_passage(server: Server, visit) -> None:
    opened = visit(server.url)
    page = opened.go("/")
    turn = ask(page, "Where do the rules of the house stand?")
    link = turn.locator("a[href='https://house.example/rules?v=2']").first
    link.wait_for()
    assert link.inner_text() == "https://house.example/rules?v=2"  # shown in full
    assert {"noopener", "noreferrer"} <= set((link.get_attribute("rel") or "").split())
    assert turn.locator("a[href*='evil.test']").count() == 0
    opened.innocent()
