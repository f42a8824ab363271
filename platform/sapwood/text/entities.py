"""Entities that rules find in a text: addresses, links, handles, tags, dates, amounts of money, names.

Borders are ASCII look-arounds wherever a pattern is ASCII, since `\\b` takes Chinese letters for a part of the word beside
them. Every find is a slice of the text, so that it can be shown in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["Entity", "canonical_id", "find_entities", "occurrences", "stands_alone"]


class Entity(NamedTuple):
    """A mention: what it is, how it is written, and where: `text[start:end] == surface`. `score` is 0 to 1."""

    kind: str
    surface: str
    start: int
    end: int
    score: float = 1.0


_MAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9-])"
)
# Addresses of other scripts stand apart from the text around them.
_MAIL_OF_ANY_SCRIPT = re.compile(
    r"(?<![^\s<（(:：])[^\s@<>()（）,，;；:：。]{1,64}@(?:[^\W_][\w-]{0,62}\.){1,8}[^\W\d_]{2,24}(?![\w.-])"
)
# A link ends where a sentence's sign stands, and where Chinese begins that follows no slash, equals sign or Chinese of its own.
_LINK = re.compile(
    r"https?://(?:[!#$%&'*+,\-./0-9:;=?@A-Za-z_~]|(?<=[/=\u3400-\u9fff])[\u3400-\u9fff]){1,2000}", re.IGNORECASE
)
_HANDLE = re.compile(r"(?<![\w@./-])@[^\W_][\w.-]{0,62}\w")
_TAG = re.compile(r"(?<![\w&/#])#(?:[^\s#]{2,40}#|[^\W\d_][\w-]{1,60})")
_DATE = re.compile(
    r"(?<!\d)(?:19|20)\d{2}[-/.](?:1[0-2]|0?[1-9])[-/.](?:3[01]|[12]\d|0?[1-9])(?!\d)"
    r"|(?<!\d)(?:(?:19|20)\d{2}\s?年\s?)?(?:1[0-2]|0?[1-9])\s?月\s?(?:3[01]|[12]\d|0?[1-9])\s?[日号]"
    r"|(?<![A-Za-z])(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)\.? (?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?:,? (?:19|20)\d{2})?(?![\w])"
    r"|(?<!\d)(?:3[01]|[12]\d|0?[1-9]) (?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?: (?:19|20)\d{2})?(?![\w])"
)
_MONEY = re.compile(
    r"(?<![\w.])(?:US\$|HK\$|[$€£¥￥])\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:[kKmMbB](?![A-Za-z])|万|亿|million|billion))?"
    r"|(?<![A-Za-z\d])(?:USD|EUR|GBP|CNY|RMB|HKD|JPY)\s?\d[\d,]*(?:\.\d+)?(?:\s?[万亿])?"
    r"|(?<![\d.])\d[\d,]*(?:\.\d+)?\s?(?:[十百千万亿]{0,2}(?:元(?![素件旦宵凶首])|美元|欧元|港元|人民币|块钱)|USD|EUR|GBP|CNY|RMB|dollars|euros)(?![A-Za-z])"
)
_WORK = re.compile(r"(?<=《)[^《》\n]{2,30}(?=》)")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CURRENCIES = (
    "$",
    "€",
    "£",
    "¥",
    "￥",
    "元",
    "USD",
    "EUR",
    "GBP",
    "CNY",
    "RMB",
    "HKD",
    "JPY",
    "dollars",
    "euros",
    "块钱",
    "人民币",
)
# What a rule's finds are, the signs without which it finds nothing, and how far before and after one a find reaches.
_RULES = (
    ("email", _MAIL, ("@",), 66, 200), ("email", _MAIL_OF_ANY_SCRIPT, ("@",), 66, 200), ("handle", _HANDLE, ("@",), 1, 66), ("hashtag", _TAG, ("#",), 1, 64),
    ("misc", _WORK, ("《",), 1, 34), ("quantity", _MONEY, _CURRENCIES, 24, 30), ("datetime", _DATE, (*_MONTHS, "19", "20", "月"), 12, 24),
)  # fmt: skip
_CLOSING = ".,;:!?'*_~"

# Words that begin with a capital for other reasons than being a name.
_NO_NAME = frozenset(
    """yesterday today tomorrow tonight meanwhile later recently finally already a about after again all also although an and
