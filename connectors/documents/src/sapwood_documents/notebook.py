"""Jupyter notebooks: texts, code and printed results, a segment a cell."""

from __future__ import annotations

import json
from typing import Any

from sapwood.sdk import Converted, ConvertError, ConvertFile, Segment
from sapwood_documents.reading import read_text

__all__ = ["convert"]

_LONGEST_OUTPUT = 10_000


def convert(file: ConvertFile) -> Converted:
    """Markdown as it stands, code in fences, outputs as text; pictures are counted."""
    try:
        data = json.loads(read_text(file))
        cells = data["cells"] if "cells" in data else [cell for sheet in data["worksheets"] for cell in sheet["cells"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConvertError(
            "damaged", f"is no notebook ({str(error)[:200]})", "Open it in Jupyter and save it again."
        ) from error
    language = str(
        _path(data, "metadata", "language_info", "name")
        or _path(data, "metadata", "kernelspec", "language")
        or "python"
    )
    segments: list[Segment] = []
    pictures = 0
    used: set[str] = set()
    for number, cell in enumerate(cells if isinstance(cells, list) else []):
        if not isinstance(cell, dict):
            continue
        source = _joined(cell.get("source", cell.get("input", "")))
        text = source if cell.get("cell_type") != "code" else _code(source, language)
        for output in cell.get("outputs") or ():
            shown, picture = _output(output)
            pictures += picture
            text += f"\n\n{_code(shown, '')}" if shown.strip() else ""
        native_id = str(cell.get("id") or f"cell-{number}")
        native_id = native_id if native_id not in used else f"cell-{number}"
        used.add(native_id)
        if text.strip():
            segments.append(Segment(native_id, text.strip("\n")))
    title = next(
        (line.lstrip("# ").strip() for s in segments for line in s.text.splitlines() if line.startswith("# ")), ""
    )
    return Converted(
        title=title, segments=tuple(segments), media_type="application/x-ipynb+json",
        warnings=(f"{pictures} pictures of results were left out",) if pictures else (),
    )  # fmt: skip


def _path(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _joined(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _code(text: str, language: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}" if text.strip() else ""


def _output(output: Any) -> tuple[str, int]:
    """The text of a result, and whether it is a picture."""
    if not isinstance(output, dict):
        return "", 0
    data: dict[str, Any] = output.get("data") or {}
    if not isinstance(data, dict):
        return "", 0
    text = _joined(output.get("text") or data.get("text/plain") or "")
    if output.get("output_type") in ("error", "pyerr"):
        text = f"{output.get('ename', '')}: {output.get('evalue', '')}"
    is_picture = any(str(kind).startswith("image/") for kind in data)
    return ("" if is_picture else text[:_LONGEST_OUTPUT]), int(is_picture)
