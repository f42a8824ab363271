"""What office files have in common: a zip that must not be a bomb, and XML that must not reach outside."""

from __future__ import annotations

import zipfile
from typing import Any

from sapwood.sdk import ConvertError, ConvertFile

__all__ = ["parse_xml", "refuse_bombs", "refuse_encrypted"]

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def refuse_bombs(source: Any, file: ConvertFile, what: str) -> None:
    """zipfile never inflates a member beyond the size in its header, so the sum of those bounds what is read.

    Raises:
        ConvertError: it is no zip, or unpacks to more than it may.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            size = sum(info.file_size for info in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise ConvertError(
            "damaged", f"is damaged: its end is missing or it is no {what}", "Copy it again from where it came from."
        ) from error
    if size > file.limits.unpacked_bytes:
        raise ConvertError(
            "too_large",
            f"is too large when unpacked ({size / 1e6:,.0f} MB, the limit is {file.limits.unpacked_bytes / 1e6:,.0f} MB)",
            "Split it.",
        )


def refuse_encrypted(file: ConvertFile, what: str) -> None:
    """An encrypted office file is an OLE container with the zip inside.

    Raises:
        ConvertError: it is one.
    """
    with open(file.path, "rb") as stream:
        if stream.read(8) == _OLE:
            raise ConvertError(
                "encrypted", f"is an encrypted {what}, or one in an old format", "Save it again without a password, in the present format."
            )  # fmt: skip


def parse_xml(blob: bytes) -> Any:
    """An lxml element; entities are not resolved and nothing is fetched.

    Raises:
        lxml.etree.XMLSyntaxError: it is no XML.
    """
    from lxml import etree

    return etree.fromstring(blob, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False))
