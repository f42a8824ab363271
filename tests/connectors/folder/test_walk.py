"""Listings: every entry once, with its reason, however many there are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.sdk import KnownItem
from sapwood_folder.listing import Known, Listing
from sapwood_folder.walk import Entry, Walk, display_path


def test_a_hundred_thousand_files_in_one_folder_are_listed_once_each(tmp_path: Path) -> None:
    for number in range(100_000):
        os.close(os.open(tmp_path / f"{number}.txt", os.O_CREAT | os.O_WRONLY))
    os.truncate(tmp_path / "7.txt", 3)
    entries = list(Walk(str(tmp_path)).entries())
    assert len({e.path for e in entries}) == len(entries) == 100_000
    assert [e.path for e in entries if not e.skip] == ["7.txt"]
    known = Known(KnownItem(f"id-{e.path}", "r", e.path, e.size, e.mtime_ns, "d") for e in entries if not e.skip)
    assert [i.item_id for i in Listing(entries, known).unchanged] == ["id-7.txt"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (".hidden", "hidden"), ("~$plan.docx", "temporary"), ("notes.md~", "temporary"), ("#notes.md#", "temporary"), ("a.swp", "temporary"),
        ("a.crdownload", "temporary"), (".~lock.a.odt#", "lock"), ("yarn.lock", "lock"), ("Thumbs.db", "operating system"),
        ("desktop.ini", "operating system"), (".DS_Store", "operating system"), ("plan.gdoc", "cloud"), (".plan.pdf.icloud", "cloud"),
        ("a.PART", "temporary"),
    ],
)  # fmt: skip
def test_odd_names_have_their_reason(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / name).write_text("x")
    (entry,) = Walk(str(tmp_path)).entries()
    assert reason in entry.skip


@pytest.mark.parametrize(
    "name", ["plan.md", "a.db.txt", "tmp", "lock.txt", "swp", "part.pdf", "x~y", "notes#1.md", "DB"]
)
def test_ordinary_names_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    (entry,) = Walk(str(tmp_path)).entries()
    assert not entry.skip


def test_a_folder_that_is_linked_to_itself_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "note.md").write_text("x")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "a" / "up").symlink_to("../..")
    entries = {e.path: e.skip for e in Walk(str(tmp_path)).entries()}
    assert entries["a/note.md"] == "" and entries["loop"] and entries["a/up"] and len(entries) == 3


def test_a_second_name_of_one_file_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    os.link(tmp_path / "a.md", tmp_path / "b.md")
    entries = {e.path: e.skip for e in Walk(str(tmp_path)).entries()}
    assert entries == {"a.md": "", "b.md": "the same file as a.md"}


@given(st.binary(min_size=1, max_size=40).filter(lambda b: b"/" not in b and b"\0" not in b))
def test_every_name_can_be_stored_and_shown(raw: bytes) -> None:
    display_path(os.fsdecode(raw)).encode("utf-8")


def test_a_moved_file_keeps_its_id_and_a_new_one_in_its_place_gets_another() -> None:
    known = Known([KnownItem("folder:x:a.md", "r", "a.md", 5, 1, "digest-a")])
    listing = Listing([Entry("b.md", 5, 9)], known)
    assert listing.id_for("folder:x", "b.md", "digest-a") == "folder:x:a.md"
    assert (
        Listing([Entry("a.md", 6, 9), Entry("b.md", 5, 9)], known).id_for("folder:x", "b.md", "digest-b")
        == "folder:x:b.md"
    )
