"""Tell whether a text holds a gold answer: its words, in order, whatever case, marks and width they are written in."""

from __future__ import annotations

import re
import unicodedata


def words(text):
    return " ".join(["", *re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()), ""])


def holds(text, golds):
    return any(words(gold) in words(text) for gold in golds)
