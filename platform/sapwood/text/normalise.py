"""The first step of ingest: text that can be counted, hashed, stored as UTF-8 and printed."""

from __future__ import annotations

import re
import unicodedata

# C0 and C1 controls but tab and line feed; surrogates are handled apart. Form feed and vertical tab part pages
# and lines in old text files, so they become line breaks instead of vanishing.
_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """NFC, `\\n` as the only line break, no control characters, lone surrogates as U+FFFD.

    Idempotent. Paired surrogates (an artefact of JSON written by other programs) become the character they mean.
    """
    if text.isascii():
        if "\r" in text or "\x0b" in text or "\x0c" in text:
            text = _BREAKS.sub("\n", text)
        return _CONTROLS.sub("", text)
    text = repair_surrogates(text)
    text = _BREAKS.sub("\n", text)
    text = _CONTROLS.sub("", text)
    return unicodedata.normalize("NFC", text)


# CJK radicals supplement: NFKC has no mapping for these, and PDF printers emit them in place of the characters.
RADICALS = str.maketrans(
    "⺁⺄⺆⺈⺊⺌⺍⺎⺐⺓⺕⺗⺙⺝⺟⺠⺣⺩⺪⺬⺭⺮⺯⺱⺲⺴⺷⺹⺻⺼⺽⺾⺿⻀⻁⻂⻃⻄⻅⻆⻇⻈⻉⻋⻌⻍⻎⻏⻐⻑⻒⻓⻔⻖⻘⻙⻚⻛⻜⻝⻢⻣⻤⻥⻦⻨⻩⻪⻫⻬⻭⻮⻯⻰⻳",
    "厂乙冂刀卜小小兀尣幺彐心攵月母民灬王疋示礻竹糸罓罒罓羊耂肀月臼艹艹艹虎衤覀西见角角讠贝车辶辶辶阝钅長镸长门阝青韦页风飞食马骨鬼鱼鸟麦黄黾斉齐歯齿竜龙龟",
)

# What fonts draw as one glyph, or as a radical, where the writer typed letters: ligatures, Arabic presentation forms,
# Kangxi radicals. Full NFKC would also turn Chinese punctuation into ASCII, which is why it is not used on bodies.
_GLYPHS = re.compile("[\u2e80-\u2fd5\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufb4f\ufb50-\ufdfb\ufe70-\ufefc]+")


def repair_glyphs(text: str) -> str:
    """For text that was read off glyphs (PDF): ligatures, radicals and presentation forms become letters."""
    return _GLYPHS.sub(lambda m: unicodedata.normalize("NFKC", m.group().translate(RADICALS)), text)


def repair_surrogates(text: str) -> str:
    """Pairs of surrogates become one character, lone ones U+FFFD; all else stays."""
    if not _SURROGATE.search(text):
        return text
    text = _SURROGATE_PAIR.sub(lambda m: m.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text)
    return _SURROGATE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """A title or name: normalised, white space collapsed, trimmed."""
    return " ".join(normalise(text).split())
