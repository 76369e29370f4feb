"""Outlook messages."""

from __future__ import annotations

import base64
import struct

import pytest

from pincite.acquire.readers.mail import read as read_mail
from pincite.acquire.readers.msg import attachments, read, unpacked
from pincite.errors import SourceUndecodable
from tests.acquire.made import msg, ole

TEXTS = {
    "0037": "Grüße",
    "1000": "Hello,\r\n\r\nfirst point.",
    "0C1A": "Ann",
    "0E04": "Bob; Cy",
    "007D": "Date: Mon, 06 May 2024 07:08:09 +0200\r\nMessage-ID: <1@example.org>\r\n",
}
TABLE = b"fruit,colour\n" + b"plum,purple\n" * 400


def test_a_message_with_an_attachment():
    data = msg(TEXTS, {"täble.csv": TABLE})
    reading = read(data, "x.msg", "")
    assert reading.text == (
        "# Grüße\n\nFrom: Ann\nTo: Bob; Cy\nDate: Mon, 06 May 2024 07:08:09 +0200\n\nHello,\n\nfirst point.\n\n"
        f"Attachments: täble.csv (application/octet-stream, {len(TABLE):,} bytes)"
    )
    assert reading.title == "Grüße"
    assert reading.metadata == {
        "author": "Ann",
        "to": "Bob; Cy",
        "message_id": "<1@example.org>",
        "date": "2024-05-06T07:08:09+02:00",
    }
    assert attachments(data, "") == [("täble.csv", base64.b64encode(TABLE).decode())]


def test_html_and_rich_text_are_bodies_where_there_is_no_plain_one():
    subject = "Subject".encode("utf-16-le")
    html = {"__properties_version1.0": bytes(32), "__substg1.0_0037001F": subject,
            "__substg1.0_10130102": b"<p>Only <b>HTML</b></p>" + b" " * 4096}  # fmt: skip
    assert read(ole(html), "x.msg", "").text.endswith("Only HTML")
    plain = b"{\\rtf1 Only rich text\\par}"
    packed = struct.pack("<II4sI", len(plain) + 12, len(plain), b"MELA", 0) + plain
    rich = {**html, "__substg1.0_10090102": packed}
    del rich["__substg1.0_10130102"]
    assert read(ole(rich), "x.msg", "").text.endswith("Only rich text")


def test_texts_in_an_old_code_page_are_guessed_by_the_body():
    body = "格式測試的內容在這裡，這是一封測試郵件，請大家確認文字是否正確顯示。" * 4
    streams = {"__properties_version1.0": bytes(32), "__substg1.0_1000001E": body.encode("big5"),
               "__substg1.0_0037001E": "格式測試".encode("big5")}  # fmt: skip
    streams = {name: content if name[0:3] == "__p" else content.ljust(4096, b" ") for name, content in streams.items()}
    assert read(ole(streams), "x.msg", "").title == "格式測試"


def person(kind: int, name: str, address: str) -> dict[str, bytes]:
    number = struct.pack("<IIq", 0x0C150003, 0, kind)
    return {
        "__properties_version1.0": bytes(8) + number,
        "__substg1.0_3001001F": name.encode("utf-16-le"),
        "__substg1.0_39FE001F": address.encode("utf-16-le"),
    }


def test_people_have_their_addresses_and_enclosed_messages_are_mails_of_their_own():
    streams = {"__properties_version1.0": bytes(32), "__substg1.0_0037001F": "Outer".encode("utf-16-le")}
    texts = {"0C1A": "Ann", "0C1F": "/O=FIRM/CN=ANN@X", "007D": "From: Ann <ann@example.org>\n", "0E04": "Bob; Cy"}
    streams |= {f"__substg1.0_{key}001F": text.encode("utf-16-le") for key, text in texts.items()}
    people = (person(1, "Bob", "bob@example.org"), person(1, "cy@example.org", "cy@example.org"), person(2, "Di", ""))
    for number, one in enumerate(people):
        streams |= {f"__recip_version1.0_#{number:08X}/{name}": content for name, content in one.items()}
    inner = {"__properties_version1.0": bytes(24), "__substg1.0_0037001F": "Inner".encode("utf-16-le"),
             "__substg1.0_1000001F": "Enclosed grüße.".encode("utf-16-le")}  # fmt: skip
    folder = "__attach_version1.0_#00000000"
    streams |= {f"{folder}/__substg1.0_3701000D/{name}": content for name, content in inner.items()}
    data = ole(streams | {f"{folder}/__substg1.0_3704001F": "note.msg".encode("utf-16-le")})
    text = read(data, "x.msg", "").text
    assert "From: Ann <ann@example.org>\nTo: Bob <bob@example.org>; cy@example.org\nCc: Di" in text
    ((name, content),) = attachments(data, "")
    assert name == "note.eml"
    enclosed = read_mail(base64.b64decode(content), name, "message/rfc822")
    assert (enclosed.title, enclosed.text.endswith("Enclosed grüße.")) == ("Inner", True)


def test_packed_rich_text():
    example = (  # MS-OXRTFCP 4.1.1
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert unpacked(bytes.fromhex(example)) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"


@pytest.mark.parametrize("data", [b"", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ole({"other": b"x"})])
def test_what_is_no_message_is_refused(data):
    with pytest.raises(SourceUndecodable) as caught:
        read(data, "x.msg", "")
    assert caught.value.fix
