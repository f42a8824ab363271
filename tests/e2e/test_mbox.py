"""An mbox in a folder: what is stored out of it stays while it cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Result

Sapwood = Callable[..., Result]


def _mail(number: int) -> bytes:
    return (
        b"From -\nMessage-ID: <%d@x>\nSubject: Subject %d\nDate: Fri, 01 Aug 2025 10:%02d:00 +0000\n\nThe words of mail %d.\n\n"
        % ((number,) * 4)
    )


def test_mails_stay_when_their_mbox_cannot_be_read_and_new_ones_come_when_it_can(
    sapwood: Sapwood, folder: Path
) -> None:
    (folder / "other.txt").write_text("Another file.", encoding="utf-8")
    box = folder / "inbox.mbox"
    box.write_bytes(b"".join(map(_mail, range(4))))
    assert sapwood("import", str(folder), "--json").json["counts"]["stored"] == 5
    box.write_bytes(b"\x00 nothing that could be read\n")
    broken = sapwood("import", str(folder), "--json").json
    assert broken["counts"]["failed"] == 1 and broken["counts"]["removed"] == 0
    assert len(sapwood("search", "words of mail", "--json", "--unit", "item").json["hits"]) == 4
    box.write_bytes(b"".join(map(_mail, range(1, 6))))
    healed = sapwood("import", str(folder), "--json").json
    assert (healed["counts"]["removed"], healed["counts"]["failed"]) == (1, 0)
    titles = {hit["title"] for hit in sapwood("search", "words of mail", "--json", "--unit", "item").json["hits"]}
    assert titles == {f"Subject {n}" for n in range(1, 6)}
    box.unlink()
    assert sapwood("import", str(folder), "--json").json["counts"]["removed"] == 5
