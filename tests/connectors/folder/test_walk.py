"""Listings: every entry once, with its reason, however many there are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.sdk import KnownItem
from sapwood_folder.listing import Known, Listing
from sapwood_folder.walk import Walk, display_path


def _walked(place: Path) -> Walk:
    walk = Walk(str(place))
    walk.run()
    return walk


def test_a_hundred_thousand_files_in_one_folder_are_listed_once_each(tmp_path: Path) -> None:
    for number in range(100_000):
        os.close(os.open(tmp_path / f"{number}.txt", os.O_CREAT | os.O_WRONLY))
    os.truncate(tmp_path / "7.txt", 3)
    walk = _walked(tmp_path)
    assert len({e.path for e in walk.skipped}) == len(walk.skipped) == 99_999
    assert [path for path, _, _ in walk.files] == ["7.txt"]
    known = Known(KnownItem(f"id-{path}", "r", path, size, mtime_ns, "d") for path, size, mtime_ns in walk.files)
    assert Listing(walk.files, walk.skipped, known).unchanged == ["id-7.txt"]


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
    walk = _walked(tmp_path)
    assert not walk.files and [reason in entry.skip for entry in walk.skipped] == [True]


@pytest.mark.parametrize(
    "name", ["plan.md", "a.db.txt", "tmp", "lock.txt", "swp", "part.pdf", "x~y", "notes#1.md", "DB"]
)
def test_ordinary_names_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    walk = _walked(tmp_path)
    assert [path for path, _, _ in walk.files] == [name] and not walk.skipped


def test_a_folder_that_is_linked_to_itself_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "note.md").write_text("x")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "a" / "up").symlink_to("../..")
    walk = _walked(tmp_path)
    assert [path for path, _, _ in walk.files] == ["a/note.md"]
    assert sorted(e.path for e in walk.skipped if e.skip) == ["a/up", "loop"]


def test_a_second_name_of_one_file_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    os.link(tmp_path / "a.md", tmp_path / "b.md")
    walk = _walked(tmp_path)
    assert [path for path, _, _ in walk.files] == ["a.md"]
    assert [(e.path, e.skip) for e in walk.skipped] == [("b.md", "the same file as a.md")]


@given(st.binary(min_size=1, max_size=40).filter(lambda b: b"/" not in b and b"\0" not in b))
def test_every_name_can_be_stored_and_shown(raw: bytes) -> None:
    display_path(os.fsdecode(raw)).encode("utf-8")


def test_a_moved_file_keeps_its_id_and_a_new_one_in_its_place_gets_another() -> None:
    known = Known([KnownItem("folder:x:a.md", "r", "a.md", 5, 1, "digest-a")])
    listing = Listing([("b.md", 5, 9)], [], known)
    assert listing.id_for("folder:x", "b.md", "digest-a") == "folder:x:a.md"
    assert (
        Listing([("a.md", 6, 9), ("b.md", 5, 9)], [], known).id_for("folder:x", "b.md", "digest-b") == "folder:x:b.md"
    )


def _known(item_id: str, locator: str, mtime_ns: int, state: str = "stored", retryable: bool = False) -> KnownItem:
    return KnownItem(item_id, "r", locator, 5, mtime_ns, "d", state, "", "why", "", retryable)


def _sorted(*known: KnownItem, retry_failed: bool = False) -> tuple[list[str], list[str], list[str]]:
    """Unchanged, the same verdict again, and to be read, when the only file is a.zip of 5 bytes and time 1."""
    listing = Listing([("a.zip", 5, 1)], [], Known(known), retry_failed=retry_failed)
    return listing.unchanged, [i.item_id for i in listing.again], [e.path for e in listing.changed]


def test_an_archive_is_unchanged_with_all_its_members_or_read_again() -> None:
    members = [_known("x!/1", "a.zip!/1", 1), _known("x!/2", "a.zip!/2", 1)]
    assert _sorted(*members) == (["x!/1", "x!/2"], [], [])
    assert _sorted(members[0], _known("x!/2", "a.zip!/2", 9)) == ([], [], ["a.zip"])
    assert _sorted(*members, _known("x!/3", "a.zip!/3", 1, "skipped")) == (["x!/1", "x!/2"], ["x!/3"], [])


def test_a_failed_file_is_read_again_when_it_changes_may_pass_or_somebody_asks() -> None:
    failed = _known("x", "a.zip", 1, "failed")
    assert _sorted(failed) == ([], ["x"], [])
    assert _sorted(failed, retry_failed=True) == ([], [], ["a.zip"])
    assert _sorted(_known("x", "a.zip", 1, "failed", retryable=True)) == ([], [], ["a.zip"])
    assert _sorted(_known("x", "a.zip", 2, "failed")) == ([], [], ["a.zip"])
    # its older version is still stored under the same id
    assert _sorted(_known("x", "a.zip", 0), failed) == ([], ["x"], [])
