"""Mails as they are found in the wild: charsets, headers, dates, parts, quotations, mboxes."""

from __future__ import annotations

import base64
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.sdk import Converted, ConvertError, ConvertFile
from sapwood_documents import convert
from sapwood_documents.mail_headers import decode_words
from sapwood_documents.quotes import mark_quotations
from sapwood_documents.tnef import read_tnef


def _file(place: Path, data: bytes, name: str = "mail.eml") -> ConvertFile:
    path = place / name
    path.write_bytes(data)
    return ConvertFile(str(path), name, len(data), workdir=str(place / "work"))


def _read(place: Path, data: bytes, name: str = "mail.eml") -> Converted:
    found = convert(_file(place, data, name))
    assert found is not None
    return found


def _mail(headers: bytes, body: bytes = b"Words.") -> bytes:
    return headers + b"\n\n" + body


# -- headers ------------------------------------------------------------------------------------------------------


def test_gb2312_is_read_as_gb18030_in_headers_and_bodies(tmp_path: Path) -> None:
    word = base64.b64encode("朱镕基 ㎏".encode("gb18030")).decode()
    found = _read(tmp_path, _mail(f"Subject: =?gb2312?B?{word}?=\nContent-Type: text/plain; charset=gb2312".encode(), "镕㎏".encode("gb18030")))  # fmt: skip
    assert found.title == "朱镕基 ㎏" and found.segments[0].text == "镕㎏"


def test_half_a_character_in_a_header_spoils_that_header_alone(tmp_path: Path) -> None:
    found = _read(tmp_path, _mail(b"From: =?gb2312?Q?=C1?= <a@b.cn>\nSubject: whole"))
    assert found.title == "whole" and found.segments[0].author == "\ufffd <a@b.cn>"


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_raw_bytes_in_a_header_are_utf_8_or_gb18030(tmp_path: Path, encoding: str) -> None:
    found = _read(tmp_path, _mail("Subject: 发信方已撤回邮件".encode(encoding)))
    assert found.title == "发信方已撤回邮件"


def test_a_character_cut_between_two_words_is_put_together(tmp_path: Path) -> None:
    data = "工作报告".encode()
    words = " ".join(f"=?utf-8?B?{base64.b64encode(part).decode()}?=" for part in (data[:4], data[4:]))
    assert decode_words(words) == "工作报告"
    assert (
        decode_words("=?unknown-x?B?SGVsbG8=?= =?utf-8?Q?w=C3=B6rld?=") == "Hellowörld"
    )  # blanks between encoded words are none


@given(st.text(max_size=80))
def test_no_header_makes_it_fail(text: str) -> None:
    assert isinstance(decode_words(text), str)


@pytest.mark.parametrize(
    ("raw", "moment", "doubt"),
    [
        ("Fri, 01 Aug 2025 10:00:00 +0200", datetime(2025, 8, 1, 8, tzinfo=UTC), False),
        ("Fri, 01 Aug 2025 10:00:00", datetime(2025, 8, 1, 10, tzinfo=UTC), True),
        ("Fri, 01 Aug 2025 10:00:00 -0000", datetime(2025, 8, 1, 10, tzinfo=UTC), False),
        ("2025-07-29T12:42:06Z", datetime(2025, 7, 29, 12, 42, 6, tzinfo=UTC), False),
        ("yesterday", None, True),
        ("", None, False),
    ],
)
def test_dates_with_and_without_zone(tmp_path: Path, raw: str, moment: datetime | None, doubt: bool) -> None:
    found = _read(tmp_path, _mail(f"Date: {raw}\nSubject: x".encode()))
    assert found.segments[0].at == moment and bool(found.warnings) is doubt


