import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import ReplyMalformed
from pincite.generate.form import ABSTAINED, reader, schema

SENTENCES = [{"passages": [1, 2], "text": 'A "quoted" } brace.'}, {"passages": [], "text": "Nothing\nbehind it é."}]
REPLY = json.dumps({"sentences": SENTENCES})
TEXT = 'A "quoted" } brace. [1, 2] Nothing\nbehind it é. '


def read(form, *pieces, whole=True):
    made = reader(form)
    return "".join(made.feed(piece) for piece in pieces) + made.end(whole)


@given(st.lists(st.integers(0, len(REPLY)), max_size=12), st.sampled_from([None, 0, 2]))
def test_json_reads_the_same_however_it_comes(cuts, indent):
    reply = json.dumps({"sentences": SENTENCES}, indent=indent)
    places = sorted({0, len(reply), *(cut for cut in cuts if cut < len(reply))})
    pieces = [reply[a:b] for a, b in itertools.pairwise(places)]
    assert read("json", *pieces) == TEXT


@given(st.integers(0, len(REPLY) - 1))
def test_json_that_broke_off_keeps_whole_sentences_only(end):
    given = read("json", *REPLY[:end], whole=False)
    assert given in ("", 'A "quoted" } brace. [1, 2] ', TEXT)
    with pytest.raises(ReplyMalformed):
        read("json", REPLY[:end], whole=True)


@pytest.mark.parametrize(
    "rubbish",
    [
        "Sure! " + REPLY,
        "```json\n" + REPLY,
        "[]",
        "{}",
        "",
        "null",
        '{"sentences": 7}',
        '{"sentences": ["x"]}',
        '{"sentences": [{"text": "x"}]}',
        '{"sentences": [{"text": 7, "passages": []}]}',
        '{"sentences": [{"text": "x", "passages": ["1"]}]}',
        '{"sentences": [{"text": "x", "passages": [true]}]}',
        '{"sentences": [{"text": "x", "passages": [1], "more": 1}]}',
        '{"sentences": [{"text": "x", "passages": [1]},,]}',
        '{"sentences": [], "sentences2": []}',
        REPLY + "x",
        '{"sentences": [' + "[" * 100_000,
    ],
)
def test_what_does_not_follow_the_schema_is_an_error(rubbish):
    with pytest.raises(ReplyMalformed) as caught:
        read("json", *([rubbish] if len(rubbish) > 1000 else rubbish))
    assert caught.value.fix


def test_prose_instead_of_json_is_noticed_at_its_first_character():
    with pytest.raises(ReplyMalformed):
        reader("json").feed("S")


def test_an_empty_list_says_that_the_passages_do_not_answer():
    assert read("json", '{"sentences": []}') == ABSTAINED


def test_lines_begin_with_their_passages():
    assert read("lines", "[1] One.\n\n[2,", " 3] Two [x].\n") == "One. [1] Two [x]. [2, 3] "
    assert read("lines", ABSTAINED) == ABSTAINED
    assert read("lines", "[1] One.\n[2] Two is cu", whole=False) == "One. [1] Two is cu [2] "
    assert read("lines", "[1] One.\n[2", whole=False) == "One. [1] "


@pytest.mark.parametrize("line", ["One. [1]", "[1]One.", "[a] One.", "[1]", "[12345] One.", "The answer:"])
def test_a_line_without_its_passages_is_an_error(line):
    with pytest.raises(ReplyMalformed, match="without its passages"):
        read("lines", line + "\n")
    with pytest.raises(ReplyMalformed):
        read("lines", line)


def test_the_schema_lets_only_these_numbers_be_cited_and_requires_all_it_names():
    sentence = schema([2, 1])["properties"]["sentences"]["items"]
    assert sentence["properties"]["passages"]["items"]["enum"] == [1, 2]
    assert sentence["required"] == list(sentence["properties"])
