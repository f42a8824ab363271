"""The facts of the corpus, through `sapwood import` and back through `fetch` and `search`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import ImportedCorpus, run_command

WORD = "docx/"
FACTS = [
    # path, texts that must be there, texts that must not
    ("docx/testWORD_features.docx", ["insert this", "ad litora", "While", "This is another comment", "Kyle Reese", "2025-06-26T14:17:51Z", "This is a comment", "Unknown Author"], ["bibendum", "Donec", "This is hidden text"]),
    ("docx/testWORD_text_box.docx", ["This text is directly in the body of the document.", "text box in the header", "text box in the footer"], []),
    ("docx/testWORD_protected_passtika.docx", ["This is an encrypted Word 2007 File."], []),
    ("docx/docx-hdrftr.docx", ["Main document", "First header para", "Table cell1", "Table cell2", "Last header para", "para1", "cell1", "para2"], []),
    ("docx/text direction-2.docx", ["蜀道难", "李白", "噫吁戏，危乎高哉！蜀道之难难于上青天！", "一夫当关，万夫莫开"], []),
    ("docx/2006.docx", ["2006年在职人员攻读硕士学位报考资格审查表", "姓名", "性别", "出生日期"], []),
    ("docx/ocr_test.docx", ["我是文字", "| 我是表格1 | 我是表格2 |", "| 我是表格3 | 我是表格4 |"], []),
    ("pdf/issue12823.pdf", ["可替换为所需图片。", "描述团队的共同目标，有利于团队成员理解目标并朝着目标努力。", "介绍知识库的主要内容、面向的群体。", "可以将需要关注的文档链接粘贴在这里，方便成员快速访问。", "⛳", "⭐"], []),
    ("pdf/aes-256.pdf", ["Secret!"], []),
    ("pdf/encryption_notextaccess.pdf", ["This is a test document. It only contains some text."], []),
    ("pdf/SPARSE-2024-INV-1234_borderless_table.pdf", ["Report ID: SPARSE-2024-INV-1234", "SKU-8847", "SKU-9201 780 778 OK", "SKU-4563", "SKU-7728", "$18,720.00", "Critical"], []),
    ("pdf/attachment.pdf", ["This document contains one attachment, `foo.txt`, with a size of 9 bytes."], []),
    ("pdf/issue_566_test_2.pdf", ["中国饮料有限公司", "盖章"], ["(cid:"]),
    ("pdf/issue-1113-evil-xobjects.pdf", ["Hello world"], []),
    ("pdf/392154.pdf", ["NUREG/CR-6500, Rev. 1"], []),
    ("md/大模型应用技术原理.md", ["# 大模型应用技术原理", '[对比]("https://'], []),
    ("md/obsidian-vault/infinite-recursion/Note C.md", ["Note C ends here."], []),
    ("md/obsidian-vault/main-samples/obsidian-wikilinks.md", ["[[unclosed link", "[[Pure-Markdown-Examples]]"], []),
    ("json/Checklist note.json", ["Checklist note", "Second item and #hashtag", "Third item", "labelWith!'@:$\"Symbols", "2023-07-26T11:58:12.755"], []),
    ("txt/gb18030.txt", ["简体中文" * 11], []),
    ("txt/big5.txt", ["繁體中文" * 17], []),
    ("txt/fake-text-utf-16-le.txt", ["This is a test document"], ["\x00"]),
    ("txt/whatsapp_chat.txt", ["James", "Hi here", "05.05.23", "11/8/21"], ["Media omitted", "This message was deleted"]),
    ("eml/mime-different-plain-html.eml", ["This is the text/plain part.", "Example MIME Email", "2024-10-01T17:34:56Z"], ["text/html part"]),
    ("eml/mime-word-encoded-subject.eml", ["Simple email with ☸☿ Unicode subject"], ["=?"]),
    ("eml/test-iso-8601-date.eml", ["2025-07-29T12:42:06Z"], []),
    ("eml/mime-multipart-digest.eml", ["Example Multipart Digest Email", "First Message", "eve@example.com", "Second Message", "frank@example.com", "Third Message", "grace@example.com", "This is the third message in the digest."], []),
    ("eml/005.eml", ["『世界人権宣言』", "invalid--1--"], ["\x00"]),
    ("eml/gmail.eml", ["Hello", "> Hi", "2012-04-02T16:21:52Z"], []),
    ("eml/testWINMAIL.dat", ["quick.doc", "quick.html", "quick.pdf", "quick.txt", "quick.xml"], ["\x00", "\ufffd"]),
    ("html/testHTMLNoisyMetaEncoding_1.html", ["وأعرب الاتحاد الجزائري"], ["mso-", "v\\:", "{"]),
    ("html/testHTML_charset_utf16le.html", ["This is a sample text"], []),
    ("html/html_rich_table_cells.html", ["Rich Table Cells in HTML", "Basic duck facts", "Pond<br>Marsh<br>Riverbank | Fly south in winter<br>Build nest on ground"], []),
]  # fmt: skip


@pytest.mark.parametrize(("path", "there", "absent"), FACTS, ids=[f[0] for f in FACTS])
def test_a_file_says_what_it_says(imported: ImportedCorpus, path: str, there: list[str], absent: list[str]) -> None:
    text = imported.text(path)
    for fact in there:
        assert fact in text
    for fact in absent:
        assert fact not in text


@pytest.mark.parametrize(
    ("path", "once"),
    [
        ("docx/testWORD_text_box.docx", "This text is inside of a text box in the body of the document."),
        ("docx/docx-hdrftr.docx", "First header para"),
        ("docx/2006.docx", "姓名"),
        ("pdf/issue-1113-evil-xobjects.pdf", "Hello world"),
    ],
)
def test_what_stands_once_is_said_once(imported: ImportedCorpus, path: str, once: str) -> None:
    assert imported.text(path).count(once) == 1


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("docx/testWORD_truncated.docx", "failed", "damaged"),
        ("pdf/ocr_test.pdf", "failed", "no text layer (scanned?)"),
        ("pdf/T02-02_002_page-tree-kids-links-recursive.pdf", "failed", "damaged"),
        ("json/broken-json-note.json", "failed", "line 8"),
        ("zip/gbk.zip!/审计压缩包文件检索测试/集团邮件审计系统2021年自动巡检需求文档_V4.0.doc", "skipped", "empty"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_reason(
    imported: ImportedCorpus, path: str, code: str, words: str
) -> None:
    entry = imported.file(path)
    assert entry["status"] == code and words in entry["reason"]
    assert code == "skipped" or entry["next_step"]


def test_encrypted_files_ask_for_a_password_when_none_is_given(corpus: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    for name, words in (
        ("pdf/aes-256.pdf", "encrypted"),
        ("docx/testWORD_protected_passtika.docx", "encrypted Word document"),
    ):
        report = run_command("import", str(corpus / name), "--json", workspace=workspace)
        assert report.code == 3
        entry = report.json["files"][0]
        assert words in entry["reason"] and "--password" in entry["next_step"]


def test_every_file_stands_once_in_the_report(imported: ImportedCorpus, corpus: Path) -> None:
    paths = [f["path"] for f in imported.report["files"]]
    assert len(paths) == len(set(paths))
    on_disk = {f.relative_to(corpus).as_posix() for f in corpus.rglob("*") if f.is_file()}
    assert {p.partition("!/")[0] for p in paths} == on_disk
    counts = imported.report["counts"]
    assert counts["stored"] + counts["skipped"] + counts["failed"] == len(paths)


def test_no_text_holds_control_signs_or_places_of_this_machine(imported: ImportedCorpus, corpus: Path) -> None:
    vault = imported.workspace / "wiki" / "raw"
    for note in vault.rglob("*.md"):
        text = note.read_text(encoding="utf-8")
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text)
        assert str(corpus) not in text and "/tmp/" not in text.replace("/tmp/x", "")


def test_a_second_import_stores_nothing(imported: ImportedCorpus, corpus: Path) -> None:
    before = {f: f.stat().st_mtime_ns for f in (imported.workspace / "wiki" / "raw").rglob("*.md")}
    again = run_command(
        "import", str(corpus), "--json", workspace=imported.workspace, env={"CORPUS_PDF": "baz", "CORPUS_WORD": "tika"}
    ).json
    assert again["counts"]["stored"] == 0
    assert again["counts"]["unchanged"] == imported.report["counts"]["stored"]
    assert [f["path"] for f in again["files"]] == [f["path"] for f in imported.report["files"]]
    assert {f: f.stat().st_mtime_ns for f in (imported.workspace / "wiki" / "raw").rglob("*.md")} == before


def test_the_doctor_proves_that_all_agrees(imported: ImportedCorpus) -> None:
    result = run_command("doctor", "--json", workspace=imported.workspace)
    assert result.code == 0 and result.json["ok"]
    assert len(result.json["checks"]) > 8


@pytest.mark.parametrize(
    ("path", "date"),
    [
        ("docx/testWORD_features.docx", "2025-06-26T14:28:55Z"),
        ("docx/text direction-2.docx", "2007-10-31T08:47:00Z"),
        ("pdf/issue12823.pdf", "2021-01-07T08:00:43Z"),
        ("json/Checklist note.json", "2023-08-01T05:05:08Z"),
    ],
)
def test_dates_are_those_that_the_file_says(imported: ImportedCorpus, path: str, date: str) -> None:
    hit = imported.item(path)[0]
    assert (hit["date"], hit["date_source"]) == (date, "said")


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("pdf/392154.pdf", "Owners of Nuclear Power Plants"),
        ("pdf/issue12823.pdf", "issue12823"),
        ("html/testHTML_charset_utf16le.html", "Title"),
        ("json/Checklist note.json", "Checklist note"),
        ("md/大模型应用技术原理.md", "大模型应用技术原理"),
        ("md/obsidian-vault/non-ascii/Nöte with 'quotes'.md", "Nöte with 'quotes'"),
        ("feishu-export/case2.raw.json", "嵌套列表和表格测试"),
    ],
)
def test_titles(imported: ImportedCorpus, path: str, title: str) -> None:
    assert imported.item(path)[0]["title"] == title


def test_a_damaged_page_is_named_and_the_others_kept_with_their_numbers(imported: ImportedCorpus) -> None:
    entry = imported.file("pdf/392154.pdf")
    assert entry["warnings"] == ["damaged, text may be missing: page 20"]
    chunks = imported.item("pdf/392154.pdf")
    assert len(chunks) > 5
    pages = {page for chunk in chunks for page in chunk["pages"]}
    assert {1, 3, 19, 21, 89} <= pages and not pages & {2, 90}  # those two are blank


def test_missing_pictures_are_reported_and_nesting_survives(imported: ImportedCorpus) -> None:
    assert len(imported.file("md/大模型应用技术原理.md")["warnings"]) == 4
    assert re.search(
        r"^- RAG\n(?:.*\n)*?\s+- 向量数据库.*\n\s+- 选型标准", imported.text("md/大模型应用技术原理.md"), re.MULTILINE
    )


def test_notes_of_one_name_in_three_folders_are_three_notes(imported: ImportedCorpus) -> None:
    base = "md/obsidian-vault/same-filename-different-directories"
    ids = {imported.file(f"{base}/{p}Note.md")["items"][0]["item_id"] for p in ("", "dir1/", "dir2/")}
    assert len(ids) == 3


def test_a_zip_in_a_zip_is_opened_and_both_pages_of_one_title_survive(imported: ImportedCorpus) -> None:
    members = [f for f in imported.report["files"] if f["path"].startswith("notion-export/Notion.Test.Export.zip!/")]
    pages = [f for f in members if f["path"].endswith(".md") and f["status"] == "stored"]
    assert len([f for f in members if f["path"].endswith(".md")]) == 278
    assert len([f for f in pages if "@Today" in f["path"]]) == 2


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("李白", "docx/text direction-2.docx"),
        ("蜀道難", "docx/text direction-2.docx"),
        ("向量数据库", "md/大模型应用技术原理.md"),
        ("检索", "md/大模型应用技术原理.md"),
        ("RAG", "md/大模型应用技术原理.md"),
        ("Owners of Nuclear Power Plants", "pdf/392154.pdf"),
        ("SKU-9201", "pdf/SPARSE-2024-INV-1234_borderless_table.pdf"),
        ("example user lang-chat general", "slack-export/slack_export.zip"),
        ("Nöte with 'quotes'", "md/obsidian-vault/non-ascii/"),
    ],
)
def test_searches_find_the_file(imported: ImportedCorpus, query: str, path: str) -> None:
    refs = [hit["source_ref"] for hit in imported.search(query, "--limit", "10")]
    assert any(ref.startswith(path) for ref in refs), refs


def test_an_mbox_is_one_source_of_as_many_mails_as_it_holds(imported: ImportedCorpus) -> None:
    found = imported.search("Body of message", "--limit", "50", "--unit", "item")
    mails = {hit["title"]: hit for hit in found if hit["source_id"].endswith("mbox/issue1189.mbox.txt")}
    dates = ["2025-09-26T17:18:40Z", "2025-09-26T17:19:25Z", "2025-09-26T17:19:39Z", "2025-09-26T17:19:54Z"]
    assert {title: hit["date"] for title, hit in mails.items()} == {
        f"Message {n}": date for n, date in enumerate(dates, 1)
    }
    assert "Attachment.zip" in imported.search("Body of message 2")[0]["content"]
    unmunged = imported.search("From Russia with love", "--unit", "item")
    bodies = {hit["title"]: hit["content"] for hit in unmunged if hit["source_id"].endswith("unmunged.mbox.txt")}
    assert set(bodies) == {
        "This is a test message with an unmunged From line",
        "Another test message with an unmunged From line",
    }
    assert all("From Russia with love" in body for body in bodies.values())


def test_several_charsets_of_one_mail_are_each_read_in_theirs(imported: ImportedCorpus) -> None:
    assert imported.text("eml/005.eml").count("Test message") == 3


def test_a_mail_without_a_date_has_its_files_and_says_so(imported: ImportedCorpus) -> None:
    hit = imported.item("eml/rfc822-no-date.eml")[0]
    assert hit["date_source"] == "file" and hit["source_kind"] == "email"