def test_people_have_roles_and_labels_are_tags(tmp_path: Path) -> None:
    found = _read(tmp_path, _mail(b'From: "Ek, Anna" <Anna@x.org>\nTo: bo@x.org, =?utf-8?Q?Z=C3=B6e?= <zoe@x.org>\nCc: c@x.org\nSubject: s\nX-Gmail-Labels: =?UTF-8?Q?=E5=B7=A5=E4=BD=9C,In?=\n =?UTF-8?Q?box?='))  # fmt: skip
    assert [(p.role, p.name, p.address) for p in found.people] == [
        ("sender", "Ek, Anna", "anna@x.org"), ("recipient", "", "bo@x.org"), ("recipient", "Zöe", "zoe@x.org"), ("cc", "", "c@x.org"),
    ]  # fmt: skip
    assert found.tags == ("工作", "Inbox") and found.kind == "email"
    assert found.segments[0].headers == (("To", "bo@x.org, Zöe <zoe@x.org>"), ("Cc", "c@x.org"), ("Subject", "s"))


def test_without_a_message_id_the_content_names_the_mail(tmp_path: Path) -> None:
    first, again = (_read(tmp_path, _mail(b"Subject: x", b"one")).segments[0].native_id for _ in range(2))
    other = _read(tmp_path, _mail(b"Subject: x", b"two")).segments[0].native_id
    assert first == again != other and first.startswith("sha256:")


def test_what_is_no_mail_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConvertError, match="begins with no header"):
        _read(tmp_path, b"\x00\x01\x02 nothing of the kind\n")


# -- parts --------------------------------------------------------------------------------------------------------

_PARTS = b"""Subject: parts
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=B

--B
Content-Type: multipart/alternative; boundary=A

--A
Content-Type: text/plain; charset=utf-8

%s
--A
Content-Type: text/html; charset=utf-8

<p>The <b>rich</b> text, which is a good deal longer than the other one, with <a href="https://x.org/">a link</a>.</p><script>alert(1)</script>
--A--
--B
Content-Type: application/pdf; name="bill.pdf"
Content-Disposition: inline; filename="bill.pdf"
Content-Transfer-Encoding: base64

JVBERi0=
--B
Content-Type: image/png; name="logo.png"
Content-ID: <logo>
Content-Disposition: inline; filename="logo.png"
Content-Transfer-Encoding: base64

iVBORw0=
--B--
"""


def test_one_body_is_chosen_and_attachments_are_named(tmp_path: Path) -> None:
    plain = _read(tmp_path, _PARTS % b"The plain text says about as much as the other.")
    assert plain.segments[0].text == "The plain text says about as much as the other.\n\nAttachments: bill.pdf"
    rich = _read(tmp_path, _PARTS % b"See HTML.")
    assert "The rich text" in rich.segments[0].text and "alert" not in rich.segments[0].text
    assert [(a.name, a.size) for a in plain.attachments] == [("bill.pdf", 5)]


def test_a_mail_inside_of_a_mail_is_a_segment_of_its_own(tmp_path: Path) -> None:
    inner = b"From: eve@x.org\nSubject: inner\n\nThe inner words."
    found = _read(tmp_path, b"From: a@x.org\nSubject: outer\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/plain\n\nThe outer words.\n--B\nContent-Type: message/rfc822\n\n" + inner + b"\n--B--\n")  # fmt: skip
    assert [(s.author, s.text) for s in found.segments] == [
        ("a@x.org", "The outer words."),
        ("eve@x.org", "The inner words."),
    ]
    assert found.title == "outer"


def test_a_mail_of_nothing_but_a_subject_is_kept(tmp_path: Path) -> None:
    found = _read(tmp_path, b"Subject: only this\n\n")
    assert found.title == "only this" and found.segments[0].text == "(no text)"


def test_deep_nesting_and_endless_parts_end(tmp_path: Path) -> None:
    deep = (
        b"Subject: deep\n"
        + b"".join(b"Content-Type: multipart/mixed; boundary=B%d\n\n--B%d\n" % (n, n) for n in range(400))
        + b"\nend"
    )
    began = time.monotonic()
    assert _read(tmp_path, deep).title == "deep"
    many = (
        b"Subject: many\nContent-Type: multipart/mixed; boundary=B\n\n"
        + b"--B\nContent-Type: text/plain\n\nx\n" * 3000
        + b"--B--"
    )
    assert "1000 parts" in _read(tmp_path, many).truncated
    assert time.monotonic() - began < 30


