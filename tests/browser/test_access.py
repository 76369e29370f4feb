"""What people can see, hear and do: axe on every view, the keyboard alone, less motion."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import HANDBOOK, LEASE, PHONE, Server, ask, running

CASE = {"question": "When is the rent due?", "answers": ["the third working day"], "uri": "", "quote": ""}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("access") / "library", GENERATOR="none") as started:
        started.add({"lease.md": LEASE, "handbook.md": HANDBOOK, "broken.pdf": "%PDF-1.7\nno PDF"})
        yield started


class Axe:
    """Runs axe on what a page shows, in light and dark."""

    def __init__(self, page: Any) -> None:
        from axe_playwright_python.sync_playwright import Axe as Runner

        self.page, self.runner, self.found = page, Runner(), list[str]()

    def look(self, view: str) -> None:
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            for one in self.runner.run(self.page).response["violations"]:
                if one["impact"] in ("serious", "critical"):
                    nodes = "; ".join(node["html"][:160] for node in one["nodes"][:3])
                    self.found.append(f"{view}, {scheme}: {one['id']}: {one['help']}: {nodes}")
        self.page.emulate_media(color_scheme="light")


def test_axe_finds_nothing_serious_where_questions_are_asked(server: Server, visit) -> None:
    opened = visit(server.url)
    page = opened.go("/")
    page.get_by_role("heading", name="Ask your documents").wait_for()
    axe = Axe(page)
    axe.look("nothing asked yet")
    turn = ask(page, "When is the rent due?")
    axe.look("an answer")
    turn.locator("button[data-claim]").first.click()
    page.locator("#side mark").wait_for()
    axe.look("evidence")
    page.keyboard.press("Escape")
    turn.get_by_role("button", name="Why this answer?").click()
    page.locator("#side .hits > li").first.wait_for()
    axe.look("why")
    page.keyboard.press("Escape")
    ask(page, "Which vaccines does a cat need in its first year?")
    axe.look("not in these documents")
    page.locator("h1, h2").first.click()
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    axe.look("the keys")
    assert axe.found == []
    opened.innocent()


def test_axe_finds_nothing_serious_in_the_library_and_the_evaluation(server: Server, visit) -> None:
    opened = visit(server.url)
    page = opened.go("/library")
    page.locator(".doc").first.wait_for()
    axe = Axe(page)
    axe.look("library")
    page.locator(".doc").first.get_by_role("button", name="Remove").click()
    axe.look("a confirmation")
    page.keyboard.press("Escape")
    page.locator(".doc-name", has_text="Lease").click()
    page.locator(".reader .text").get_by_text("Harbour Street").first.wait_for()
    axe.look("a document")
    lease = next(one for one in server.documents() if one["name"] == "lease.md")
    server.call("/v1/cases", {"cases": [CASE | {"uri": lease["uri"]}]}, method="PUT")
    opened.go("/evaluation")
    page.get_by_role("button", name="Run", exact=True).wait_for()
    axe.look("evaluation")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".case > summary").first.click(timeout=60_000)
    axe.look("a report")
    assert axe.found == []
    opened.innocent()


def test_axe_finds_nothing_serious_on_a_phone(server: Server, visit) -> None:
    opened = visit(server.url, viewport=PHONE, has_touch=True)
    page = opened.go("/library")
    page.locator(".doc").first.wait_for()
    axe = Axe(page)
    axe.look("library")
    page.get_by_role("button", name="Menu").click()
    axe.look("the menu")
    page.locator("#rail").get_by_role("link", name="Ask").click()
    turn = ask(page, "When is the rent due?")
    turn.locator("button[data-claim]").first.click()
    page.locator("#side mark").wait_for()
    axe.look("evidence")
    assert axe.found == []


def test_everything_goes_by_keyboard(server: Server, visit) -> None:
    opened = visit(server.url)
    page = opened.go("/library")
    page.locator(".doc").first.wait_for()
    focused = "document.activeElement"

    def tab_to(test: str, most: int = 40, key: str = "Tab") -> None:
        for _ in range(most):
            page.keyboard.press(key)
            if page.evaluate(f"(({test}))({focused})"):
                return
        raise AssertionError(f"no key leads to {test}")

    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.className") == "skip"  # past the rail, to the content
    page.keyboard.press("Enter")
    assert page.evaluate(f"{focused}.id") == "main"
    tab_to("e => e.matches('.doc-name') && e.textContent.includes('Lease')")
    page.keyboard.press("Enter")
    page.locator(".reader .text").get_by_text("Harbour Street").first.wait_for()
    page.keyboard.press("/")
    page.locator("#question").wait_for()
    page.wait_for_function("() => document.activeElement.id === 'question'")
    page.keyboard.type("When is the rent due?")
    page.keyboard.press("Enter")
    page.locator(".answer-foot").wait_for()
    tab_to("e => e.matches('button[data-claim]')", key="Shift+Tab")
    chip = page.evaluate(f"{focused}.dataset.claim")
    page.keyboard.press("Enter")
    page.locator("#side mark").wait_for()
    assert page.evaluate(f"document.getElementById('side').contains({focused})")
    page.keyboard.press("k")
    page.keyboard.press("j")
    page.locator("#side mark").wait_for()
    page.keyboard.press("Escape")
    page.locator("#side").wait_for(state="hidden")
    assert page.evaluate(f"{focused}.dataset.claim") == chip  # the focus is back where it was
    tab_to("e => e.textContent.includes('Why this answer')")
    page.keyboard.press("Enter")
    page.locator("#side .hits > li").first.wait_for()
    page.keyboard.press("Escape")
    opened.innocent()


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_less_motion_is_heeded(server: Server, visit, motion: str) -> None:
    opened = visit(server.url, reduced_motion=motion)
    page = opened.go("/")
    page.evaluate("""() => {
        const spinner = document.createElement('span');
        spinner.className = 'spinner';
        document.body.append(spinner);
    }""")
    page.wait_for_timeout(50)
    moving = page.evaluate("document.getAnimations().filter((a) => a.effect.getComputedTiming().duration > 50).length")
    assert (moving > 0) == (motion == "no-preference")
