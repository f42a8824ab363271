"""How texts are read for a summary: who says what, and what is done by it."""

from __future__ import annotations

import pytest

from sapwood.sdk.sources import Kind
from sapwood.trees.sentences import Act, Part, act_of, sentences_of, told

CHAT = """## 2026-05-03T09:00:00Z — Anna
We decided to ship on Friday. The tests are green.

## 2026-05-03T09:01:00Z — Ben
Who writes the notes?

## 2026-05-03T09:02:00Z — 张伟
我来写发布说明。好的。
"""


def _read(text: str, kind: Kind | None) -> list[tuple[str, Act, str]]:
    return [(s.speaker, s.act, s.text) for s in sentences_of([Part("x", text, kind)])]


def test_each_sentence_of_a_chat_keeps_its_speaker_and_what_is_done_by_it() -> None:
    assert _read(CHAT, Kind.CHAT) == [
        ("Anna", Act.DECIDE, "We decided to ship on Friday."),
        ("Anna", Act.SAY, "The tests are green."),
        ("Ben", Act.ASK, "Who writes the notes?"),
        ("张伟", Act.PROMISE, "我来写发布说明。"),
        ("张伟", Act.SAY, "好的。"),
    ]


def test_a_mail_is_said_by_its_sender_without_address_and_headers() -> None:
    mail = "---\nFrom: Anna Berg <anna@example.org>\nTo: Ben\nSubject: Plan\nDate: 2026-05-03T09:00:00Z\n\nThe plan holds. See you."
    assert _read(mail, Kind.EMAIL) == [("Anna Berg", Act.SAY, "The plan holds."), ("Anna Berg", Act.SAY, "See you.")]


def test_headings_tables_code_and_targets_of_links_are_left_out_of_documents() -> None:
    text = "# Report\n\nThe [pump](http://x.example/a) **failed** twice.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode = 1.\n```\n\n- It was repaired.\n"
    assert [text for _, _, text in _read(text, Kind.DOCUMENT)] == ["The pump failed twice.", "It was repaired."]


def test_links_are_told_by_what_they_show_and_pictures_not_by_their_files() -> None:
    text = "See [[Harbour Cafe|the cafe]], [[notes]] and [the map](map.png) for the way.\n\n![map.png](map.png)\n\n![[map.png]]\n\n![A red door](door.png)\n"
    assert [said for _, _, said in _read(text, Kind.DOCUMENT)] == [
        "See the cafe, notes and the map for the way.",
        "A red door",
    ]


def test_the_date_of_a_note_is_no_sentence() -> None:
    text = "日期：2023年6月3日\n今天和张伟谈了进度。"
    assert [said for _, _, said in _read(text, Kind.DOCUMENT)] == ["今天和张伟谈了进度。"]


@pytest.mark.parametrize(
    ("said", "act"),
    [
        ("那么我今天做的主要是整理日志", Act.SAY), ("我明天把报告发给你", Act.PROMISE), ("我今天去了医院", Act.SAY), ("我晚上会打电话", Act.PROMISE), ("我下周二去上海", Act.PROMISE),
        ("我明天不去", Act.SAY),
    ],
)  # fmt: skip
def test_what_is_still_to_be_done_is_promised_and_what_was_done_is_not(said: str, act: Act) -> None:
    assert act_of(said) is act


@pytest.mark.parametrize(
    ("speaker", "act", "text"),
    [
        ("Anna", Act.DECIDE, "We go."),
        ("Ben", Act.ASK, "When?"),
        ("张伟", Act.PROMISE, "我来写。"),
        ("李娜", Act.SAY, "收到了。"),
    ],
)
def test_a_line_of_a_summary_is_read_as_it_was_told(speaker: str, act: Act, text: str) -> None:
    assert _read(f"{told(speaker, act, text)} [3]", None) == [(speaker, act, text)]


def test_titles_and_citations_of_a_summary_are_no_sentences() -> None:
    assert _read("**Minutes**: The pump failed. [1]\n\n**Chat**:\n- **Ben** asked: When? [2]", None) == [
        ("", Act.SAY, "The pump failed."),
        ("Ben", Act.ASK, "When?"),
    ]
