import itertools
import re
import time
from pathlib import Path

import numpy as np
import pytest
import regex
import semantic_text_splitter
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pincite.build.chunk import chunk
from pincite.errors import SettingError
from pincite.models.pieces import WordPieces
from pincite.text import sentences
from pincite.types import Block, Reading, searched_text

PARTS = [
    *("\r\n", "\n\n", "\n", "\r", " ", "\t", "\0", "\ud800", ". ", "! ", "Dr. ", "e\u0301", " \u0301", "- a\n", "1. "),
    *(
        "👨‍👩‍👧‍👦",
        "🇩🇪",
        "🇫🇷",
        "。",
        "สวัสดีครับ",
        "中文字符",
        "\u200d",
        "\u0600 ",
        "## H\n",
        '."',
        "\xa0",
        "\u2029",
        "\x1c",
        "한국어",
    ),
    *(
        "f0a3" * 40,
        "word " * 60,
        "```\ncode(x)\n",
        "| a | b |\n",
        "क्षत्रिय",
        "Sentence one is here. ",
        "[SEP]",
        "e" + "\u0301" * 200,
    ),
]
HOSTILE = st.lists(st.sampled_from(PARTS) | st.text(st.characters(), max_size=8), max_size=60).map("".join)
QUICK = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def pieces(encoder_folder):
    return WordPieces(encoder_folder / "tokenizer.json")


@st.composite
def readings(draw):
    """A text with blocks of any kind that begin and end where lines do, and gaps between them."""
    text = draw(HOSTILE)
    edges = [0, *(match.end() for match in re.finditer(r"\r\n|\n", text)), len(text)]
    chosen = sorted(set(draw(st.lists(st.sampled_from(edges), max_size=8))))
    kinds = st.sampled_from(["heading", "paragraph", "list", "table", "code", "front_matter", "furniture", None])
    blocks = []
    for start, end in itertools.pairwise(chosen):
        kind = draw(kinds)
        if kind == "heading":
            blocks.append(Block(kind, start, end, draw(st.integers(1, 4)), text[start:end][:30]))
        elif kind is not None:
            blocks.append(Block(kind, start, end))
    return Reading(
        text, draw(st.sampled_from(["", "A title", "Ti\0tle " * 40, "f" * 3000, "中文" * 90])), tuple(blocks)
    )


