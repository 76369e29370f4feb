"""Take the pictures in docs/images anew, of this project's own documents: ``python -m tests.browser.screenshots``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.browser.driving import PHONE, Server, ask, drop, running

ROOT = Path(__file__).parent.parent.parent
IMAGES = ROOT / "docs" / "images"
MOST = 150_000  # bytes
SIZE = {"width": 1160, "height": 620}
QUESTION = "What happens to a document when the process is killed while it is being added?"
CASES = (
    ("How many word pieces does a passage have at most?", "128", "settings.md"),
    ("How does Pincite search for words in any script?", "", "search.md"),
    ("What does the policy drop do?", "left out", "settings.md"),
    ("What is checked in every sentence of an answer?", "numbers", "read-an-answer.md"),
    ("Which formats can be read?", "PDF", "formats.md"),
    ("Where are models kept?", "cache directory", "settings.md"),
    ("Which vaccines does a cat need?", "", ""),
)


def main() -> int:
    """Take all pictures; 1 when one is too large."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import chromium

    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pincite-") as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        with running(Path(folder) / "library") as server:
            page = browser.new_context(viewport=SIZE, locale="en-GB", reduced_motion="reduce").new_page()
            library(page, server)
            asking(page, server)
            evaluation(page, server)
            phone(browser.new_context(viewport=PHONE, has_touch=True, locale="en-GB", reduced_motion="reduce"), server)
        browser.close()
    large = [path.name for path in IMAGES.glob("*.png") if path.stat().st_size > MOST]
    if large:
        print(f"too large: {', '.join(large)}", file=sys.stderr)
    return 1 if large else 0


def shot(page: Any, name: str) -> None:
    """Take a picture of what is shown."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    page.screenshot(path=IMAGES / f"{name}.png")


def library(page: Any, server: Server) -> None:
    """Nothing there, adding, the list, a document."""
    page.goto(f"{server.url}/#/library")
    page.locator(".newcomer").wait_for()
    shot(page, "library-empty")
    with tempfile.TemporaryDirectory() as folder:
        broken = Path(folder) / "scanned-contract.pdf"
        broken.write_bytes(b"%PDF-1.7\nhalf a download")
        drop(page, [*sorted((ROOT / "docs").glob("*.md")), ROOT / "docs" / "why", ROOT / "docs" / "reference", broken])
        page.locator(".batch").get_by_role("button", name="Dismiss").wait_for(timeout=120_000)
    shot(page, "library-adding")
    page.locator(".batch").get_by_role("button", name="Dismiss").click()
    shot(page, "library")
    page.goto(f"{server.url}/#/library/{document(server, 'read-an-answer.md')['id']}?start=0")
    page.locator(".reader .text").wait_for()
    page.get_by_role("button", name="Show passages").click()
    shot(page, "document")


def document(server: Server, name: str) -> dict[str, Any]:
    """Give the document of a file."""
    return next(one for one in server.documents() if one["name"].endswith(name))


def asking(page: Any, server: Server) -> None:
    """Nothing asked, an answer with its evidence in light and dark, why, and not in the documents."""
    page.goto(f"{server.url}/#/")
    page.get_by_role("heading", name="Ask your documents").wait_for()
    shot(page, "ask")
    turn = ask(page, QUESTION)
    turn.locator("button[data-claim]").first.click()
    page.locator("#side mark").wait_for()
    shot(page, "evidence")
    page.emulate_media(color_scheme="dark")
    shot(page, "evidence-dark")
    page.emulate_media(color_scheme="light")
    page.keyboard.press("Escape")
    turn.get_by_role("button", name="Why this answer?").click()
    page.locator("#side .hits > li").first.wait_for()
    page.set_viewport_size(SIZE | {"height": 560})  # much text makes a large picture
    shot(page, "why")
    page.set_viewport_size(SIZE)
    page.goto(f"{server.url}/#/")
    page.locator(".asking:not(.begun)").wait_for()
    ask(page, "Which vaccines does a cat need in its first year?")
    shot(page, "not-in-documents")


def evaluation(page: Any, server: Server) -> None:
    """The cases, and a report."""
    cases = [
        {"question": question, "answers": [answer] if answer else [], "quote": ""}
        | ({"uri": document(server, name)["uri"]} if name else {"uri": "", "answerable": False})
        for question, answer, name in CASES
        if not name or any(one["name"].endswith(name) for one in server.documents())
    ]
    server.call("/v1/cases", {"cases": cases}, method="PUT")
    page.goto(f"{server.url}/#/evaluation")
    page.get_by_role("button", name="Run", exact=True).wait_for()
    shot(page, "evaluation")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".ceiling").wait_for(timeout=120_000)
    page.locator(".case > summary").first.click()
    page.locator(".case > summary").first.scroll_into_view_if_needed()
    page.locator("#main").evaluate("main => main.scrollTo(0, 60)")
    shot(page, "report")


def phone(context: Any, server: Server) -> None:
    """An answer and its evidence on a narrow screen."""
    page = context.new_page()
    page.goto(f"{server.url}/#/")
    turn = ask(page, QUESTION)
    shot(page, "phone-answer")
    turn.locator("button[data-claim]").first.click()
    page.locator("#side mark").wait_for()
    shot(page, "phone-evidence")


if __name__ == "__main__":
    sys.exit(main())
