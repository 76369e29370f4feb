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
