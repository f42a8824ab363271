"""Bytes to text when nobody says which encoding: a ladder from certain to likely.

Byte-order mark, strict UTF-8, UTF-16 without a mark by its zero bytes, what the caller was told, faust-cchardet, and
GB18030 with replacement signs at the end. GB2312 and GBK are always read as GB18030, which holds both.
"""

from __future__ import annotations

import codecs
import re

__all__ = ["decode_text"]

_SAMPLE = 65_536
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SINGLE_BYTE = ("windows-125", "iso-8859", "koi8", "mac", "ibm", "tis", "cp125", "viscii")
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "cp936": "gb18030",
    "hz-gb-2312": "hz",
    "iso-8859-1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "big5": "cp950",
}


_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_ACCENT = re.compile(rb"(?:(?<=[A-Za-z])[\xc0-\xff](?![\x80-\xff])|(?<![\x80-\xff])[\xc0-\xff](?=[a-z]))")


def decode_text(data: bytes, declared: str = "") -> tuple[str, str]:
    """The text of `data`, and the name of the encoding that it was read with.

    Args:
        data: the whole content; the first bytes alone often look like ASCII.
        declared: what a header or meta tag says; tried when it is neither marked nor UTF-8.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace"), name
    wide = _utf16_without_mark(data)
    if wide:
        return data.decode(wide, "replace"), wide
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        # One cut character at the very end is a truncated UTF-8 file, not another encoding.
        if error.start >= len(data) - 3 and error.start > 64:
            return data.decode("utf-8", "replace"), "utf-8"
    guess = _detected(data)
    if guess.startswith(_SINGLE_BYTE) and _reads_as_chinese(data):
        guess = "gb18030"
    if not declared and _WIDER.get(guess, guess) in ("", "utf-8", "gb18030") and _reads_as_latin(data):
        guess = "cp1252"
    for name in filter(None, (declared.strip().lower(), guess)):
        wider = _WIDER.get(name, name)
        for encoding in dict.fromkeys((wider, "big5hkscs") if wider == "cp950" else (wider,)):
            try:
                return data.decode(encoding), encoding
            except (UnicodeDecodeError, LookupError, ValueError):
                continue
    return data.decode("gb18030", "replace"), "gb18030"


def _reads_as_chinese(data: bytes) -> bool:
    """True when nine in ten pairs of high bytes are the common characters or marks of GB 2312 (rows 1-3, 16-55).

    Detectors take short Chinese texts for Cyrillic or Thai; a text in those has few pairs in these rows.
    """
    try:
        data[:_SAMPLE].decode("gb18030")
    except UnicodeDecodeError as error:
        if error.start < min(len(data), _SAMPLE) - 4:
            return False
    common = total = 0
    at = 0
    sample = data[:_SAMPLE]
    while at < len(sample) - 1:
        lead, trail = sample[at], sample[at + 1]
        if lead < 0x80:
            at += 1
            continue
        total += 1
        common += trail >= 0xA1 and (0xB0 <= lead <= 0xD7 or 0xA1 <= lead <= 0xA3)
        at += 2
    return total >= 2 and common >= 0.9 * total


def _reads_as_latin(data: bytes) -> bool:
    """True when most bytes over 0x7F stand alone beside Latin letters, as accents do; Chinese stands in runs of two and more."""
    runs = _HIGH_RUN.findall(data[:_SAMPLE])
    alone = len(_ACCENT.findall(data[:_SAMPLE]))
    return bool(runs) and alone > 0.5 * len(runs)


def _utf16_without_mark(data: bytes) -> str:
    sample = data[:4096]
    if len(sample) < 4 or b"\x00" not in sample or len(data) % 2:
        return ""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = len(sample) / 2
    if odd > 0.3 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.3 * half and odd < 0.05 * half:
        return "utf-16-be"
    return ""


def _detected(data: bytes) -> str:
    import cchardet

    sample = data[:_SAMPLE]
    if len(data) > _SAMPLE:  # cut at a line end, so that no character is cut
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    short = sample if len(sample) >= 256 else sample * (256 // max(len(sample), 1) + 1)  # detectors need some text
    return str((cchardet.detect(short) or {}).get("encoding") or "").lower()
