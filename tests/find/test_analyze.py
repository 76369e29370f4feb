"""What must be found and what must not, across languages, scripts and notations."""

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.find.analyze import ANALYZER, analyze, analyze_query

# language of the document, its text, a question that must find it, a question that must not
BATTERY = [
    ("en", "The runners were running through universities", "university runner", "universe"),
    ("en", "She runs a café with naïve décor", "CAFE naive decor", "cave"),
    ("en", "a decomposed cafe\u0301 and a ﬁne ligature", "café fine", "caf"),
    ("en", "co\u00adoperation and zero\u200bwidth", "cooperation zerowidth", "operation"),
    ("en", "Alice’s map; they don’t know", "alice", "s"),
    ("en", "They don’t know", "don't", "don"),
    ("en", "“Quoted words” and ‘more’", 'quoted "more"', "quotation"),
    ("en", "to be or not to be", "NOT be", "AND"),
    ("en", "and that was that", "AND", "or"),
    ("en", "the party 🎉 and 👍🏽", "🎉", "🎈"),
    ("en", "thumbs 👍🏽", "👍", "👎"),
    ("en", "The U.S.A. and e.g. NATO", "usa", "u"),
    ("en", "a full-text data-base", "fulltext database", "fuller"),
    ("en", "email the data base", "e-mail", "male"),
    ("en", "well–known author", "well-known", "unknown"),
    ("en", "written in C++ today", "C++", "C"),
    ("en", "written in C# today", "c#", "C++"),
    ("en", "written in C today", "C", "C#"),
    ("en", "the .NET runtime", ".NET", "network"),
    ("en", "net income rose", "net income", ".NET"),
    ("en", "set the foo-bar option", "foo-bar", "foobaz"),
    ("en", "the key a:b is set", "a:b", "c:d"),
    ("en", "call snake_case_name()", "snake case", "cobra_label"),
    ("en", "call parseHttpRequest(x)", "parse http request", "parser_only"),
    ("en", "class HTTPServerError", "http server error", "serverless"),
    ("en", "calls my_function twice", "myFunction", "your_method"),
    ("en", "since v1.2.3 it works", "1.2.3", "1.2.4"),
    ("en", "since v1.2.3 it works", "v1.2", "v1.3"),
    ("en", "runs on node.js", "nodejs", "modes"),
    ("en", "write to jane.doe@example.com", "jane.doe@example.com", "john@sample.org"),
    ("en", "see https://docs.example.com/guide/intro.html", "intro.html", "outro.pdf"),
    ("en", "costs 1,000 dollars", "1000", "1"),
    ("en", "give 10mg twice", "10 mg", "20 g"),
    ("en", "the PDFs on an iPhone", "pdf iphone", "pd"),
    ("de", "Die Häuser an der großen Straße", "haus STRASSE", "hase"),
    ("de", "Herr Mueller kommt", "Müller", "Mall"),
    ("de", "Die Prüfungen wurden verschoben", "prüfung", "profi"),
    ("fr", "L’économie française et les élections", "economie francaise election", "ecole"),
    ("fr", "Les lettres passées", "passee lettre", "paysan"),
    ("es", "Las canciones de los niños", "cancion nino", "canasta"),
    ("es", "¿Dónde están las llaves?", "llave", "llano"),
    ("ru", "Новые книги и ёлки", "книга елка", "книжный"),
    ("ru", "Мой домашний сервер", "домашнего сервера", "домна"),
    ("ar", "قرأت الكِتَاب في المكتبات", "كتاب مكتبة", "سيارة"),
    ("ar", "عام ٢٠٢٤", "2024", "2023"),
    ("hi", "मेज़ पर किताबें हैं", "किताब", "कलम"),
    ("hi", "वर्ष २०२४", "2024", "2023"),
    ("zh", "机器学习与自然语言处理", "自然语言", "图像"),
    ("zh", "我喜欢喝水", "水", "火"),
    ("ja", "自然言語処理とデータベースを学ぶ", "データベース", "ネットワーク"),
    ("ja", "ﾃﾞｰﾀﾍﾞｰｽを学ぶ", "データ", "ワーク"),
    ("ko", "한국어를 공부합니다", "한국어", "일본어"),
    ("ko", "물을 마신다", "물", "불"),
    ("th", "ภาษาไทยเป็นภาษาที่สวยงาม", "ภาษาไทย", "อังกฤษ"),
    ("tr", "IŞIK hızı ve kitapları", "ışık kitap", "masa"),
    ("tr", "İstanbul'da yaşıyor", "istanbul", "ankara"),
    ("tr", "Isparta'nın gülleri", "isparta gul", "konya"),
    ("el", "Οι άνθρωποι και η θάλασσα", "ανθρωπος θαλασσες", "βουνό"),
    ("pl", "Łódź i żółte domy", "lodz zolty", "krakow"),
    ("zh", "使用 Python3 和 C++ 编写", "C++", "Java"),
]


