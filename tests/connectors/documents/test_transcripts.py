"""Subtitles and transcripts: who says what, and when in the recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.sdk import Converted, ConvertError, ConvertFile
from sapwood_documents import convert


def _read(place: Path, name: str, text: str) -> Converted:
    path = place / name
    path.write_text(text, encoding="utf-8")
    found = convert(ConvertFile(str(path), name, path.stat().st_size))
    assert found is not None
    return found


def test_cues_of_one_speaker_are_joined_and_markup_goes(tmp_path: Path) -> None:
    vtt = "WEBVTT\n\nNOTE nothing\n\n1\n00:00:01.000 --> 00:00:03.000\n<v Anna Ek>We <i>begin</i> &amp; end.</v>\n\n00:00:03.000 --> 00:00:05.000\n<v Anna Ek>On time.</v>\n\n00:01:05.000 --> 00:01:07.000\n<v Bo>好的。</v>\n"
    found = _read(tmp_path, "talk.vtt", vtt)
    assert [s.text for s in found.segments] == [
        "[00:00:01] Anna Ek: We begin & end.\nOn time.",
        "[00:01:05] Bo: 好的。",
    ]
    assert [p.name for p in found.people] == ["Anna Ek", "Bo"]


def test_subtitles_without_speakers_become_passages_of_some_sentences(tmp_path: Path) -> None:
    srt = "".join(
        f"{n}\n00:00:{n:02d},000 --> 00:00:{n + 1:02d},000\nSentence number {n} of the long talk.\n\n"
        for n in range(1, 50)
    )
    found = _read(tmp_path, "talk.srt", srt)
    assert 2 <= len(found.segments) <= 6 and found.segments[0].text.startswith("[00:00:01] Sentence number 1 ")
    assert sum(s.text.count("Sentence number") for s in found.segments) == 49


def test_a_line_that_is_shown_again_stands_once(tmp_path: Path) -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\nfirst\n\n2\n00:00:02,000 --> 00:00:03,000\nfirst\nsecond\n"
    assert _read(tmp_path, "roll.srt", srt).segments[0].text == "[00:00:01] first\nsecond"


@pytest.mark.parametrize(
    "text",
    [
        "[00:00:01] Anna: one\n[00:00:05] Bo: two\nand on\n[00:01:00] Anna: three\n[00:02:00] Bo: four\n",
        "会议纪要\n\nAnna  00:00:01\none\n\nBo  00:00:05\ntwo\nand on\n\nAnna  00:01:00\nthree\n\nBo  00:02:00\nfour\n",
    ],
)
def test_transcripts_as_text_have_a_segment_a_turn(tmp_path: Path, text: str) -> None:
    found = _read(tmp_path, "meeting.txt", text)
    said = [s for s in found.segments if s.author]
    assert [s.author for s in said] == ["Anna", "Bo", "Anna", "Bo"]
    assert [s.text for s in said][:2] == ["[00:00:01] Anna: one", "[00:00:05] Bo: two\nand on"]
    assert "".join(s.text for s in found.segments).count("会议纪要") == text.count("会议纪要")


def test_prose_with_times_in_it_is_no_transcript(tmp_path: Path) -> None:
    text = "We met at 10:15 in the hall.\nThe train: late, at 11:20.\nNothing else happened.\n" * 5
    assert len(_read(tmp_path, "notes.txt", text).segments) == 1


def test_a_file_without_cues_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConvertError, match="no cue"):
        _read(tmp_path, "x.srt", "just words")
