"""Mail and mailboxes."""

from __future__ import annotations

import base64
from email.message import EmailMessage

import pytest

from pincite.acquire.readers.mail import attachments, read
from pincite.errors import SourceUndecodable

MBOX = "application/mbox"


def letter(subject: str = "Grüße", text: str = "Hello,\n\nfirst point.\n") -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject, "Ann Ö <ann@example.org>", "bob@example.org"
    message["Date"] = "Mon, 06 May 2024 07:08:09 +0200"
    message.set_content(text)
    return message


def spans(reading) -> list[tuple[str, str]]:
    return [(block.kind, reading.text[block.start : block.end]) for block in reading.blocks]


def test_a_mail_with_alternatives_attachments_and_a_mail_within():
    message = letter()
    message.add_alternative("<p>Hello <b>HTML</b></p>", subtype="html")
    message.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="tëst.csv")
    message.add_attachment(letter("Inner", "Within.\n"))
    reading = read(message.as_bytes(), "x.eml", "message/rfc822")
    head = "From: Ann Ö <ann@example.org>\nTo: bob@example.org\nDate: Mon, 06 May 2024 07:08:09 +0200"
    assert spans(reading) == [
        ("heading", "# Grüße"),
        ("paragraph", head),
        ("paragraph", "Hello,"),
        ("paragraph", "first point."),
        ("heading", "## Inner"),
        ("paragraph", head),
        ("paragraph", "Within."),
        ("paragraph", "Attachments: tëst.csv (text/csv, 8 bytes)"),
    ]
    assert reading.title == "Grüße"
    assert reading.metadata["author"] == "Ann Ö <ann@example.org>"
    assert reading.metadata["date"] == "2024-05-06T07:08:09+02:00"
    assert attachments(message.as_bytes(), "") == [("tëst.csv", base64.b64encode(b"a,b\n1,2\n").decode())]


def test_html_is_the_body_where_there_is_no_text():
    message = letter(text=" \n")
    message.add_alternative("<p>Only HTML<script>x()</script></p><ul><li>one</ul>", subtype="html")
    assert spans(read(message.as_bytes(), "x.eml", ""))[2:] == [("paragraph", "Only HTML"), ("list", "- one")]


def test_bytes_in_headers_and_wrong_charsets():
    raw = "Subject: ☸ Grüße\nFrom: a@b\nContent-Type: text/plain; charset=us-ascii\n\nschön\n".encode()
    reading = read(raw, "x.eml", "")
    assert reading.title == "☸ Grüße"
    assert "schön" in reading.text


def test_a_mailbox_has_a_page_for_each_mail():
    first = letter("One").as_bytes() + b"\n>From here on\n"
    data = b"From ann Mon May  6 07:08:09 2024\n" + first + b"\nFrom bob Mon May  6 2024\nSubject: Two\n\nText\n"
    reading = read(data, "x.mbox", MBOX)
    assert [(page.number, page.label) for page in reading.pages] == [(1, "One"), (2, "Two")]
    assert "From here on" in reading.text
    assert reading.metadata == {"messages": 2}
    with pytest.raises(SourceUndecodable, match="no mailbox"):
        read(b"Subject: x\n\n", "x.mbox", MBOX)


@pytest.mark.parametrize("data", [b"", b"no mail at all", b"\x00\x01"])
def test_what_is_no_mail_is_refused(data):
    with pytest.raises(SourceUndecodable) as caught:
        read(data, "x.eml", "")
    assert caught.value.fix


def test_towers_and_floods_end():
    tower = b"".join(b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(3000))
    with pytest.raises(SourceUndecodable):
        read(tower, "x.eml", "")
    flood = b"Subject: " + b"=?utf-8?q?a?= " * 200_000 + b"\n\ntext\n"
    assert "text" in read(flood, "x.eml", "").text