@pytest.mark.parametrize(("language", "document", "wanted", "unwanted"), BATTERY)
def test_battery(language, document, wanted, unwanted):
    terms = set(analyze(document, language))
    for word in wanted.split():
        assert terms & set(analyze_query(word, [language])), word
    assert not terms & set(analyze_query(unwanted, [language]))


@pytest.mark.parametrize(("language", "document", "question"), [
    ("de", "Die Häuser wurden verkauft", "Häuser"),
    ("en", "The houses were sold in Москва", "houses Москве"),
    ("", "The houses were sold", "house"),
    ("zh", "他们的 houses 都卖了", "house"),
])  # fmt: skip
def test_a_question_finds_documents_of_every_language_of_the_library(language, document, question):
    terms = set(analyze(document, language))
    for word in question.split():
        assert terms & set(analyze_query(word, ["fr", "de", "en", "zh"]))


def test_terms_of_a_sentence():
    assert analyze("The Cats' data-bases: v1.2.3, C++!", "en") == [
        "the", "cat", "data", "base", "databas", "1.2.3", "1.2", "c++",
    ]  # fmt: skip
    assert analyze("机器x", "zh") == ["机", "器", "机器", "x"]
    assert analyze_query("机器", ["zh"]) == ["机器"]


def test_stop_words_are_those_of_the_question_and_left_out_unless_there_is_nothing_else():
    assert analyze_query("What is the size of the house?", ["en"]) == ["size", "hous"]
    assert "war" in analyze_query("When did the war in the east end?", ["de", "en"])
    assert analyze_query("Old house, new house", ["en"]) == ["old", "hous", "new"]
    assert analyze_query("Old house, new house", ["en", "de", ""], repeats=True).count("hous") == 2
    assert analyze_query("to be or not to be", ["en"]) == ["to", "be", "or", "not"]


@pytest.mark.parametrize("text", ["", " \n\t", "?!…", "\x00", "\ud800", "---", "'", "\u200b", "()[]"])
def test_nothing_to_search_for(text):
    assert analyze(text, "en") == []
    assert analyze_query(text, ["en", "zh"]) == []


def test_a_fingerprint_that_names_what_decides_the_terms():
    assert "snowball" in ANALYZER


def check(text, languages):
    terms = analyze_query(text, languages)
    assert len(terms) == len(set(terms))
    for term in terms + [term for language in languages for term in analyze(text, language)]:
        assert 1 <= len(term) <= 64
        assert term.split() == [term]
        term.encode("utf-8")  # no lone surrogate, no trouble in any index


def test_ten_thousand_random_strings():
    chance = random.Random(7)
    ranges = [(0x20, 0x7F), (0, 0x250), (0x300, 0x530), (0x590, 0xE80), (0x1F00, 0x3400), (0xD700, 0xE100)]
    ranges += [(0xF900, 0x10000), (0x1F000, 0x1FB00), (0, sys.maxunicode + 1)]
    for _ in range(10_000):
        low, high = chance.choice(ranges)
        text = "".join(chr(chance.randrange(low, high)) for _ in range(chance.randrange(12)))
        check(text, chance.choice((["en"], ["tr", "de"], ["ar", "el", "hi"], [])) or ["en"])


@given(
    st.text(alphabet=st.sampled_from("aA1İIßé'’.,-_:/@&+# \u0301\u0345ｱ中ก한🎉\ud800\x00\u1e9eﬃ")),
    st.sampled_from(["en", "tr", "zh"]),
)
def test_any_mixture_of_awkward_characters(text, language):
    check(text, [language])
    assert analyze(text, language) == analyze(text, language)  # whatever was cached


@given(st.text())
def test_case_and_normal_form_do_not_matter_to_plain_words(text):
    import unicodedata

    words = " ".join(word for word in text.split() if word.isalpha() and word.isascii())
    assert analyze(words.upper(), "en") == analyze(words.lower(), "en")
    assert analyze(unicodedata.normalize("NFD", text), "fr") == analyze(unicodedata.normalize("NFC", text), "fr")


@pytest.mark.parametrize("unit", ["a", "a-", "aB", "é\u0301\u0323", "中", "ก", "1,000", "a.b/", "👩‍👩‍👧", "C++", "x'"])
def test_a_long_string_without_a_space_costs_time_in_proportion(unit):
    terms = analyze(unit * 20_000, "en")
    assert terms
    assert max(map(len, terms)) <= 64
