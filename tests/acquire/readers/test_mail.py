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


def test_a_report_of_delivery_says_what_failed():
    failed = "Final-Recipient: rfc822; a@b.example\nDiagnostic-Code: smtp; 550 No such user"
    status = f"Reporting-MTA: dns; mx.example\n\n{failed}\n"
    head = 'From: a@b\nSubject: Undelivered\nMIME-Version: 1.0\nContent-Type: multipart/report; boundary="x"\n\n'
    body = f"--x\nContent-Type: text/plain\n\nSorry.\n--x\nContent-Type: message/delivery-status\n\n{status}\n--x--\n"
    reading = read((head + body).encode(), "m.eml", "message/rfc822")
    assert reading.text.index("Sorry.") < reading.text.index("Reporting-MTA: dns; mx.example")
    assert failed in reading.text


def alternative(plain: str, page: str, more: str = "") -> str:
    return (
        'From: a@b\nSubject: s\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary="x"\n\n'
        f"--x\nContent-Type: text/plain\n\n{plain}\n--x\n{page}\n{more}--x--\n"
    )


def test_plain_text_that_only_says_that_there_is_another_form_is_not_taken():
    page = f"Content-Type: text/html\n\n<p>{'What it is about. ' * 20}</p>\n"
    assert "What it is about." in read(alternative("Use a viewer for HTML.", page).encode(), "", "message/rfc822").text
    short = "Content-Type: text/html\n\n<p>Yes, <b>please</b></p>\n"
    assert "Yes, please!" in read(alternative("Yes, please!", short).encode(), "", "message/rfc822").text


def test_files_that_hang_on_the_other_form_are_not_lost():
    page = (
        'Content-Type: multipart/mixed; boundary="y"\n\n--y\nContent-Type: text/html\n\n<p>Hello</p>\n'
        "--y\nContent-Type: application/pdf; name=a.pdf\nContent-Disposition: inline; filename=a.pdf\n\n%PDF-\n"
        "--y\nContent-Type: image/png; name=logo.png\n\nx\n--y--\n"
    )
    mail = alternative("Hello", page).encode()
    assert [name for name, _ in attachments(mail, "message/rfc822")] == ["a.pdf"]
    assert "Attachments: a.pdf" in read(mail, "", "message/rfc822").text


def test_text_to_be_shown_where_it_stands_is_body_though_it_has_a_name():
    mail = (
        b'From: a@b\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\n'
        b"--x\nContent-Type: text/plain\nContent-Disposition: inline; filename=m.txt\n\nShown.\n"
        b"--x\nContent-Type: text/x-notes\n\nUnknown text is text.\n"
        b"--x\nContent-Type: text/plain; name=kept.txt\n\nA file.\n--x--\n"
    )
    reading = read(mail, "m.eml", "message/rfc822")
    assert "Shown." in reading.text and "Unknown text is text." in reading.text and "A file." not in reading.text
    assert [name for name, _ in attachments(mail, "message/rfc822")] == ["kept.txt"]
