"""Word documents built part by part: each case is the smallest document that shows it."""

from __future__ import annotations

from pathlib import Path

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from sapwood.sdk import ConvertFile
from sapwood_documents.word import convert

_SPACES = nsdecls("w", "r", "wp", "a") + (
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:v="urn:schemas-microsoft-com:vml"'
)


def _text(place: Path, *paragraphs: str) -> str:
    """The Markdown of a document that holds these paragraphs' XML."""
    document = docx.Document()
    for inner in paragraphs:
        document.element.body.insert_element_before(parse_xml(f"<w:p {_SPACES}>{inner}</w:p>"), "w:sectPr")
    path = place / "made.docx"
    document.save(str(path))
    found = convert(ConvertFile(str(path), path.name, path.stat().st_size))
    return "\n\n".join(segment.text for segment in found.segments).strip()


def _run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def test_a_list_paragraph_without_a_level_is_of_level_0(tmp_path: Path) -> None:
    text = _text(tmp_path, '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>' + _run("first point"))
    assert text.lstrip("-*0123456789. ") == "first point" and not text.startswith(" ")


def test_tracked_changes_are_read_as_accepted(tmp_path: Path) -> None:
    text = _text(
        tmp_path,
        _run("the ")
        + '<w:del w:id="1" w:author="A"><w:r><w:delText>cat</w:delText></w:r></w:del>'
        + f'<w:ins w:id="2" w:author="A">{_run("dog")}</w:ins>',
    )
    assert text == "the dog"


def test_a_text_box_with_a_fallback_stands_once(tmp_path: Path) -> None:
    box = f"<w:txbxContent><w:p>{_run('inside the box')}</w:p></w:txbxContent>"
    text = _text(
        tmp_path,
        _run("before")
        + "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wp:inline><a:graphic><a:graphicData "
        + f"uri='http://schemas.microsoft.com/office/word/2010/wordprocessingShape'><wps:wsp><wps:txbx>{box}</wps:txbx></wps:wsp>"
        + "</a:graphicData></a:graphic></wp:inline></w:drawing></mc:Choice>"
        + f"<mc:Fallback><w:pict><v:shape><v:textbox>{box}</v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>",
        _run("after"),
    )
    assert text.count("inside the box") == 1
    assert text.index("before") < text.index("inside the box") < text.index("after")


def test_the_text_of_a_link_stands_in_its_sentence(tmp_path: Path) -> None:
    document = docx.Document()
    relation = document.part.relate_to("https://example.org/plan", docx.opc.constants.RELATIONSHIP_TYPE.HYPERLINK, True)
    inner = f'{_run("See ")}<w:hyperlink r:id="{relation}">{_run("the plan")}</w:hyperlink>{_run(" today")}'
    document.element.body.insert_element_before(parse_xml(f"<w:p {_SPACES}>{inner}</w:p>"), "w:sectPr")
    path = tmp_path / "link.docx"
    document.save(str(path))
    found = convert(ConvertFile(str(path), path.name, path.stat().st_size))
    assert found.segments[0].text.strip() == "See [the plan](https://example.org/plan) today"


def test_the_list_styles_of_word_say_their_level(tmp_path: Path) -> None:
    document = docx.Document()
    for style in ("List Bullet", "List Bullet 2", "List Bullet 3"):
        document.add_paragraph(style, style=style)
    path = tmp_path / "lists.docx"
    document.save(str(path))
    text = "\n".join(s.text for s in convert(ConvertFile(str(path), path.name, path.stat().st_size)).segments)
    assert [line for line in text.split("\n") if line.strip()] == [
        "- List Bullet",
        "  - List Bullet 2",
        "    - List Bullet 3",
    ]


def test_a_sign_of_tables_inside_a_nested_table_survives(tmp_path: Path) -> None:
    document = docx.Document()
    outer = document.add_table(rows=2, cols=2)
    outer.cell(0, 0).text, outer.cell(0, 1).text, outer.cell(1, 1).text = "head", "more", "x|y"
    inner = outer.cell(1, 0).add_table(rows=1, cols=2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "a|b", "c"
    path = tmp_path / "nested.docx"
    document.save(str(path))
    text = "\n".join(s.text for s in convert(ConvertFile(str(path), path.name, path.stat().st_size)).segments)
    assert "x\\|y" in text and "a\\|b c" in text


@pytest.mark.parametrize("style", ["Heading 1", "heading 1", "标题 1", "标题 一", "标题 1 自定义"])
def test_a_heading_by_style_is_a_heading(tmp_path: Path, style: str) -> None:
    document = docx.Document()
    document.add_paragraph("Plans", style="Heading 1").style.name = style
    document.add_paragraph("Body text that goes on for a while.")
    path = tmp_path / "heading.docx"
    document.save(str(path))
    found = convert(ConvertFile(str(path), path.name, path.stat().st_size))
    assert "# Plans" in "\n".join(s.text for s in found.segments)


def test_a_merged_cell_is_said_once(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=2, cols=2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "over both columns"
    table.cell(1, 0).text, table.cell(1, 1).text = "left", "right"
    path = tmp_path / "table.docx"
    document.save(str(path))
    text = "\n".join(s.text for s in convert(ConvertFile(str(path), path.name, path.stat().st_size)).segments)
    assert text.count("over both columns") == 1 and "left" in text and "right" in text