# -- quotations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Yes.\n\nOn Mon, 2 Apr 2012, Megan One <x@y.z> wrote:\nold words", "old words"),
        ("好的。\n\n在 2024年5月6日，张三 <a@b.c> 写道：\n旧的话", "旧的话"),
        ("收到\n\n发件人: 张三\n发送时间: 2024年5月6日\n收件人: 李四\n主题: 计划\n\n旧的话", "旧的话"),
        ("Yes.\n\nFrom: Ann\nSent: Monday\nTo: Bob\nSubject: plan\n\nold words", "old words"),
        ("Yes.\n\n-----Original Message-----\nold words", "old words"),
        ("好的\n-----原始邮件-----\n旧的话", "旧的话"),
        ("**From:** Ann\n**Sent:** Monday\n**To:** Bob\n\nold words", "old words"),
        ("Fine.\n\nOn Mon, 2 Apr 2012 at 18:26, Megan One\n<x@y.z> wrote:\n\nold words", "old words"),
    ],
)
def test_what_is_quoted_is_marked_and_kept(text: str, quoted: str) -> None:
    marked = mark_quotations(text)
    assert f"> {quoted}" in marked
    assert marked.replace("> ", "").replace(">", "") == text.replace("> ", "").replace(">", "")
    assert marked.split("\n")[0] == text.split("\n")[0] or marked.startswith("> ")


@pytest.mark.parametrize(
    "text",
    [
        "Reply\n\n**From:** x\n\nold",  # one header alone: in doubt nothing is marked
        "From my side all is well.\nSent from my phone",
        "On Monday we wrote the plan.\nIt holds.",
        "Yes.\n\nOn Mon, Ann wrote:\n\n> first\n\nAnd my answer.\n\n> second",
        "在这里写道理很多。\n就这些。",
        "",
    ],
)
def test_where_it_is_in_doubt_nothing_is_marked(text: str) -> None:
    assert mark_quotations(text) == text


@pytest.mark.parametrize(
    "text", ["On Mon, foo bar " * 5000, "\n" * 50_000, "From: x\n" * 20_000, "> " * 50_000, "在" * 100_000 + "写道"]
)
def test_no_mail_makes_the_marking_hang(text: str) -> None:
    began = time.monotonic()
    mark_quotations(text)
    assert time.monotonic() - began < 5


# -- mboxes -------------------------------------------------------------------------------------------------------


def _members(place: Path, data: bytes, name: str = "box.mbox") -> list[tuple[str, Converted]]:
    found = _read(place, data, name)
    assert found.one_source and found.media_type == "application/mbox"
    read = []
    for member in found.members:
        inner = convert(ConvertFile(member.path, member.name, member.size))
        assert inner is not None
        read.append((member.name, inner))
    return read


def test_threads_are_items_and_sentences_that_begin_with_from_are_no_borders(tmp_path: Path) -> None:
    box = (
        b"From a@x.org Fri Aug  1 10:00:00 2025\nMessage-ID: <1@x>\nSubject: Plan\nDate: Fri, 01 Aug 2025 10:00:00 +0000\n\nFirst.\n\nFrom my side: fine.\n>From here on\n>>From there\n\n"
        b"From b@x.org Fri Aug  1 11:00:00 2025\nMessage-ID: <2@x>\nSubject: Other\n\nElse.\n\n"
        b"From c@x.org Fri Aug  1 12:00:00 2025\nMessage-ID: <3@x>\nIn-Reply-To: <1@x>\nSubject: Re: Plan\nDate: Fri, 01 Aug 2025 12:00:00 +0000\n\nSecond.\n"
    )
    threads = _members(tmp_path, box)
    assert [[s.native_id for s in inner.segments] for _, inner in threads] == [["1@x", "3@x"], ["2@x"]]
    assert threads[0][1].title == "Plan" and threads[0][0].startswith("Plan ")
    assert threads[0][1].segments[0].text == "First.\n\nFrom my side: fine.\nFrom here on\n>From there"


def test_replies_are_one_thread_although_the_first_mail_is_not_there(tmp_path: Path) -> None:
    box = b"".join(
        b"From -\nMessage-ID: <%d@x>\nReferences: <gone@x>\nSubject: Re: Plan\n\nAnswer %d.\n\n" % (n, n)
        for n in (1, 2)
    )
    ((_, thread),) = _members(tmp_path, box)
    assert [s.text for s in thread.segments] == ["Answer 1.", "Answer 2."]


