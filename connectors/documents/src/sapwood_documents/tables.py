"""Tables of values: CSV, and the sheets of workbooks (xlsx, xlsm, xlsb, xls, ods), as Markdown tables with limits."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

from sapwood.sdk import Converted, ConvertError, ConvertFile, Segment
from sapwood_documents.html import markdown_table
from sapwood_documents.packages import refuse_bombs
from sapwood_documents.reading import read_text

__all__ = ["convert"]

MAX_ROWS, MAX_COLUMNS, MAX_CELLS = 50_000, 200, 500_000
_LONGEST_CELL = 2000  # characters
_DELIMITERS = ",;\t|"
_SAMPLE = 64 * 1024
_ZIPPED = ("xlsx", "xlsm", "xlsb", "ods")


def convert(file: ConvertFile) -> Converted:
    """A segment a sheet; a CSV file is one sheet."""
    return _csv(file) if file.extension in ("csv", "tsv") else _workbook(file)


class _Limits:
    """Cells that may still be read, and what was left out."""

    def __init__(self) -> None:
        self.cells = MAX_CELLS
        self.cut: list[str] = []

    def rows(self, rows: Iterable[list[str]], what: str) -> list[list[str]]:
        """Rows within the limits, without those and the trailing columns that are empty."""
        found: list[list[str]] = []
        wide = False
        for number, row in enumerate(rows):
            if number >= MAX_ROWS or self.cells <= 0:
                self.cut.append(f"{what} was cut after {len(found):,} rows")
                break
            if len(row) > MAX_COLUMNS:
                if any(row[MAX_COLUMNS:]):
                    wide = True
                row = row[:MAX_COLUMNS]
            while row and not row[-1]:
                row = row[:-1]
            if row:
                found.append(row)
                self.cells -= len(row)
        if wide:
            self.cut.append(f"{what} was cut after {MAX_COLUMNS} columns")
        return found


def _csv(file: ConvertFile) -> Converted:
    text = read_text(file).lstrip("\ufeff")
    delimiter = "\t" if file.extension == "tsv" else _delimiter(text[:_SAMPLE])
    csv.field_size_limit(10_000_000)
    limits = _Limits()
    try:
        rows = limits.rows(
            ([_cell(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)),
            "the table",
        )
    except csv.Error:
        return Converted(
            segments=(Segment("text", text),),
            media_type="text/csv",
            warnings=("is no table that can be read; its text is kept",),
        )
    body = markdown_table(rows) if rows else ""
    if rows and max(map(len, rows)) == 1:  # lines of text under a table's name
        body = "\n\n".join(row[0] for row in rows)
    return Converted(
        segments=(Segment("table", body),) if body else (), media_type="text/csv", truncated="; ".join(limits.cut)
    )


def _delimiter(sample: str) -> str:
    """The sign that stands equally often in most lines; a comma when none does."""
    lines = [line for line in sample.splitlines()[:50] if line.strip()]
    best, most = ",", 0.0
    for sign in _DELIMITERS:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=sign)] if lines else []
        except csv.Error:
            continue
        usual = max(set(counts), key=counts.count, default=1)
        share = counts.count(usual) / len(counts) if counts and usual > 1 else 0.0
        if share > most:
            best, most = sign, share
    return best


def _workbook(file: ConvertFile) -> Converted:
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

    if file.extension in _ZIPPED and _is_zip(file.path):
        refuse_bombs(file.path, file, "workbook")
    limits = _Limits()
    segments: list[Segment] = []
    warnings: list[str] = []
    try:
        book = CalamineWorkbook.from_path(file.path)
        for sheet in book.sheets_metadata:
            if sheet.typ is not SheetTypeEnum.WorkSheet:
                warnings.append(f"{sheet.name} is a chart and was left out")
                continue
            hidden = sheet.visible is not SheetVisibleEnum.Visible
            rows = limits.rows(_rows(book.get_sheet_by_name(sheet.name)), f"the sheet {sheet.name}")
            if rows:
                title = f"## {_cell(sheet.name)}" + (" (hidden)" if hidden else "")
                segments.append(Segment(f"sheet:{sheet.name[:200]}", f"{title}\n\n{markdown_table(rows)}"))
    except PasswordError as error:
        raise ConvertError("encrypted", "is an encrypted workbook", "Save it again without a password.") from error
    except (CalamineError, OSError, ValueError) as error:
        raise ConvertError("damaged", f"is no workbook that can be read ({str(error)[:200]})", "Open it in its own program and save it again.") from error  # fmt: skip
    return Converted(
        segments=tuple(segments), media_type="application/vnd.ms-excel", warnings=tuple(warnings), truncated="; ".join(limits.cut)
    )  # fmt: skip


def _rows(sheet: Any) -> Iterator[list[str]]:
    for row in itertools.islice(sheet.iter_rows(), MAX_ROWS + 1):
        yield [_cell(value) for value in row]


def _cell(value: Any) -> str:
    """A value as a person reads it, on one line."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime):
        return value.isoformat(" ") if value.time() != time.min else value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    text = " ".join(str(value).split())
    text = text[:_LONGEST_CELL] + " …" if len(text) > _LONGEST_CELL else text
    return text.replace("|", "\\|")


def _is_zip(path: str) -> bool:
    with open(path, "rb") as stream:
        return stream.read(2) == b"PK"
