"""HTML to Markdown by a walk without recursion, so that no nesting depth can end it.

Scripts, styles, hidden parts and comments are dropped; nothing is fetched or run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from typing import Any

from sapwood.sdk import Converted, ConvertError, ConvertFile, Person, Segment, aware, decode_text
from sapwood_documents.reading import read_bytes

_CHARSET = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE)
_DROPPED = frozenset(
    [
        "script",
        "style",
        "head",
        "noscript",
        "template",
        "svg",
        "canvas",
        "iframe",
        "object",
        "embed",
        "applet",
        "audio",
        "video",
        "map",
        "xml",
        "select",
        "button",
        "input",
        "textarea",
        "meta",
        "link",
    ]
)
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "center",
        "details",
        "dialog",
        "dd",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hgroup",
        "hr",
        "html",
        "legend",
        "main",
        "menu",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "thead",
        "tfoot",
        "tr",
        "td",
        "th",
        "caption",
        "ul",
        "li",
    ]
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_MAX_NODES = 2_000_000


def convert(file: ConvertFile) -> Converted:
    """The visible text with headings, lists, links, tables and quotations."""
    data = read_bytes(file)
    return convert_html(decode_html(data), file.zone)


def decode_html(data: bytes) -> str:
    """A byte-order mark wins, then UTF-8, then what the page declares, then the ladder."""
    declared = _CHARSET.search(data[:65_536])
    name = declared.group(1).decode("ascii").lower() if declared else ""
    return decode_text(data, "" if name in ("unicode", "utf-8", "utf8") else name)[0]


def convert_html(text: str, zone: tzinfo = UTC) -> Converted:
    """See `convert`; also for HTML that comes inside of other files. `zone`: of dates without one."""
    from selectolax.lexbor import LexborHTMLParser

    try:
        tree = LexborHTMLParser(text.replace("\x00", ""))
    except Exception as error:
        raise ConvertError(
            "damaged", f"cannot be read as HTML ({error})", "Open it in a browser and save it again."
        ) from error
    title = _SPACE.sub(" ", node.text()).strip() if (node := tree.css_first("head title")) else ""
    meta = _meta(tree)
    root = tree.body or tree.root
    markdown = _Walk().run(root) if root is not None else ""
    first = re.match(r"\s*#+ (.+)", markdown)
    return Converted(
        title=title or (first.group(1) if first else ""),
        segments=(Segment("body", markdown),) if markdown.strip() else (),
        created=_when(meta, zone, "article:published_time", "dcterms.created", "dc.date.created", "date", "dc.date"),
        modified=_when(meta, zone, "article:modified_time", "dcterms.modified", "last-modified"),
        people=(Person(name=meta["author"], role="author"),) if meta.get("author") else (),
        tags=tuple(dict.fromkeys(t.strip() for t in meta.get("keywords", "").split(",") if 0 < len(t.strip()) <= 60))[
            :20
        ],
        media_type="text/html",
    )


def _meta(tree: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.css("meta"):
        name = node.attributes.get("name") or node.attributes.get("property")
        content = node.attributes.get("content")
        if name and content and name.lower() not in found:
            found[name.lower()] = _SPACE.sub(" ", content).strip()
    return found


def _when(meta: dict[str, str], zone: tzinfo, *names: str) -> datetime | None:
    for name in names:
        try:
            moment = datetime.fromisoformat(meta.get(name, "").strip())
        except ValueError:
            continue
        return aware(moment, zone)
    return None


def _hidden(node: Any) -> bool:
    attributes = node.attributes
    return bool(attributes) and (
        "hidden" in attributes
        or (attributes.get("aria-hidden") == "true" and node.tag != "svg")
        or bool(_HIDDEN_STYLE.search(attributes.get("style") or ""))
    )


def _events(root: Any) -> Iterator[tuple[str, Any]]:
    """`("open", node)`, `("text", node)`, `("close", node)` in document order; dropped subtrees are left out."""
    node, count = root.child, 0
    stack: list[Any] = []
    while True:
        if node is None:
            if not stack:
                return
            node = stack.pop()
            yield "close", node
            node = node.next
            continue
        count += 1
        if count > _MAX_NODES:
            raise ConvertError("too_large", f"has over {_MAX_NODES:,} parts", "Split it.")
        tag = node.tag
        if tag == "-text":
            yield "text", node
        elif tag and tag[0] not in "-_!" and tag not in _DROPPED and not _hidden(node):
            yield "open", node
            stack.append(node)
            node = node.child
            continue
        node = node.next


class _Walk:
    """Turns the events of a tree into Markdown blocks."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._inline: list[str] = []
        self._lists: list[list[Any]] = []  # [tag, counter]
        self._quotes = 0
        self._heading = 0
        self._item_open = False
        self._pre = 0
        self._links: list[tuple[int, str]] = []
        self._table: _Table | None = None
        self._table_depth = 0

    def run(self, root: Any) -> str:
        for kind, node in _events(root):
            if self._table is not None:
                self._in_table(kind, node)
            elif kind == "text":
                self._text(node.text(deep=False))
            elif kind == "open":
                self._open(node)
            else:
                self._close(node)
        self._flush()
        return "\n\n".join(self._joined_lists()) + ("\n" if self._blocks else "")

    def _in_table(self, kind: str, node: Any) -> None:
        assert self._table is not None
        if node.tag == "table" and kind == "open":
            self._table_depth += 1
        if node.tag == "table" and kind == "close":
            self._table_depth -= 1
            if self._table_depth == 0:
                self._blocks += self._table.blocks()
                self._table = None
                return
        self._table.take(kind, node, self._table_depth)

    def _text(self, text: str) -> None:
        self._inline.append(text if self._pre else _SPACE.sub(" ", text))

    def _open(self, node: Any) -> None:
        tag = node.tag
        if tag == "table" and not _is_layout(node):
            self._flush()
            self._table, self._table_depth = _Table(), 1
            return
        if tag == "br":
            self._inline.append("\n")
        elif tag == "a":
            self._links.append((len(self._inline), (node.attributes.get("href") or "").strip()))
        elif tag == "img":
            alt = _SPACE.sub(" ", node.attributes.get("alt") or "").strip()
            if alt:
                self._inline.append(f"![{alt}]()")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._flush()
            self._heading = _HEADINGS.get(tag, 0)
            if tag in ("ul", "ol", "menu"):
                self._lists.append([tag, 0])
            elif tag == "li":
                if self._lists:
                    self._lists[-1][1] += 1
                self._item_open = True
            elif tag == "blockquote":
                self._quotes += 1
            elif tag == "pre":
                self._pre += 1
            elif tag == "hr":
                self._blocks.append("---")

    def _close(self, node: Any) -> None:
        tag = node.tag
        if tag == "a" and self._links:
            at, href = self._links.pop()
            text = "".join(self._inline[at:]).strip()
            if text and href and not href.lower().startswith(("javascript:", "#", "data:")) and "\n" not in text:
                self._inline[at:] = [f"[{text}]({href.replace(' ', '%20').replace(')', '%29')})"]
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._flush(code=tag == "pre")
            if tag in ("ul", "ol", "menu") and self._lists:
                self._lists.pop()
            elif tag == "blockquote":
                self._quotes -= 1
            elif tag == "pre":
                self._pre -= 1
            self._heading = 0

    def _flush(self, code: bool = False) -> None:
        text = "".join(self._inline)
        self._inline = []
        self._links = []
        if not self._pre:
            text = "\n".join(line.strip() for line in text.split("\n")).strip()
        if not text.strip():
            return
        if code:
            fence = "````" if "```" in text else "```"
            body = text.strip("\n")
            text = f"{fence}\n{body}\n{fence}"
        elif self._heading:
            text = f"{'#' * self._heading} {' '.join(text.split())}"
        if self._lists:
            depth = len(self._lists) - 1
            tag, number = self._lists[-1]
            mark = (f"{number}. " if tag == "ol" else "- ") if self._item_open else "  "
            pad = "  " * depth
            text = pad + mark + text.replace("\n", "\n" + pad + "  ")
            self._item_open = False
        if self._quotes:
            text = "\n".join("> " * min(self._quotes, 8) + line for line in text.split("\n"))
        self._blocks.append(text)

    def _joined_lists(self) -> list[str]:
        """Items of one list stand on neighbouring lines."""
        joined: list[str] = []
        item = re.compile(r"(?:> )*\s*(?:- |\d+\. )")
        for block in self._blocks:
            if (
                joined
                and item.match(block)
                and item.match(joined[-1].rpartition("\n")[2] if not joined[-1].startswith("|") else "")
            ):
                joined[-1] += "\n" + block
            else:
                joined.append(block)
        return joined