def check(reading, spans, pieces, limit, chars):
    """Assert what must hold for every document."""
    text = reading.text
    times = np.zeros(len(text), dtype=int)
    for span in spans:
        passage = text[span.start : span.end]
        searched = searched_text(span.context, passage)
        assert passage.strip()
        assert span.pieces == pieces.count(searched) <= limit
        assert len(searched) <= chars
        # A table's header, on its own line, has a share of its own.
        assert all(pieces.count(part) <= limit // 4 for part in span.context.split("\n"))
        times[span.start : span.end] += 1
    furniture = np.zeros(len(text), dtype=bool)
    for block in reading.blocks:
        furniture[block.start : block.end] |= block.kind == "furniture"
    solid = np.array([not character.isspace() for character in text], dtype=bool)
    assert times.max(initial=0) <= 1
    assert (times[solid & ~furniture] == 1).all()
    assert (times[solid & furniture] == 0).all()
    assert [span.start for span in spans] == sorted(span.start for span in spans)


def assert_no_cluster_is_cut(text, spans, room):
    clusters = [match.span() for match in regex.finditer(r"\X", text)]
    cuts = {edge for span in spans for edge in (span.start, span.end)}
    for start, end in clusters:
        # "\r\n" is one cluster, but both halves are white space.
        if end - start > 1 and end - start <= room and text[start:end].strip():
            assert not cuts & set(range(start + 1, end)), text[start:end]


@given(readings(), st.sampled_from([(16, None), (32, 64), (128, None)]))
@QUICK
def test_any_document_is_covered_exactly_and_within_limits(pieces, reading, size):
    limit, chars = size
    spans = chunk(reading, pieces, limit=limit, chars=chars)
    check(reading, spans, pieces, limit, chars or 8 * limit)
    assert spans == chunk(reading, pieces, limit=limit, chars=chars)


@given(HOSTILE)
@QUICK
def test_no_grapheme_cluster_is_cut_that_would_fit(pieces, text):
    spans = chunk(Reading(text, ""), pieces, limit=32, chars=150)  # one of the parts is a cluster of 201 characters
    assert_no_cluster_is_cut(text, spans, 150)


@given(HOSTILE)
@example(" e" + "\u0301" * 200)
@QUICK
def test_counters_that_do_not_add_up_are_asked_about_every_span(pieces, text):
    class Bytes:
        def count(self, text):
            return len(self.starts(text))

        def starts(self, text):
            return np.repeat(np.arange(len(text)), [len(c.encode("utf-8", "surrogatepass")) for c in text]).astype(
                np.int64
            )

    check(Reading(text, "Name"), chunk(Reading(text, "Name"), Bytes(), limit=64), Bytes(), 64, 512)


@pytest.mark.parametrize("text", ["", " \n\t\r\n ", "\u3000\x1c"])
def test_nothing_gives_nothing(pieces, text):
    assert chunk(Reading(text, "Title"), pieces) == []


@pytest.mark.parametrize(("limit", "chars"), [(0, None), (15, None), (128, 100), (-3, 5)])
def test_impossible_limits_are_refused(pieces, limit, chars):
    with pytest.raises(SettingError) as error:
        chunk(Reading("text", ""), pieces, limit=limit, chars=chars)
    assert error.value.fix


@pytest.mark.parametrize(
    "unit",
    [
        "f0a3",
        "中文字符测试",
        "สวัสดีครับ",
        "👨‍👩‍👧‍👦",
        "lorem ipsum ",
        "a. ",
        "x\n\n",
        " ",
        "\u200b",
        "\ud800",
        "\0",
        "한국어",
        "|",
    ],
)
def test_a_long_line_keeps_the_limits(pieces, unit):
    reading = Reading(unit * (100_000 // len(unit)), "Title")
    spans = chunk(reading, pieces)
    check(reading, spans, pieces, 128, 1024)
    assert_no_cluster_is_cut(reading.text, spans, 1024)


def test_a_long_row_of_flags_is_cut_between_flags(pieces):
    reading = Reading("🇩🇪🇫🇷" * 50_000, "")  # segmenting it as a whole would take quadratic time
    spans = chunk(reading, pieces)
    check(reading, spans, pieces, 128, 1024)
    assert all(span.start % 2 == 0 and span.end % 2 == 0 for span in spans)


@pytest.mark.parametrize("unit", ["f0a3", "中文字符测试", "lorem ipsum, "])
def test_cost_grows_with_the_length(pieces, unit):
    def seconds(length):
        begun = time.process_time()
        chunk(Reading(unit * (length // len(unit)), ""), pieces)
        return time.process_time() - begun

    seconds(10_000)
    assert seconds(240_000) < 12 * seconds(40_000)  # linear: 6; quadratic: 36


def test_ten_megabytes_without_a_space(pieces):
    text = "0123456789abcdef" * 655_360
    spans = chunk(Reading(text, "Dump"), pieces)
    assert all(later.start == earlier.end for earlier, later in itertools.pairwise(spans))
    assert (spans[0].start, spans[-1].end) == (0, len(text))
    assert max(len(searched_text(span.context, text[span.start : span.end])) for span in spans) == 1024


# --- structure


def markdown(*parts):
    """Build a reading from (kind, text) and (level, text) pairs, blank lines between."""
    text, blocks = "", []
    for kind, body in parts:
        if isinstance(kind, int):
            line = f"{'#' * kind} {body}"
            blocks.append(Block("heading", len(text), len(text) + len(line) + 1, kind, body))
            body = line
        else:
            blocks.append(Block(kind, len(text), len(text) + len(body) + 1))
        text += body + "\n\n"
    return Reading(text, "Manual", tuple(blocks))


PARAGRAPH = " ".join(f"Sentence number {i} says something of interest." for i in range(8))  # 73 pieces


def passages(reading, pieces, **options):
    return [(reading.text[span.start : span.end], span) for span in chunk(reading, pieces, **options)]


def test_headings_go_with_what_they_introduce_and_into_the_path(pieces):
    reading = markdown(
        (1, "Manual"),
        ("paragraph", PARAGRAPH),
        (2, "Install"),
        (3, "Linux"),
        ("paragraph", PARAGRAPH),
        (2, "Use"),
        ("list", PARAGRAPH),
    )
    first, second, third = passages(reading, pieces)
    assert first[0].startswith("# Manual\n\nSentence")
    assert (first[1].heading_path, first[1].context) == (("Manual",), "")
    assert second[0].startswith("## Install\n\n### Linux\n\nSentence")
    assert (second[1].heading_path, second[1].context) == (("Manual", "Install", "Linux"), "Manual")
    assert third[0].startswith("## Use\n\n")
    assert third[1].heading_path == ("Manual", "Use")


def test_later_passages_of_a_section_carry_its_headings_as_context(pieces):
    reading = markdown((1, "Guide"), (2, "Install"), ("paragraph", PARAGRAPH), ("paragraph", PARAGRAPH))
    first, second = passages(reading, pieces)
    assert first[1].context == "Manual"
    assert second[0] == PARAGRAPH
    assert second[1].context == "Manual > Guide > Install"


def test_the_title_is_not_repeated_where_the_text_begins_with_it(pieces):
    reading = Reading(f"On Pins\n\n{PARAGRAPH}\n\n{PARAGRAPH}", "On Pins")
    assert [span.context for span in chunk(reading, pieces)] == ["", "On Pins"]


def test_small_blocks_are_packed_and_sections_are_not_mixed(pieces):
    small = [("paragraph", "A short paragraph of a few words.")] * 5
    reading = markdown((1, "One"), *small, (1, "Two"), *small)
    assert [span.heading_path for span in chunk(reading, pieces)] == [("One",), ("Two",)]


def test_tiny_neighbours_share_a_passage_under_the_path_they_share(pieces):
    reading = markdown(
        (1, "Terms"),
        ("paragraph", PARAGRAPH),
        (2, "Ant"),
        ("paragraph", "Small."),
        (2, "Bee"),
        ("paragraph", "Yellow."),
    )
    _, (text, span) = passages(reading, pieces)
    assert text == "## Ant\n\nSmall.\n\n## Bee\n\nYellow."
    assert span.heading_path == ("Terms",)


def test_furniture_is_never_in_a_passage_and_parts_what_is_around_it(pieces):
    reading = markdown((1, "Top"), ("paragraph", "Before."), ("furniture", "Page 7"), ("paragraph", "After."))
    assert [text for text, _ in passages(reading, pieces)] == ["# Top\n\nBefore.", "After."]
    assert [span.heading_path for _, span in passages(reading, pieces)] == [("Top",), ("Top",)]


def test_front_matter_is_text_like_any_other(pieces):
    reading = markdown(("front_matter", "---\nauthor: Ada\n---"), ("paragraph", "Body."))
    assert passages(reading, pieces)[0][0] == "---\nauthor: Ada\n---\n\nBody."


@pytest.mark.parametrize("kind", ["code", "table"])
@pytest.mark.parametrize("lines", range(1, 12))
def test_fences_and_tables_stay_whole_where_they_fit(pieces, kind, lines):
    body = "\n".join(f"| cell {i} | value {i}. Next |" for i in range(lines))
    assert pieces.count(body) < 128 - 8
    reading = markdown((1, "Data"), ("paragraph", PARAGRAPH), (kind, body), ("paragraph", PARAGRAPH))
    assert sum(body in text for text, _ in passages(reading, pieces)) == 1


def test_long_tables_are_cut_between_rows_and_code_between_definitions(pieces):
    table = "\n".join(f"| row {i} | some value. And more |" for i in range(60))
    for text, _ in passages(markdown(("table", table)), pieces):
        assert all(line.startswith("| row") and line.endswith("more |") for line in text.splitlines())
    code = "\n\n".join(f"def f{i}(a, b):\n    c = a + b\n\n    return c * {i}" for i in range(20))
    for text, _ in passages(markdown(("code", code)), pieces):
        assert text.startswith("def f") and re.search(r"return c \* \d+$", text)


def test_code_keeps_the_indent_of_its_first_line(pieces):
    code = "class A:\n" + "\n".join(f"    field_{i} = {i}" for i in range(60))
    assert all(text.startswith("    field_") for text, _ in passages(markdown(("code", code)), pieces)[1:])


def test_long_prose_is_cut_between_sentences(pieces):
    text = " ".join([PARAGRAPH] * 10)
    assert all(part.endswith("interest.") for part, _ in passages(Reading(text, ""), pieces))


def test_lines_that_end_with_a_sentence_are_paragraphs(pieces):
    """As in wikis and transcripts, where no blank line stands between paragraphs."""
    lines = [
        f"Paragraph {i} tells what happened first. Then it goes on a little, and so to its end.\n" for i in range(40)
    ]
    assert all(part.endswith("its end.") for part, _ in passages(Reading("".join(lines), ""), pieces))
    wrapped = "The first line of a text that an editor has wrapped goes\non here. It ends in the middle. " * 20
    assert all(part.endswith(".") for part, _ in passages(Reading(wrapped, ""), pieces))


def test_lower_cased_text_is_cut_at_its_full_stops(pieces):
    text = "the company, which is old, paid its notes, bonds, and taxes in march 2014. " * 40
    assert all(part.endswith("2014.") for part, _ in passages(Reading(text, ""), pieces))


def test_one_endless_sentence_is_cut_at_clauses(pieces):
    text = ", ".join(f"then the {i}th thing happened to them" for i in range(100))
    assert all(part.endswith(",") for part, _ in passages(Reading(text, ""), pieces)[:-1])


def test_words_and_ideographs_are_whole(pieces):
    assert {word for part, _ in passages(Reading("umbrella " * 500, ""), pieces) for word in part.split()} == {
        "umbrella"
    }
    assert len(passages(Reading("龙" * 1000, ""), pieces)) == 8  # 125 would do for 128: filled to the limit


def test_an_unclosed_fence_without_blocks_is_text(pieces):
    reading = Reading("```python\n" + "x = 1\n" * 500, "")
    check(reading, chunk(reading, pieces), pieces, 128, 1024)


def test_a_long_context_is_shortened_from_the_outermost_end(pieces):
    parts = [(level, f"Heading of level {level} with quite a few words in it") for level in range(1, 7)]
    reading = markdown(*parts, ("paragraph", PARAGRAPH), ("paragraph", PARAGRAPH))
    span = chunk(reading, pieces)[-1]
    assert span.context.startswith("… ") and span.context.endswith("> " + parts[-1][1])
    assert 24 <= pieces.count(span.context) <= 32


def test_overlapping_or_overlong_blocks_lose_nothing(pieces):
    text = "One two three.\nFour five six.\nSeven."
    reading = Reading(text, "", (Block("code", 0, 20), Block("table", 10, 500), Block("list", 600, 700)))
    check(reading, chunk(reading, pieces), pieces, 128, 1024)


# --- against semantic-text-splitter


@pytest.fixture(scope="module")
def prose():
    """The project's own Markdown, or a stand-in of the same make."""
    root = Path(__file__).parents[2]
    files = [*root.glob("*.md"), *root.glob("docs/**/*.md")]
    text = "\n\n".join(path.read_text(encoding="utf-8") for path in sorted(files))
    sample = "\n\n".join(
        f"## Part {i}\n\n{PARAGRAPH} {PARAGRAPH}\n\n- one item\n- another item, longer\n\n```py\nf({i})\n```"
        for i in range(80)
    )
    return f"{text[:60_000]}\n\n{sample}"


def share_at_boundaries(text, ends):
    """Share of the ends that are ends of sentences, lines of lists and tables, or blocks."""
    allowed = {end for _, end in sentences(text)} | {match.start() for match in re.finditer(r"\n", text)}
    return sum(end in allowed for end in ends) / len(ends)


def test_boundaries_limits_and_speed_against_semantic_text_splitter(pieces, prose):
    splitter = semantic_text_splitter.MarkdownSplitter.from_huggingface_tokenizer(pieces.tokenizer, 128)
    begun = time.process_time()
    theirs = [(start, start + len(part.rstrip())) for start, part in splitter.chunk_indices(prose)]
    middle = time.process_time()
    ours = [(span.start, span.end) for span in chunk(Reading(prose, ""), pieces)]
    ended = time.process_time()
    assert all(pieces.count(prose[start:end]) <= 128 for start, end in [*theirs, *ours])
    assert share_at_boundaries(prose, [end for _, end in ours]) >= share_at_boundaries(
        prose, [end for _, end in theirs]
    )
    assert len(ours) <= 1.1 * len(theirs)  # and not by cutting smaller
    assert ended - middle <= middle - begun


@pytest.mark.parametrize("media_type", ["text/csv", "text/markdown", "application/pdf"])
def test_the_rows_of_a_split_table_are_found_by_the_words_of_its_header(media_type):
    from importlib import import_module

    from tests.data.make_pdf import Pdf, PdfPage, text
    from tests.fakes import WordPieces

    rows = [("Station", "Depth", "Litres"), *((f"Name{n}", f"{n}.5", f"{n * 100}") for n in range(40))]
    if media_type == "application/pdf":
        page = "".join(
            text(40 + 100 * at, 580 - 13 * n, cell) for n, row in enumerate(rows) for at, cell in enumerate(row)
        )
        reading = import_module("pincite.acquire.readers.pdf").read(bytes(Pdf([PdfPage(page)])), "a.pdf", media_type)
    elif media_type == "text/csv":
        data = "\n".join(",".join(row) for row in rows).encode()
        reading = import_module("pincite.acquire.readers.data").read(data, "a.csv", media_type)
    else:
        lines = [f"| {' | '.join(row)} |" for row in rows]
        data = "\n".join(["# Wells", "", lines[0], "|---|---|---|", *lines[1:]]).encode()
        reading = import_module("pincite.acquire.readers.markdown").read(data, "a.md", media_type)
    spans = chunk(reading, WordPieces(), limit=64)
    assert len(spans) > 3
    for span in spans[1:]:
        assert "Station" in span.context and "Litres" in span.context
        cited = reading.text[span.start : span.end]
        assert "Station" not in cited and cited.strip()[0] in "|N"  # rows are whole
        assert span.pieces <= 64
