"""What a person types, and what must be found."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.conftest import Result, run_command

TEXTS = {
    "steps.md": "步2 重跑gen-itgc后50条悬空引用清零\n",
    "words.txt": "我们明天部署新的服务，李白在会议上读了诗，付款已到账。\n",
    "traditional.txt": "圖書館裡的鐵櫃藏著龍紋銅鏡。\n",
    "wide.txt": "ＡＩ２０２４ 与 ｃｏｄｅ，半角 ｶﾀｶﾅ\n",
    "bom.txt": "\ufeffBOM stands first\n",
    "marks.md": "Ticket POL-358 says don't touch ratio a:b in Ubuntu 20.04; it is 100% “quoted” AND (bracketed) NEAR(here) * star\n",
    "cafe.txt": "Meet at the Café Zoë on Thursday, running late.\n",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Result]:
    """A workspace with the texts and a dated chat."""
    place = tmp_path_factory.mktemp("search")
    folder = place / "files"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    chat = [
        {"id": f"m{n}", "speaker": who, "text": text, "time": f"2024-03-{n:02d}T15:00:00Z"}
        for n, who, text in [
            (1, "Ann", "the kestrel launch moves"),
            (2, "王芳", "好的，发布会改到周五"),
            (3, "Ann", "kestrel budget is approved"),
            (4, "Bob", "thanks"),
        ]
    ]
    (folder / "chat.json").write_text(json.dumps(chat, ensure_ascii=False), encoding="utf-8")
    assert run_command("import", str(folder), workspace=place / "ws").code == 0
    return lambda *a: run_command(*a, workspace=place / "ws")


def _files(result: Result) -> list[str]:
    return [hit["source_ref"].split("#")[0] for hit in result.json["hits"]]


@pytest.mark.parametrize(
    ("query", "file"),
    [
        ("悬空", "steps.md"), ("itgc", "steps.md"), ("gen-itgc", "steps.md"), ("部署", "words.txt"), ("李白", "words.txt"),
        ("会议", "words.txt"), ("款", "words.txt"), ("會議", "words.txt"), ("图书馆", "traditional.txt"), ("龙纹铜镜", "traditional.txt"),
        ("鐵櫃", "traditional.txt"), ("AI2024", "wide.txt"), ("code", "wide.txt"), ("カタカナ", "wide.txt"), ("BOM", "bom.txt"),
        ("POL-358", "marks.md"), ("don't", "marks.md"), ("a:b", "marks.md"), ("20.04", "marks.md"), ("100%", "marks.md"),
        ('"quoted"', "marks.md"), ("NEAR(", "marks.md"), ("(bracketed", "marks.md"), ("cafe zoe", "cafe.txt"), ("RAN late", "cafe.txt"),
        ("run", "cafe.txt"), ("谁在会议上读了诗？", "words.txt"),
    ],
)  # fmt: skip
def test_the_right_file_is_the_first_hit(filled: Callable[..., Result], query: str, file: str) -> None:
    assert _files(filled("search", query, "--json"))[0] == file


@pytest.mark.parametrize(
    "query",
    ['"', "*", "AND", "NEAR(", "（", "%", "", "   ", "' OR 1=1 --", "a" * 5000, "\x00", "飞书", "^", "{}", "col:x"],
)
def test_no_query_is_an_error(filled: Callable[..., Result], query: str) -> None:
    if "\x00" in query:
        query = "nul"  # an argument of a process cannot hold the sign itself
    result = filled("search", query, "--json")
    assert result.code == 0 and isinstance(result.json["hits"], list)


def test_a_word_that_stands_nowhere_has_no_hit(filled: Callable[..., Result]) -> None:
    found = filled("search", "飞书", "--json").json
    assert found["hits"] == [] and found["total"] == 0 and not found["truncated"]


@pytest.mark.parametrize("limit", ["-1", "0"])
def test_a_limit_of_nothing_is_the_usual_ten(filled: Callable[..., Result], limit: str) -> None:
    assert 1 <= len(filled("search", "the", "--json", "--limit", limit).json["hits"]) <= 10


def test_units_are_message_chunk_and_item(filled: Callable[..., Result]) -> None:
    by_passage = filled("search", "kestrel", "--json", "--unit", "passage").json["hits"]
    assert [h["passages"][0]["native_id"] for h in by_passage][:2] in (["m1", "m3"], ["m3", "m1"])
    (by_item,) = filled("search", "kestrel", "--json", "--unit", "item").json["hits"]
    assert {p["native_id"] for p in by_item["passages"]} == {"m1", "m3"} and by_item["title"] == "chat"
    wrong = filled("search", "kestrel", "--json", "--unit", "page")
    assert wrong.code == 2 or "passage" in wrong.out + wrong.err


def _messages(result: Result) -> set[str]:
    return {p["native_id"] for h in result.json["hits"] for p in h["passages"]}


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        (["--author", "王芳"], {"m2"}),
        (["--author", "ann"], {"m1", "m3"}),
        (["--since", "2024-03-02", "--until", "2024-03-03"], {"m2", "m3"}),
        (["--since", "2024-03-03T15:00:00Z"], {"m3", "m4"}),
        (["--until", "2024-03-01T15:00:00Z"], {"m1"}),
        (["--until", "2024-03-01T14:59:59Z"], set()),
    ],
)
def test_filters_by_author_and_moment(filled: Callable[..., Result], options: list[str], messages: set[str]) -> None:
    result = filled("search", "kestrel 发布会 thanks budget", "--json", "--unit", "passage", "--kind", "chat", *options)
    assert _messages(result) == messages


def test_without_a_query_the_newest_comes_first(filled: Callable[..., Result]) -> None:
    hits = filled("search", "", "--json", "--kind", "chat", "--limit", "3").json["hits"]
    assert [h["title"] for h in hits] == ["chat"]


def test_every_hit_says_where_it_comes_from(filled: Callable[..., Result]) -> None:
    hit = filled("search", "budget", "--json", "--unit", "passage").json["hits"][0]
    assert hit["author"] == "Ann" and hit["date"] == "2024-03-03T15:00:00Z" and hit["path"].startswith("wiki/raw/chat/")
    assert hit["passages"][0]["text"].endswith("kestrel budget is approved")
    assert abs(sum(hit["breakdown"].values()) - hit["score"]) < 0.01
