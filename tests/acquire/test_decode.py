"""Encodings: sentences of real languages in the encodings that people still have."""

from __future__ import annotations

import codecs
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.acquire.decode import decode, looks_binary
from pincite.acquire.latin import best_latin
from pincite.errors import SourceUndecodable

SENTENCES = {
    "fr": "Le café était fermé à cause de la grève, mais les élèves ont reçu leurs résultats à l'école.",
    "fr2": "“L’été” — c’est l’œuvre d’un poète français… il coûte 5 € à la librairie.",
    "de": "Die schöne Müllerin aß süße Äpfel über dem großen Fluß, während Jürgen köstliche Brötchen bäckt.",
    "es": "El niño comió piñas en la montaña; ¿dónde está el señor Núñez? Está en España.",
    "pt": "A informação não está disponível na página, mas os irmãos já receberam três respostas.",
    "is": "Þetta er íslenskur texti með þorni, eði og æ: hún fór út í búð.",
    "sv": "Här är en svensk mening med å, ä och ö: smörgåsbordet på Östermalm är dyrt.",
    "ru": "Однажды, в студёную зимнюю пору, я из лесу вышел; был сильный мороз. Гляжу, поднимается медленно в гору.",
    "ja": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。ニャーニャー泣いていた。",
    "zh": "今天天气很好,我们去公园散步。人工智能正在改变世界,许多公司都在研究大型语言模型。",
    "zht": "今天天氣很好，我們去公園散步。人工智慧正在改變世界，許多公司都在研究大型語言模型。",
    "ko": "오늘은 날씨가 아주 좋아서 공원에 산책하러 갔습니다. 인공지능은 세상을 바꾸고 있습니다.",
    "pl": "Zażółć gęślą jaźń. Wczoraj pojechaliśmy do Łodzi, żeby odwiedzić babcię i zjeść świeże pączki.",
    "cs": "Příliš žluťoučký kůň úpěl ďábelské ódy. Článek týdne přináší náboženské zajímavosti.",
    "hu": "Árvíztűrő tükörfúrógép. A magyar nyelvben hosszú ő és ű betűk is vannak, például őszi hűvös idő.",
    "tr": "İstanbul'da yaşayan öğrenciler çok güzel şarkılar söylüyor ve Iğdır'a gitmeyi düşünüyorlar.",
    "el": "Η ελληνική γλώσσα αποτελεί μέλος της ινδοευρωπαϊκής οικογένειας και μιλιέται στην Ελλάδα.",
    "he": "השפה העברית היא שפה שמית, ממשפחת השפות האפרו-אסייתיות, הידועה כשפתם של היהודים.",
    "ar": "اللغة العربية هي أكثر اللغات السامية تحدثا، وإحدى أكثر اللغات انتشارا في العالم.",
    "th": "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอนหรือวรรณยุกต์",
    "en": "This is plain English text, and nothing else is in it.",
}
LEGACY = [
    *((key, "cp1252") for key in ("fr", "fr2", "de", "es", "pt", "is", "sv")),
    *((key, "latin-1") for key in ("fr", "de", "es", "pt", "is", "sv")),
    *((key, "cp1250") for key in ("pl", "cs", "hu")),
    ("pl", "iso8859_2"),
    ("tr", "cp1254"),
    *(("ru", encoding) for encoding in ("koi8-r", "cp1251", "cp866")),
    *(("ja", encoding) for encoding in ("shift_jis", "euc_jp", "iso2022_jp")),
    ("zh", "gb18030"),
    ("zht", "big5"),
    ("ko", "euc_kr"),
    ("el", "cp1253"),
    ("he", "cp1255"),
    ("ar", "cp1256"),
    ("th", "tis-620"),
]
UNICODE = ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-32"]


