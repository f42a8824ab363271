"""Two repairs of what pdfium reads: glyphs whose map it did not follow, and drawings that call each other in circles."""

from __future__ import annotations

import re
import zlib
from typing import Any

_CONTROL = re.compile("[\x80-\x9f]")
_BFCHAR = re.compile(rb"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>")
_SECTION = re.compile(rb"begin(bfchar|bfrange)(.*?)end\1", re.DOTALL)
_RANGE = re.compile(rb"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>")
_MAX_RANGE = 4096
_DEEPEST = 12  # forms nested so deep call each other


def repair_page(page: Any, text_page: Any, text: str, maps: FontMaps) -> str:
    """The page's text, repaired where it shows the marks of either fault; sound pages cost one search."""
    if _CONTROL.search(text):
        text = _remapped(text, maps)
    if len(text) > 200 and len(zlib.compress(text.encode("utf-8", "replace"))) < 0.1 * len(text):
        text = _without_circles(page, text_page, text)
    return text


class FontMaps:
    """The ToUnicode maps of a file's composite fonts, read by pypdf when the first page needs them."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._maps: dict[str, dict[int, str]] | None = None

    def text_for(self, code: int) -> str:
        """What a code below 256 means, when all fonts that map it agree; empty otherwise."""
        if self._maps is None:
            self._maps = self._read()
        meanings = {table[code] for table in self._maps.values() if code in table}
        return meanings.pop().strip("\x00") if len(meanings) == 1 else ""

    def _read(self) -> dict[str, dict[int, str]]:
        import pypdf

        found: dict[str, dict[int, str]] = {}
        try:
            for page in pypdf.PdfReader(self._path, strict=False).pages:
                fonts = (page.get("/Resources") or {}).get("/Font") or {}
                for reference in fonts.values():
                    font = reference.get_object()
                    stream = font.get("/ToUnicode")
                    name = str(font.get("/BaseFont", "")).lstrip("/")
                    if stream is not None and name not in found:
                        found[name] = to_unicode(stream.get_object().get_data())
        except Exception:
            return found
        return found


def to_unicode(data: bytes) -> dict[int, str]:
    """The pairs of a ToUnicode CMap."""
    table: dict[int, str] = {}
    for kind, body in _SECTION.findall(data):
        if kind == b"bfchar":
            for code, text in _BFCHAR.findall(body):
                table[int(code, 16)] = _utf16(text)
        else:
            for low, high, first in _RANGE.findall(body):
                start, stop, base = int(low, 16), int(high, 16), int(first, 16)
                for offset in range(min(stop - start + 1, _MAX_RANGE)):
                    if base + offset < 0x110000:
                        table[start + offset] = chr(base + offset)
    return table


def _utf16(digits: bytes) -> str:
    return bytes.fromhex(digits.decode().rjust(4, "0")).decode("utf-16-be", "replace")


def _remapped(text: str, maps: FontMaps) -> str:
    """pdfium gives the bare code where it did not follow a font's map: codes of 128 to 255 are looked up once more."""
    return "".join((maps.text_for(ord(c)) or c) if 0x7F < ord(c) < 0x100 else c for c in text)


def _without_circles(page: Any, text_page: Any, text: str) -> str:
    """Each text once when forms are nested so deep that they must call each other."""
    import pypdfium2.raw as raw

    pieces: dict[str, None] = {}
    deepest = 0
    for item in page.get_objects(max_depth=_DEEPEST + 1, textpage=text_page):
        deepest = max(deepest, item.level)
        if item.type == raw.FPDF_PAGEOBJ_TEXT:
            pieces.setdefault(item.extract().strip())
    return "\n".join(p for p in pieces if p) if deepest >= _DEEPEST else text
