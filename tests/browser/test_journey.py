"""From an empty library to an exported conversation, as a person goes, on a desktop and on a phone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.browser.driving import DESKTOP, HANDBOOK, LEASE, PHONE, Server, ask, drop, running

NAMES = {"lease.md": LEASE, "handbook.md": HANDBOOK, "broken.pdf": "%PDF-1.7\nthis is no PDF"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path, generator_file: Path) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("journey") / "library") as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    for name, text in NAMES.items():
        (made / name).write_text(text, encoding="utf-8")
    (made / ".hidden.md").write_text("# Not to be taken\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("screen", ["desktop", "phone"])
def test_the_whole_journey(server: Server, visit, folder: Path, screen: str) -> None:
    phone = screen == "phone"
    opened = visit(server.url, viewport=PHONE if phone else DESKTOP, has_touch=phone, accept_downloads=True)
    page = opened.go("/library")
    add_documents(page, folder, by_dialog=phone)
    without_sideways_scrolling(page)

    page.goto(f"{server.url}/#/")
    turn = ask(page, "When is the rent due?")
    assert "third working day" in turn.inner_text()
    marks = evidence_is_exact(page, turn, server)
    why_and_why_not(page, turn)

    refused = ask(page, "Which vaccines does a cat need in its first year?")
    assert "Not in these documents" in refused.inner_text()
    assert "What came closest" in refused.inner_text()
    without_sideways_scrolling(page)

    ask(page, "How long is the notice?")
    followed = ask(page, "Must it be in writing?")
    assert "Understood together with" in followed.inner_text()
    assert "in writing" in followed.locator(".sentences").inner_text()
    exports(page, phone, marks)
    opened.innocent()
    remove_all(page, server)


def add_documents(page, folder: Path, *, by_dialog: bool) -> None:
    page.get_by_role("heading", name="Add your first documents").wait_for()
    if by_dialog:
        with page.expect_file_chooser() as chooser:
            page.locator(".newcomer").get_by_role("button", name="Add files").click()
        chooser.value.set_files(sorted(path for path in folder.iterdir() if not path.name.startswith(".")))
    else:
        drop(page, [folder])
    batch = page.locator(".batch")
    batch.get_by_role("button", name="Dismiss").wait_for(timeout=60_000)
    words = batch.inner_text()
    assert "2 added, 1 failed" in words
    assert ("1 hidden file left out" in words) == (not by_dialog)
    [problem] = batch.locator(".problem-row").all()
    assert "broken.pdf" in problem.inner_text()
    assert problem.locator(".fix").inner_text()  # what to do about it
    page.get_by_role("link", name="Lease of the flat in Harbour Street").wait_for()
    page.get_by_role("link", name="Handbook of the workshop").wait_for()
    assert page.locator(".doc.failed .doc-problem").text_content()
    page.locator(".doc.failed .doc-name").click()
    page.get_by_role("heading", name="Nothing of it could be read").wait_for()
    page.get_by_role("link", name="Library", exact=True).last.click()
    page.locator(".doc").first.wait_for()


def evidence_is_exact(page, turn, server: Server) -> set[str]:
    """What is marked is what stands at the cited offsets of the document's canonical text, to the character.

    Gives what was marked for each piece of evidence.
    """
    chips = turn.locator("button[data-claim]")
    assert chips.count() >= 1
    chips.first.click()
    marks = set()
    while True:
        page.locator("#side .place mark").wait_for()
        marked = page.locator("#side .place mark").text_content()
        page.locator("#side").get_by_role("button", name="Open the document").wait_for()
        marks.add(marked)
        following = page.locator("#side").get_by_role("button", name="Next evidence")
        if following.is_disabled():
            break
        page.keyboard.press("j")
    page.locator("#side").get_by_role("button", name="Open the document").click()
    page.locator(".reader mark").wait_for()
    found = re.search(r"#/library/([0-9a-f]+)\?(.*)", page.url)
    assert found
    place = {name: int(value) for name, [value] in parse_qs(found[2]).items()}
    text = server.cli("show", found[1], "--text", "--version", str(place["version"]))
    assert marked == text[place["start"] : place["end"]] != ""
    assert "".join(page.locator(".reader mark").all_text_contents()) == marked
    page.go_back()
    page.locator("article.turn").first.wait_for()
    return marks


def why_and_why_not(page, turn) -> None:
    page.get_by_role("button", name="Why this answer?").first.click()
    side = page.locator("#side")
    side.locator(".hits > li").first.wait_for()
    assert side.locator(".hits").get_by_text("cited", exact=True).count() >= 1
    side.get_by_role("button", name="Steps").click()
    side.get_by_text("Searched by meaning").wait_for()
    side.get_by_role("button", name="Why not…?").click()
    side.get_by_label("Document", exact=True).fill("handbook.md")
    side.get_by_role("button", name="Find out").click()
    side.locator(".why-not .way").wait_for()
    assert side.locator(".why-not .notice .what").inner_text()
    page.keyboard.press("Escape")
    side.wait_for(state="hidden")


def exports(page, phone: bool, marks: set[str]) -> None:
    def export(name: str) -> str:
        if phone and not page.locator("#rail").is_visible():
            page.get_by_role("button", name="Menu").click()
        page.locator("#conversations").get_by_role("button", name=re.compile("^More on")).first.click()
        with page.expect_download() as download:
            page.get_by_role("dialog").get_by_role("button", name=name).click()
        return Path(download.value.path()).read_text(encoding="utf-8")

    kept = json.loads(export("JSON"))
    assert kept["turns"][0]["question"] == "When is the rent due?"
    answer = kept["turns"][0]["answer"]
    assert marks == {citation["quote"] for citation in answer["citations"]}
    markdown = export("Markdown")
    notes = dict(re.findall(r"^\[\^(\d+)\]: “(.+?)” ", markdown, re.MULTILINE))
    assert [" ".join(c["quote"].split()) for c in answer["citations"]] == list(notes.values())[
        : len(answer["citations"])
    ]
    assert set(re.findall(r"\[\^(\d+)\](?!:)", markdown)) == set(notes)


def without_sideways_scrolling(page) -> None:
    wide, there, inner, shown = page.evaluate(
        "[document.documentElement.scrollWidth, innerWidth, document.querySelector('#main').scrollWidth,"
        " document.querySelector('#main').clientWidth]"
    )
    assert wide <= there
    assert inner <= shown


def remove_all(page, server: Server) -> None:
    page.goto(f"{server.url}/#/library")
    page.locator(".doc").first.wait_for()
    while page.locator(".doc").count():
        count = page.locator(".doc").count()
        page.locator(".doc").first.get_by_role("button", name=re.compile("^Remove")).click()
        dialog = page.get_by_role("dialog")
        assert "leaves the library" in dialog.inner_text()
        dialog.get_by_role("button", name="Remove").click()
        page.wait_for_function("n => document.querySelectorAll('.doc').length < n", arg=count)
    page.get_by_role("heading", name="Add your first documents").wait_for()
    assert server.documents() == []
