"""Cases written by hand, a run, its report, and what changed in the next one."""

from __future__ import annotations

from pathlib import Path

from tests.browser.driving import HANDBOOK, LEASE, running


def test_from_a_case_to_two_runs_compared(tmp_path: Path, encoder_folder: Path, visit) -> None:
    with running(tmp_path / "library", GENERATOR="none") as server:
        server.add({"lease.md": LEASE, "handbook.md": HANDBOOK})
        opened = visit(server.url, accept_downloads=True)
        page = opened.go("/evaluation")
        page.get_by_role("heading", name="No cases yet").wait_for()
        add_case(page, "When is the rent due?", "third working day", "lease", "third working day of each month")
        add_case(page, "How hot is the kiln fired?", "1,240 degrees", "handbook", "")
        add_case(page, "Which vaccines does a cat need in its first year?", None, "", "")
        assert page.locator(".cases li").count() == 3
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
        assert Path(download.value.path()).read_text().count('"question"') == 3

        run_all(page)
        assert page.get_by_role("heading", level=1).inner_text() == "3 of 3 right"
        rows = page.locator(".ceiling tbody tr").all_inner_texts()
        assert any(row.startswith("answered") for row in rows)
        counts = [int(cell) for cell in page.locator(".ceiling tbody td:nth-child(2)").all_inner_texts()]
        assert sum(counts) == 3

        handbook = next(one for one in server.documents() if one["name"] == "handbook.md")
        server.call(f"/v1/documents/{handbook['id']}", method="DELETE")
        page.get_by_role("link", name="Evaluation", exact=True).last.click()
        run_all(page)
        assert page.get_by_role("heading", level=1).inner_text() == "2 of 3 right"
        page.locator(".ceiling").get_by_role("button", name="document missing").click()
        assert page.locator(".case").count() == 1
        page.locator(".case > summary").click()
        page.locator(".case .fix").wait_for()
        page.locator(".case").get_by_role("link", name="Ask it").click()
        page.locator("#question").wait_for()
        assert page.locator("#question").input_value() == "How hot is the kiln fired?"
        page.go_back()
        page.get_by_label("Compare with").wait_for()

        page.get_by_label("Compare with").select_option(index=1)
        page.get_by_role("heading", name="1 case changed").wait_for()
        changed = page.locator(".changed li")
        assert "How hot is the kiln fired?" in changed.inner_text()
        assert "document missing" in changed.inner_text()
        assert page.locator("tr", has_text="right answers").locator("td").first.inner_text() == "−0.333"
        opened.innocent()


def add_case(page, question: str, answer: str | None, document: str, quote: str) -> None:
    page.get_by_role("button", name="Add a case").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Question").fill(question)
    if answer is None:
        dialog.get_by_label("The documents do not answer it").check()
    else:
        dialog.get_by_role("button", name="Save").click()
        assert "Name the document" in dialog.get_by_role("alert").inner_text()
        dialog.get_by_label("What a right answer says").fill(answer)
        source = dialog.get_by_label("The document that says it")
        source.fill(document)
        option = page.locator("#case-source-documents option").first
        option.wait_for(state="attached")
        source.fill(option.get_attribute("value"))
        dialog.get_by_label("Its words there").fill(quote)
    before = page.locator(".cases li").count()
    dialog.get_by_role("button", name="Save").click()
    page.wait_for_function("n => document.querySelectorAll('.cases li').length > n", arg=before)


def run_all(page) -> None:
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".ceiling").wait_for(timeout=60_000)
