"""Workbooks, presentations, OpenDocument, rich text, notebooks, outlines."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from pptx import Presentation
from pptx.util import Inches

from sapwood.sdk import Converted, ConvertError, ConvertFile, ConvertLimits
from sapwood_documents import convert, tables


def _read(path: Path, **options: Any) -> Converted:
    found = convert(ConvertFile(str(path), path.name, path.stat().st_size, **options))
    assert found is not None
    return found


def _write(place: Path, name: str, text: str | bytes) -> Path:
    path = place / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("name,age\nAnna,7\n李雷,8\n", "| name | age |\n| --- | --- |\n| Anna | 7 |\n| 李雷 | 8 |"),
        ('a;b\n"x;y";"line\nbreak"\n', "| a | b |\n| --- | --- |\n| x;y | line break |"),
        ("a|b\n1|2\n", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("\ufeffa,b\n\n,\n1,x|y\n", "| a | b |\n| --- | --- |\n| 1 | x\\|y |"),
        ("only one column\nof lines\n", "only one column\n\nof lines"),
    ],
)
def test_csv_is_a_table_whatever_parts_its_cells(tmp_path: Path, text: str, table: str) -> None:
    assert _read(_write(tmp_path, "t.csv", text)).segments[0].text == table


def test_csv_in_gb18030_and_with_too_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        "李雷"
        in _read(_write(tmp_path, "t.csv", "姓名,年龄,城市\n李雷,八岁,北京\n".encode("gb18030"))).segments[0].text
    )
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    found = _read(_write(tmp_path, "t.tsv", "a\tb\n" * 10))
    assert found.truncated == "the table was cut after 3 rows" and found.segments[0].text.count("\n") == 3


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    path = tmp_path / "book.xlsx"
    book = xlsxwriter.Workbook(str(path))
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    sales, notes, hidden = book.add_worksheet("Sales"), book.add_worksheet("备注"), book.add_worksheet("Old")
    book.add_worksheet("Empty")
    sales.write_row(0, 0, ["Item", "Price", "Sold", "Paid"])
    sales.write_row(1, 0, ["Pear | ripe", 2.5])
    sales.write_datetime(1, 2, datetime(2026, 3, 4), day)
    sales.write_boolean(1, 3, True)
    sales.write(2, 0, 12)
    sales.write_formula(2, 1, "=1+1", None, 2)
    notes.write(5, 3, "很久以前的话")
    hidden.write(0, 0, "secret plan")
    hidden.hide()
    chart = book.add_chart({"type": "line"})
    chart.add_series({"values": "=Sales!$B$2:$B$3"})
    book.add_chartsheet("Chart").set_chart(chart)
    book.close()
    return path


def test_each_sheet_of_a_workbook_is_a_table(workbook: Path) -> None:
    found = _read(workbook)
    texts = {segment.native_id: segment.text for segment in found.segments}
    assert texts["sheet:Sales"].split("\n\n", 1)[1] == (
        "| Item | Price | Sold | Paid |\n| --- | --- | --- | --- |\n| Pear \\| ripe | 2.5 | 2026-03-04 | TRUE |\n| 12 | 2 |  |  |"
    )
    assert "很久以前的话" in texts["sheet:备注"] and texts["sheet:Old"].startswith("## Old (hidden)")
    assert "sheet:Empty" not in texts and any("Chart" in warning for warning in found.warnings)


def test_a_workbook_that_unpacks_to_too_much_or_is_damaged_is_refused(workbook: Path, tmp_path: Path) -> None:
    with pytest.raises(ConvertError, match="too large when unpacked"):
        _read(workbook, limits=ConvertLimits(unpacked_bytes=1000))
    with pytest.raises(ConvertError, match="damaged"):
        _read(_write(tmp_path, "cut.xlsx", workbook.read_bytes()[:2000]))
    with pytest.raises(ConvertError, match="no workbook"):
        _read(_write(tmp_path, "no.xls", b"nothing of the kind"))


def test_slides_have_titles_texts_tables_groups_and_notes(tmp_path: Path) -> None:
    deck = Presentation()
    deck.core_properties.title, deck.core_properties.author = "Plan", "Anna Ek"
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "第一张"
    body = first.placeholders[1].text_frame
    body.text = "Point one"
    body.add_paragraph().text = "below it"
    body.paragraphs[1].level = 1
    first.notes_slide.notes_text_frame.text = "Say this slowly."
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Numbers"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row, column, text in ((0, 0, "a"), (0, 1, "b"), (1, 0, "1"), (1, 1, "2")):
        table.cell(row, column).text = text
    second.shapes.add_group_shape().shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "in a group"
    path = tmp_path / "deck.pptx"
    deck.save(str(path))
    found = _read(path)
    assert found.title == "Plan" and found.people[0].name == "Anna Ek"
    assert [s.page for s in found.segments] == [1, 2]
    assert found.segments[0].text == "## 第一张\n\nPoint one\n  - below it\n\nNotes:\n\nSay this slowly."
    assert "| a | b |" in found.segments[1].text and "in a group" in found.segments[1].text


def test_a_presentation_that_is_damaged_or_encrypted_is_refused(tmp_path: Path) -> None:
    for name, data, cause in (
        ("a.pptx", b"PK\x03\x04cut", "damaged"),
        ("b.pptx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "encrypted"),
    ):
        with pytest.raises(ConvertError, match=cause):
            _read(_write(tmp_path, name, data))


_ODT = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"><office:body><office:text>
<text:tracked-changes><text:changed-region><text:deletion><text:p>deleted words</text:p></text:deletion></text:changed-region></text:tracked-changes>
<text:h text:outline-level="2">计划</text:h><text:p>Words with <text:span>style</text:span><text:s/>and <text:a xlink:href="https://x.org/">a link</text:a>.</text:p>
<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item></text:list></text:list-item></text:list>
<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>c</text:p></table:table-cell></table:table-row></table:table>
</office:text></office:body></office:document-content>"""
_META = """<?xml version="1.0"?><office:document-meta xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0"><office:meta><dc:title>The plan</dc:title><dc:creator>Anna Ek</dc:creator><dc:date>2026-03-04T05:06:07.5</dc:date></office:meta></office:document-meta>"""


