"""Text, Markdown, HTML and JSON: what a person would read out of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sapwood.sdk import Converted, ConvertFile, decode_text
from sapwood_documents import convert, html, markdown, plain


def _file(place: Path, name: str, text: str) -> ConvertFile:
    path = place / name
    path.write_text(text, encoding="utf-8")
    return ConvertFile(str(path), name, path.stat().st_size)


@pytest.mark.parametrize(
    ("stamps", "moments"),
    [
        (["[13/05/2024, 10:00:01]", "[2/6/2024, 9:00:00]"], [datetime(2024, 5, 13, 10, 0, 1, tzinfo=UTC), datetime(2024, 6, 2, 9, tzinfo=UTC)]),
        (["5/13/24, 10:00 AM -", "6/2/24, 9:15 PM -"], [datetime(2024, 5, 13, 10, tzinfo=UTC), datetime(2024, 6, 2, 21, 15, tzinfo=UTC)]),
        (["5/6/24, 10:00 -", "6/7/24, 9:15 -"], [None, None]),
        (["13/5/24, 10:00 -", "5/13/24, 9:15 -"], [None, None]),
        (["2024-05-06 10:00 -", "2024/5/7 09:15 -"], [datetime(2024, 5, 6, 10, tzinfo=UTC), datetime(2024, 5, 7, 9, 15, tzinfo=UTC)]),
    ],
)  # fmt: skip
def test_stamps_of_a_chat_are_dates_when_day_and_month_can_be_told_apart(
    tmp_path: Path, stamps: list[str], moments: list[datetime | None]
) -> None:
    lines = [f"{stamps[n % 2]} {who}: words {n}" for n, who in enumerate(["Ann", "Bob", "Ann", "Bob"])]
    found = plain.convert(_file(tmp_path, "chat.txt", "\n".join(lines)))
    assert [s.at for s in found.segments][:2] == moments


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Señor Núñez visited the château in Köln für Bücher.", "cp1252"), ("Crème brûlée à la carte, très bien.", "latin-1"),
        ("今天下午三点在会议室开会，请带上合同。", "gb18030"), ("meeting 会议 at 三点 room 五", "gbk"), ("明天開會，請帶合約書，謝謝大家。", "big5"),
    ],
)  # fmt: skip
def test_short_texts_are_decoded_as_they_were_meant(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("author: [Ann Lee, Bob Stone]", ["Ann Lee", "Bob Stone"]), ("authors: Ann Lee, Bob Stone", ["Ann Lee", "Bob Stone"]),
        ("author: {name: Nested Name}", ["Nested Name"]), ("author: 王芳、李雷", ["王芳", "李雷"]), ("author: Lee, Ann", ["Lee, Ann"]),
    ],
)  # fmt: skip
def test_all_authors_of_the_front_matter_are_kept(tmp_path: Path, field: str, names: list[str]) -> None:
    found = markdown.convert(_file(tmp_path, "a.md", f"---\n{field}\n---\nbody\n"))
    assert [p.name for p in found.people] == names


@pytest.mark.parametrize("value", ["2024年5月6日", "2024/05/06", "2024-05-06", "2024.5.6"])
def test_dates_of_the_front_matter_in_every_usual_form(tmp_path: Path, value: str) -> None:
    found = markdown.convert(_file(tmp_path, "a.md", f"---\ndate: {value}\n---\nbody\n"))
    assert found.modified == datetime(2024, 5, 6, tzinfo=UTC)


def test_a_cell_that_reaches_down_keeps_the_columns_below_it_in_place(tmp_path: Path) -> None:
    rows = "<tr><td rowspan=2>x</td><td>b1</td><td>c1</td></tr><tr><td>b2</td><td>c2</td></tr><tr><td>a3</td><td>b3</td><td>c3</td></tr>"
    found = html.convert(_file(tmp_path, "a.html", f"<html><body><table>{rows}</table></body></html>"))
    text = found.segments[0].text
    assert "| x | b1 | c1 |" in text and "|  | b2 | c2 |" in text and "| a3 | b3 | c3 |" in text


@pytest.mark.parametrize("name", ["ts", "ts_ms", "epoch_ms", "created_at", "timestamp"])
def test_times_as_numbers_are_spelled_out(tmp_path: Path, name: str) -> None:
    found = convert(_file(tmp_path, "a.json", json.dumps({"note": "x", name: 1714564800000})))
    assert isinstance(found, Converted) and "2024-05-01T12:00:00" in found.segments[0].text


@pytest.mark.parametrize("name", ["mail.msg", "letter.doc", "drawing.svg", "server.pem", "book.epub"])
def test_formats_that_want_a_reader_of_their_own_are_not_read_as_text(tmp_path: Path, name: str) -> None:
    from sapwood_documents import convert_any_text

    file = _file(tmp_path, name, "words that look like text\n")
    assert convert(file) is None and convert_any_text(file) is None
