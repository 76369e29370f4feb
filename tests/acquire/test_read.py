"""Every reading keeps the promises that everything behind it relies on."""

from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.acquire.identify import media_type
from pincite.acquire.read import READERS, read
from pincite.errors import SourceError, SourceUndecodable, SourceUnsupported
from pincite.types import Block, Reading, Source

NAMES = ["a.txt", "a.md", "a.html", "a.rst", "a.py", "a.json", "a.jsonl", "a.csv", "a.tsv", "a.yaml", "a.xml", "a.log"]
# What the formats are made of, so that random texts are full of structure.
TOKENS = [
    *(
        "# ",
        "## x\n",
        "===\n",
        "---\n",
        "```\n",
        "~~~ py\n",
        "| a | b |\n",
        "|---|---|\n",
        "- item\n",
        "  - sub\n",
        "1. one\n",
    ),
    *(
        "<p>",
        "</p>",
        "<div>",
        "<pre>",
        "</pre>",
        "<table>",
        "<tr><td>1<td>2",
        "</table>",
        "<!--",
        "-->",
        "<script>",
        "<h1>",
    ),
    *(
        "<ul><li>",
        "</ul>",
        "<br>",
        "&amp;",
        "<b>",
        "</i>",
        "<code>",
        "<x y='",
        "::\n\n",
        "+--+--+\n",
        "|  |\n",
        "=== ===\n",
    ),
    *(
        "title: x\n",
        "key: [a, b]\n",
        "\t",
        "    ",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        " ",
        "word ",
        "Ärger ",
        "日本語。",
        "👩‍👩‍👧",
        "e\u0301",
    ),
    *(
        "\0",
        "\x0b",
        "\x85",
        "\u2028",
        '"',
        "'",
        ",",
        "{",
        "}",
        ":",
        ".. code-block:: c\n",
        "\u202e",
        "\ufeff",
        "\ufffd",
    ),
]
texts = st.lists(st.sampled_from(TOKENS) | st.text(max_size=5), max_size=40).map("".join)


def reading_of(name: str, data: bytes) -> Reading:
    source = Source(f"file:///{name}", media_type(name, data[:65536]), "", 0, len(data))
    return read(source, data)


def check(reading: Reading, whole: bool = True) -> None:
    """Sorted, apart, within the text, trimmed at the end, and only white space outside."""
    position = 0
    for block in reading.blocks:
        assert position <= block.start < block.end <= len(reading.text)
        assert not reading.text[position : block.start].strip()
        assert not reading.text[block.end - 1].isspace()
        assert block.level == 0 if block.kind != "heading" else block.level >= 1
        position = block.end
    assert not reading.text[position:].strip()
    assert "\n" not in reading.title


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts)
def test_blocks_cover_the_text_in_order(name, text):
    data = text.encode("utf-8", "replace")
    if media_type(name, data) == "application/octet-stream":
        return
    try:
        reading = reading_of(name, data)
    except SourceUndecodable:
        assert sum(char < " " for char in text) > 0.1 * len(text)
        return
    check(reading)
    if name != "a.html" and reading.metadata["encoding"] == "utf-8":
        assert reading.text.encode() == data.removeprefix(b"\xef\xbb\xbf")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst", "a.py", "a.csv"])
@pytest.mark.parametrize(
    "text", ["a\r\nb\r\n\r\nc\r\n", "\n\n x \n", "x", "  \u3000\n", "# ö\r\rb", "é" * 50 + "\n" * 50 + "z"]
)
def test_the_text_is_the_source(name, text):
    reading = reading_of(name, text.encode())
    assert reading.text == text
    check(reading)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=600), name=st.sampled_from([*NAMES, "a.pdf", "a.docx", "a", "a.ipynb"]))
def test_any_bytes_are_read_or_refused_with_a_source_error(data, name):
    try:
        reading = reading_of(name, data)
    except SourceError as error:
        assert error.fix
        assert str(error).endswith(".")
    else:
        check(reading)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", [b"", b"\n", b" \t\r\n", b"\xef\xbb\xbf"])