def _odt(path: Path, content: str) -> Path:
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("content.xml", content)
        package.writestr("meta.xml", _META)
    return path


def test_opendocument_text_keeps_headings_lists_links_and_tables(tmp_path: Path) -> None:
    found = _read(_odt(tmp_path / "plan.odt", _ODT))
    assert found.segments[0].text == (
        "## 计划\n\nWords with style and [a link](https://x.org/).\n\n- one\n  - two\n\n| a | b |\n| --- | --- |\n| c | c |"
    )
    assert (found.title, found.people[0].name, found.modified) == (
        "The plan",
        "Anna Ek",
        datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC),
    )


def test_opendocument_resolves_no_entities_and_refuses_damage(tmp_path: Path) -> None:
    evil = _ODT.replace(
        "<office:document-content", '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><office:document-content', 1
    ).replace("计划", "&e;")
    assert "root:" not in _read(_odt(tmp_path / "evil.odt", evil)).segments[0].text
    with pytest.raises(ConvertError, match="cannot be read"):
        _read(_odt(tmp_path / "cut.odt", _ODT[:300]))


def test_rich_text_is_read_in_its_code_page(tmp_path: Path) -> None:
    rtf = rb"{\rtf1\ansi\ansicpg936{\fonttbl{\f0 Arial;}}First \b bold\b0 .\par \'d6\'d0\'ce\'c4 \u8364?\par}"
    assert _read(_write(tmp_path, "a.rtf", rtf)).segments[0].text == "First bold.\n\n中文 €"
    with pytest.raises(ConvertError, match="no rich text"):
        _read(_write(tmp_path, "b.rtf", b"words"))


def test_a_notebook_has_a_segment_a_cell_with_its_results(tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": "m", "source": ["# Study\n", "of 水"]},
        {"cell_type": "code", "source": "print(1)", "outputs": [
            {"output_type": "stream", "text": ["1\n"]}, {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "<Figure>"}},
            {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["…"]},
        ]},
        {"cell_type": "code", "source": "", "outputs": []},
    ]  # fmt: skip
    found = _read(
        _write(tmp_path, "n.ipynb", json.dumps({"cells": cells, "metadata": {"language_info": {"name": "julia"}}}))
    )
    assert found.title == "Study" and [s.native_id for s in found.segments] == ["m", "cell-1"]
    assert found.segments[1].text == "```julia\nprint(1)\n```\n\n```\n1\n```\n\n```\nValueError: no\n```"
    assert found.warnings == ("1 pictures of results were left out",)
    with pytest.raises(ConvertError, match="no notebook"):
        _read(_write(tmp_path, "x.ipynb", "[]"))


def test_an_outline_is_a_nested_list(tmp_path: Path) -> None:
    opml = '<?xml version="1.0"?><opml version="2.0"><head><title>Ideas</title><ownerName>Anna</ownerName><dateModified>Wed, 04 Mar 2026 05:06:07 GMT</dateModified></head><body><outline text="计划" _note="first&#10;second"><outline text="Feed" xmlUrl="https://x.org/feed"/></outline></body></opml>'
    found = _read(_write(tmp_path, "o.opml", opml))
    assert found.segments[0].text == "- 计划\n  first\n  second\n  - [Feed](https://x.org/feed)"
    assert found.title == "Ideas" and found.modified is not None and found.modified.date() == date(2026, 3, 4)
    with pytest.raises(ConvertError, match="not valid XML"):
        _read(_write(tmp_path, "x.opml", "<opml><body>"))


def test_csv_with_the_line_ends_of_old_macs(tmp_path: Path) -> None:
    assert _read(_write(tmp_path, "t.csv", "a;b\r1;2\r")).segments[0].text == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_a_picture_that_cannot_be_opened_costs_no_slide_its_text(tmp_path: Path) -> None:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Kept"
    picture = tmp_path / "dot.png"
    picture.write_bytes(
        bytes.fromhex(
            "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc00000030101003ffe45580000000049454e44ae426082"
        )
    )
    slide.shapes.add_picture(str(picture), 0, 0)
    path = tmp_path / "deck.pptx"
    deck.save(str(path))
    broken = tmp_path / "broken.pptx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"<svg/>" if name.startswith("ppt/media/") else old.read(name))
    found = _read(broken)
    assert found.segments[0].text == "## Kept" and len(found.attachments) == 1
