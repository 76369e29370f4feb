"""Files on their way in, and documents with pages."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acquire.made import docx, para
from tests.browser.driving import LEASE, Server, ask, drop, running

SMALL_PDF = Path(__file__).parent.parent / "data" / "small.pdf"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("files") / "library", GENERATOR="none") as started:
        started.add({"tides.pdf": SMALL_PDF.read_bytes()})
        yield started


def test_a_page_shows_the_quoted_words_boxed(server: Server, visit) -> None:
    opened = visit(server.url)
    page = opened.go("/")
    turn = ask(page, "By what are tides raised?")
    turn.locator("button[data-claim]").first.click()
    side = page.locator("#side")
    side.locator("mark").first.wait_for()
    assert "raised by the Moon" in side.locator("mark").first.inner_text()
    side.get_by_role("button", name="Page 1", exact=True).click()
    image = side.get_by_role("img", name="Page 1, the quoted words boxed")
    image.wait_for()
    page.wait_for_function("() => document.querySelector('#side img').naturalWidth > 100")
    outer = image.bounding_box()
    for box in side.locator(".box").all():
        inner = box.bounding_box()
        assert outer["x"] <= inner["x"]
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
        assert (
            outer["y"] <= inner["y"] <= outer["y"] + outer["height"] / 2
        )  # the words are in the upper half of the page
    side.get_by_role("button", name="Open the document").click()
    page.get_by_role("button", name="Pages", exact=True).click()
    first = page.get_by_role("img", name="Page 1 of")
    first.wait_for()
    page.locator(".page-image").last.scroll_into_view_if_needed()
    page.locator(".page-image img").nth(2).wait_for()
    opened.innocent()


def test_a_document_is_asked_by_the_name_that_is_shown(server: Server, visit) -> None:
    """An upload is kept under a safe form of its name; what people see and type is the name itself."""
    server.add({"papers/yearly_report (final).md": "The harvest of last year was 41 tonnes of barley.\n"})
    opened = visit(server.url)
    page = opened.go("/library")
    page.get_by_role("link", name="yearly_report (final)").click()
    page.get_by_role("link", name="Ask about it").click()
    page.locator(".tune", has_text="In “yearly_report (final).md”").wait_for()
    turn = ask(page, "How large was the harvest?")
    assert "41 tonnes" in turn.locator(".sentences").inner_text()
    turn.get_by_role("button", name="Why this answer?").click()
    side = page.locator("#side")
    side.get_by_role("button", name="Why not…?").click()
    side.get_by_label("Document", exact=True).fill("yearly_report (final).md")
    side.get_by_role("button", name="Find out").click()
    side.locator(".way .passed").first.wait_for()
    assert side.locator(".way .lost", has_text="in the library").count() == 0
    opened.innocent()


def test_of_a_page_inside_an_archive_there_is_no_picture(server: Server, visit) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("tides-packed.pdf", SMALL_PDF.read_bytes())
    server.add({"box.zip": packed.getvalue()})
    inside = next(one for one in server.documents() if one["name"] == "box.zip/tides-packed.pdf")
    opened = visit(server.url)
    page = opened.go(f"/library/{inside['id']}")
    page.get_by_role("button", name="Pages", exact=True).click()
    notice = page.locator(".page-image .notice").first
    notice.wait_for()
    assert "There is no picture of this page." in notice.inner_text()
    assert notice.get_by_role("button").count() == 0  # trying again would not help
    page.get_by_role("button", name="Text", exact=True).click()
    page.locator(".reader .text", has_text="Moon").wait_for()


def test_pasted_files_are_taken_in(server: Server, visit) -> None:
    opened = visit(server.url)
    page = opened.go("/")
    page.locator("#question").wait_for()
    paste = """(text) => {
        const clipboardData = new DataTransfer();
        clipboardData.items.add(new File(["The well is 30 metres deep."], "well.md"));
        if (text) clipboardData.setData("text/plain", text);
        const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
        return document.querySelector("#question").dispatchEvent(event);
    }"""
    assert page.evaluate(paste, "words, with a picture of them")  # the field has them, as it would without us
    assert not page.evaluate(paste, "")
    page.locator(".batch", has_text="1 added.").wait_for(timeout=60_000)
    page.get_by_role("link", name="well", exact=True).wait_for()
    page.get_by_role("button", name="Ask about them").click()
    page.locator("#question").wait_for()


def test_a_file_that_was_mended_is_taken_in_by_trying_again(server: Server, visit, tmp_path: Path) -> None:
    """Dropped files are looked at anew; of one that cannot be read any more the page says so."""
    contract = tmp_path / "contract.docx"
    opened = visit(server.url)
    page = opened.go("/library")
    page.locator(".doc").first.wait_for()
    whole = docx(para("The contract ends in May."))
    for by_dialog in (False, True):
        contract.write_bytes(whole[:200])
        if by_dialog:
            page.locator("input[type=file]").first.set_input_files(contract)
        else:
            drop(page, [contract])
        batch = page.locator(".batch")
        again = batch.get_by_role("button", name="Try the failed ones again")
        again.wait_for(timeout=60_000)
        if by_dialog:
            contract.unlink()
        else:
            contract.write_bytes(whole)
        again.click()
        if by_dialog:
            batch.get_by_text("has changed or gone since it was chosen").wait_for()
            assert "Add it again." in batch.inner_text()
        else:
            batch.get_by_text("1 added.").or_(batch.get_by_text("1 new version.")).wait_for(timeout=60_000)
            page.locator(".doc.indexed", has_text="contract.docx").wait_for()
        batch.get_by_role("button", name="Dismiss").click()
        batch.wait_for(state="detached")


def test_an_upload_can_be_cancelled(server: Server, visit, tmp_path: Path) -> None:
    (tmp_path / "lease.md").write_text(LEASE)
    opened = visit(server.url)
    page = opened.go("/library")
    page.locator(".doc").first.wait_for()
    held = []
    page.route("**/v1/documents", lambda route: held.append(route))  # the server takes its time
    page.locator("input[type=file]").first.set_input_files(tmp_path / "lease.md")
    batch = page.locator(".batch")
    batch.get_by_role("button", name="Cancel").click()
    batch.get_by_role("button", name="Dismiss").wait_for()
    assert "1 not sent or not read" in batch.inner_text()
    assert len(held) == 1
    page.unroute("**/v1/documents")
    batch.get_by_role("button", name="Try the failed ones again").click()
    batch.get_by_text("1 added.").wait_for(timeout=60_000)


def test_a_folder_is_followed_and_let_go(server: Server, visit, tmp_path: Path) -> None:
    folder = tmp_path / "followed"
    folder.mkdir()
    (folder / "tower.md").write_text("# The tower\n\nThe tower is 41 metres high.\n")
    opened = visit(server.url)
    page = opened.go("/library")
    page.get_by_role("button", name="Followed folders").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("No folder is followed yet.").wait_for()
    dialog.get_by_label("Another folder").fill("no such folder")
    dialog.get_by_role("button", name="Follow this folder").click()
    dialog.get_by_role("alert").wait_for()
    dialog.get_by_label("Another folder").fill(str(folder))
    dialog.get_by_role("button", name="Follow this folder").click()
    page.locator(".batch", has_text="1 added.").wait_for(timeout=60_000)
    page.get_by_role("link", name="The tower").wait_for()
    page.get_by_role("button", name="Followed folders").click()
    assert "1 document" in dialog.locator(".folders li", has_text="followed").inner_text()
    dialog.get_by_role("button", name="Stop following").click()
    dialog.get_by_text("No folder is followed yet.").wait_for()
    page.keyboard.press("Escape")