@pytest.mark.parametrize(("key", "encoding"), LEGACY)
@pytest.mark.parametrize("times", [1, 5])
def test_legacy_encodings_are_told_by_their_text(key, encoding, times):
    text = (SENTENCES[key] + "\r\n") * times
    decoded, _, warnings = decode(text.encode(encoding))
    assert decoded == text
    assert warnings == ()


@pytest.mark.parametrize("encoding", UNICODE)
@pytest.mark.parametrize("key", SENTENCES)
def test_unicode_encodings_with_and_without_a_mark(key, encoding):
    text = "1. " + SENTENCES[key] + "\r\n😀\n"
    decoded, name, warnings = decode(text.encode(encoding))
    assert (decoded, warnings) == (text, ())
    assert codecs.lookup(name).name[:5] == codecs.lookup(encoding).name[:5]


@pytest.mark.parametrize(("mark", "encoding"), [(codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF32_BE, "utf-32-be")])
def test_big_endian_marks_are_removed(mark, encoding):
    assert decode(mark + "größer".encode(encoding)) == ("größer", encoding, ())


@given(st.text())
def test_utf8_text_comes_back_exactly(text):
    if text.encode().startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_BE)) or sum(char < " " for char in text) > 0.1 * len(
        text
    ):
        return
    assert decode(text.encode()) == (text, "utf-8", ())


def test_newlines_and_nuls_are_untouched():
    text = "a\r\nb\rc\nd\x0be\x85f\u2028g\0h and some more text\ufffd"
    assert decode(text.encode())[0] == text


def test_damaged_utf8_is_repaired_and_reported():
    data = ("schöne Grüße aus Köln, sagt Jürgen. " * 20).encode() + b"caf\xe9 and \xff"
    text, encoding, warnings = decode(data)
    assert encoding == "utf-8"
    assert text.endswith("caf\ufffd and \ufffd")
    assert warnings == ("2 places are not valid UTF-8 and were read as U+FFFD.",)


def test_an_ascii_text_with_few_accents_is_no_damaged_utf8():
    data = ("plain words only " * 200 + "Le café est fermé à midi, voilà.").encode("cp1252")
    text, encoding, warnings = decode(data)
    assert (encoding, warnings) == ("cp1252", ())
    assert text.endswith("café est fermé à midi, voilà.")


def test_encoded_surrogates_do_not_become_surrogates():
    text, _, warnings = decode("ganz schön viel Text über Grüße ".encode() * 30 + b"\xed\xa0\x80")
    assert not any("\ud800" <= char <= "\udfff" for char in text)
    assert warnings


def test_lone_surrogates_of_utf16_are_replaced_and_reported():
    text, _, warnings = decode(
        codecs.BOM_UTF16_LE + "words and ".encode("utf-16-le") * 9 + b"\x00\xd8" + "x".encode("utf-16-le")
    )
    assert text.endswith("and \ufffdx")
    assert len(warnings) == 1


def test_half_a_character_at_the_end_is_reported():
    text, encoding, warnings = decode("This is UTF-16 without a mark.".encode("utf-16-le") + b"a")
    assert (text, encoding) == ("This is UTF-16 without a mark.", "utf-16-le")
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("declared", "key", "encoding"),
    [
        ("windows-1252", "fr", "cp1252"),
        ("ISO-8859-1", "fr2", "cp1252"),
        ("x-sjis", "ja", "cp932"),
        ("gb2312", "zh", "gb18030"),
    ],
)
def test_a_declaration_is_believed_when_it_fits(declared, key, encoding):
    text = SENTENCES[key]
    assert decode(text.encode(encoding), declared)[:2] == (text, encoding)


@pytest.mark.parametrize(
    "declared", ["utf-8", "utf-16", "hex", "unicode_escape", "idna", "no such", "\0", "ö", "utf-7"]
)
def test_a_declaration_that_lies_or_is_none_does_no_harm(declared):
    text = SENTENCES["ru"]
    assert decode(text.encode("cp1251"), declared)[0] == text


