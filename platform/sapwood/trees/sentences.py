"""The sentences of what is to be summarised, with who said them and where they stand.

Chats and mails are read message by message, so that each sentence keeps its speaker; of documents headings, tables, code
and links' targets are left out. A summary's own lines say who said what, and are read so again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from sapwood.sdk.sources import Kind, unescape
from sapwood.text.borders import sentence_ends
from sapwood.text.fold import CJK
from sapwood.text.markdown import BlockKind, blocks
from sapwood.text.opening import opening_end

__all__ = ["Act", "Part", "Sentence", "entitled", "sentences_of", "told"]

_CHAT_HEAD = re.compile(r"^## (?P<when>\S+|time unknown) — (?P<author>.+)$", re.MULTILINE)
_MAIL_HEAD = re.compile(r"^---\nFrom: (?P<author>[^\n]*)\n(?:[A-Z][\w-]*: [^\n]*\n)*\n?", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)]|>+)[ \t]+", re.MULTILINE)
_QUOTED = re.compile(
    r"^[ \t]*>[^\n]*\n?|^(?:On |Am |Le )[^\n]{0,200}(?:wrote|schrieb|a écrit) ?:[ \t]*$|^[^\n]{0,100}写道[:：][ \t]*$",
    re.MULTILINE,
)
_WRAPPED = re.compile(r"(?<=[^\s。！？；.!?:：])\n(?![ \t]*(?:[-*+>]|\d{1,9}[.)])[ \t])(?=[^\s])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|No|Nr|vs|approx|ca|e\.g|i\.e|Inc|Ltd|Co|dept|Fig|Vol|pp?)|\b[A-Z])\.$"
)
_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\([^)\n]*\)|(!?)\[\[(?:[^\]|\n]*\|)?([^\]|\n]*)\]\]")
_FILE = re.compile(r"\S+\.\w{2,5}")
_MARKS = re.compile(r"(?<![\w*_])(?:\*{1,3}|_{1,3})(?=\S)|(?<=\S)(?:\*{1,3}|_{1,3})(?![\w*_])|`")
_CITATION = re.compile(r" ?\[\d{1,4}\](?=\s*$)", re.MULTILINE)
_LIKE_CITATION = re.compile(r"\[(\d{1,4})\](?=\W*$)")
_NO_WORDS = re.compile(r"[\W\d_]*")
# What opens or ends a letter: names alone, with or without a greeting.
_GREETING = re.compile(
    r"(?:(?:hi|hello|hey|dear|hallo|liebe[rs]?|good (?:morning|evening)|(?:best|kind|warm)(?: regards)?|regards|cheers|thanks|thank you|sincerely|yours)\b[,!. ]*)?"
    r"(?:(?-i:[A-ZÀ-ÞŠŽČ])[\w'’.-]*(?:,| and| &)?\s*){0,4}[,.!]?|[\u3400-\u9fff]{0,6}(?:您好|你好|各位好|大家好|此致|敬礼|谢谢|祝好)[，,。!！~ ]*",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\s*<[^<>]*>$")


class Act(StrEnum):
    """What somebody does by saying something."""

    DECIDE = "decide"
    PROMISE = "promise"
    ASK = "ask"
    SAY = "say"


@dataclass(frozen=True, slots=True)
class Part:
    """One child of a summary: its id, its text without front matter, what kind of text it is (None: a summary), and its title
    where the reader would not know it."""

    node_id: str
    text: str
    kind: Kind | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it stands in its part.

    `place` counts the sentences of its part, `opening` is true for the first one of a section or a message; `speaker` is
    empty where nobody in particular says it.
    """

    part: int
    place: int
    text: str
    speaker: str = ""
    act: Act = Act.SAY
    opening: bool = False


_VERBS = {
    Act.DECIDE: ("decided", "决定"),
    Act.PROMISE: ("promised", "答应"),
    Act.ASK: ("asked", "问"),
    Act.SAY: ("said", "说"),
}
_TOLD = re.compile(
    rf"^- \*\*(?P<author>[^*\n]+)\*\* ?(?P<verb>{'|'.join(v for verbs in _VERBS.values() for v in verbs)})(?:: |：)(?P<said>[^\n]*)$",
    re.MULTILINE,
)
_ACTS = {verb: act for act, verbs in _VERBS.items() for verb in verbs}


_HEAD_LINE = re.compile(r"\*\*[^*\n]+\*\*:")
_ENTITLED = re.compile(r"^\*\*[^*\n]+\*\*: ")


def entitled(title: str, text: str) -> str:
    """What is told of a part, after its title."""
    name = " ".join(title.replace("*", "").split())
    return f"**{name}**:\n{text}" if text.startswith("- ") else f"**{name}**: {text}"


def told(speaker: str, act: Act, text: str) -> str:
    """A line of a summary: who did what by saying this, in the language in which it is said."""
    english, chinese = _VERBS[act]
    name = speaker.replace("*", "")
    return f"- **{name}** {chinese}：{text}" if CJK.search(text) else f"- **{name}** {english}: {text}"


