"""What a person does with a folder: import, change, move, delete, break."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Result

Sapwood = Callable[..., Result]


def _status(result: Result) -> dict[str, tuple[str, str]]:
    return {f["path"]: (f["status"], f["reason"]) for f in result.json["files"]}


def _ids(result: Result) -> dict[str, str]:
    return {f["path"]: f["items"][0]["item_id"] for f in result.json["files"] if f["items"]}


def test_stdout_holds_one_json_object_and_nothing_else(sapwood: Sapwood, folder: Path) -> None:
    (folder / "a.md").write_text("# A\n\nhello there\n")
    first = sapwood("import", str(folder), "--json")
    assert first.code == 0
    assert first.json["counts"] == {"stored": 1, "unchanged": 0, "removed": 0, "skipped": 0, "failed": 0}
    assert first.json["files"][0]["items"][0]["chunks"] == 1
    found = sapwood("search", "hello", "--json").json
    assert found["total"] == 1 and found["truncated"] is False and found["legs"]["text"] == "live"
    hit = found["hits"][0]
    assert (
        hit["title"] == "A"
        and hit["path"].startswith("wiki/raw/document/")
        and hit["passages"][0]["text"].endswith("hello there")
    )
    assert abs(sum(hit["breakdown"].values()) - hit["score"]) < 0.001
    for command in ("status", "doctor"):
        assert sapwood(command, "--json").json["ok"] is True


def test_a_moved_file_keeps_its_id_and_a_deleted_one_goes(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    for name in ("a", "b", "c"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nthe word unique{name}\n")
    ids = _ids(sapwood("import", str(folder), "--json"))
    (folder / "deep").mkdir()
    (folder / "a.md").rename(folder / "deep" / "moved.md")
    (folder / "b.md").unlink()
    second = sapwood("import", str(folder), "--json")
    assert _ids(second)["deep/moved.md"] == ids["a.md"]
    assert second.json["removed"] == [ids["b.md"]]
    hit = sapwood("search", "uniquea", "--json").json["hits"][0]
    assert hit["source_ref"] == "deep/moved.md" and hit["item_id"] == ids["a.md"]
    assert sapwood("search", "uniqueb", "--json").json["hits"] == []
    assert "uniqueb" not in "".join(f.read_text() for f in (workspace / "wiki" / "raw").rglob("*.md"))
    (folder / "a.md").write_text("# new\n\nanother text at the old place\n")
    third = _ids(sapwood("import", str(folder), "--json"))
    assert third["deep/moved.md"] == ids["a.md"] and third["a.md"] not in ids.values()
    assert sapwood("doctor", "--json").json["ok"]


def test_an_empty_or_missing_folder_deletes_nothing(sapwood: Sapwood, folder: Path) -> None:
    (folder / "a.md").write_text("kept words\n")
    sapwood("import", str(folder))
    (folder / "a.md").unlink()
    empty = sapwood("import", str(folder), "--json")
    assert empty.code == 3 and empty.json["status"] == "partial" and "Nothing was deleted" in empty.json["messages"][0]
    folder.rmdir()
    missing = sapwood("import", str(folder), "--json")
    assert missing.code == 1 and "no such file or folder" in missing.json["error"]
    assert sapwood("search", "kept", "--json").json["total"] == 1


def test_a_suspicious_sweep_waits_for_a_person(sapwood: Sapwood, folder: Path) -> None:
    for number in range(120):
        (folder / f"{number}.txt").write_text(f"text number {number}\n")
    sapwood("import", str(folder))
    for number in range(60):
        (folder / f"{number}.txt").unlink()
    held = sapwood("import", str(folder), "--json")
    assert held.code == 3 and held.json["held_deletes"] == 60 and held.json["counts"]["removed"] == 0
    confirmed = sapwood("import", str(folder), "--json", "--confirm-deletes")
    assert confirmed.code == 0 and confirmed.json["counts"]["removed"] == 60
    assert sapwood("doctor", "--json").json["ok"]


def test_links_hidden_and_temporary_entries_are_skipped_with_their_reasons(sapwood: Sapwood, folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "real" / "x.md").write_text("real text\n")
    os.symlink(".", folder / "loop")
    os.symlink("real", folder / "alias")
    os.symlink("nowhere", folder / "broken")
    os.link(folder / "real" / "x.md", folder / "second-name.md")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("x")
    (folder / "node_modules").mkdir()
    (folder / "~$doc.docx").write_text("x")
    (folder / "half.part").write_text("x")
    (folder / ".~lock.a.odt#").write_text("x")
    (folder / ".hidden.md").write_text("x")
    (folder / "empty.md").write_text("")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    found = _status(sapwood("import", str(folder), "--json"))
    assert [p for p, (state, _) in found.items() if state == "stored"] == ["second-name.md"]
    reasons = {path: reason for path, (state, reason) in found.items() if state == "skipped"}
    assert (
        "a link to a folder" in reasons["loop"]
        and "a link to a folder" in reasons["alias"]
        and "not there" in reasons["broken"]
    )
    assert "the same file as second-name.md" in reasons["real/x.md"]
    assert "version control" in reasons[".git"] and "installed packages" in reasons["node_modules"]
    assert (
        "temporary" in reasons["~$doc.docx"]
        and "temporary" in reasons["half.part"]
        and "lock" in reasons[".~lock.a.odt#"]
    )
    assert "hidden" in reasons[".hidden.md"] and reasons["empty.md"] == "empty" and ".jpg" in reasons["photo.jpg"]


def test_patterns_are_kept_and_leave_out_or_take_out(sapwood: Sapwood, folder: Path) -> None:
    for name in ("a.md", "b.txt", "secret.md"):
        (folder / name).write_text(f"text of {name}\n")
    sapwood("import", str(folder))
    second = sapwood("import", str(folder), "--json", "--include", "*.md", "--exclude", "secret*")
    assert _status(second)["secret.md"][0] == "skipped"
    assert second.json["counts"]["removed"] == 2
    third = sapwood("import", str(folder), "--json")
    assert third.json["counts"]["unchanged"] == 1 and third.json["counts"]["removed"] == 0


def test_names_that_are_illegal_elsewhere_all_survive(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    names = [
        "a:b.md",
        "what?.md",
        "CON.md",
        "nul.md",
        "Plan.md",
        "plan.md",
        "basic-memory bug.md",
        "basic memory bug.md",
        "长" * 80 + ".md",
        "😀.md",
        "trailing .md",
        "日本 語.md",
    ]
    for name in names:
        (folder / name).write_text(f"# about\n\nnote called {name}\n")
    bad = os.fsencode(str(folder)) + b"/bad\xff\xfename.md"
    with open(bad, "wb") as out:
        out.write(b"bytes that are no UTF-8 in a name\n")
    found = _status(sapwood("import", str(folder), "--json"))
    assert {p for p, (state, _) in found.items() if state == "stored"} == {*names, "bad%FF%FEname.md"}
    lowered = [f.relative_to(workspace).as_posix().casefold() for f in (workspace / "wiki").rglob("*.md")]
    assert len(lowered) == len(set(lowered))
    assert all(len(part.encode()) <= 255 for path in lowered for part in path.split("/"))


@pytest.mark.parametrize(
    "title",
    [
        'Fwd: 10 things that make you say "no"',
        "@today",
        "- [ ] x",
        "yes",
        "2024-01-01",
        "null",
        "会议：纪要",
        "a\\nb",
        "# x",
        "[x]",
        "1.0",
        "~",
    ],
)
def test_front_matter_parses_to_exactly_the_title(sapwood: Sapwood, folder: Path, workspace: Path, title: str) -> None:

    import yaml

    (folder / "x.json").write_text(json.dumps({"title": title, "body": "some text"}))
    sapwood("import", str(folder))
    note = next((workspace / "wiki" / "raw").rglob("*.md")).read_text()
    assert yaml.safe_load(note.split("---\n")[1])["title"] == title


def test_bad_files_are_named_and_stop_nothing(sapwood: Sapwood, folder: Path) -> None:
    (folder / "good.md").write_text("good words\n")
    (folder / "binary.md").write_bytes(bytes(range(256)) * 64)
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "deep.html").write_text("<div>" * 5000 + "needle" + "</div>" * 5000)
    (folder / "quotes.md").write_text(">" * 5000 + " bottom\n")
    (folder / "escapes.json").write_text('{"t": "a\\ud83d b", "u": "\\ude00", "v": "\\ud83d\\ude00"}')
    (folder / "late.txt").write_bytes(b"a" * 5000 + "é中".encode())
    (folder / "cut.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog")
    with open(folder / "huge.txt", "wb") as out:
        out.truncate(2_000_000_001)
    with open(folder / "large.txt", "wb") as out:
        out.write(b"x" * 70_000_000)
    result = sapwood("import", str(folder), "--json")
    found = _status(result)
    assert result.code == 3
    assert {p for p, (s, _) in found.items() if s == "stored"} == {
        "good.md",
        "deep.html",
        "quotes.md",
        "escapes.json",
        "late.txt",
    }
    assert (
        "not text" in found["binary.md"][1]
        and "nested too deeply" in found["deep.json"][1]
        and "damaged" in found["cut.pdf"][1]
    )
    assert (
        "over the limit" in found["large.txt"][1]
        and found["huge.txt"][0] == "skipped"
        and "over the limit" in found["huge.txt"][1]
    )
    assert sapwood("search", "needle", "--json").json["total"] == 1
    text = sapwood("fetch", _ids(result)["escapes.json"], "--json").json["hits"][0]["content"]
    assert "a\ufffd b" in text and "u: \ufffd" in text and "v: 😀" in text


def test_a_word_file_that_unpacks_to_a_gigabyte_is_refused(sapwood: Sapwood, folder: Path) -> None:
    import zipfile

    with zipfile.ZipFile(folder / "bomb.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("word/document.xml", "w", force_zip64=True) as out:
            for _ in range(300):
                out.write(b"a" * 1_000_000)
    with (
        zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros.txt", "w", force_zip64=True) as out,
    ):
        for _ in range(300):
            out.write(b"\0" * 1_000_000)
    with zipfile.ZipFile(folder / "escape.zip", "w") as archive:
        archive.writestr("../outside.md", "no")
        archive.writestr("inside.md", "yes, inside")
    found = _status(sapwood("import", str(folder), "--json"))
    assert found["bomb.docx"][0] == "failed" and "too large when unpacked" in found["bomb.docx"][1]
    assert found["bomb.zip"][0] == "failed" and "too large when unpacked" in found["bomb.zip"][1]
    assert "outside of the archive" in found["escape.zip!/../outside.md"][1]
    assert found["escape.zip!/inside.md"][0] == "stored"


def test_a_file_that_is_still_written_becomes_one_whole_document(sapwood: Sapwood, folder: Path) -> None:
    target = folder / "growing.txt"

    def write() -> None:
        for number in range(8):
            with open(target, "a") as out:
                out.write(f"line {number} " + "x" * 1000 + "\n")
            time.sleep(0.3)

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(0.2)
    result = sapwood("import", str(folder), "--json")
    writer.join()
    again = sapwood("import", str(folder), "--json")
    assert result.json["counts"]["stored"] + again.json["counts"]["stored"] >= 1
    hits = sapwood("fetch", _ids(again)["growing.txt"], "--json").json["hits"]
    assert sum(hit["content"].count("line ") for hit in hits) == 8


def test_a_touched_file_is_not_stored_again_and_a_future_clock_is_no_obstacle(sapwood: Sapwood, folder: Path) -> None:
    file = folder / "a.md"
    file.write_text("first words\n")
    os.utime(file, (time.time() + 60 * 86_400,) * 2)
    sapwood("import", str(folder))
    os.utime(file)
    touched = sapwood("import", str(folder), "--json")
    assert touched.json["counts"]["stored"] == 0 and touched.json["counts"]["unchanged"] == 1
    file.write_text("other words\n")
    assert sapwood("import", str(folder), "--json").json["counts"]["stored"] == 1
    (folder / "old.md").write_text("late arrival\n")
    os.utime(folder / "old.md", (1_000_000_000,) * 2)
    assert sapwood("import", str(folder), "--json").json["counts"]["stored"] == 1


def test_a_dry_run_writes_nothing(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    (folder / "a.md").write_text("words\n")
    (folder / "b.xyz").write_bytes(b"\x00\x01\x02")
    result = sapwood("import", str(folder), "--json", "--dry-run")
    assert result.json["counts"] == {"stored": 1, "unchanged": 0, "removed": 0, "skipped": 1, "failed": 0}
    assert not workspace.exists()


def test_one_file_can_be_imported_alone_and_deletes_nothing(sapwood: Sapwood, folder: Path) -> None:
    (folder / "a.md").write_text("words of a\n")
    (folder / "b.md").write_text("words of b\n")
    sapwood("import", str(folder))
    (folder / "a.md").write_text("changed words of a\n")
    alone = sapwood("import", str(folder / "a.md"), "--json")
    assert alone.json["counts"] == {"stored": 1, "unchanged": 0, "removed": 0, "skipped": 0, "failed": 0}
    assert sapwood("search", "words", "--json").json["total"] == 2


def test_secrets_stand_nowhere_in_the_workspace(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    key = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    (folder / f"{key}.md").write_text(f"# Title {key}\n\nbody {key} and password: hunter2secret\n")
    (folder / "data.json").write_text(
        f'{{"title": "t", "api_key": "{key}", "nested": {{"password": ["hunter2secret"]}}, "note": "see {key}"}}'
    )
    (folder / "page.html").write_text(
        f"<title>{key}</title><p>https://x.example/?token={key} hunter2secret is the password: hunter2secret</p>".replace(
            "hunter2secret is", "it is"
        )
    )
    result = sapwood("import", str(folder), "--json")
    assert result.json["counts"]["stored"] == 3
    assert key not in result.out
    for file in workspace.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert key.encode() not in data and b"hunter2secret" not in data, file
    assert sapwood("import", str(folder), "--json").json["counts"]["stored"] == 0


def test_another_process_that_writes_is_named(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    from sapwood.workspace import Workspace

    (folder / "a.md").write_text("words\n")
    with Workspace(workspace).writer_lock():
        busy = sapwood("import", str(folder), "--json", env={"SAPWOOD_LOCK_WAIT_SECONDS": "0.2"})
    assert busy.code == 1 and "another sync is running" in busy.json["error"]
    assert sapwood("import", str(folder)).code == 0


def test_two_imports_at_once_both_end_well(sapwood: Sapwood, folder: Path) -> None:
    for number in range(30):
        (folder / f"{number}.md").write_text(f"# {number}\n\ntext {number}\n")
    results: list[Result] = []
    threads = [
        threading.Thread(
            target=lambda: results.append(
                sapwood("import", str(folder), "--json", env={"SAPWOOD_LOCK_WAIT_SECONDS": "60"})
            )
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(r.code for r in results) == [0, 0]
    assert sum(r.json["counts"]["stored"] for r in results) == 30
    assert sapwood("doctor", "--json").json["ok"]


def test_a_workspace_that_cannot_be_written_gives_one_paragraph(sapwood: Sapwood, folder: Path, tmp_path: Path) -> None:
    (folder / "a.md").write_text("words\n")
    (tmp_path / "ws").write_text("a file stands here")
    result = sapwood("import", str(folder), "--json")
    assert result.code == 1 and "Traceback" not in result.err and "--workspace" in result.json["error"]


def test_a_console_that_cannot_show_a_sign_shows_something_else(sapwood: Sapwood, folder: Path) -> None:
    (folder / "a.md").write_text("bullet \u2022 emoji 😀 copyright \u00a9\n")
    assert sapwood("import", str(folder), env={"PYTHONIOENCODING": "gbk"}).code == 0
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "search", "bullet", "--workspace", str(folder.parent / "ws")],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "gbk"},
        check=False,
    )
    assert done.returncode == 0 and b"emoji" in done.stdout


def test_the_source_may_go_and_answers_stay(sapwood: Sapwood, folder: Path) -> None:
    (folder / "a.md").write_text("# A\n\nlasting words\n")
    sapwood("import", str(folder))
    shutil.rmtree(folder)
    assert sapwood("search", "lasting", "--json").json["total"] == 1


def test_an_unreadable_folder_is_named_and_its_items_stay(sapwood: Sapwood, folder: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (folder / "in").mkdir()
    (folder / "in" / "a.md").write_text("inner words\n")
    sapwood("import", str(folder))
    (folder / "in").chmod(0)
    try:
        result = sapwood("import", str(folder), "--json")
    finally:
        (folder / "in").chmod(0o700)
    assert result.json["counts"]["removed"] == 0 and _status(result)["in/"][0] == "failed"


def test_files_that_vanish_or_lose_their_permission_while_they_are_read_stop_nothing(
    sapwood: Sapwood, folder: Path
) -> None:
    for number in range(300):
        (folder / f"{number:03d}.md").write_text(f"# {number}\n\n" + "words that stay. " * 400)

    def remove() -> None:
        for number in range(299, 150, -1):
            (folder / f"{number:03d}.md").unlink()
            time.sleep(0.003)

    thread = threading.Thread(target=remove)
    thread.start()
    first = sapwood("import", str(folder), "--json")
    thread.join()
    assert "Traceback" not in first.err and first.code in (0, 3)
    second = sapwood("import", str(folder), "--json", "--confirm-deletes")
    assert second.code == 0
    assert {f["path"] for f in second.json["files"] if f["status"] in ("stored", "unchanged")} == {
        f"{number:03d}.md" for number in range(151)
    }
    assert sapwood("doctor", "--json").json["ok"]


def test_a_read_only_disk_says_so_and_answers_go_on(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    import subprocess

    workspace.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs", str(workspace)], capture_output=True, check=False
        ).returncode
    )
    if not mounted:
        pytest.skip("a disk can be mounted by root only")
    try:
        (folder / "a.md").write_text("first words\n")
        assert sapwood("import", str(folder)).code == 0
        subprocess.run(["mount", "-o", "remount,ro", str(workspace)], check=True)
        (folder / "b.md").write_text("second words\n")
        refused = sapwood("import", str(folder), "--json")
        assert refused.code == 1 and "read-only" in refused.json["error"].lower() and "Traceback" not in refused.err
        assert sapwood("search", "first", "--json").json["total"] == 1
        assert sapwood("status", "--json").code in (0, 3)
        subprocess.run(["mount", "-o", "remount,rw", str(workspace)], check=True)
        assert sapwood("import", str(folder), "--json").json["counts"]["stored"] == 1
    finally:
        subprocess.run(["umount", str(workspace)], check=False)


def test_a_damaged_zip_in_a_zip_is_named_and_its_neighbours_are_read(sapwood: Sapwood, folder: Path) -> None:
    import io
    import zipfile

    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("deep.md", "deep words")
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.writestr("broken.zip", inner.getvalue()[:40])
        archive.writestr("whole.zip", inner.getvalue())
        archive.writestr("page.md", "page words")
    result = sapwood("import", str(folder), "--json")
    found = _status(result)
    assert found["export.zip!/broken.zip"][0] == "failed" and "damaged" in found["export.zip!/broken.zip"][1]
    assert found["export.zip!/page.md"][0] == found["export.zip!/whole.zip!/deep.md"][0] == "stored"
    again = sapwood("import", str(folder), "--json")
    assert again.json["counts"]["stored"] == 0 and _status(again).keys() == found.keys()


def test_what_was_skipped_is_read_once_a_plugin_for_it_is_installed(
    sapwood: Sapwood, folder: Path, tmp_path: Path
) -> None:
    from tests.plugins.conftest import install_plugin

    (folder / "a.blob").write_bytes(b"\x00\x01secret format")
    assert _status(sapwood("import", str(folder), "--json"))["a.blob"][0] == "skipped"
    body = (
        "from sapwood.sdk import Converted, Segment, hookimpl\n\n@hookimpl\ndef convert(file):\n"
        "    if file.extension == 'blob':\n        return Converted(segments=(Segment('a', 'blob words'),))\n"
    )
    install_plugin(tmp_path / "site", "blob-files", "blob", "blob_files", body)
    env = {"PYTHONPATH": str(tmp_path / "site")}
    assert _status(sapwood("import", str(folder), "--json", env=env))["a.blob"][0] == "stored"
    assert sapwood("search", "blob words", "--json").json["total"] == 1


def test_archives_in_an_archive_share_one_limit(sapwood: Sapwood, folder: Path) -> None:
    import io
    import zipfile

    bomb = io.BytesIO()
    with (
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros.txt", "w", force_zip64=True) as out,
    ):
        for _ in range(150):
            out.write(b"\0" * 1_000_000)
    with zipfile.ZipFile(folder / "many.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("page.md", "page words")
        for number in range(20):
            archive.writestr(f"{number:02d}.zip", bomb.getvalue())
    result = sapwood("import", str(folder), "--json")
    refused = [f for f in result.json["files"] if "too large when unpacked" in f["reason"]]
    assert len(refused) >= 10  # those that were begun before the first was counted are as many as are read ahead
    assert _status(result)["many.zip!/page.md"][0] == "stored"


def test_archives_are_opened_four_deep(sapwood: Sapwood, folder: Path) -> None:
    import io
    import zipfile

    data = b"words at the bottom"
    name = "bottom.md"
    for level in range(6):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(name, data)
            archive.writestr(f"level{level}.md", f"words of level {level}")
        data, name = out.getvalue(), f"{level}.zip"
    (folder / "nest.zip").write_bytes(data)
    found = _status(sapwood("import", str(folder), "--json"))
    assert found["nest.zip!/4.zip!/3.zip!/2.zip!/level2.md"][0] == "stored"
    assert "nested over 4 deep" in found["nest.zip!/4.zip!/3.zip!/2.zip!/1.zip"][1]


def test_names_with_line_breaks_or_of_any_length_are_stored_like_others(sapwood: Sapwood, folder: Path) -> None:
    import zipfile

    (folder / "new\nline.txt").write_text("broken words\n")
    with zipfile.ZipFile(folder / "odd.zip", "w") as archive:
        archive.writestr("bad\nname.txt", "member words")
        archive.writestr("d/" * 2500 + "x.txt", "deep words")
    result = sapwood("import", str(folder), "--json")
    assert result.code == 0 and result.json["counts"]["stored"] == 3
    assert _status(result)["new%0Aline.txt"][0] == _status(result)["odd.zip!/bad%0Aname.txt"][0] == "stored"
    for words in ("broken words", "member words", "deep words"):
        assert sapwood("search", words, "--json").json["hits"][0]["passages"][0]["text"].strip() == words
    assert sapwood("import", str(folder), "--json").json["counts"]["unchanged"] == 3


def test_what_is_not_there_is_said_once(sapwood: Sapwood, folder: Path) -> None:
    (folder / "a.md").write_text("words\n")
    known = _ids(sapwood("import", str(folder), "--json"))["a.md"]
    for command in (["fetch", "zzzzzzzz"], ["edits", "keep", "zzzzzzzz"], ["edits", "drop", "zzzzzzzz"]):
        result = sapwood(*command, "--json")
        assert result.code == 1 and set(result.json) == {"error"} and "did not expect" not in result.err
    both = sapwood("fetch", known, "zzzzzzzz", "--json")
    assert both.code == 3 and len(both.json["hits"]) == 1 and both.json["missing"] == ["zzzzzzzz"]


def test_an_import_leaves_nothing_in_tmp(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    import zipfile

    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("a.md", "words")
    sapwood("import", str(folder))
    assert list((workspace / "tmp").iterdir()) == []


def test_the_last_file_of_a_folder_goes_when_a_person_confirms_it(sapwood: Sapwood, folder: Path) -> None:
    (folder / "a.md").write_text("lasting words\n")
    sapwood("import", str(folder))
    (folder / "a.md").unlink()
    kept = sapwood("import", str(folder), "--json")
    assert kept.code == 3 and "--confirm-deletes" in kept.json["messages"][0]
    assert sapwood("search", "lasting", "--json").json["total"] == 1
    assert sapwood("import", str(folder), "--json", "--confirm-deletes").json["counts"]["removed"] == 1
    assert sapwood("search", "lasting", "--json").json["total"] == 0


def test_folders_that_overlap_and_workspaces_inside_are_named(sapwood: Sapwood, folder: Path, tmp_path: Path) -> None:
    inner = folder / "sub"
    inner.mkdir()
    (inner / "a.md").write_text("inner words\n")
    (folder / "old" / "memory_tree").mkdir(parents=True)
    (folder / "old" / "memory_tree" / "chunks.db").write_bytes(b"x")
    assert sapwood("import", str(folder), "--json").json["messages"] == []
    again = sapwood("import", str(inner), "--json")
    assert again.code == 0 and "overlap" in again.json["messages"][0]
    assert _status(sapwood("import", str(folder), "--json"))["old"] == ("skipped", "a workspace of Sapwood")
