"""SRT, WebVTT and SBV: what is said, in sections that say when."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from pincite.acquire.readers.base import Lines, of_text, one_line, stem
from pincite.acquire.readers.dom import Piece, assembled
from pincite.types import Reading

_SECTION = 45.0  # seconds after which a section ends with the next sentence; about a passage of speech
_LONGEST = 90.0  # seconds after which it ends in any case
_CLOCK = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?"
_TIMES = re.compile(rf"\s*{_CLOCK}(?:\s*-->\s*|,(?=\S*$)){_CLOCK}")
_UNSAID = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)|\d+$|WEBVTT")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,100})>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|\{\\[^{}]{0,200}\}|<\d[\d:.]*>")
_SENTENCE = re.compile(r"""[.!?…。！？]["'”’»)\]]*$""")


class _Cue(NamedTuple):
    """What is said, and when, in seconds."""

    start: float
    end: float
    text: str


def parse(text: str, name: str, media_type: str = "text/x-subtitles") -> Reading:
    """Write what is said, without numbers, times and tags.

    Sections of about a minute have a heading such as "00:01:02 - 00:01:45", which stays with every passage and
    citation. Lines of a cue stay lines; a voice is written "Name: ...". Metadata: the length in seconds.
    """
    lines = Lines(text)
    cues = [cue for cue in _cues(lines) if cue.text]
    if not cues:
        return Reading(text, stem(name), tuple(lines.block("paragraph", *run) for run in lines.paragraphs()))
    pieces: list[Piece] = []
    for section in _sections(cues):
        label = f"{_shown(section[0].start)} - {_shown(max(cue.end for cue in section))}"
        pieces.append(Piece("heading", f"## {label}", 2, label))
        pieces.append(Piece("paragraph", "\n".join(cue.text for cue in section)))
    spoken, blocks = assembled(pieces)
    seconds = max(cue.end for cue in cues)
    return Reading(spoken, one_line(_title(lines)) or stem(name), blocks, metadata={"seconds": seconds})


def _cues(lines: Lines) -> list[_Cue]:
    """Read all cues: what stands below the times, up to the next ones; some say nothing."""
    cues: list[_Cue] = []
    for run in lines.paragraphs():
        said, is_first = list[str](), True
        rows = [lines[row] for row in range(*run)]
        if _UNSAID.match(rows[0].strip()) and not any(_TIMES.match(row[:200]) for row in rows):
            continue
        for row in rows:
            match = _TIMES.match(row[:200])
            if not match:
                said.append(_plain(row))
                continue
            if said and (is_first or said[-1].isdecimal()):
                said.pop()  # the name of the cue that begins here
            _go_on(cues, said)
            times = match.groups()
            cues.append(_Cue(_seconds(times[:4]), _seconds(times[4:]), ""))
            said, is_first = [], False
        _go_on(cues, said)
    return cues


def _go_on(cues: list[_Cue], said: list[str]) -> None:
    """Add lines to the last cue, in which there may be blank ones."""
    if cues and any(said):
        cues[-1] = cues[-1]._replace(text="\n".join(filter(None, [cues[-1].text, *said])))


def _plain(line: str) -> str:
    """Take tags and entities off a line."""
    return html.unescape(_TAG.sub("", _VOICE.sub(r"\1: ", line))).strip()


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = parts
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0) + float(f"0.{fraction or 0}")


def _shown(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def _sections(cues: list[_Cue]) -> Iterator[list[_Cue]]:
    """Cut at the end of a sentence, or where nobody speaks for long."""
    section: list[_Cue] = []
    for cue in cues:
        if section:
            length = section[-1].end - section[0].start
            silence = cue.start - section[-1].end
            is_done = length >= _SECTION and bool(_SENTENCE.search(section[-1].text))
            if is_done or length >= _LONGEST or silence >= _SECTION or silence < -_LONGEST:
                yield section
                section = []
        section.append(cue)
    if section:
        yield section


def _title(lines: Lines) -> str:
    """Give what stands behind WEBVTT on the first line."""
    first = lines[0].lstrip("\ufeff")
    return first[6:].strip(" \t-") if first.startswith("WEBVTT") else ""


read = of_text(parse)