def test_empty_documents_have_no_blocks_and_a_title(name, data):
    reading = reading_of(name, data)
    assert not reading.text.strip()
    assert reading.blocks == ()
    assert reading.title in ("a", name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "unit",
    [
        "x",
        "x ",
        "ß",
        "[",
        "#",
        "> ",
        "- ",
        "|",
        "|-",
        "=",
        "\n",
        "`",
        "*",
        "<b>",
        "<",
        "&",
        " ",
        "\t",
        "a:\n",
        "-\n",
        '"',
    ],
)
def test_monotonous_documents_take_linear_time(name, unit):
    """Quadratic work on 200,000 units would not come back before the time limit of the test run."""
    reading = reading_of(name, unit.encode() * 200_000)
    check(reading)


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst", "a.json", "a.csv", "a.html"])
def test_a_line_of_ten_megabytes_is_read(name):
    reading = reading_of(name, b"0123456789abcdef" * 655_360)
    assert len(reading.text) == 10 << 20
    check(reading)


@pytest.mark.parametrize(
    ("name", "data", "called"),
    [
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an office document of before 2007"),
        ("a.png", b"\x89PNG\r\n\x1a\n", "an image"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c", "an archive"),
        ("a.bin", bytes(100), "no text"),
    ],
)
def test_what_is_not_readable_yet_says_so(name, data, called):
    with pytest.raises(SourceUnsupported, match=f"{called} .*not readable") as caught:
        reading_of(name, data)
    assert name in str(caught.value)
    assert caught.value.fix


def test_a_text_that_turns_out_to_be_none_names_the_file():
    data = b"text " * 20_000 + bytes(200_000)
    with pytest.raises(SourceUndecodable, match=r"/a\.txt: The content is not text"):
        read(Source("file:///a.txt", "text/plain", "", 0, len(data)), data)


def test_language_is_detected_or_else_declared():
    assert reading_of("a.txt", b"Dies ist ein deutscher Satz, und er ist nicht sehr kurz.").language == "de"
    assert reading_of("a.html", b"<html lang='nl-BE'><p>x</p></html>").language == "nl"
    assert reading_of("a.html", b"<html lang='zzz'><p>x</p></html>").language == ""


def test_invisible_characters_are_counted_and_kept():
    text = "safe \U000e0041\U000e0042 words \u202e here"
    reading = reading_of("a.txt", text.encode())
    assert reading.text == text
    assert reading.metadata["invisible_characters"] == 3
    assert "invisible_characters" not in reading_of("a.txt", b"safe").metadata


def test_the_encoding_is_metadata():
    assert reading_of("a.txt", "größer als süß".encode("utf-16")).metadata["encoding"] == "utf-16-le"


def test_readers_can_be_added(monkeypatch):
    def shout(data: bytes, name: str, media_type: str) -> Reading:
        return Reading(data.decode().upper(), name, (Block("paragraph", 0, len(data)),), language="en")

    monkeypatch.setitem(READERS, "application/x-shout", shout)
    source = Source("file:///a.shout", "application/x-shout", "", 0, 2)
    assert read(source, b"hi").text == "HI"


def test_a_reader_with_blocks_that_do_not_fit_is_refused(monkeypatch):
    monkeypatch.setitem(READERS, "application/x-wrong", lambda *_: Reading("ab", "", (Block("code", 1, 3),)))
    with pytest.raises(SourceUndecodable, match="does not fit"):
        read(Source("file:///a", "application/x-wrong", "", 0, 2), b"ab")


def test_nothing_heavy_is_imported_for_plain_text(run_python):
    code = """
from pincite.acquire.read import read
from pincite.types import Source
read(Source("file:///a.md", "text/markdown", "", 0, 3), b"# x")
import sys
heavy = ("lxml", "trafilatura", "charset_normalizer", "watchfiles")
print([name for name in heavy if name in sys.modules])
"""
    assert run_python(code) == "[]"


@pytest.fixture
def run_python():
    import subprocess

    return lambda code: subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
