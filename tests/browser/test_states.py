"""States that are designed: a key that is revoked, a server that is gone, large lists, trouble with files."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlparse

from tests.acquire.made import docx, para
from tests.browser.driving import HANDBOOK, LEASE, model, running

QUICK = {"GENERATOR": "none"}


def test_a_revoked_key_ends_what_is_streamed_and_what_is_asked_next(
    tmp_path: Path, encoder_folder: Path, visit
) -> None:
    slow = [{"passages": [1], "text": "The rent is due on the third working day of each month."}] * 60
    with model([slow], pause=0.1) as settings, running(tmp_path / "library", **settings) as server:
        server.add({"lease.md": LEASE})
        server.cli("keys", "add", "owner", "--role", "admin")
        token = server.cli("keys", "add", "anna", "--role", "reader").split()[-1]
        opened = visit(server.url)
        page = opened.page
        page.goto(server.url)
        give_key(page, "not the key")
        page.get_by_role("dialog").get_by_role("alert").wait_for()
        give_key(page, token)
        page.locator("#who", has_text="anna").wait_for(state="attached")
        page.goto(f"{server.url}/#/library")
        page.locator(".doc").first.wait_for()
        assert page.get_by_role("button", name=re.compile("^(Add files|Remove)")).count() == 0  # a reader only reads

        page.goto(f"{server.url}/#/")
        page.locator("#question").fill("When is the rent due?")
        page.keyboard.press("Enter")
        page.locator(".turn", has_text="third working day").wait_for()
        page.locator(".send[aria-label=Stop]").wait_for()  # the model goes on for a minute
        server.cli("keys", "revoke", "anna")
        page.locator(".send[aria-label=Ask]").wait_for()  # long before the model has ended

        if page.get_by_role("dialog").count() == 0:
            page.locator("#question").fill("How much is the deposit?")
            page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for()
        assert "2,500" not in page.locator("body").inner_text()
        page.keyboard.press("Escape")
        page.goto(f"{server.url}/#/library")
        page.get_by_role("dialog").first.wait_for()
        assert page.locator(".doc").count() == 0
        assert opened.watched.outside == []


def give_key(page, key: str) -> None:
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Key").fill(key)
    dialog.get_by_role("button", name="Open the library").click()


def test_the_page_says_when_the_server_is_gone_and_goes_on_when_it_is_back(
    tmp_path: Path, encoder_folder: Path, visit
) -> None:
    with running(tmp_path / "library", **QUICK) as server:
        server.add({"lease.md": LEASE})
        opened = visit(server.url)
        page = opened.go("/library")
        page.locator(".doc").first.wait_for()
    page.get_by_label("Search names and titles").fill("lease")
    banner = page.locator("#offline")
    banner.wait_for()
    assert "cannot be reached" in banner.inner_text()
    page.get_by_role("button", name="Try again").wait_for()
    with running(tmp_path / "library", port=int(server.url.rpartition(":")[2]), **QUICK):
        banner.wait_for(state="hidden")
        page.locator(".doc").first.wait_for()


def test_a_list_of_ten_thousand_documents_is_read_page_by_page(tmp_path: Path, encoder_folder: Path, visit) -> None:
    """The routes are played by the test, as 10,000 documents take minutes to add."""
    with running(tmp_path / "library", **QUICK) as server:
        opened = visit(server.url)
        opened.page.route(
            re.compile(r".*/v1/documents\?.*"), lambda route: route.fulfill(json=listing(route.request.url))
        )
        page = opened.go("/library")
        page.locator(".doc").first.wait_for()
        assert page.locator(".doc").count() == 100
        assert page.locator("#count").inner_text() == "100 of 10,000 documents"
        page.locator("#main").evaluate("main => main.scrollTo(0, main.scrollHeight)")
        page.wait_for_function("() => document.querySelectorAll('.doc').length >= 200")
        page.get_by_label("Search names and titles").fill("number 9876")
        page.wait_for_function("() => document.querySelectorAll('.doc').length === 1")
        assert page.url.endswith("#/library?q=number+9876")
        page.get_by_label("Search names and titles").fill("nothing like it")
        page.get_by_role("button", name="Show all").click()
        page.wait_for_function("() => document.querySelectorAll('.doc').length === 100")
        opened.innocent()


def listing(url: str) -> dict[str, object]:
    asked = {name: value for name, [value] in parse_qs(urlparse(url).query).items()}
    numbers = [n for n in range(10_000) if asked.get("q", "") in f"paper number {n}"]
    start = int(asked.get("cursor", 0))
    end = start + int(asked["limit"])
    usual = {"version": 1, "status": "indexed", "reason": "", "fix": "", "passages": 3, "language": "en", "size": 900}
    usual |= {"media_type": "text/markdown", "modified": None, "added": None, "labels": [], "stale": False}
    found = [
        usual | {"id": f"{n:012x}", "uri": f"file:///papers/{n}.md", "name": f"{n}.md", "title": f"paper number {n}"}
        for n in numbers[start:end]
    ]
    counts = {"all": 10_000, "stale": 0, "status": {"indexed": 10_000}, "media_type": {}, "labels": {}}
    return {"documents": found, "next": str(end) if end < len(numbers) else None, "counts": counts}


def test_filters_labels_versions_and_a_file_that_went_stale(tmp_path: Path, encoder_folder: Path, visit) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "lease.md").write_text(LEASE)
    (folder / "handbook.html").write_text(f"<html><title>Handbook</title><body><p>{HANDBOOK}</p></body></html>")
    (folder / "contract.docx").write_bytes(docx(para("Copper glazes are kept by Ms Weber.")))
    with running(tmp_path / "library", **QUICK) as server:
        server.add_path(folder)
        (folder / "lease.md").write_text(LEASE.replace("third", "fifth"))
        server.add_path(folder)
        (folder / "contract.docx").write_bytes(docx(para("A new text."))[:200])
        server.call("/v1/search", {"question": "copper"})  # takes in what has changed
        server.cli("label", str(folder / "handbook.html"), "workshop")
        opened = visit(server.url)
        page = opened.go("/library")
        page.locator(".doc").first.wait_for()
        page.get_by_label("Kind").select_option(label="Web page (1)")
        page.wait_for_function("() => document.querySelectorAll('.doc').length === 1")
        page.locator(".doc .tag.label", has_text="workshop").wait_for()
        page.get_by_label("Kind").select_option("")
        page.locator(".notice", has_text="1 document is stale").get_by_role("button", name="Show").click()
        page.wait_for_function("() => document.querySelectorAll('.doc').length === 1")
        stale = page.locator(".doc.stale").text_content()
        assert "Answers still come from version 1" in stale
        assert "contract.docx" in stale
        page.get_by_label("State").select_option("")
        page.get_by_role("link", name="Lease of the flat").click()
        page.locator(".reader .text", has_text="fifth working day").wait_for()
        page.get_by_label("Version").select_option("1")
        page.locator(".reader .text", has_text="third working day").wait_for()
        assert "answers come from version 2" in page.locator(".document").inner_text()
        page.locator(".outline").get_by_role("link", name="Deposit").click()
        page.locator(".reader .text", has_text="six weeks").wait_for()
        opened.innocent()
