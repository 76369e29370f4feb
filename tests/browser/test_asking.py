"""A question on its way, each verdict, the evidence beside it, what goes wrong: with answers that the test plays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.browser.alone import ORIGIN, PLAYED, play
from tests.browser.driving import PHONE

# Emoji before the quotes: offsets count code points, and JavaScript counts otherwise.
DOCUMENT = (
    "# 🔑🔑 Lease\n\nThe rent is 5 euros 🔑 a month. It is due in May. See https://house.test/rules?v=2 for the rest.\n"
)
RENT, DUE = "The rent is 5 euros 🔑 a month.", "It is due in May."
OTHER = "The rent is 6 euros a month."
LEASE_ID, OTHER_ID = "aaaaaaaaaaaa", "bbbbbbbbbbbb"


def record(of: str, version: int = 1) -> dict[str, Any]:
    name = f"{of}.md"
    added = "2026-12-01T10:00:00Z"
    return {
        "name": name,
        "uri": f"file:///docs/{name}",
        "title": of,
        "version": version,
        "added": added,
        "media_type": "text/markdown",
    }


def cited(number: int, quote: str, document: str = LEASE_ID, text: str = DOCUMENT, version: int = 1) -> dict[str, Any]:
    start = text.index(quote)
    name = "lease" if document == LEASE_ID else "amendment"
    return {
        "number": number, "passage_id": f"{document}@{version}:0-{len(text)}", "uri": f"file:///docs/{name}.md",
        "version": version,
        "start": start, "end": start + len(quote), "quote": quote, "title": name, "page": None, "heading_path": [],
        "line_from": 3, "line_to": 3, "location": f"{name}.md, line 3",
    }  # fmt: skip


def claimed(text: str, whole: str, verdict: str, citations: list[int], **more: list[str]) -> dict[str, Any]:
    start = whole.index(text)
    shape = {"start": start, "end": start + len(text), "text": text, "verdict": verdict, "citations": citations}
    return shape | {"support": 0.9, "problems": [], "parts": []} | more


TEXT = (
    "🔑 The rent is 5 euros. [1]\nIt is due in June, see https://house.test/rules?v=2 and https://evil.test/?q=1. [2]\n"
    "Dogs are welcome.\nThe rent is 5 euros a month. [1][3]\nThat is all."
)
SENTENCES = TEXT.split("\n")
UNDERSTOOD = {"name": "understand", "seconds": 0.0, "depends": True, "taken": "What is a lease?", "parts": 2}
ANSWER: dict[str, Any] = {
    "question": "What is the rent?", "text": TEXT, "outcome": "partial",
    "claims": [
        claimed(SENTENCES[0], TEXT, "supported", [1]),
        claimed(SENTENCES[1], TEXT, "partly", [2], parts=["in June"], problems=["It does not say so."]),
        claimed(SENTENCES[2], TEXT, "unsupported", [], problems=["No passage says so."]),
        claimed(SENTENCES[3], TEXT, "conflicting", [1, 3], problems=["Another source says 6 euros."]),
    ],
    "citations": [
        cited(1, RENT), cited(2, DUE), cited(3, OTHER, OTHER_ID, OTHER),
    ],
    "findings": [
        {"kind": "partly_in_documents", "message": "No passage found mentions parking.", "fix": ""},
        {"kind": "claim_left_out", "message": "Left out: 'The moon is cheese.'", "fix": ""},
    ],
    "evidence": [], "dropped": [], "nearest": [], "generator": "a-model",
    "stale": [{"uri": "file:///docs/amendment.md", "version": 1, "reason": "It changed.", "fix": "Mend it."}],
    "trace": {"seconds": 1.5, "stages": [UNDERSTOOD]},
}  # fmt: skip
ANSWER["evidence"] = [cited(1, RENT) | {"text": DOCUMENT, "score": 0.8}]


def passage(document: str, text: str) -> dict[str, Any]:
    place = cited(1, text, document, text)
    shape = {
        name: place[name] for name in ("uri", "version", "passage_id", "start", "end", "page", "title", "heading_path")
    }
    shape |= {"text": text, "line_from": 1, "line_to": 3}
    return {
        "passage": shape,
        "document": record("lease" if document == LEASE_ID else "amendment"),
        "before": "",
        "after": "",
    }


SERVED: dict[str, Any] = {
    "/v1/me": {"name": "owner", "role": "admin", "grants": None, "keys": False, "read_only": False},
    "/v1/library": {"documents": 2, "passages": 2, "stale": []},
    "/v1/documents": {"documents": [], "next": None},
    f"/v1/passages/{LEASE_ID}@1:0-{len(DOCUMENT)}": passage(LEASE_ID, DOCUMENT),
    f"/v1/passages/{OTHER_ID}@1:0-{len(OTHER)}": passage(OTHER_ID, OTHER),
}


@dataclass
class Asking:
    """A page with a question that the test answers."""

    page: Any
    number: int = -1

    def ask(self, question: str) -> Any:
        self.page.locator("#question").fill(question)
        self.page.keyboard.press("Enter")
        self.number += 1
        self.page.wait_for_function("n => window.asked.length > n", arg=self.number)
        return self.page.locator("article.turn").last

    def push(self, name: str, data: Any) -> None:
        self.page.evaluate("([n, name, data]) => window.asked[n].push(name, data)", [self.number, name, data])

    def end(self) -> None:
        self.page.evaluate("n => window.asked[n].end()", self.number)

    def answered(self, question: str, answer: dict[str, Any] = ANSWER) -> Any:
        turn = self.ask(question)
        self.push("done", {"answer": answer})
        self.end()
        turn.locator(".answer-foot, .refusal").wait_for()
        return turn


@pytest.fixture
def asking(browser: Any) -> Iterator[Callable[..., Asking]]:
    contexts, errors = [], list[str]()

    def opened(served: dict[str, Any] | None = None, **options: Any) -> Asking:
        context = browser.new_context(locale="en-GB", timezone_id="UTC", reduced_motion="reduce", **options)
        contexts.append(context)
        context.add_init_script(PLAYED)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        play(page, SERVED | (served or {}))
        page.goto(f"{ORIGIN}/")
        page.locator("#question").wait_for()
        return Asking(page)

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


def test_a_draft_is_shown_as_unchecked_until_its_sentences_are_checked(asking: Callable[..., Asking]) -> None:
    one = asking()
    turn = one.ask("What is the rent?")
    assert "Searching" in turn.locator(".loading").inner_text()
    one.push("citation", {"citation": cited(1, RENT)})
    one.push("verdict", {"claim": claimed(f"{RENT} [1]", f"{RENT} [1]", "supported", [1])})
    turn.locator("button.chip.supported").wait_for()
    for piece in ("The rent is ", "5 euros.", " It falls"):
        one.push("token", {"text": piece})
    turn.locator(".draft", has_text="It falls").wait_for()
    assert turn.locator(".draft").inner_text().startswith("Draft, not yet checked")
    assert "The rent is 5 euros." in turn.locator(".draft").inner_text()
    whole = f"{RENT} [1]\n\nThe rent is 5 euros. [1]"
    turn.locator("button.chip").focus()
    one.push("verdict", {"claim": claimed("The rent is 5 euros. [1]", whole, "partly", [1])})
    turn.locator("button.chip.partly").wait_for()
    assert one.page.evaluate("document.activeElement.dataset.claim") == "0", "what is drawn anew keeps the focus"
    assert turn.locator(".draft").inner_text().split("\n")[-1] == "It falls"
    one.push("done", {"answer": ANSWER})
    one.end()
    turn.locator(".answer-foot").wait_for()
    assert turn.locator(".draft").count() == 0
    one.page.locator(
        "#live", has_text="Answer ready. 4 sentences: 1 supported, 1 partly, 1 unsupported, 1 conflict."
    ).wait_for(state="attached")


def test_each_verdict_is_told_in_words_and_signs_not_by_colour_alone(asking: Callable[..., Asking]) -> None:
    turn = asking().answered("What is the rent?")
    chips = turn.locator(".chip")
    assert [re.sub(r"\s", "", text) for text in chips.all_inner_texts()] == [
        "1",
        "Partly2",
        "Unsupported",
        "Conflict1,3",
        "Unchecked",
    ]
    signs = turn.locator(".chip svg").evaluate_all("all => all.map((one) => one.getAttribute('class').split('-')[1])")
    assert signs == ["check", "half", "cross", "conflict", "none"]
    assert turn.locator(".sentences .lacking").all_inner_texts() == ["in June"]
    links = turn.locator("a").evaluate_all("all => all.map((one) => [one.textContent, one.rel])")
    assert links == [["https://house.test/rules?v=2", "noopener noreferrer nofollow"]]
    sides = turn.locator(".conflict blockquote").all_inner_texts()
    assert RENT in sides[0]
    assert OTHER in sides[1]
    assert "amendment.md: It changed. Mend it." in turn.inner_text()
    assert "Understood together with “What is a lease?”" in turn.inner_text()
    assert "1 sentence of the draft left out" in turn.inner_text()


def test_evidence_is_marked_to_the_character_and_walked_by_key(asking: Callable[..., Asking]) -> None:
    one = asking()
    turn = one.answered("What is the rent?")
    side, page = one.page.locator("#side"), one.page
    turn.locator("button.chip").first.focus()
    page.keyboard.press("Enter")
    mark = side.locator(".place mark")
    mark.wait_for()
    assert mark.text_content() == RENT
    assert side.locator(".context").text_content().strip() == DOCUMENT.strip()
    assert "version 1" in side.inner_text()
    assert "added 1 Dec 2026" in side.inner_text()
    page.keyboard.press("j")
    side.get_by_text("2 of 5").wait_for()
    mark.wait_for()
    assert mark.text_content() == DUE
    assert side.locator(".said .lacking").text_content() == "in June"
    page.keyboard.press("ArrowRight")
    side.get_by_text("No passage carries this sentence.").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    side.locator(".place .tag", has_text="stale").wait_for()
    assert mark.text_content() == OTHER
    assert turn.locator(".sentence.active").count() == 1
    page.keyboard.press("k")
    side.get_by_text("4 of 5").wait_for()
    page.keyboard.press("Escape")
    side.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.className") == "chip supported"
    turn.locator(".sentence").nth(1).click(position={"x": 5, "y": 8})
    side.get_by_text("2 of 5").wait_for()


def test_a_version_that_was_replaced_is_shown_as_it_was_cited(asking: Callable[..., Asking]) -> None:
    gone = f"/v1/passages/{LEASE_ID}@1:0-{len(DOCUMENT)}"
    text = {"text": DOCUMENT, "start": 0, "end": len(DOCUMENT), "length": len(DOCUMENT), "version": 1}
    served = {gone: None, f"/v1/documents/{LEASE_ID}": record("lease", 3), f"/v1/documents/{LEASE_ID}/text": text}
    one = asking(served)
    one.answered("What is the rent?").locator("button.chip").first.click()
    side = one.page.locator("#side")
    side.locator(".place mark").wait_for()
    assert side.locator(".place mark").inner_text() == RENT
    assert "newest is version 3" in side.inner_text()
    assert "The document has changed since this answer." in side.inner_text()


def test_without_the_document_the_quote_itself_is_shown(asking: Callable[..., Asking]) -> None:
    one = asking({f"/v1/passages/{LEASE_ID}@1:0-{len(DOCUMENT)}": None})
    one.answered("What is the rent?").locator("button.chip").first.click()
    side = one.page.locator("#side")
    side.get_by_text("It is not there.").wait_for()
    assert side.locator(".place mark").inner_text() == RENT
    assert side.get_by_role("button", name="Try again").is_visible()


def test_a_quote_that_does_not_stand_where_it_is_cited_is_called_out(asking: Callable[..., Asking]) -> None:
    forged = ANSWER["citations"][0] | {"quote": "The rent is 4 euros 🔑 a month."}
    one = asking()
    one.answered("What is the rent?", ANSWER | {"citations": [forged, *ANSWER["citations"][1:]]})
    one.page.locator("button.chip").first.click()
    one.page.locator("#side").get_by_text("These words do not stand at the place that is cited.").wait_for()
    one.page.keyboard.press("j")
    one.page.locator("#side .place mark", has_text=DUE).wait_for()
    assert one.page.locator("#side .notice.error").count() == 0


def test_an_answer_is_shown_where_the_browser_cannot_keep_it(asking: Callable[..., Asking]) -> None:
    one = asking()
    one.page.evaluate(
        "() => { IDBObjectStore.prototype.put = () => { throw new DOMException('', 'QuotaExceededError'); }; }"
    )
    turn = one.answered("What is the rent?")
    assert turn.locator("button.chip").count() == 4
    one.page.locator(".toast", has_text="no room").first.wait_for()
    assert one.page.locator("#conversations li").count() == 1


def test_a_quote_is_copied_with_its_place(asking: Callable[..., Asking]) -> None:
    one = asking(permissions=["clipboard-read", "clipboard-write"])
    one.answered("What is the rent?").locator("button.chip").first.click()
    one.page.get_by_role("button", name="Copy with citation").click()
    one.page.locator(".toast").wait_for()
    copied = one.page.evaluate("navigator.clipboard.readText()")
    start = DOCUMENT.index(RENT)
    place = f"characters {start}–{start + len(RENT)}"
    assert copied == f"“{RENT}”\n— lease, line 3 (lease.md, version 1, added 1 Dec 2026, {place})"


def test_on_a_phone_the_evidence_is_a_sheet_that_holds_the_focus(asking: Callable[..., Asking]) -> None:
    one = asking(viewport=PHONE, has_touch=True)
    one.answered("What is the rent?").locator("button.chip").first.click()
    one.page.locator("#side mark").wait_for()
    assert one.page.locator("#main").evaluate("main => main.inert")
    assert one.page.evaluate("document.querySelector('#side').contains(document.activeElement)")
    one.page.locator("#scrim").click(position={"x": 100, "y": 20})
    one.page.locator("#side").wait_for(state="hidden")
    assert not one.page.locator("#main").evaluate("main => main.inert")


def test_an_answer_can_be_stopped_and_asked_again(asking: Callable[..., Asking]) -> None:
    one = asking()
    turn = one.ask("What is the rent?")
    one.push("token", {"text": "The rent"})
    turn.locator(".draft").wait_for()
    one.page.get_by_role("button", name="Stop", exact=True).click()
    turn.get_by_text("You stopped this answer.").wait_for()
    assert one.page.evaluate("window.asked[0].stopped")
    turn.get_by_role("button", name="Ask again").click()
    one.number += 1
    one.page.wait_for_function("() => window.asked.length === 2")
    one.push("done", {"answer": ANSWER})
    one.end()
    one.page.locator(".answer-foot").wait_for()
    assert one.page.locator("article.turn").count() == 1


@pytest.mark.parametrize("ending", ["quiet", "error", "cut"])
def test_a_stream_that_ends_without_an_answer_is_told(asking: Callable[..., Asking], ending: str) -> None:
    one = asking()
    turn = one.ask("What is the rent?")
    if ending == "error":
        one.push("error", {"error": {"code": "model_error", "message": "The model is gone.", "fix": "Pull it."}})
    if ending == "cut":
        one.page.evaluate("window.asked[0].fail(new TypeError('network error'))")
    else:
        one.end()
    notice = turn.locator(".notice.error")
    notice.wait_for()
    words = {"quiet": "The answer broke off.", "error": "The model is gone.", "cut": "The connection broke off."}
    assert words[ending] in notice.inner_text()
    assert notice.get_by_role("button", name="Try again").is_enabled()


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_when_it_said_so(asking: Callable[..., Asking], status: int) -> None:
    one = asking()
    error = {"code": "busy", "message": "It is starting.", "fix": "Wait a little."}
    one.page.evaluate("how => { window.refusing = how; }", {"status": status, "seconds": "2", "error": error})
    one.page.locator("#question").fill("What is the rent?")
    one.page.keyboard.press("Enter")
    notice = one.page.locator("article.turn .notice")
    retry = notice.get_by_role("button")
    retry.wait_for()
    assert "Try again in" in retry.inner_text()
    assert retry.is_disabled()
    assert {429: "Many questions are being answered", 503: "It is starting. Wait a little."}[status] in " ".join(
        notice.inner_text().split()
    )
    one.page.evaluate("() => { window.refusing = null; }")
    notice.get_by_role("button", name="Try again", exact=True).click()  # it waits until the button may be pressed
    one.number += 1
    one.page.wait_for_function("() => window.asked.length === 1")
    one.push("done", {"answer": ANSWER})
    one.end()
    one.page.locator(".answer-foot").wait_for()
    assert one.page.locator("article.turn").count() == 1


def test_a_key_that_may_not_is_told_so(asking: Callable[..., Asking]) -> None:
    one = asking()
    error = {"code": "access_denied", "message": "This key may not ask.", "fix": "Ask for another key."}
    one.page.evaluate("how => { window.refusing = how; }", {"status": 403, "seconds": "", "error": error})
    one.page.locator("#question").fill("What is the rent?")
    one.page.keyboard.press("Enter")
    notice = one.page.locator("article.turn .notice.error")
    notice.wait_for()
    assert "This key may not ask." in notice.inner_text()
    assert "Ask for another key." in notice.inner_text()


def test_a_follow_up_can_be_asked_by_itself(asking: Callable[..., Asking]) -> None:
    one = asking()
    turn = one.answered("And the deposit?")
    turn.get_by_role("button", name="Ask it by itself").click()
    one.page.locator(".asking:not(.begun)").wait_for()
    assert one.page.locator("#question").input_value() == "And the deposit?"


def test_a_conversation_is_kept_renamed_and_deleted(asking: Callable[..., Asking]) -> None:
    one = asking()
    page = one.page
    one.answered("What is the rent?")
    one.answered("And when is it due?")
    [past] = page.evaluate("window.asked[1].body.history")
    assert (past["question"], past["answer"]) == ("What is the rent?", TEXT)
    assert past["citations"] == ANSWER["citations"]
    page.reload()
    page.locator("article.turn .answer-foot").nth(1).wait_for()
    rail = page.locator("#conversations")
    rail.get_by_role("button", name="More on “What is the rent?”").click()
    page.get_by_label("Name").fill("The \u202ehouse")
    page.get_by_role("button", name="Rename").click()
    rail.get_by_role("link", name="The ⟨U+202E⟩house").wait_for()
    rail.get_by_role("button", name=re.compile("^More on")).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("heading", name="Ask your documents").wait_for()
    assert rail.get_by_role("link", name=re.compile("house")).count() == 0
    page.reload()
    page.get_by_role("heading", name="Ask your documents").wait_for()
    assert rail.locator("li").count() == 0


def test_who_comes_with_another_key_does_not_see_the_conversations(asking: Callable[..., Asking]) -> None:
    anna = SERVED["/v1/me"] | {"name": "anna", "keys": True}
    who = {"name": "anna"}
    one = asking({"/v1/me": lambda _: anna | who})
    one.answered("What is the rent?")
    address = one.page.url
    one.page.locator("#conversations li").wait_for()
    who["name"] = "bert"
    one.page.goto(f"{ORIGIN}/#/")
    one.page.reload()
    one.page.locator("#who", has_text="bert").wait_for()
    assert one.page.locator("#conversations li").count() == 0
    one.page.goto(address)
    one.page.get_by_role("heading", name="This conversation is not here").wait_for()


def test_what_was_chosen_travels_with_the_question(asking: Callable[..., Asking]) -> None:
    one = asking()
    one.page.locator(".tune").click()
    one.page.get_by_label("Only in documents or folders called").fill("con[tracts")
    one.page.get_by_label("The answer").select_option("extract")
    one.page.get_by_label("Sentences without a source").select_option("drop")
    one.page.get_by_role("button", name="Done").click()
    assert "In “con[tracts”" in one.page.locator(".tune").inner_text()
    one.ask("What is the rent?")
    body = one.page.evaluate("window.asked[0].body")
    assert body == {
        "question": "What is the rent?",
        "stream": True,
        "history": [],
        "extract": True,
        "policy": "drop",
        "where": {"or": [{"field": field, "glob": "*con[[]tracts*"} for field in ("path", "name", "title")]},
    }


def test_why_shows_what_was_used_and_what_was_cut(asking: Callable[..., Asking]) -> None:
    ranks = {
        "ranks": {"vector": 1, "fused": 1},
        "scores": {"vector": 0.7, "fused": 0.9},
        "matched": ["rent"],
        "lacking": ["parking"],
    }
    hits = [
        passage(document, text)["passage"] | {"rank": rank, "score": 1.0, "also": []} | ranks
        for rank, (document, text) in enumerate([(LEASE_ID, DOCUMENT), (OTHER_ID, OTHER), ("cccccccccccc", OTHER)], 1)
    ]
    answer = ANSWER | {"citations": ANSWER["citations"][:2], "claims": ANSWER["claims"][:1], "evidence": []}
    answer |= {"dropped": [cited(1, DUE) | {"text": DUE, "score": 0.4}]}
    answer |= {"trace": {"seconds": 0.5, "stages": [{"name": "passages", "seconds": 0.5, "passages": 2}]}}
    one = asking({"/v1/search": {"question": "q", "mode": "hybrid", "hits": hits, "stale": [], "trace": {}}})
    one.answered("What is the rent?", answer).get_by_role("button", name="Why this answer?").click()
    side = one.page.locator("#side")
    side.locator(".hits > li").nth(2).wait_for()
    assert side.locator(".hits .tag:not(details > p .tag)").all_inner_texts() == [
        "cited",
        "read, not used",
        "cut: not among the best",
    ]
    side.locator(".hits summary").first.click()
    opened = side.locator(".hits > li").first.inner_text()
    assert "meaning #1 (0.70)" in opened
    assert "parking" in opened
    side.get_by_role("button", name="Read", exact=True).click()
    assert "1 sentence cut: relevant, but over the room for evidence" in side.inner_text()
    side.get_by_role("button", name="Steps").click()
    assert "Took the best" in side.locator(".stages").inner_text()


def test_axe_finds_nothing_serious_in_any_verdict(asking: Callable[..., Asking]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    one = asking()
    turn = one.answered("What is the rent?")
    found = []
    for scheme in ("light", "dark"):
        one.page.emulate_media(color_scheme=scheme)
        for chip in turn.locator("button.chip").all():
            chip.click()
            one.page.locator("#side .said").wait_for()
            for violation in Axe().run(one.page).response["violations"]:
                if violation["impact"] in ("serious", "critical"):
                    found.append(
                        (
                            scheme,
                            violation["id"],
                            [(node["html"][:150], node["any"][0]["message"]) for node in violation["nodes"]][:3],
                        )
                    )
            one.page.keyboard.press("Escape")
    assert found == []
