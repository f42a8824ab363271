"""Talks in writing: subtitles (srt, vtt) and transcripts, with speakers and times.

Times count from the beginning of a recording, so that they are no moments: they stand in the text, where a person looks
for them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sapwood.sdk import Converted, ConvertError, ConvertFile, Person, Segment
from sapwood_documents.reading import read_text

__all__ = ["as_transcript", "convert"]

_CUE = re.compile(r"^\s*((?:\d{1,3}:)?\d{1,2}:\d{2})[.,]\d{1,3}\s+-->\s+(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,80})>")
_MARKUP = re.compile(r"</?[a-zA-Z][^>]{0,200}>|\{\\[^}]{0,40}\}|<\d[\d:.]*>")
_SPEAKER = re.compile(r"^(?:>>\s*|-\s*)?([^\W\d_][\w .'’·()（）-]{0,39}?)\s?[:：]\s+(?=\S)")
# "[00:01:23] Anna: …", "00:01:23 Anna: …", "(1:23) Anna: …"
_LONGEST_HEAD = 200  # characters of a line in which time and speaker stand
_TIMED_LINE = re.compile(
    r"^\s*[\[(]?(?P<time>(?:\d{1,2}:)?\d{1,2}:\d{2})(?:[.,]\d{1,3})?[\])]?\s+[-–]?\s*(?P<speaker>[^\W\d_][^:：\n]{0,39}?)\s?[:：]\s*"
)
# "Anna  00:01:23" or "说话人 1 00:03:21" alone on a line, what is said below it
_TIMED_NAME = re.compile(
    r"^\s*(?P<speaker>[^\W\d_][^\n:：]{0,39}?)\s*[\s\[(](?P<time>(?:\d{1,2}:)?\d{1,2}:\d{2})(?:[.,]\d{1,3})?[\])]?\s*$"
)


@dataclass(slots=True)
class _Turn:
    """What one speaker says from a time on."""

    time: str
    speaker: str
    lines: list[str]


def convert(file: ConvertFile) -> Converted:
    """Subtitles: the cues of one speaker are joined into a segment of some sentences."""
    text = read_text(file).replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    turns = list(_merged(_cues(text)))
    if not turns:
        raise ConvertError("damaged", "holds no cue with a time", "Give it the extension of its real type.")
    return _converted(turns, "text/vtt" if file.extension == "vtt" else "application/x-subrip")


def as_transcript(text: str) -> Converted | None:
    """A transcript when at least four lines, and a third of all, name a time and a speaker; None when it is none."""
    lines = [line for line in text.split("\n") if line.strip()]
    for pattern in (_TIMED_LINE, _TIMED_NAME):
        hits = sum(bool(pattern.match(line[:_LONGEST_HEAD])) for line in lines[:400])
        if hits >= 4 and hits >= len(lines[:400]) / 3:
            return _converted(list(_turns(text.split("\n"), pattern)), "text/plain")
    return None


def _converted(turns: list[_Turn], media_type: str) -> Converted:
    segments = []
    for number, turn in enumerate(turns):
        said = "\n".join(turn.lines).strip()
        lead = f"[{turn.time}] " + (f"{turn.speaker}: " if turn.speaker else "")
        if said:
            segments.append(Segment(f"t{number}", lead + said, author=turn.speaker))
    people = dict.fromkeys(s.author for s in segments if s.author)
    return Converted(
        segments=tuple(segments),
        people=tuple(Person(name=name, role="participant") for name in people),
        media_type=media_type,
    )


_LONGEST_TURN = 600  # characters of cues that are joined


def _cues(text: str) -> Iterator[_Turn]:
    turn: _Turn | None = None
    for line in text.split("\n"):
        if match := _CUE.match(line):
            if turn is not None:
                yield turn
            turn = _Turn(match[1], "", [])
        elif not line.strip():
            if turn is not None:
                yield turn
            turn = None
        elif turn is not None:
            if voice := _VOICE.search(line):
                turn.speaker = " ".join(voice[1].split())
            said = html.unescape(_MARKUP.sub("", line)).strip()
            if not turn.lines and not turn.speaker and (named := _SPEAKER.match(said)):
                turn.speaker, said = named[1], said[named.end() :]
            if said:
                turn.lines.append(said)
    if turn is not None:
        yield turn


def _merged(cues: Iterator[_Turn]) -> Iterator[_Turn]:
    """Cues of one speaker together, up to some sentences; a line that is shown again is left out."""
    held: _Turn | None = None
    for cue in cues:
        if not cue.lines:
            continue
        same = held is not None and cue.speaker in ("", held.speaker)
        if held is not None and same and sum(map(len, held.lines)) + sum(map(len, cue.lines)) <= _LONGEST_TURN:
            held.lines += [line for line in cue.lines if line != held.lines[-1]]
            continue
        if held is not None:
            yield held
            if same:
                cue.speaker = held.speaker
        held = cue
    if held is not None:
        yield held


def _turns(lines: list[str], pattern: re.Pattern[str]) -> Iterator[_Turn]:
    """What follows each line that matches, up to the next one; lines before the first one are a turn each, of nobody."""
    turn: _Turn | None = None
    for line in lines:
        if match := pattern.match(line[:_LONGEST_HEAD]):
            if turn is not None:
                yield turn
            turn = _Turn(match["time"], match["speaker"].strip(), [line[match.end() :]])
        elif turn is not None:
            turn.lines.append(line)
        elif line.strip():
            yield _Turn("0:00", "", [line])
    if turn is not None:
        yield turn