@pytest.mark.parametrize(
    "data",
    [bytes(4000), bytes(range(256)) * 20, random.Random(1).randbytes(5000), b"\x7fELF\x02\x01\x01" + bytes(500)],
    ids=["zeros", "all bytes", "random", "elf"],
)
def test_binaries_are_no_text(data):
    assert looks_binary(data)
    with pytest.raises(SourceUndecodable) as caught:
        decode(data)
    assert caught.value.fix


@given(st.binary(max_size=400))
def test_any_bytes_are_decoded_or_refused(data):
    try:
        text, encoding, _ = decode(data)
    except SourceUndecodable:
        assert data
    else:
        codecs.lookup(encoding)
        text.encode()  # no surrogates


def test_the_telling_lines_of_a_large_file_decide():
    head = b"plain ASCII words in a line\n" * 20_000
    text, encoding, _ = decode(head + (SENTENCES["ru"] + "\n").encode("koi8-r") * 3)
    assert encoding.replace("_", "-") == "koi8-r"
    assert text.endswith(SENTENCES["ru"] + "\n")


def test_a_code_page_is_chosen_by_letters_and_others_are_left_alone():
    assert best_latin(SENTENCES["fr"].encode("cp1252"), "cp1250") == "cp1252"
    assert best_latin(SENTENCES["pl"].encode("cp1250"), "cp1252") == "cp1250"
    assert best_latin(SENTENCES["el"].encode("cp1253"), "cp1253") == "cp1253"
    assert best_latin("Straße".encode("cp500"), "cp500") == "cp500"


@pytest.mark.parametrize(
    "declaration",
    [
        '<?xml version="1.0" encoding="{}"?>',
        "# -*- coding: {} -*-",
        "# vim: set fileencoding={} :",
        '<meta http-equiv="Content-Type" content="text/html; charset={}">',
        '@charset "{}";',
        "\\usepackage[{}]{{inputenc}}",
    ],
)
def test_a_document_says_itself_what_it_is_written_in(declaration):
    text = f"{declaration.format('cp1250')}\nà"  # ŕ in that code page, which nobody would guess
    assert decode(text.replace("à", "ŕ").encode("cp1250"))[:2] == (text.replace("à", "ŕ"), "cp1250")
    assert decode(text.encode())[:2] == (text, "utf-8")  # it is UTF-8, whatever it says


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("파이썬은 배우기 쉬운 언어이다.\n", "iso2022_kr"),
        ("己所不欲，勿施於人。\n", "hz"),
        ("똠방각하 펲시콜라 ㉯㉯납 쌈싸라.\n", "johab"),
        ("똠방각하 펲시콜라 ㉯㉯납 쌈싸라.\n", "cp949"),
    ],
)
def test_encodings_that_shift_and_rare_korean_ones(text, encoding):
    assert decode(text.encode(encoding))[:2] == (text, encoding)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Ĉiuj homoj estas denaske liberaj kaj egalaj laŭ digno, ŝajne ĝuste aĵo.", "iso8859_3"),
        ("Le cœur de l'Œuvre a coûté 5 €, à la sœur.", "iso8859_15"),
        ("Šis žodis ir ąžuolas, ėjęs į ūkį.", "iso8859_13"),
        ("Zażółć gęślą jaźń, Ćma łże.", "mac_latin2"),
        ("Tâ\u0301t ca\u0309 mo\u0323i ngươ\u0300i sinh ra đê\u0300u đươ\u0323c tư\u0323 do.", "cp1258"),
        ("Õhtul sõi šokolaadi, ööbik ja žürii", "cp1252"),
    ],
)
def test_code_pages_of_smaller_languages(text, encoding):
    assert decode(text.encode(encoding))[0] == text


def test_few_letters_among_ascii_are_no_chinese():
    assert decode("Dansk er tæt forbundet med norsk".encode("cp1252"))[0] == "Dansk er tæt forbundet med norsk"
