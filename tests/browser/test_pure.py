"""The page's own text handling, run in Chromium from the files as they are: no server is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.alone import ORIGIN, play


@pytest.fixture(scope="module")
def run(browser: Any) -> Iterator[Any]:
    """``run(module, "(m, a, b) => ...", a, b)`` calls a function with a module of the page; gives what it gives."""
    context = browser.new_context(locale="en-GB", timezone_id="UTC")
    page = context.new_page()
    play(page, {})
    page.goto(f"{ORIGIN}/blank")

    def call(module: str, function: str, *arguments: Any) -> Any:
        # JSON travels as text: a lone surrogate does not survive the browser's protocol.
        sent = json.dumps(arguments)
        script = (
            f"async (sent) => {{ const m = await import('/{module}'); return ({function})(m, ...JSON.parse(sent)); }}"
        )
        return page.evaluate(script, sent)

    yield call
    context.close()


# --- code points


TEXTS = [
    "",
    "plain",
    "a😀b👩‍👩‍👧c",
    "é́ combining",
    "𝒳𝒴𝒵",
    "日本語のテキスト",
    "שלום עולם",
    "\U0010ffff\ud83d x",
    "x" * 5 + "🔑" * 7,
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_cut_as_python_cuts_it(run: Any, text: str) -> None:
    pairs = [(start, end) for start in range(len(text) + 2) for end in range(start, len(text) + 2)]
    cuts = run("text.js", "(m, text, pairs) => JSON.stringify(pairs.map(([a, b]) => m.cut(text, a, b)))", text, pairs)
    assert json.loads(cuts) == [text[start:end] for start, end in pairs]
    assert run("text.js", "(m, text) => m.length(text)", text) == len(text)


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("a\u202eb", "a⟨U+202E⟩b"),  # text would run backwards
        ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("a\U000e0041\U000e007fb", "a⟨U+E0041⟩⟨U+E007F⟩b"),  # tag characters smuggle text
        ("zero\u200bwidth\ufeff", "zero⟨U+200B⟩width⟨U+FEFF⟩"),
        ("bell\x07 nul\x00", "bell⟨U+0007⟩ nul⟨U+0000⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("line\r\nfeed\ftab\t", "line\nfeed\ntab\t"),
        ("👩‍👩‍👧 नमस्ते می‌خواهم", "👩‍👩‍👧 नमस्ते می‌خواهم"),  # joiners that scripts and emoji need stay
    ],
)
def test_what_is_hidden_in_a_text_is_shown(run: Any, hidden: str, shown: str) -> None:
    assert run("text.js", "(m, text) => m.visible(text)", hidden) == shown


def test_sizes_times_and_names(run: Any) -> None:
    assert run("text.js", "(m) => [999, 1500, 12345678, 2e9].map(m.size)") == ["999 B", "1.5 kB", "12 MB", "2.0 GB"]
    assert run("text.js", "(m) => [0.0004, 0.25, 4.26, 75].map(m.duration)") == [
        "0.4 ms",
        "250 ms",
        "4.3 s",
        "1 min 15 s",
    ]
    moments = ["2026-12-01T10:00:00Z", 1_796_119_200_000_000_000, 1_796_119_200, None, 0]
    assert run("text.js", "(m, moments) => moments.map(m.day)", moments) == ["1 Dec 2026"] * 3 + ["", ""]
    assert run("text.js", "(m) => m.fileName('file:///a/b%20c/d%C3%A9.md')") == "dé.md"
    assert run("text.js", "(m) => m.fileName('file:///a/50%.md')") == "50%.md"


@pytest.mark.parametrize(
    ("text", "wraps"),
    [
        ("The rent is due on the third working day of each month, and\nthe deposit is paid back.", [58]),
        ("The rent is due on the third working day of each month, and\n\nthe deposit is paid back.", []),
        ("The rent is due on the third working day of each month, and\n- the deposit\n2. the notice", []),
        ("The rent is due on the third working day of each month, and\n1975 was long ago.", [58]),
        ("A short line\nstays a line.", []),
    ],
)
def test_a_break_that_only_wraps_a_line_stays_one_character(run: Any, text: str, wraps: list[int]) -> None:
    """Whatever pieces are asked for, together they are the text, and the same breaks are shown as spaces."""
    shown = """(m, text, at) => {
        const flow = m.flowing(text);
        const node = m.el("p", flow(0, at), flow(at, text.length));
        const soft = [...node.childNodes].map((one, n, all) => one.className !== "soft" ? -1
            : all.slice(0, n).reduce((sum, before) => sum + before.textContent.length, 0));
        return [node.textContent, soft.filter((at) => at >= 0)];
    }"""
    for at in range(len(text) + 1):
        assert run("dom.js", shown, text, at) == [text, [wrap + 1 for wrap in wraps]]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "file:///library/uploads/2d7d/the%20plan.md tells a model what to do.",
            "the plan.md tells a model what to do.",
        ),
        ("It differs from file:///docs/a.md.", "It differs from a.md."),
        ("Nothing was found.", "Nothing was found."),
    ],
)
def test_what_the_server_reports_calls_files_by_their_names(run: Any, message: str, said: str) -> None:
    assert run("text.js", "(m, message) => m.told({ message })", message) == said


# --- Markdown


SHOWN = """(m, text) => m.parse(text).map((b) => [b.kind, b.runs.map((r) =>
    (r.strong ? "B" : "") + (r.em ? "I" : "") + (r.code ? "C" : "") + ":" + text.slice(r.start, r.end))])"""


@pytest.mark.parametrize(
    ("source", "blocks"),
    [
        ("one\ntwo", [["p", [":one"]], ["p", [":two"]]]),
        ("**bold *both* x** and `co*de*`", [["p", ["B:bold ", "BI:both", "B: x", ": and ", "C:co*de*"]]]),
        ("- a\n* b\n1. c", [["li", [":a"]], ["li", [":b"]], ["li", [":c"]]]),
        ("```py\nx = 1\n\n<b>\n```\nafter", [["pre", ["C:x = 1\n\n<b>"]], ["p", [":after"]]]),
        ("snake_case_name 2 * 3 * 4 5*3*2", [["p", [":snake_case_name 2 * 3 * 4 5*3*2"]]]),
        ("# Heading", [["p", ["B:Heading"]]]),
        ("[text](https://evil.test) ![x](y)", [["p", [":[text](https://evil.test) ![x](y)"]]]),
        ("<img src=x onerror=alert(1)>", [["p", [":<img src=x onerror=alert(1)>"]]]),
        ("2021. A year is no list", [["p", [":2021. A year is no list"]]]),
        ("😀 **é😀**", [["p", [":😀 ", "B:é😀"]]]),
        ("**open and _open", [["p", [":**open and _open"]]]),
    ],
)
def test_the_subset_of_markdown(run: Any, source: str, blocks: list[Any]) -> None:
    assert run("markdown.js", SHOWN, source) == blocks


def test_hostile_markdown_takes_no_longer_than_its_length(run: Any) -> None:
    """Twice the text may not take four times as long, as it does where a pattern backtracks over all of it."""
    timed = """(m, unit) => [20000, 80000].map((n) => { const text = unit.repeat(n), began = performance.now();
        m.parse(text); m.addresses(text); return performance.now() - began; })"""
    for unit in ("**a ", "*", "`", "_a*", "http://", "[", "- \n", "**a**"):
        short, long = run("markdown.js", timed, unit)
        assert long < max(short, 25) * 16, unit


# --- links


@pytest.mark.parametrize(
    ("url", "passage", "allowed"),
    [
        ("https://a.test/x?y=1", "See https://a.test/x?y=1.", True),
        ("https://a.test/x", "See https://a.test/xy", False),  # the beginning of another address
        ("https://a.test/x?leak=SECRET", "See https://a.test/x", False),
        ("https://a.test/", "", False),
        ("https://user:pw@a.test/", "https://user:pw@a.test/", False),
        ("https://a.test@evil.test/", "https://a.test@evil.test/", False),
        ("javascript:alert(1)", "javascript:alert(1)", False),
        ("https://аpple.test/", "https://аpple.test/", False),  # a Cyrillic letter
        ("https://a.test/\u202egpj", "https://a.test/\u202egpj", False),
    ],
)
def test_an_address_opens_only_if_a_cited_passage_has_exactly_it(
    run: Any, url: str, passage: str, allowed: bool
) -> None:
    assert run("markdown.js", "(m, url, passage) => m.linkable(url, [passage])", url, passage) is allowed


def test_addresses_are_found_without_the_punctuation_around_them(run: Any) -> None:
    text = "See (https://a.test/b), **http://c.test/d**. And https://e.test/?f=1!"
    found = run("markdown.js", "(m, text) => m.addresses(text).map((a) => [a.url, text.slice(a.start, a.end)])", text)
    assert found == [[url, url] for url in ("https://a.test/b", "http://c.test/d", "https://e.test/?f=1")]


# --- sentences


def claim(text: str, whole: str, verdict: str, citations: list[int], parts: list[str] | None = None) -> dict[str, Any]:
    start = whole.index(text)
    shape = {"start": start, "end": start + len(text), "text": text, "verdict": verdict, "citations": citations}
    return shape | {"support": 0.5, "problems": [], "parts": parts or []}


def citation(number: int, quote: str) -> dict[str, Any]:
    place = {"passage_id": "abc@1:0-9", "uri": "file:///a.md", "version": 1, "start": 0, "end": 9, "title": "A"}
    return {"number": number, "quote": quote, "page": None, "heading_path": [], "line_from": 1} | place


LAID_OUT = """(m, answer) => {
    const root = document.createElement("div");
    root.append(...m.sentences(answer, () => {}));
    const each = (selector, what) => [...root.querySelectorAll(selector)].map(what);
    return {
      chips: each(".chip", (n) => [n.className, n.textContent, n.getAttribute("aria-label")]),
      text: (each(".chip", (n) => n.remove()), each(".sentence", (n) => [n.className, n.textContent])),
      links: each("a", (n) => [n.textContent, n.href, n.rel]),
      images: each("img, script, iframe, object, svg:not(.icon)", (n) => n.localName).length,
      lacking: each(".lacking", (n) => n.textContent),
    };
}"""


def test_each_sentence_has_its_chip_and_keeps_its_place_behind_emoji(run: Any) -> None:
    text = "😀 The **rent** is 5. [1]\nIt falls in May 🔑. [2]\nNobody says so.\nThe end"
    claims = [
        claim("😀 The **rent** is 5. [1]", text, "supported", [1]),
        claim("It falls in May 🔑. [2]", text, "partly", [2], ["May 🔑"]),
        claim("Nobody says so.", text, "unsupported", []),
    ]
    shown = run(
        "sentences.js", LAID_OUT, {"text": text, "claims": claims, "citations": [citation(1, "q"), citation(2, "r")]}
    )
    assert shown["text"] == [
        ["sentence supported", "😀 The rent is 5."],
        ["sentence partly", "It falls in May 🔑."],
        ["sentence unsupported", "Nobody says so."],
        ["sentence none", "The end"],
    ]
    assert [chip[:2] for chip in shown["chips"]] == [
        ["chip supported", "1"],
        ["chip partly", "Partly2"],
        ["chip unsupported", "Unsupported"],
        ["chip none", "Unchecked"],
    ]
    assert shown["chips"][0][2] == "Supported, source 1. Show the evidence."
    assert shown["lacking"] == ["May 🔑"]


def test_an_answer_makes_no_element_but_the_pages_own(run: Any) -> None:
    text = "Open https://a.test/x or https://evil.test/?q=1 <img src=x onerror=alert(1)> ![p](https://evil.test/p.png)"
    answer = {
        "text": text,
        "claims": [claim(text, text, "supported", [1])],
        "citations": [citation(1, "go to https://a.test/x now")],
    }
    shown = run("sentences.js", LAID_OUT, answer)
    assert shown["links"] == [["https://a.test/x", "https://a.test/x", "noopener noreferrer nofollow"]]
    assert shown["images"] == 0
    assert shown["text"][0][1] == text


# --- conversations


def test_markdown_export_has_a_footnote_for_each_citation_and_no_live_link(run: Any) -> None:
    text = "The rent is 5. [1]\nSee ![x](https://evil.test) [2]"
    claims = [
        claim("The rent is 5. [1]", text, "supported", [1]),
        claim("See ![x](https://evil.test) [2]", text, "partly", [2]),
    ]
    answer = {
        "text": text,
        "claims": claims,
        "citations": [citation(1, "Rent: 5"), citation(2, "<b>x</b>")],
        "outcome": "answered",
    }
    turns = [
        {"question": "Rent?", "answer": answer},
        {"question": "Again?", "answer": answer},
        {"question": "Then?", "answer": None, "stopped": True},
    ]
    made = run("conversations.js", "(m, turns) => m.asMarkdown({ title: 'A *title*', turns })", turns)
    assert made.startswith("# A \\*title\\*\n\n## Rent?\n\nThe rent is 5.[^1]  \n")
    assert "[^2] *(partly supported)*" in made
    assert made.count("[^3]") == made.count("[^4]") == 2  # the second turn goes on counting: mark and note
    assert "[^1]: “Rent: 5” A, line 1 (/a.md, version 1, characters 0–9)" in made
    assert "![" not in made
    assert "https://" not in made
    assert "<b>" not in made.replace("\\<b\\>", "")
    assert made.endswith("## Then?\n\n*(stopped)*\n")


def test_a_reference_to_an_upload_names_the_file_and_not_where_the_server_keeps_it(run: Any) -> None:
    place = citation(1, "Rent: 5") | {"uri": f"file:///home/me/library/uploads/{'0a' * 12}/the%20lease.md"}
    told = run("conversations.js", "(m, place) => m.reference(place)", place)
    assert told == "“Rent: 5” A, line 1 (the lease.md, version 1, characters 0–9)"


def test_a_follow_up_carries_the_last_turns_that_were_answered(run: Any) -> None:
    answer = {"text": "Yes. [1]", "citations": [citation(1, "q")], "claims": [], "outcome": "answered"}
    refused = {"text": "Not here.", "citations": [], "claims": [], "outcome": "not_in_documents"}
    turns = [{"question": str(n), "answer": answer} for n in range(9)] + [
        {"question": "x", "answer": None},
        {"question": "y", "answer": refused},
    ]
    sent = run("conversations.js", "(m, turns) => m.history(turns)", turns)
    assert [turn["question"] for turn in sent] == [*map(str, range(2, 9)), "y"]
    assert sent[0]["answer"] == "Yes. [1]"
    assert sent[-1]["answer"] == ""


def test_what_is_checked_leaves_the_draft(run: Any) -> None:
    steps = """(m) => { const run = new m.Run({ id: "x", turns: [] }, "q", {}); const seen = [];
        run.hear("citation", { citation: { number: 1 } });
        run.hear("verdict", { claim: { start: 0, end: 10, text: "Quote. [1]", citations: [1] } });
        for (const text of ["The 😀 rent", " is 5.", " It fa"]) run.hear("token", { text });
        seen.push(run.draft);
        run.hear("verdict", { claim: { start: 12, end: 31, text: "The 😀 rent is 5. [1]", citations: [1] } });
        return [...seen, run.draft, run.soFar().text]; }"""
    assert run("run.js", steps) == ["The 😀 rent is 5. It fa", "It fa", "Quote. [1]\n\nThe 😀 rent is 5. [1]"]
