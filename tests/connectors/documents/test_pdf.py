"""PDF files that are damaged on purpose."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from sapwood.sdk import Converted, ConvertError, ConvertFile
from sapwood.text.normalise import normalise
from sapwood_documents.pdf import convert


def _pdf(pages: list[bytes]) -> bytes:
    """A PDF whose pages show these strings, in PDF's own notation."""
    writer = PdfWriter()
    for shown in pages:
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        stream = DecodedStreamObject()
        stream.set_data(b"BT /F1 12 Tf 20 200 Td (" + shown + b") Tj ET")
        page[NameObject("/Contents")] = writer._add_object(stream)
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def _read(place: Path, data: bytes) -> Converted:
    path = place / "made.pdf"
    path.write_bytes(data)
    return convert(ConvertFile(str(path), path.name, len(data)))


def test_pages_are_segments(tmp_path: Path) -> None:
    found = _read(tmp_path, _pdf([b"words of page one", b"words of page two"]))
    assert [(s.page, s.text.strip()) for s in found.segments] == [(1, "words of page one"), (2, "words of page two")]


def test_a_file_cut_in_its_cross_reference_table_is_read_or_named_damaged(tmp_path: Path) -> None:
    data = _pdf([b"words of page one"])
    cut = data[: data.rindex(b"xref") + 20]
    try:
        found = _read(tmp_path, cut)
    except ConvertError as error:
        assert error.code == "damaged"
    else:
        assert "words of page one" in found.segments[0].text


def test_a_table_that_names_itself_as_the_one_before_ends(tmp_path: Path) -> None:
    data = _pdf([b"words of page one"])
    start = int(re.findall(rb"startxref\s+(\d+)", data)[-1])
    looped = data.replace(b"/Size", b"/Prev %d\n/Size" % start, 1)
    try:
        found = _read(tmp_path, looped)
    except ConvertError as error:
        assert error.code == "damaged"
    else:
        assert [s.text.strip() for s in found.segments] == ["words of page one"]


@pytest.mark.parametrize("shown", [b"a\\000b\\000c words", b"words\\000", b"\\000 words \\001\\002"])
def test_control_characters_never_reach_what_is_stored(tmp_path: Path, shown: bytes) -> None:
    found = _read(tmp_path, _pdf([shown]))
    text = normalise("".join(s.text for s in found.segments))
    assert "words" in text and not re.search(r"[\x00-\x08\x0b-\x1f]", text)


def test_a_page_without_text_is_called_scanned(tmp_path: Path) -> None:
    with pytest.raises(ConvertError) as caught:
        _read(tmp_path, _pdf([b""]))
    assert caught.value.code == "no_text"
