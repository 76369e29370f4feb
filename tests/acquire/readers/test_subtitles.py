"""Subtitles."""

from __future__ import annotations

from pincite.acquire.readers.subtitles import parse


def spans(reading) -> list[tuple[str, str]]:
    return [(block.kind, reading.text[block.start : block.end]) for block in reading.blocks]


def test_srt_becomes_sections_that_say_when():
    cues = [
        (1, 20, "First."),
        (21, 47, "<i>Second</i>,\ngoes on"),
        (48, 50, "and ends."),
        (51, 60, "Third &amp; last."),
    ]
    source = "\r\n\r\n".join(
        f"{n}\r\n00:00:{a:02},500 --> 00:00:{b:02},000\r\n{text}" for n, (a, b, text) in enumerate(cues, 1)
    )
    reading = parse(source, "talk.srt")
    assert spans(reading) == [
        ("heading", "## 00:00:01 - 00:00:50"),
        ("paragraph", "First.\nSecond,\ngoes on\nand ends."),
        ("heading", "## 00:00:51 - 00:01:00"),
        ("paragraph", "Third & last."),
    ]
    assert reading.blocks[0].label == "00:00:01 - 00:00:50"
    assert (reading.title, reading.metadata) == ("talk", {"seconds": 60.0})


def test_webvtt_with_a_title_voices_notes_and_settings():
    source = (
        "WEBVTT - My talk\n\nNOTE not said\n\nid\n01:02.000 --> 01:03.000 align:left\n<v Ann>Hi <00:01:02.5>you\n\n"
        "1:59:00.000 --> 2:00:00.000\nLater.\n"
    )
    reading = parse(source, "x.vtt")
    assert reading.title == "My talk"
    assert reading.text == "## 00:01:02 - 00:01:03\n\nAnn: Hi you\n\n## 01:59:00 - 02:00:00\n\nLater."


def test_speech_without_sentences_is_cut_too():
    cues = "\n\n".join(f"{n}\n00:{n:02}:00,000 --> 00:{n:02}:59,000\nword" for n in range(10))
    assert parse(cues, "x.srt").text.count("##") == 5


def test_what_has_no_cues_stays_as_it_is():
    reading = parse("Just text.\n\nMore.", "x.srt")
    assert reading.text == "Just text.\n\nMore."
    assert [kind for kind, _ in spans(reading)] == ["paragraph", "paragraph"]


def test_blank_lines_in_a_cue_and_missing_ones_between_cues_lose_nothing():
    text = "1\n00:00:01,000 --> 00:00:02,000\nOne\n\nstill one\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n"
    text += "00:00:05,000 --> 00:00:06,000\nThree\n\n4\n\n00:00:07,000 --> 00:00:08,000\nFour\n"
    assert parse(text, "x.srt").text.partition("\n\n")[2] == "One\nstill one\nTwo\nThree\nFour"
    vtt = "WEBVTT\n\nSTYLE\n::cue { color: red }\n\nintro\n00:01.000 --> 00:02.000\nHi\n\nNOTE not said\n\nthere"
    assert parse(vtt, "x.vtt").text.partition("\n\n")[2] == "Hi\nthere"


def test_sbv():
    assert parse("0:00:00.378,0:00:11.378\nHello,\nyou\n\n0:00:12.000,0:00:13.000\nBye", "x.sbv").text == (
        "## 00:00:00 - 00:00:13\n\nHello,\nyou\nBye"
    )