def test_a_message_id_that_is_used_twice_loses_no_mail(tmp_path: Path) -> None:
    box = b"".join(b"From -\nMessage-ID: <1@x>\nSubject: s\n\nText %d.\n\n" % n for n in range(3))
    ((_, thread),) = _members(tmp_path, box)
    assert [s.text for s in thread.segments] == ["Text 0.", "Text 1.", "Text 2."]
    assert len({s.native_id for s in thread.segments}) == 3


def test_an_mbox_under_another_name_is_known_by_its_beginning(tmp_path: Path) -> None:
    assert [inner.title for _, inner in _members(tmp_path, b"\xef\xbb\xbfFrom -\nSubject: s\n\nx\n", "mail.txt")] == [
        "s"
    ]
    with pytest.raises(ConvertError, match="no mails"):
        _read(tmp_path, b"nothing of the kind\n", "box.mbox")


@given(st.binary(max_size=400))
def test_no_bytes_make_the_readers_fail(data: bytes) -> None:
    read_tnef(b"\x78\x9f\x3e\x22\x00\x00" + data)
    mark_quotations(data.decode("utf-8", "replace"))


# -- one that is broken takes no other with it ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        b"To: " + b"(" * 3000 + b"\nSubject: b\n\nx",
        b"Date: 31 Dec 9999 23:00:00 -1200\nSubject: b\n\nx",
        b"".join(b"Content-Type: message/rfc822\n\n" for _ in range(600)) + b"Subject: b\n\nx",
        b"Subject: b\nContent-Type: application/ms-tnef; name=winmail.dat\nContent-Transfer-Encoding: base64\n\neJ8+IgAA",
    ],
)
def test_a_broken_mail_spoils_neither_its_thread_nor_itself(tmp_path: Path, broken: bytes) -> None:
    box = (
        b"From -\nMessage-ID: <1@x>\nSubject: whole\n\nThe whole one.\n\nFrom -\nMessage-ID: <2@x>\nReferences: <1@x>\n"
        + broken
        + b"\n"
    )
    ((_, thread),) = _members(tmp_path, box)
    assert len(thread.segments) == 2 and thread.title == "whole" and "The whole one." in thread.segments[0].text


def test_a_text_body_with_a_name_is_a_body(tmp_path: Path) -> None:
    found = _read(tmp_path, b'Subject: s\nContent-Type: text/plain; charset=utf-8; name="body.txt"\n\nThe words.')
    assert found.segments[0].text == "The words." and not found.attachments
    attached = _read(
        tmp_path,
        b'Subject: s\nContent-Type: text/plain; name="a.txt"\nContent-Disposition: attachment; filename="a.txt"\n\nx',
    )
    assert [a.name for a in attached.attachments] == ["a.txt"]


def test_a_thread_keeps_its_name_when_an_older_mail_comes_late_and_the_mbox_grows(tmp_path: Path) -> None:
    first = b"From -\nMessage-ID: <1@x>\nSubject: Offer\nDate: Fri, 01 Aug 2025 10:00:00 +0000\n\nOne."
    late = b"From -\nMessage-ID: <0@x>\nIn-Reply-To: <1@x>\nSubject: Re: Offer\nDate: Thu, 01 Jan 1970 00:00:00 +0000\n\nZero.\n"
    nameless = b"From -\nSubject: bare\n\nNo id."
    before = [name for name, _ in _members(tmp_path, first + b"\n\n" + nameless)]
    after = _members(tmp_path, first + b"\n\n" + nameless + b"\n\n" + late)
    assert [name for name, _ in after] == before
    assert [s.text for s in after[0][1].segments] == ["Zero.", "One."]


def test_no_separator_line_makes_the_splitting_slow(tmp_path: Path) -> None:
    line = b"From " + b"@" * 120 + b" " * 120 + b"x" * 120 + b"\n\n"
    began = time.monotonic()
    assert len(_members(tmp_path, b"From -\nSubject: s\n\n" + line * 3000 + b"From " + b"@ " * 100_000 + b"\n")) == 1
    assert time.monotonic() - began < 5