any are as at be because been before but by can could did do does each either every few first for from get had has
have he her here hers him his how however i if in into is it its just last let like many may maybe me might more most
must my near never new next no nor not now of off ok okay on once one only or other our out over please re second she
should since so some such sure thank thanks that the their them then there these they this those though three through
thus to too two under until up us very was we were what when where whether which while who whose why will with would
yes yet you your hi hello hey wow oh yeah i'm i've i'll i'd it's that's we're you're they're there's he's she's what's let's don't can't dear best regards cheers sincerely todo note fwd fw""".split()  # noqa: SIM905
)
_CALENDAR = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
october november december""".split()  # noqa: SIM905
)
_NO_SINGLE = _NO_NAME | _CALENDAR
_NAME = re.compile(
    # What stands before is looked at after the capital: a search for one of a set of letters is three times as fast.
    r"[A-ZÀ-ÖØ-Þ](?<![\w'’@#./-].)[\w'’&-]*(?:(?: (?:of|de|van|von|der|den|la|le|du|and|&))? [A-ZÀ-ÖØ-Þ][\w'’&-]*){0,4}"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？：；•*>\-\n|]|\d[.)])[\s\"'“‘(*_#>|-]*\Z")
_ORGANISATION = re.compile(
    r"(?:^| )(?:Inc|Corp|Corporation|Company|Co|Ltd|Limited|LLC|LLP|PLC|GmbH|AG|SA|University|College|Institute|School|Bank|Group|"
    r"Foundation|Association|Ministry|Department|Agency|Hospital|Church|Museum|Labs?|Systems|Technologies|Software|Partners|Holdings)\.?$"
)
_PLACE = re.compile(
    r"(?:^| )(?:Street|Avenue|Road|River|Lake|Mountains?|Island|City|County|Province|Park|Square|Airport|Station|Bay|Valley|"
    r"Cafe|Café|Restaurant|Hotel|Bar|Pub|Inn|Theatre|Theater|Library|Beach|Harbou?r|Bridge|Market|Hall)$|^(?:Lake|Mount|Fort|Port|Camp|Cape) "
)
# Names of undertakings, works and meetings, which look like a person's.
_UNDERTAKING = re.compile(
    r"^(?:Project|Operation|Team|Mission|Plan|Task|Version|Phase|Chapter|Section|Windows|Google|Microsoft|Amazon|Apple) |"
    r"(?:^| )(?:Project|Plan|Program|Programme|Initiative|Campaign|Conference|Festival|Award|Prize|Act|Treaty|Agreement|Report|Review|Meeting|"
    r"Day|Week|Year|Team|Club|Committee|Council|Board|Service|Server|System|Store|Shop|Edition|Version|Series|Model|Policy|Guide)s?$"
)


def canonical_id(kind: str, surface: str) -> str:
    """`<kind>:<surface>`, trimmed and lower-cased; without a leading `@` or `#`; a link keeps its case."""
    text = " ".join(surface.split())
    if kind == "url":
        return f"url:{text}"
    if kind in ("handle", "hashtag"):
        text = text.strip("@#")
    return f"{kind}:{text.lower()}"


def find_entities(text: str, names: Iterable[str] = (), spans: Iterable[tuple[str, int, int]] = ()) -> list[Entity]:
    """Every mention, by place; where two overlap, the one that was found by the surer rule.

    Args:
        text: of a chunk.
        names: people and things that are known already: senders, participants, profiles.
        spans: `(kind, start, end)` of names that a segmenter or a model has found.
    """
    candidates: list[Entity] = []
    for start, end in _windows(text, ("http://", "https://", "HTTP"), 0, 2100):
        for match in _LINK.finditer(text, start, end):
            stop = match.end()
            while text[stop - 1] in _CLOSING:
                stop -= 1
            candidates.append(Entity("url", text[match.start() : stop], match.start(), stop))
    for kind, pattern, signs, before, after in _RULES:
        for start, end in _windows(text, signs, before, after):
            candidates += [Entity(kind, match[0], *match.span()) for match in pattern.finditer(text, start, end)]
    candidates += _known(text, names)
    candidates += [Entity(kind, text[start:end], start, end, 0.5) for kind, start, end in spans]
    candidates += _capitalised(text)
    return _without_overlaps(candidates)


