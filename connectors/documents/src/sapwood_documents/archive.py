"""Zip and gzip files unpacked into the work folder, within limits on bytes really inflated, members and names."""

from __future__ import annotations

import gzip
import os
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO

from sapwood.sdk import Converted, ConvertError, ConvertFile, Member

_BLOCK = 1 << 20
_SYSTEM = ("__macosx/", ".ds_store", "thumbs.db", "desktop.ini")


def convert(file: ConvertFile) -> Converted:
    """The members, each unpacked or with the reason why not."""
    os.makedirs(file.workdir, mode=0o700, exist_ok=True)
    members = list(_gunzip(file) if file.extension == "gz" else _unzip(file))
    if not members:
        raise ConvertError("empty", "holds no files", "Nothing needs to be done.")
    return Converted(members=tuple(members), media_type="application/zip")


def _gunzip(file: ConvertFile) -> Iterator[Member]:
    name = file.name[:-3] or "content"
    target = os.path.join(file.workdir, "0")
    left = _Budget(file.limits.unpacked_bytes)
    try:
        with gzip.open(file.path, "rb") as source:
            size = _copy(source, target, left)  # type: ignore[arg-type]
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, ConvertError):
            raise
        raise ConvertError("damaged", f"is damaged ({error})", "Copy it again from where it came from.") from error
    yield Member(name, target, size, file.modified)


class _Budget:
    """Bytes that may still be inflated."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit

    def spend(self, size: int) -> None:
        """Raises ConvertError when the archive unpacks to more than it may."""
        self.left -= size
        if self.left < 0:
            raise ConvertError(
                "too_large",
                f"is too large when unpacked (over {self.limit / 1e6:,.0f} MB)",
                "Unpack it yourself and import the folder.",
            )


def _copy(source: BinaryIO, target: str, budget: _Budget) -> int:
    size = 0
    with open(target, "wb") as out:
        while block := source.read(_BLOCK):
            budget.spend(len(block))
            size += len(block)
            out.write(block)
    return size


def _unzip(file: ConvertFile) -> Iterator[Member]:
    try:
        archive = zipfile.ZipFile(file.path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ConvertError(
            "damaged", f"is damaged or no zip file ({error})", "Copy it again from where it came from."
        ) from error
    budget = _Budget(file.limits.unpacked_bytes)
    with archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        if len(infos) > file.limits.members:
            raise ConvertError(
                "too_large",
                f"holds {len(infos):,} files, over the limit of {file.limits.members:,}",
                "Unpack it yourself and import the folder.",
            )
        seen: set[str] = set()
        for number, info in enumerate(infos):
            yield _member(archive, info, member_name(info), os.path.join(file.workdir, str(number)), file, budget, seen)


def _member(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    name: str,
    target: str,
    file: ConvertFile,
    budget: _Budget,
    seen: set[str],
) -> Member:
    reason = _refusal(name, info, seen)
    if reason:
        return Member(name, skipped=reason)
    seen.add(name)
    passwords: list[bytes | None] = [p.encode() for p in file.passwords] if info.flag_bits & 1 else [None]
    if info.flag_bits & 1 and not passwords:
        return Member(name, skipped="encrypted in its archive; give a password for this connection")
    for password in passwords:
        try:
            with archive.open(info, pwd=password) as source:
                return Member(name, target, _copy(source, target, budget), _modified(info))  # type: ignore[arg-type]
        except RuntimeError:
            continue  # wrong password
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
            return Member(name, skipped=f"damaged in its archive ({error})")
    return Member(name, skipped="encrypted in its archive, and no given password opens it")


def _refusal(name: str, info: zipfile.ZipInfo, seen: set[str]) -> str:
    parts = name.split("/")
    lowered = name.lower()
    if name.startswith("/") or ".." in parts or (len(name) > 1 and name[1] == ":"):
        return "its name points outside of the archive"
    if name in seen:
        return "a second file with this name in the archive"
    if lowered.startswith(_SYSTEM[0]) or parts[-1].lower() in _SYSTEM or parts[-1].startswith("._"):
        return "a file of the operating system"
    if any(part.startswith(".") for part in parts):
        return "a hidden file"
    if (info.external_attr >> 16) & 0o170000 == 0o120000:
        return "a link"
    return "empty" if info.file_size == 0 else ""


def member_name(info: zipfile.ZipInfo) -> str:
    """The member's name in Unicode.

    Without the UTF-8 flag the bytes are whatever the writer's system used: strict UTF-8, then GB18030, then the
    standard's code page 437. Each entry by itself, since archives mix.
    """
    if info.flag_bits & 0x800:
        name = info.filename
    else:
        try:
            raw = info.filename.encode("cp437")
        except UnicodeEncodeError:
            raw = b""
        name = info.filename
        for encoding in ("utf-8", "gb18030") if raw and not raw.isascii() else ():
            try:
                name = raw.decode(encoding)
                break
            except UnicodeDecodeError:
                continue
    return name.replace("\\", "/").replace("\x00", "")


def _modified(info: zipfile.ZipInfo) -> datetime | None:
    try:
        return datetime(*info.date_time, tzinfo=UTC) if info.date_time[0] > 1980 else None
    except ValueError:
        return None
