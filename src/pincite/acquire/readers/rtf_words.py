"""What RTF is made of: its tokens, code pages, and the control words that stand for text or hide it."""

from __future__ import annotations

import re

from pincite.acquire.readers.base import words

TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)|\\"
)
CHARSETS = {  # \fcharset: code page
    0: "cp1252", 2: "latin-1", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "cp950",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
CHARACTERS = {
    "tab": " ", "line": "\n", "emdash": "—", "endash": "–", "emspace": " ", "enspace": " ", "qmspace": " ",
    "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "me": " ", "mnum": " ", "mden": "/", "msup": "^", "msub": "_", "mrad": " √",  # between the parts of a formula
}  # fmt: skip
SYMBOLS = {b"~": "\u00a0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}", b"\r": "\n", b"\n": "\n"}
SKIPPED = words(  # destinations that hold no text of the document
    "colortbl filetbl pict objdata themedata colorschememapping datastore listtable listoverridetable revtbl rsidtbl "
    "generator fldinst bkmkstart bkmkend xe tc sp shprslt nonshppict private latentstyles xmlnstbl formfield ftnsep "
    "ftnsepc aftnsep aftnsepc pnseclvl template panose falt operator company manager vern hlinkbase doccomm userprops "
    "mctrlpr mdpr mfpr mssuppr mssubpr mssubsuppr msprepr maccpr mbarpr mboxpr mborderboxpr meqarrpr mfuncpr "
    "mgroupchrpr mlimlowpr mlimupppr mmpr mnarypr mphantpr mradpr mrpr margpr momathparapr mmathpr mmathpict"
)
SHOWN = words("shpinst shptxt shpgrp shppict result fldrslt momath momathpara")  # starred or not, it is text
DESTINATIONS = {
    "fonttbl": "fonts", "stylesheet": "styles", "footnote": "note", "annotation": "comment", "listtext": "marker",
    "pntext": "marker", "info": "info", **{word: f"info {word}" for word in ("title", "author", "subject", "keywords")},
    **dict.fromkeys(words("header headerl headerr headerf footer footerl footerr footerf"), "furniture"),
}  # fmt: skip
_COLOURS = re.compile(rb"\\colortbl([^{}]{0,20000})")


def colours(data: bytes) -> set[int]:
    """Give the numbers of the colours that are white, or nearly so."""
    table = _COLOURS.search(data)
    colours = table[1].split(b";") if table else []
    parts = [[int(part) for part in re.findall(rb"\\(?:red|green|blue)(\d{1,3})(?!\d)", colour)] for colour in colours]
    return {number for number, shares in enumerate(parts) if len(shares) == 3 and min(shares) > 231}


def joined(text: str) -> str:
    """Join surrogates to the characters that they are halves of; what is half stays as a replacement character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "")


def shown(text: str) -> str:
    """Give the text of a destination without the marks behind numbers and bullets."""
    return joined(text).replace("\u0001", " ").strip()