def _is_layout(table: Any) -> bool:
    """A table that only places things: presentation role, one column, or nested tables without any header cell."""
    if (table.attributes.get("role") or "") in ("presentation", "none"):
        return True
    rows = table.css("tr")
    widest = max((sum(1 for _ in _cells(row)) for row in rows[:50]), default=0)
    if widest <= 1:
        return True
    return (
        table.css_first("table table") is not None
        and table.css_first("th") is None
        and table.css_first("caption") is None
    )


def _cells(row: Any) -> Iterator[Any]:
    cell = row.child
    while cell is not None:
        if cell.tag in ("td", "th"):
            yield cell
        cell = cell.next


class _Table:
    """Collects the rows of a data table; what is nested in a cell becomes lines of that cell."""

    def __init__(self) -> None:
        self._rows: list[list[str]] = []
        self._cell: list[str] | None = None
        self._caption: list[str] = []
        self._in_caption = False
        self._span = 1
        self._down = 1
        self._covered: dict[int, int] = {}  # column to the last row that a cell above reaches

    def take(self, kind: str, node: Any, depth: int) -> None:
        tag = node.tag
        if kind == "text":
            text = _SPACE.sub(" ", node.text(deep=False))
            if self._cell is not None:
                self._cell.append(text)
            elif self._in_caption:
                self._caption.append(text)
            return
        if depth == 1:
            if tag == "tr" and kind == "open":
                self._rows.append([])
            elif tag in ("td", "th"):
                self._cell_border(kind, node)
                return
            elif tag == "caption":
                self._in_caption = kind == "open"
        if self._cell is not None and (tag in _BLOCKS or tag in _HEADINGS or tag == "br"):
            self._cell.append("\n" if tag not in ("td", "th") or kind == "close" else "")
            if tag in ("td", "th") and kind == "close" and depth > 1:
                self._cell[-1] = "; "
        if (
            self._cell is not None
            and tag == "img"
            and kind == "open"
            and (alt := (node.attributes.get("alt") or "").strip())
        ):
            self._cell.append(alt)

    def _cell_border(self, kind: str, node: Any) -> None:
        if kind == "open":
            self._cell = []
            self._span = _span(node, "colspan", 50)
            self._down = _span(node, "rowspan", 1000)
        elif self._cell is not None:
            lines = [line.strip(" ;") for line in "".join(self._cell).split("\n")]
            text = "<br>".join(line for line in lines if line).replace("|", "\\|")
            if not self._rows:
                self._rows.append([])
            row, number = self._rows[-1], len(self._rows) - 1
            while self._covered.get(len(row), -1) >= number:  # a cell of a row above reaches down to here
                row.append("")
            if self._down > 1:
                self._covered |= dict.fromkeys(range(len(row), len(row) + self._span), number + self._down - 1)
            row += [text, *[""] * (self._span - 1)]
            self._cell = None

    def blocks(self) -> list[str]:
        rows = [row for row in self._rows if any(row)]
        found = []
        caption = " ".join("".join(self._caption).split())
        if caption:
            found.append(caption)
        if rows:
            found.append(markdown_table(rows))
        return found


def _span(node: Any, name: str, most: int) -> int:
    value = node.attributes.get(name) or "1"
    return min(int(value), most) if value.isdecimal() and int(value) > 0 else 1


def markdown_table(rows: list[list[str]]) -> str:
    """Rows of cells as a Markdown table; the first row is its head."""
    width = max(map(len, rows))
    padded = [row + [""] * (width - len(row)) for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in padded]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])
