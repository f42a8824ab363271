"""PDF: text by pdfium, page by page; structure, damage and a second opinion by pypdf.

A segment a page. Running headers and footers are taken off, words that were hyphenated at a line's end are joined,
lines of a paragraph are joined, blanks between Chinese characters removed. Pages that cannot be read are named and the
others kept; scanned, garbled and encrypted files are told apart.
"""

from __future__ import annotations

import re
import zlib
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

from sapwood.sdk import Attachment, Converted, ConvertError, ConvertFile, Person, Segment
from sapwood_documents.lines import join_lines, without_running_lines
from sapwood_documents.pdf_repair import FontMaps, repair_page

_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_DATE = re.compile(r"D?:?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?\s*([Zz+-])?(\d{2})?'?(\d{2})?")
_CID = re.compile(r"\(cid:\d+\)")
_BAD = re.compile("[\ufffd\ufffe\uffff\ue000-\uf8ff\x00-\x08\x0e-\x1f]")
_JUNK_TITLE = re.compile(
    r"^(?:untitled|\(?anonymous\)?|unspecified|microsoft word - .*|.*\.(?:docx?|pdf|tex|dvi|indd|qxd|rtf|odt|pptx?|xlsx?)|print|slide \d+|document\d*)$",
    re.IGNORECASE,
)
_MAX_PAGES = 20_000
_SCANNED = 12  # characters a page on average, below which a file with pictures counts as scanned


def convert(file: ConvertFile) -> Converted:
    """The text of each page."""
    document = _open(file)
    try:
        return _read(document, file)
    finally:
        document.close()


def _open(file: ConvertFile) -> Any:
    import pypdfium2

    for password in (None, *file.passwords):
        try:
            return pypdfium2.PdfDocument(file.path, password=password)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) != _PASSWORD_ERROR and "assword" not in str(error):
                raise ConvertError(
                    "damaged",
                    f"is damaged or no PDF ({str(error).rstrip('.')})",
                    "Open it in a PDF reader and save it again.",
                ) from error
    given = "and none of the given passwords opens it" if file.passwords else "and no password was given"
    raise ConvertError("encrypted", f"is encrypted {given}", "Give its password with --password env:NAME.")


def _read(document: Any, file: ConvertFile) -> Converted:
    pages, damaged = _pages(document, FontMaps(file.path))
    warnings: list[str] = []
    lost = _undecodable_pages(file) if pages else set()
    damaged |= lost
    if damaged:
        named = ", ".join(str(n) for n in sorted(damaged))
        warnings.append(f"damaged, text may be missing: page {named}")
    whole = "".join(pages)
    visible = len(re.sub(r"\s", "", whole))
    if not visible:
        _explain_no_text(document, pages, file)
    bad = len(_BAD.findall(whole)) + 4 * len(_CID.findall(whole))
    if bad > 0.3 * visible:
        raise ConvertError(
            "garbled",
            "has text whose characters cannot be told (its fonts do not say them)",
            "Run text recognition (OCR) over it and import the result.",
        )
    if visible < _SCANNED * len(pages) and _has_pictures(document):
        warnings.append("most pages are pictures; only their little text was read")
    unreadable = [
        n for n, text in enumerate(pages, 1) if len(_BAD.findall(text)) > 0.3 * max(len(text), 1) or _CID.search(text)
    ]
    if unreadable:
        warnings.append(f"unreadable characters: page {', '.join(map(str, unreadable[:50]))}")
    info = _metadata(document)
    headings = _outline(document)
    segments = []
    for number, lines in enumerate(without_running_lines([_clean(t).split("\n") for t in pages]), 1):
        text = join_lines(lines, headings.get(number, []))
        if text.strip():
            segments.append(Segment(f"page-{number}", text, page=number))
    title = " ".join(info.get("Title", "").split())
    return Converted(
        title="" if _JUNK_TITLE.match(title) else title,
        segments=tuple(segments),
        created=_moment(info.get("CreationDate", ""), file.zone),
        modified=_moment(info.get("ModDate", ""), file.zone),
        people=(Person(name=author, role="author"),) if (author := " ".join(info.get("Author", "").split())) else (),
        tags=tuple(
            dict.fromkeys(
                t.strip() for t in re.split(r"[,;，；]", info.get("Keywords", "")) if 0 < len(t.strip()) <= 60
            )
        ),
        attachments=_attachments(document),
        media_type="application/pdf",
        warnings=tuple(warnings),
    )


def _pages(document: Any, maps: FontMaps) -> tuple[list[str], set[int]]:
    import pypdfium2

    count = len(document)
    if count > _MAX_PAGES:
        raise ConvertError("too_large", f"has {count:,} pages, over the limit of {_MAX_PAGES:,}", "Split it.")
    pages: list[str] = []
    damaged: set[int] = set()
    for number in range(count):
        try:
            page = document[number]
            text_page = page.get_textpage()
            pages.append(repair_page(page, text_page, text_page.get_text_range(), maps))
            text_page.close()
            page.close()
        except (pypdfium2.PdfiumError, ValueError, OSError):
            pages.append("")
            damaged.add(number + 1)
    if count and len(damaged) == count:
        raise ConvertError(
            "damaged", "is damaged: none of its pages can be read", "Open it in a PDF reader and save it again."
        )
    return pages, damaged


