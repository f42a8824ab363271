"""What styles and numbering of a Word document mean: headings, lists, hidden text."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING_NAME = re.compile(
    r"^(?:heading|标题|標題|überschrift|titre|título|intestazione|заголовок)\s*(\d|[一二三四五六])(?:\s.*)?$",
    re.IGNORECASE,
)
_CHINESE_DIGITS = "〇一二三四五六"
# Word's own list styles say their level in their name and nowhere else.
_LIST_NAME = re.compile(r"^list (?:bullet|number|continue) ([2-9])$", re.IGNORECASE)
_TITLE_NAMES = {"title", "标题", "標題"}
_LOOK_LIMIT = 60  # characters of a paragraph that may be a heading by its look alone
_SENTENCE_END = re.compile(r"[.。!！?？;；,，:：]$")


class Styles:
    """Resolves paragraph and character properties through the chain of styles.

    `title_text` is the first paragraph in the style Title, if there is one.
    """

    def __init__(self, document: Any) -> None:
        self._by_id: dict[str, Any] = {}
        self._default = ""
        root = document.styles.element
        for style in root.findall(f"{W}style"):
            style_id = style.get(f"{W}styleId")
            if style_id:
                self._by_id[style_id] = style
                if style.get(f"{W}type") == "paragraph" and style.get(f"{W}default") in ("1", "true"):
                    self._default = style_id
        self._sizes = self._look(document)
        self.title_text = ""

    def heading_level(self, paragraph: Any, text: str) -> int:
        """1 to 6 for a heading, 0 for anything else.

        By style: its name, the names that it is based on, or its outline level. By look, for documents whose headings
        are only made big: a short paragraph outside of lists and tables, all of it larger than the document's usual
        size, or all bold and with no sentence mark at its end in a document that has usual text.
        """
        if len(text) > 300:
            return 0
        outline = self._find(paragraph.find(f"{W}pPr"), "outlineLvl")
        for name in self._style_names(paragraph):
            lowered = name.strip().lower()
            if lowered in _TITLE_NAMES:
                self.title_text = self.title_text or " ".join(text.split())
                return 1
            if match := _HEADING_NAME.match(lowered):
                digit = match.group(1)
                level = _CHINESE_DIGITS.find(digit) if digit in _CHINESE_DIGITS else int(digit)
                return min(level or 1, 6)
        if outline is not None and (value := outline.get(f"{W}val") or "").isdigit() and int(value) < 9:
            return min(int(value) + 1, 6)
        return self._by_look(paragraph, text)

    def list_level(self, paragraph: Any) -> int:
        """The level that the name of a list style says; 0 for every other style."""
        found = (_LIST_NAME.match(name.strip()) for name in self._style_names(paragraph))
        return next((int(match.group(1)) - 1 for match in found if match), 0)

    def hidden(self, run: Any) -> bool:
        """True when the run, or its style, is hidden."""
        properties = run.find(f"{W}rPr")
        if properties is None:
            return False
        if (own := _switch(properties, "vanish")) is not None:
            return own
        style = properties.find(f"{W}rStyle")
        return style is not None and bool(self._from_style(style.get(f"{W}val"), "rPr", "vanish"))

    def number_properties(self, paragraph: Any) -> Any:
        """`w:numPr` of the paragraph or of its style."""
        return self._find(paragraph.find(f"{W}pPr"), "numPr")

    def _style_names(self, paragraph: Any) -> list[str]:
        names = []
        style_id = self._style_of(paragraph)
        for _ in range(12):
            style = self._by_id.get(style_id)
            if style is None:
                break
            name = style.find(f"{W}name")
            names.append(name.get(f"{W}val") or "" if name is not None else "")
            base = style.find(f"{W}basedOn")
            style_id = base.get(f"{W}val") if base is not None else ""
        return names

    def _style_of(self, paragraph: Any) -> str:
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        return (style.get(f"{W}val") if style is not None else "") or self._default

    def _find(self, properties: Any, name: str) -> Any:
        """A paragraph property, own or inherited."""
        if properties is not None:
            own = properties.find(f"{W}{name}")
            if own is not None:
                return own
            style = properties.find(f"{W}pStyle")
            style_id = style.get(f"{W}val") if style is not None else self._default
        else:
            style_id = self._default
        for _ in range(12):
            found = self._by_id.get(style_id or "")
            if found is None:
                return None
            inherited = found.find(f"{W}pPr/{W}{name}")
            if inherited is not None:
                return inherited
            base = found.find(f"{W}basedOn")
            style_id = base.get(f"{W}val") if base is not None else ""
        return None

    def _from_style(self, style_id: str | None, group: str, name: str) -> bool | None:
        for _ in range(12):
            style = self._by_id.get(style_id or "")
            if style is None:
                return None
            properties = style.find(f"{W}{group}")
            if properties is not None and (value := _switch(properties, name)) is not None:
                return value
            base = style.find(f"{W}basedOn")
            style_id = base.get(f"{W}val") if base is not None else ""
        return None

    # -- by look --------------------------------------------------------------------------------------------------

    def _by_look(self, paragraph: Any, text: str) -> int:
        if len(text) > _LOOK_LIMIT or "\n" in text or "\t" in text or not any(c.isalnum() for c in text):
            return 0
        if self.number_properties(paragraph) is not None and not self._sizes:
            return 0
        if any(
            True
            for _ in paragraph.iterancestors(
                f"{W}tc", f"{W}txbxContent", f"{W}hdr", f"{W}ftr", f"{W}comment", f"{W}footnote"
            )
        ):
            return 0
        sizes, bold = self._run_looks(paragraph)
        usual = self._sizes[0] if self._sizes else 0
        smallest = min(sizes) if sizes else 0
        if usual and smallest >= usual + 4:  # half points: two points more
            larger = sorted((s for s in self._sizes[1:] if s >= usual + 4), reverse=True)
            return min(larger.index(smallest) + 1 if smallest in larger else 1, 4)
        if bold and usual and not _SENTENCE_END.search(text) and self._has_plain_text:
            return 4
        return 0

    def _run_looks(self, paragraph: Any) -> tuple[list[int], bool]:
        sizes: list[int] = []
        bold = True
        for run in paragraph.iter(f"{W}r"):
            text = "".join(t.text or "" for t in run.findall(f"{W}t"))
            if not text.strip():
                continue
            properties = run.find(f"{W}rPr")
            size = properties.find(f"{W}sz") if properties is not None else None
            value = size.get(f"{W}val") if size is not None else None
            sizes.append(int(value) if value and value.isdigit() else self._style_size(self._style_of(paragraph)))
            own = _switch(properties, "b") if properties is not None else None
            bold = bold and bool(own if own is not None else self._from_style(self._style_of(paragraph), "rPr", "b"))
        return sizes, bold and bool(sizes)

    def _style_size(self, style_id: str | None) -> int:
        for _ in range(12):
            style = self._by_id.get(style_id or "")
            if style is None:
                break
            size = style.find(f"{W}rPr/{W}sz")
            if size is not None and (size.get(f"{W}val") or "").isdigit():
                return int(size.get(f"{W}val"))
            base = style.find(f"{W}basedOn")
            style_id = base.get(f"{W}val") if base is not None else ""
        return 0

    def _look(self, document: Any) -> list[int]:
        """Sizes in half points by how many characters have them, the usual one first."""
        self._has_plain_text = False
        counts: Counter[int] = Counter()
        for paragraph in document.element.body.iter(f"{W}p"):
            sizes, bold = self._run_looks(paragraph)
            length = sum(len(t.text or "") for t in paragraph.iter(f"{W}t"))
            if sizes:
                counts[min(sizes)] += length
                self._has_plain_text = self._has_plain_text or (not bold and length > 40)
        return [size for size, _ in counts.most_common()]


class Numbering:
    """List marks: bullets and running numbers."""

    def __init__(self, document: Any) -> None:
        self._formats: dict[tuple[str, int], str] = {}
        self._counts: Counter[tuple[str, int]] = Counter()
        try:
            root = document.part.numbering_part.element
        except (KeyError, NotImplementedError, AttributeError):
            return
        abstract = {a.get(f"{W}abstractNumId"): a for a in root.findall(f"{W}abstractNum")}
        for number in root.findall(f"{W}num"):
            reference = number.find(f"{W}abstractNumId")
            definition = abstract.get(reference.get(f"{W}val") if reference is not None else None)
            for level in definition.findall(f"{W}lvl") if definition is not None else ():
                form = level.find(f"{W}numFmt")
                index = level.get(f"{W}ilvl") or "0"
                if index.isdigit():
                    self._formats[number.get(f"{W}numId") or "", int(index)] = (
                        form.get(f"{W}val") or "" if form is not None else ""
                    )

    def mark(self, paragraph: Any, styles: Styles) -> str:
        """`- ` or `1. ` with two blanks a level; empty for a paragraph that is no item.

        A missing level counts as 0: some programs leave it out.
        """
        properties = styles.number_properties(paragraph)
        if properties is None:
            return ""
        number = properties.find(f"{W}numId")
        number_id = number.get(f"{W}val") if number is not None else None
        if not number_id or number_id == "0":
            return ""
        level_node = properties.find(f"{W}ilvl")
        text = level_node.get(f"{W}val") if level_node is not None else "0"
        stated = min(int(text), 8) if text and text.isdigit() else 0
        level = stated or styles.list_level(paragraph)
        form = self._formats.get((number_id, stated), "bullet")
        pad = "  " * level
        if form in ("bullet", "none", ""):
            return f"{pad}- "
        self._counts[number_id, level] += 1
        for deeper in range(level + 1, 9):
            self._counts.pop((number_id, deeper), None)
        return f"{pad}{self._counts[number_id, level]}. "


def _switch(properties: Any, name: str) -> bool | None:
    """An on/off property: present without value means on."""
    node = properties.find(f"{W}{name}")
    return None if node is None else node.get(f"{W}val") not in ("0", "false", "off")