def _windows(text: str, signs: tuple[str, ...], before: int, after: int) -> list[tuple[int, int]]:
    """The parts of a text around these signs: looking for a sign costs a hundredth of looking for a pattern."""
    places: list[int] = []
    for sign in signs:
        at = text.find(sign)
        while at >= 0:
            places.append(at)
            at = text.find(sign, at + 1)
    windows: list[tuple[int, int]] = []
    for at in sorted(places):
        start, end = max(0, at - before), min(len(text), at + after)
        if windows and start <= windows[-1][1]:
            windows[-1] = (windows[-1][0], end)
        else:
            windows.append((start, end))
    return windows


def _without_overlaps(candidates: list[Entity]) -> list[Entity]:
    """By place; of two that overlap, the one that comes first among the candidates."""
    ranked = sorted(enumerate(candidates), key=lambda c: (c[1].start, c[0]))
    kept: list[tuple[int, Entity]] = []
    for rank, entity in ranked:
        if kept and entity.start < kept[-1][1].end:
            if rank < kept[-1][0]:
                kept[-1] = (rank, entity)
            continue
        kept.append((rank, entity))
    return [entity for _, entity in kept]


def occurrences(word: str, text: str) -> Iterator[int]:
    """Every place where a word stands in a text, also inside of others."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def stands_alone(text: str, start: int, end: int) -> bool:
    """True where `text[start:end]` is not cut out of a longer word of Latin letters and digits."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (
        (text[start].isascii() and before.isascii() and before.isalnum())
        or (text[end - 1].isascii() and after.isascii() and after.isalnum())
    )


def _known(text: str, names: Iterable[str]) -> Iterator[Entity]:
    """Known names as whole words; a Chinese name stands anywhere."""
    for name in sorted({n for n in names if len(n) > 1}, key=lambda n: (-len(n), n)):
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            if stands_alone(text, at, end):
                yield Entity("person", name, at, end, 0.95)
            at = text.find(name, end)


def _capitalised(text: str) -> Iterator[Entity]:
    """Runs of capitalised words. A single one counts only within a sentence, where a capital means something."""
    for match in _NAME.finditer(text):
        start, words = match.start(), match[0].replace("’", "'").split(" ")
        if len(words) == 1 and words[0].lower() in _NO_SINGLE:
            continue
        opening = _opens_sentence(text, start)
        while words and words[0].lower() in _NO_SINGLE:
            start += len(words[0]) + 1
            words, opening = words[1:], False
        while words and words[-1].lower() in _NO_SINGLE:
            words = words[:-1]
        if len(words) == 1 and opening:
            continue
        surface = text[start : start + len(" ".join(words))].rstrip("'’&-").removesuffix("'s").removesuffix("’s")
        if len(surface) < 2 or (len(words) == 1 and surface.isupper() and len(surface) < 3):
            continue
        if _ORGANISATION.search(surface):
            kind = "organization"
        elif _PLACE.search(surface):
            kind = "location"
        elif len(words) == 1 or _UNDERTAKING.search(surface):
            kind = "misc"
        else:
            kind = "person" if len(words) <= 3 and all(w[1:].islower() for w in words) else "misc"
        yield Entity(kind, surface, start, start + len(surface), 0.5 if kind == "misc" else 0.6)


def _opens_sentence(text: str, start: int) -> bool:
    """True where a capital says nothing: at the beginning of a text, a line, a sentence, an item of a list."""
    if start == 0:
        return True
    if start > 1 and text[start - 1] == " " and (text[start - 2].isalnum() or text[start - 2] == ","):
        # After a word; only the number of a list's item would tell otherwise, and that has a sign behind it.
        return False
    return bool(_SENTENCE_START.search(text, max(0, start - 12), start))
