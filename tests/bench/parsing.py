"""Documents and pages a second of each converter, beside the bare library that it stands on, on the corpus's files."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sapwood.plugins.converting import _convert as convert
from sapwood.sdk import Converted, ConvertFile

CORPUS = Path(os.environ.get("SAPWOOD_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))


def _pdf(path: Path) -> int:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    for page in document:
        page.get_textpage().get_text_range()
    return len(document)


def _docx(path: Path) -> int:
    import docx

    for paragraph in docx.Document(str(path)).paragraphs:
        _ = paragraph.text
    return 1


def _html(path: Path) -> int:
    from selectolax.lexbor import LexborHTMLParser

    body = LexborHTMLParser(path.read_bytes()).body
    if body is not None:
        body.text(separator="\n")
    return 1


def _json(path: Path) -> int:
    json.loads(path.read_bytes())
    return 1


def _text(path: Path) -> int:
    path.read_bytes().decode("utf-8", "replace")
    return 1


_BARE: dict[str, tuple[str, Callable[[Path], int]]] = {
    "pdf": ("pypdfium2", _pdf), "docx": ("python-docx", _docx), "html": ("selectolax", _html), "json": ("json", _json),
    "md": ("read", _text), "txt": ("read", _text),
}  # fmt: skip


def _ours(path: Path) -> int | None:
    found = convert(ConvertFile(str(path), path.name, path.stat().st_size))
    if not isinstance(found, Converted):
        return None
    return max(1, len({s.page for s in found.segments if s.page})) if found.segments else None


def _rate(action: Callable[[Path], Any], paths: list[Path]) -> float:
    began = time.process_time()
    for path in paths:
        action(path)
    return time.process_time() - began


def run() -> list[dict[str, Any]]:
    """A row a format: files that both read, pages, and documents a second of both."""
    rows = []
    for extension, (library, bare) in _BARE.items():
        readable: list[Path] = []
        pages = 0
        for path in sorted(CORPUS.rglob(f"*.{extension}")):
            try:
                held, _ = _ours(path), bare(path)
            except Exception:
                continue
            if held:
                readable.append(path)
                pages += held
        if not readable:
            continue
        ours, theirs = min(_rate(_ours, readable) for _ in range(2)), min(_rate(bare, readable) for _ in range(2))
        rows.append(
            {
                "format": extension, "files": len(readable), "pages": pages, "ours_docs_s": len(readable) / max(ours, 1e-6),
                "ours_pages_s": pages / max(ours, 1e-6), "library": library, "bare_docs_s": len(readable) / max(theirs, 1e-6),
            }
        )  # fmt: skip
    return rows


if __name__ == "__main__":
    for row in run():
        print(json.dumps(row))
