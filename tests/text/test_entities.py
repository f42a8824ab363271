"""Entities by rules, in both languages and glued to either."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.text.entities import canonical_id, find_entities


def _found(text: str, kind: str, names: tuple[str, ...] = ()) -> list[str]:
    return [e.surface for e in find_entities(text, names) if e.kind == kind]


@pytest.mark.parametrize(
    ("text", "kind", "surfaces"),
    [
        ("请联系alice@example.com谢谢", "email", ["alice@example.com"]),
        ("write to a.b+c@mail.example.co.uk, or bob@x.io.", "email", ["a.b+c@mail.example.co.uk", "bob@x.io"]),
        ("联系 用户@例子.广告 即可", "email", ["用户@例子.广告"]),
        ("no mail: a@b or @alice or foo@", "email", []),
        ("见https://a.example/b?c=1。谢谢", "url", ["https://a.example/b?c=1"]),
        ("访问https://a.example看看", "url", ["https://a.example"]),
        ("(https://zh.example.org/wiki/北京)", "url", ["https://zh.example.org/wiki/北京"]),
        ("See http://x.example/a,b; and HTTPS://Y.example.", "url", ["http://x.example/a,b", "HTTPS://Y.example"]),
        ("ask @张三 and @bob.smith now", "handle", ["@张三", "@bob.smith"]),
        ("path/@types x@y", "handle", []),
        ("#发布计划 and #release-2 and #42 and a#b", "hashtag", ["#发布计划", "#release-2"]),
        ("今天 #春节安排# 发了", "hashtag", ["#春节安排#"]),
        ("on 2024-05-06 and 2024/5/6", "datetime", ["2024-05-06", "2024/5/6"]),
        ("2024年5月6日签约，5月7日付款", "datetime", ["2024年5月6日", "5月7日"]),
        ("on May 8, 2023 or 9 June 2025 or Sept 3rd", "datetime", ["May 8, 2023", "9 June 2025", "Sept 3rd"]),
        ("version 12.34.56 and 2024-13-45 and Mayor 3", "datetime", []),
        ("$1,200.50 and US$ 3 million and €35k", "quantity", ["$1,200.50", "US$ 3 million", "€35k"]),
        ("预算3.5万元，另加120元和RMB 500", "quantity", ["3.5万元", "120元", "RMB 500"]),
        ("30公元前 1元素", "quantity", []),
    ],
)
def test_rules_find_what_a_reader_would(text: str, kind: str, surfaces: list[str]) -> None:
    assert _found(text, kind) == surfaces


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("We spoke of Project Zirconium yesterday.", ("misc", "Project Zirconium")),
        ("They met at the Harbour Cafe at noon.", ("location", "Harbour Cafe")),
        ("She read 《三体》 on the train.", ("misc", "三体")),
        ("Then Maria Lopez sent the plan.", ("person", "Maria Lopez")),
    ],
)
def test_undertakings_places_and_works_are_no_people(text: str, entity: tuple[str, str]) -> None:
    assert entity in {(e.kind, e.surface) for e in find_entities(text)}


def test_capitalised_words_are_names_where_a_capital_means_something() -> None:
    text = "Yesterday Maria Lopez met Zhang Wei at Acme Corp. in Elm Street. The talk was about Kubernetes. On Monday we rest."
    assert _found(text, "person") == ["Maria Lopez", "Zhang Wei"]
    assert _found(text, "organization") == ["Acme Corp"]
    assert _found(text, "location") == ["Elm Street"]
    assert _found(text, "misc") == ["Kubernetes"]
    assert _found("Thanks for that. Please call. OK", "misc") == []


def test_known_names_are_found_in_chinese_text_and_as_whole_words_only() -> None:
    assert _found("昨天张伟说好了", "person", ("张伟",)) == ["张伟"]
    assert _found("then ann said: annual", "person", ("ann",)) == ["ann"]
    assert _found("ask maria lopez", "person", ("maria", "maria lopez")) == ["maria lopez"]


@given(
    st.lists(
        st.sampled_from(
            [
                "a@b.io",
                "@x1",
                "#tag",
                "https://h.io/p",
                "2024-05-06",
                "张伟",
                "Maria Lopez",
                " ",
                "。",
                "\n",
                "€5",
                "a",
                "x",
            ]
        ),
        max_size=40,
    ).map("".join)
)
def test_finds_are_slices_of_the_text_and_do_not_overlap(text: str) -> None:
    end = 0
    for entity in find_entities(text, ("张伟",)):
        assert text[entity.start : entity.end] == entity.surface != ""
        assert entity.start >= end
        end = entity.end


@pytest.mark.parametrize("text", ["a@" * 20_000, "A " * 20_000, "http://" * 5_000, "#a" * 20_000, "1," * 20_000 + "元", "a." * 20_000 + "@", "@" + "a." * 20_000])  # fmt: skip
def test_hostile_texts_take_no_longer_than_others(text: str) -> None:
    import time

    began = time.process_time()
    find_entities(text)
    assert time.process_time() - began < 20  # the square of the length would be minutes


def test_ids_are_lower_case_and_bare_but_links_keep_their_case() -> None:
    assert canonical_id("handle", "@Alice ") == "handle:alice"
    assert canonical_id("hashtag", "#春节安排#") == "hashtag:春节安排"
    assert canonical_id("person", "Maria  Lopez") == "person:maria lopez"
    assert canonical_id("url", "https://A.example/B") == "url:https://A.example/B"
