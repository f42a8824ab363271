"""Chunks: never too long, and their slices give the text back."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.ingest.chunker import MAX_TOKENS, Piece, chunk
from sapwood.ingest.passages import PASSAGE_TOKENS, estimate_tokens, is_dialogue, split
from sapwood.ingest.prepare import chunk_id
from sapwood.sdk.sources import Kind, Segment, render
from sapwood.text.tokens import count_tokens

_random = random.Random(5)
_HAN = "".join(chr(_random.randrange(0x4E00, 0x9FA5)) for _ in range(60_000))
INPUTS = {
    "one letter, a megabyte": "a" * 1_000_000,
    "Chinese without any mark": _HAN,
    "only semicolons": "这是一个很长的句子；" * 6000,
    "only enumeration commas": "苹果、" * 12_000,
    "dots": "等一等……" * 6000,
    "table": "| a | b |\n|---|---|\n" + "".join(f"| row {i} | 值 {i} |\n" for i in range(3000)),
    "fence": "```python\n" + "".join(f"x{i} = call({i})\n" for i in range(4000)) + "```\n",
    "families": "👨‍👩‍👧‍👦" * 3000,
    "rare characters": "𠀀𠀁發発" * 8000,
    "sections": "".join(f"# S{i}\n\n{'word ' * 400}\n\n## sub\n\n{'mot ' * 300}\n\n" for i in range(20)),
    "quotes": ">" * 5000 + " deep\n" + "text. " * 5000,
    "one long heading": "# " + "title " * 4000,
}


def _chunks(text: str, limit: int = MAX_TOKENS) -> tuple[str, list[Piece]]:
    rendered, spans = render(Kind.DOCUMENT, (Segment("1", text),))
    return rendered, chunk(Kind.DOCUMENT, rendered, spans, limit)


@pytest.mark.parametrize("name", INPUTS)
def test_no_input_gives_a_chunk_over_the_limit_and_slices_give_the_text(name: str) -> None:
    text, pieces = _chunks(INPUTS[name])
    assert len(pieces) > 1
    assert "".join(text[p.start : p.end] for p in pieces) == text
    for piece in pieces:
        content = piece.content(text)
        assert piece.tokens == count_tokens(content) <= MAX_TOKENS
        assert "\ufffd" not in content


def test_sentence_marks_are_preferred_as_borders() -> None:
    for name in ("only semicolons", "dots"):
        text, pieces = _chunks(INPUTS[name])
        assert all(text[: p.end].rstrip("\n").endswith(("；", "……")) for p in pieces)


def test_a_split_table_repeats_its_header_and_a_split_fence_is_closed_and_reopened() -> None:
    text, pieces = _chunks(INPUTS["table"])
    assert all(p.content(text).startswith("| a | b |\n|---|---|\n| row") for p in pieces)
    text, pieces = _chunks(INPUTS["fence"])
    assert all(p.content(text).startswith("```python\n") and p.content(text).rstrip().endswith("```") for p in pieces)


def test_sections_are_kept_whole_where_they_fit_and_name_their_headings() -> None:
    text, pieces = _chunks(INPUTS["sections"])
    assert all(text[p.start :].startswith("# S") for p in pieces)
    assert pieces[1].headings[0].startswith("S")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab 中。\n#|-`>😀", max_size=600), st.integers(12, 60))
def test_any_text_and_any_limit(text: str, limit: int) -> None:
    rendered, pieces = _chunks(text, limit)
    assert "".join(rendered[p.start : p.end] for p in pieces) == rendered
    for piece in pieces:
        if piece.end - piece.start > 1:
            assert count_tokens(piece.content(rendered)) <= limit


def test_messages_are_packed_whole_and_only_one_that_is_too_long_is_cut() -> None:
    bodies = ["short one", "word " * 2000, "word " * 2000, "x " * 5000, "last"]
    segments = tuple(Segment(str(n), body, author="Al") for n, body in enumerate(bodies))
    text, spans = render(Kind.CHAT, segments)
    pieces = chunk(Kind.CHAT, text, spans)
    assert "".join(text[p.start : p.end] for p in pieces) == text
    assert text[pieces[0].start : pieces[0].end].count("## ") == 2
    assert all(p.tokens <= MAX_TOKENS for p in pieces)


def test_an_empty_text_has_no_chunk() -> None:
    assert chunk(Kind.DOCUMENT, "", []) == []


def test_a_chunk_id_is_the_published_recipe() -> None:
    import hashlib

    expected = hashlib.sha256(
        b"document\0folder:a:b\0" + (3).to_bytes(4, "big") + b"\0" + "中 text".encode()
    ).hexdigest()[:32]
    assert chunk_id("document", "folder:a:b", 3, "中 text") == expected


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab 中。.\n#:-", max_size=1500))
def test_passages_cover_all_that_is_not_blank_in_order(text: str) -> None:
    passages = split(text, [], dialogue=False)
    assert all(a.end <= b.start for a, b in itertools.pairwise(passages))
    covered = "".join(text[p.start : p.end] for p in passages)
    assert "".join(covered.split()) == "".join(text.split())


def test_passages_stay_small_and_cross_no_heading() -> None:
    text = "# A\n\n" + "One sentence more. " * 200 + "\n\n# B\n\nshort\n"
    passages = split(text, [], dialogue=False)
    assert max(estimate_tokens(text[p.start : p.end]) for p in passages) <= PASSAGE_TOKENS * 1.2
    assert passages[-1].headings == ("B",) and text[passages[-1].start :].startswith("# B")


def test_a_talk_in_writing_gives_a_passage_a_line() -> None:
    text = "".join(f"{name}: line {n}\n" for n, name in enumerate(["Caroline", "Melanie"] * 6))
    assert is_dialogue(text)
    assert len(split(text, [], dialogue=True)) == 12
    assert not is_dialogue("Note: one\nWarning: two\nTip: three\nHint: four\nDanger: five\n")
