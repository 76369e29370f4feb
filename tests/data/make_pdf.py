"""A small writer of PDF, so that each test makes the page it needs; run as a script it writes ``small.pdf`` anew.

Only what tests need: Helvetica in WinAnsiEncoding, content streams as given, annotations, labels, outline, encryption.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold"}
MEANINGS = """/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /M def /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange {} beginbfchar {} endbfchar endcmap end end"""


def text(x: float, y: float, said: str, size: float = 10, font: str = "F1", before: str = "") -> str:
    """Set a line of text at a place."""
    return f"q BT {before} /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({escaped(said)}) Tj ET Q\n"


def lines(x: float, y: float, said: list[str], size: float = 10, leading: float = 1.2, **options: str) -> str:
    """Set lines below each other."""
    return "".join(text(x, y - n * leading * size, line, size, **options) for n, line in enumerate(said))


def escaped(said: str) -> str:
    return said.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


@dataclass
class PdfPage:
    """A page: its content stream, and entries of its dictionary."""

    content: str = ""
    entries: str = ""  # such as "/Rotate 90"
    resources: str = ""  # beside the fonts
    annotations: list[str] = field(default_factory=list)  # dictionaries
    size: tuple[float, float] = (400, 600)


@dataclass
class Pdf:
    """A document; ``bytes(pdf)`` is the file."""

    pages: list[PdfPage] = field(default_factory=list)
    info: dict[str, str] = field(default_factory=dict)
    catalog: str = ""
    more: dict[int, bytes] = field(default_factory=dict)  # objects by number, from 1000
    password: str = ""  # encrypts, RC4 with 40 bits
    outline: list[tuple[str, int]] = field(default_factory=list)  # title, page from 0
    meanings: dict[str, str] = field(
        default_factory=dict
    )  # of the characters of the font F3: what its glyphs stand for

    def __bytes__(self) -> bytes:
        objects = self._objects()
        key = b""
        if self.password:
            objects[4], key = self._encryption()
        out, places = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), {}
        for number in sorted(objects):
            places[number] = len(out)
            body = objects[number]
            if key and b"stream\n" in body:
                head, _, rest = body.partition(b"stream\n")
                data = rest.removesuffix(b"\nendstream")
                body = head + b"stream\n" + rc4(object_key(key, number), data) + b"\nendstream"
            out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
        start = len(out)
        out += b"xref\n0 1\n0000000000 65535 f \n"
        for number, place in places.items():
            out += b"%d 1\n%010d 00000 n \n" % (number, place)
        trailer = "/Encrypt 4 0 R /ID [<00> <00>]" if key else ""
        out += (
            f"trailer\n<< /Size {max(objects) + 1} /Root 1 0 R /Info 3 0 R {trailer} >>\nstartxref\n{start}\n".encode()
        )
        return bytes(out + b"%%EOF\n")

    def _objects(self) -> dict[int, bytes]:
        numbers = [100 + 2 * n for n in range(len(self.pages))]
        kids = " ".join(f"{n} 0 R" for n in numbers)
        outlines = "/Outlines 10 0 R" if self.outline else ""
        info = " ".join(f"/{name} ({escaped(value)})" for name, value in self.info.items())
        objects = {
            1: f"<< /Type /Catalog /Pages 2 0 R {outlines} {self.catalog} >>".encode(),
            2: f"<< /Type /Pages /Kids [{kids}] /Count {len(numbers)} >>".encode(),
            3: f"<< {info} >>".encode("cp1252"),
        }
        for number, font in enumerate(FONTS.values(), 5):
            objects[number] = f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>".encode()
        if self.meanings:
            objects[7] = objects[5].replace(b" >>", b" /ToUnicode 8 0 R >>")
            pairs = [f"<{ord(code):02x}> <{said.encode('utf-16-be').hex()}>" for code, said in self.meanings.items()]
            objects[8] = stream(MEANINGS.format(len(pairs), " ".join(pairs)).encode())
        for n, (title, page) in enumerate(self.outline):
            last = n == len(self.outline) - 1
            objects[11 + n] = (
                f"<< /Title ({escaped(title)}) /Parent 10 0 R /Dest [{numbers[page]} 0 R /Fit]"
                f"{'' if last else f' /Next {12 + n} 0 R'} >>"
            ).encode()
        objects[10] = f"<< /First 11 0 R /Last {10 + len(self.outline)} 0 R /Count {len(self.outline)} >>".encode()
        fonts = " ".join(
            f"/{name} {number} 0 R" for number, name in enumerate([*FONTS, *["F3"] * bool(self.meanings)], 5)
        )
        for number, page in zip(numbers, self.pages, strict=True):
            data = page.content.encode("cp1252")
            box = f"[0 0 {page.size[0]} {page.size[1]}]"
            objects[number] = (
                f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Contents {number + 1} 0 R {page.entries}"
                f" /Resources << /Font << {fonts} >> {page.resources} >> /Annots [{' '.join(page.annotations)}] >>"
            ).encode()
            objects[number + 1] = stream(data)
        return objects | self.more

    def _encryption(self) -> tuple[bytes, bytes]:
        """Give the encryption dictionary and the key: ISO 32000-1, 7.6.3, revision 2."""
        padded = (self.password.encode("cp1252") + PADDING)[:32]
        owner = rc4(hashlib.md5(padded).digest()[:5], padded)
        rights = (-4).to_bytes(4, "little", signed=True)
        key = hashlib.md5(padded + owner + rights + b"\0").digest()[:5]
        user = rc4(key, PADDING)
        entries = f"<< /Filter /Standard /V 1 /R 2 /O <{owner.hex()}> /U <{user.hex()}> /P -4 >>"
        return entries.encode(), key


def stream(data: bytes, entries: str = "") -> bytes:
    """Make a stream object."""
    return f"<< /Length {len(data)} {entries} >>\nstream\n".encode() + data + b"\nendstream"


def object_key(key: bytes, number: int) -> bytes:
    return hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0").digest()[:10]


def rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def small() -> Pdf:
    """Make the small document whose structure tests hold as it is."""
    first = text(40, 575, "Field notes 2026") + text(40, 530, "On tides", 20, "F2") + text(40, 490, "Causes", 14, "F2")
    first += lines(
        40, 470, ["Tides are raised by the Moon and, less, by the Sun; both to-", "gether make spring tides."]
    )
    first += lines(
        40, 430, ["Neap tides follow a week later, when the pulls are at right", "angles to each other, and"]
    )
    first += text(200, 20, "1")
    second = text(40, 575, "Field notes 2026") + lines(40, 530, ["then the range is least."]) + text(200, 20, "2")
    second += text(40, 490, "Tables", 14, "F2") + lines(40, 470, ["• Brest: 6.9 m", "• Venice: 0.9 m"])
    third = (
        text(40, 575, "Field notes 2026")
        + lines(40, 530, ["Nothing is certain but the next tide."])
        + text(200, 20, "3")
    )
    info = {"Title": "A small book of tides", "Author": "M. Brandt", "CreationDate": "D:20261130120000Z"}
    return Pdf([PdfPage(first), PdfPage(second), PdfPage(third)], info, "/Lang (en-GB)")


if __name__ == "__main__":
    Path(__file__).with_name("small.pdf").write_bytes(bytes(small()))