def _explain_no_text(document: Any, pages: list[str], file: ConvertFile) -> None:
    """Raises the reason why there is no text."""
    if not pages or (len(pages) == 1 and not _has_pictures(document) and not _sound_structure(file)):
        raise ConvertError(
            "damaged", "is damaged: its pages cannot be found", "Open it in a PDF reader and save it again."
        )
    if _has_pictures(document):
        raise ConvertError(
            "no_text", "has no text layer (scanned?)", "Run text recognition (OCR) over it and import the result."
        )
    raise ConvertError(
        "no_text", "has pages without any text", "If it shows text on the screen, run text recognition (OCR) over it."
    )


def _sound_structure(file: ConvertFile) -> bool:
    """True when a second reader finds pages in it too."""
    import pypdf

    try:
        return len(pypdf.PdfReader(file.path, strict=False).pages) > 0
    except Exception:
        return False


def _has_pictures(document: Any) -> bool:
    import pypdfium2.raw as raw

    for number in range(min(len(document), 5)):
        try:
            if any(True for _ in document[number].get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)):
                return True
        except Exception:  # noqa: S112  a page that cannot be looked into shows no pictures
            continue
    return False


def _undecodable_pages(file: ConvertFile) -> set[int]:
    """Numbers of pages whose content stream breaks off: pdfium shows what came before and says nothing.

    Only for files that hold compressed streams which do not end as they should, so that sound files pay for one scan.
    """
    if not _has_broken_stream(file.path):
        return set()
    import pypdf

    broken: set[int] = set()
    try:
        reader = pypdf.PdfReader(file.path, strict=False)
        for number, page in enumerate(reader.pages, 1):
            try:
                contents = page.get_contents()
                if contents is not None:
                    _ = contents.operations
            except Exception:
                broken.add(number)
    except Exception:
        return broken
    return broken


_STREAM = re.compile(rb"stream\r?\n")


def _has_broken_stream(path: str) -> bool:
    with open(path, "rb") as handle:
        data = handle.read()
    if b"/FlateDecode" not in data:
        return False
    for match in _STREAM.finditer(data):
        if data[match.start() - 3 : match.start()] == b"end":
            continue
        header = data[max(0, match.start() - 300) : match.start()]
        header = header[header.rfind(b"obj") :]
        if b"/FlateDecode" not in header or b"/Crypt" in header:
            continue
        end = data.find(b"endstream", match.end())
        if end < 0:
            return True
        inflater = zlib.decompressobj()
        try:
            inflater.decompress(data[match.end() : end], 64 * 1024 * 1024)
        except zlib.error:
            return b"/Encrypt" not in data
        if not inflater.eof and not inflater.unconsumed_tail:
            return b"/Encrypt" not in data
    return False


def _clean(text: str) -> str:
    # pdfium marks a hyphen at a line's end that it takes for soft with U+FFFE, and ends lines with CR LF.
    return _CID.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufffe", "-").replace("\x02", "-"))


def _metadata(document: Any) -> dict[str, str]:
    try:
        return {
            key: value for key, value in document.get_metadata_dict(skip_empty=True).items() if isinstance(value, str)
        }
    except Exception:
        return {}


def _outline(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Bookmarks by page number: `(level from 1, title)`."""
    found: dict[int, list[tuple[int, str]]] = {}
    try:
        for count, bookmark in enumerate(document.get_toc(max_depth=6)):
            if count > 5000:
                break
            target = bookmark.get_dest()
            title = " ".join((bookmark.get_title() or "").split())
            index = target.get_index() if target else None
            if title and index is not None:
                found.setdefault(index + 1, []).append((min(bookmark.level + 1, 6), title))
    except Exception:
        return found
    return found


def _attachments(document: Any) -> tuple[Attachment, ...]:
    found = []
    try:
        for number in range(min(document.count_attachments(), 1000)):
            attachment = document.get_attachment(number)
            name = attachment.get_name() or f"attachment {number + 1}"
            found.append(Attachment(f"attachment-{number}", name, reason="embedded in the PDF, named only"))
    except Exception:
        return tuple(found)
    return tuple(found)


def _moment(text: str, local: tzinfo) -> datetime | None:
    match = _DATE.match(text.strip())
    if not match:
        return None
    year, month, day, hour, minute, second, sign, off_hours, off_minutes = match.groups()
    offset = timedelta(hours=int(off_hours or 0), minutes=int(off_minutes or 0))
    try:
        zone = local if not sign else UTC if sign in "Zz" else timezone(-offset if sign == "-" else offset)
        return datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            min(int(second or 0), 59),
            tzinfo=zone,
        )
    except ValueError:
        return None
