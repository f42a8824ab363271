"""Normalising, folding, tokens, borders, dates, names, Markdown."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.sdk.dates import parse_date
from sapwood.text import tokens
from sapwood.text.borders import grapheme_cut, sentence_ends
from sapwood.text.dates import date_words
from sapwood.text.fold import fold, index_text, phrase_terms
from sapwood.text.markdown import BlockKind, blocks, split_front_matter
from sapwood.text.names import is_safe_name, slug
from sapwood.text.normalise import normalise, repair_glyphs


@given(st.text())
def test_normalised_text_is_utf8_without_controls_and_stays_the_same(text: str) -> None:
    once = normalise(text)
    once.encode("utf-8")
    assert normalise(once) == once
    assert not [c for c in once if unicodedata.category(c) == "Cc" and c not in "\t\n"]


def test_surrogate_pairs_become_one_character_and_halves_a_replacement() -> None:
    assert normalise("a\ud83d\ude00b") == "a😀b"
    assert normalise("a\ud83d b\ude00") == "a\ufffd b\ufffd"


def test_glyphs_become_letters_and_punctuation_stays_chinese() -> None:
    assert repair_glyphs("⿊⺠⻓ ﬁn，（ＡＩ）") == "黑民长 fin，（ＡＩ）"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("ＡＩ２０２４", "ai2024"),
        ("ｃｏｄｅ", "CODE"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("頭髮", "头发"),
        ("蜀道難", "蜀道难"),
        ("Straße", "STRASSE"),
    ],
)
def test_spellings_of_one_word_fold_to_one_form(a: str, b: str) -> None:
    assert fold(a) == fold(b)


@given(st.text())
def test_folding_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_a_cjk_run_is_indexed_as_characters_and_pairs_in_one_stream() -> None:
    assert index_text("悬空引").split() == ["悬", "悬空", "空", "空引", "引"]
    assert phrase_terms("悬空引") == ["悬空", "空", "空引"]
    assert phrase_terms("款") == ["款"]


def test_tokens_are_exact_and_need_no_network() -> None:
    assert tokens.count_tokens("hello 世界") == 2
    assert tokens.count_tokens("<|endoftext|>") > 1  # a sign in a user's text, not a command
    assert tokens.count_tokens("a" * 1_000_000) == sum(tokens.count_tokens("a" * 200_000) for _ in range(5))


def test_a_missing_rank_file_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood.errors import ConfigurationError

    tokens.encoder.cache_clear()
    monkeypatch.setattr(tokens, "ENCODING", "no_such_encoding")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        tokens.count_tokens("x")
    monkeypatch.undo()
    tokens.encoder.cache_clear()


@given(st.text(alphabet='你好。！？；… .!?ab1\n"”', max_size=200))
def test_sentences_joined_give_the_text(text: str) -> None:
    ends = sentence_ends(text)
    assert ends == sorted(set(ends)) or text == ""
    assert ends[-1] == len(text)


def test_numbers_and_abbreviations_are_not_sentence_ends() -> None:
    text = "It cost 1,290.36 in v2.0. Then 第二句。Done"
    parts = [text[a:b] for a, b in zip([0, *sentence_ends(text)], sentence_ends(text), strict=False)]
    assert parts == ["It cost 1,290.36 in v2.0. ", "Then 第二句。", "Done"]


def test_a_cut_never_splits_a_family_emoji() -> None:
    family = "👨‍👩‍👧‍👦"
    assert grapheme_cut(family * 3, len(family) + 3) == len(family)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2019 年 10 月 30 日", datetime(2019, 10, 30, tzinfo=UTC)),
        ("二〇二四年三月五日", datetime(2024, 3, 5, tzinfo=UTC)),
        ("2024/3/5 下午3:05", datetime(2024, 3, 5, 15, 5, tzinfo=UTC)),
        ("民國113年3月5日", datetime(2024, 3, 5, tzinfo=UTC)),
        ("２０２４年3月5日", datetime(2024, 3, 5, tzinfo=UTC)),
        ("8 May, 2023", datetime(2023, 5, 8, tzinfo=UTC)),
        ("2024-03-05T10:00:00+08:00", datetime(2024, 3, 5, 2, tzinfo=UTC)),
        ("4月20日 18:10", None),
        ("明天", None),
        ("05/06/2024", None),
        ("2024-02-30", None),
        ("民國113年", None),
    ],
)
def test_a_date_is_right_or_none(text: str, moment: datetime | None) -> None:
    assert parse_date(text) == moment


@given(st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(2999, 12, 31), timezones=st.just(UTC)))
def test_the_names_of_a_day_are_read_back_as_that_day(moment: datetime) -> None:
    found = parse_date(date_words(moment))
    assert found is not None and found.date() == moment.date()


@given(st.text(min_size=1, max_size=400))
def test_slugs_are_safe_names(text: str) -> None:
    name = slug(text)
    assert is_safe_name(name + ".md") and is_safe_name(name)


@given(st.text(max_size=50), st.text(max_size=50))
def test_different_texts_have_slugs_that_differ_even_where_case_is_ignored(a: str, b: str) -> None:
    if unicodedata.normalize("NFC", a) != unicodedata.normalize("NFC", b):
        assert slug(a).casefold() != slug(b).casefold()


@pytest.mark.parametrize(
    "title", ["a:b", "what?", "CON", "nul.md", "note.", "note ", "../x", "长" * 300, "😀", "", "产品群"]
)
def test_hostile_titles_give_safe_names(title: str) -> None:
    assert is_safe_name(slug(title))


@settings(max_examples=200)
@given(st.text(alphabet="# ab|-`~\n>1.*\t中", max_size=300))
def test_blocks_joined_give_the_text(text: str) -> None:
    found = blocks(text)
    assert "".join(text[b.start : b.end] for b in found) == text


def test_blocks_know_headings_fences_tables_and_lists() -> None:
    text = "# One\n\npara\n\n```\n# no heading\n\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- x\n- y\n"
    assert [b.kind for b in blocks(text)] == [
        BlockKind.HEADING,
        BlockKind.PARAGRAPH,
        BlockKind.FENCE,
        BlockKind.TABLE,
        BlockKind.LIST,
    ]


def test_front_matter_needs_both_its_lines() -> None:
    assert split_front_matter("---\na: 1\n---\nbody") == ("a: 1\n", "body")
    assert split_front_matter("---\na: 1\nbody") == (None, "---\na: 1\nbody")


_MIXED = st.lists(
    st.sampled_from(["word ", "longer-words ", "悬空", "龘", "🌳", "👩‍👩‍👧", "  ", "\n", "1234567", "é", "ह", "."]),
    max_size=400,
).map("".join)


@settings(deadline=None)
@given(_MIXED, st.integers(1, 60))
def test_the_fitting_beginning_has_at_most_the_limit_of_tokens_and_hardly_less(text: str, limit: int) -> None:
    length = tokens.fitting(text, limit)
    beginning = text[:length]
    if length > 1:
        assert tokens.count_tokens(beginning) <= limit
    if length < len(text):
        # What is left out starts a token that has no room, but for the words at the cut.
        assert tokens.count_tokens(text[: length + 40]) > limit - 8
    else:
        assert tokens.count_tokens(text) <= limit or len(text) == 1