_DECIDES = re.compile(
    r"\b(?:decided?|we(?:'ve| have)? agreed|agreed (?:to|that|on)|approved|settled (?:on|that)|let's (?:go with|do it|make it)|"
    r"we(?:'ll| will| are going to) (?:go with|use|keep|drop|take|start|stop|stick)|final decision|conclusion is)\b"
    r"|(?:[我咱]们|大家|会上|最后)(?:已经)?(?:一致)?(?:决定|決定|同意|商定)|决定(?:了|：|，|由|下周|本周|今天|明天)|就这么定|定下来了|说定了|敲定|一致同意|批准了",
    re.IGNORECASE,
)
_PROMISES = re.compile(
    r"\bI(?:'ll| will| shall| can take care| promise)\b(?! never)|\bcount on me\b|\bI'm going to (?:send|write|fix|call|bring|prepare|do|check|make)\b"
    r"|我(?:来(?:写|做|改|办|查|发|负责|处理|联系|准备|安排)|负责|保证|答应|(?:明天|今晚|马上|尽快|这就|下周[一二三四五六日]?)(?:就|会|去|来|把|给|发|再)|(?:今天|下午|晚上)(?:就|会|再))(?!不)|包在我身上|交给我",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？][\"'”’」』）)\s]*$|[吗嗎呢][。.!！]?$")


def act_of(text: str) -> Act:
    """What is done by saying this."""
    if _ASKS.search(text):
        return Act.ASK
    if _DECIDES.search(text):
        return Act.DECIDE
    return Act.PROMISE if _PROMISES.search(text) else Act.SAY


def sentences_of(parts: list[Part]) -> list[Sentence]:
    """All sentences of all parts, in order."""
    found: list[Sentence] = []
    for number, part in enumerate(parts):
        place = 0
        for speaker, known, said in _sayings(part):
            opening = True
            texts = list(_split(said))
            if speaker and any(not _GREETING.fullmatch(text) for text in texts):
                texts = [text for text in texts if not _GREETING.fullmatch(text)]
            for text in texts:
                act = known or (act_of(text) if speaker else Act.SAY)
                found.append(Sentence(number, place, text, speaker, act, opening))
                place, opening = place + 1, False
    return found


def _sayings(part: Part) -> Iterator[tuple[str, Act | None, str]]:
    """Who says what, and what is done by it where that is known; the sections of a document, each without a speaker."""
    if part.kind is None:
        yield from _lines_of_summary(part.text)
        return
    if part.kind in (Kind.CHAT, Kind.EMAIL):
        pattern = _CHAT_HEAD if part.kind is Kind.CHAT else _MAIL_HEAD
        heads = list(pattern.finditer(part.text))
        if heads:
            for head, following in zip(heads, [*heads[1:], None], strict=True):
                said = part.text[head.end() : following.start() if following else len(part.text)]
                author = _ADDRESS.sub("", head["author"].strip()).strip("\"' ")
                yield ("" if author == "unknown" else author), None, _QUOTED.sub("", unescape(part.kind, said))
            return
    section: list[str] = []
    body = part.text[opening_end(part.text) :]
    for block in blocks(body):
        text = body[block.start : block.end]
        if block.kind is BlockKind.HEADING:
            if section:
                yield "", None, "\n\n".join(section)
            section = []
        elif block.kind in (BlockKind.PARAGRAPH, BlockKind.LIST):
            section.append(text)
    if section:
        yield "", None, "\n\n".join(section)


def _lines_of_summary(text: str) -> Iterator[tuple[str, Act | None, str]]:
    for paragraph in _CITATION.sub("", text).split("\n"):
        if line := _TOLD.match(paragraph):
            yield line["author"], _ACTS[line["verb"]], line["said"]
        elif (rest := _ENTITLED.sub("", paragraph)).strip() and not _HEAD_LINE.fullmatch(rest):
            yield "", None, rest


def _label(link: re.Match[str]) -> str:
    """What a link shows; nothing for a picture that is only named by its file."""
    label = link[2] or link[4] or ""
    return "" if (link[1] or link[3]) and _FILE.fullmatch(label) else label


def _split(text: str) -> Iterator[str]:
    text = text if CJK.search(text) else _WRAPPED.sub(" ", text)
    text = _BULLET.sub("", _BULLET.sub("", text))
    text = _MARKS.sub("", _LINK.sub(_label, text).replace("[[", "[").replace("]]", "]"))
    start = 0
    for end in sentence_ends(text):
        sentence = " ".join(text[start:end].split())
        if _ABBREVIATION.search(sentence) and "\n" not in text[start:end].rstrip(" ") and end < len(text):
            continue  # it goes on
        start = end
        # What stands at the end of a told line in such a form is ours, and so is a name in bold at its beginning.
        sentence = _LIKE_CITATION.sub(r"(\1)", sentence).replace("**", "").lstrip("-* ")
        if not _NO_WORDS.fullmatch(sentence):
            yield sentence
