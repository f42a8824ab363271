"""The deep score: what says nothing falls, what is useful stays, and neither is decided by the language."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.pipeline.admission import DEFINITE_DROP, DEFINITE_KEEP, WEIGHTS, Assessment, assess
from sapwood.sdk.sources import Kind
from sapwood.text.entities import find_entities
from sapwood.text.fold import index_text
from sapwood.text.tokens import count_tokens


def _assess(text: str, kind: Kind = Kind.CHAT, tags: tuple[str, ...] = ()) -> Assessment:
    return assess(kind, text, index_text(text).split(), count_tokens(text), tags, find_entities(text))


@pytest.mark.parametrize(
    "text",
    [
        "ok",
        "OK!!",
        "收到",
        "👍",
        "👍🏽👍🏽",
        "好的，收到",
        "thanks a lot!",
        "zoe has joined the channel",
        "钱七加入了群聊",
        "[捂脸]",
        "",
        "…",
    ],
)
def test_acknowledgements_joins_and_leaves_fall_at_or_under_the_lower_threshold(text: str) -> None:
    found = _assess(text)
    assert found.total <= DEFINITE_DROP and found.dropped and found.band == "drop"


@pytest.mark.parametrize(
    "text",
    [
        "We agreed that Olga Petrova pays the deposit of $2,400 by 5 May 2026, because the landlord asked for it twice.",
        "合同约定：2026年5月5日之前由赵敏支付押金2400元，否则房东有权解除合同，原因见附件。",
    ],
)
def test_decisions_with_people_dates_and_amounts_reach_the_upper_threshold(text: str) -> None:
    for kind in Kind:
        found = _assess(text, kind)
        assert found.total >= DEFINITE_KEEP and not found.dropped and found.band == "keep"


def test_small_talk_is_in_between_and_kept_without_a_model() -> None:
    for text in (
        "the weather was really bad over here today, it rained the whole afternoon",
        "今天外面一直下雨，下午天气特别差，路上也堵",
    ):
        found = _assess(text)
        assert found.band == "grey" and not found.dropped


def test_a_document_is_not_dropped_for_being_short() -> None:
    assert not _assess("Invoice 4711, paid", Kind.DOCUMENT).dropped
    assert _assess("hm, fine then", Kind.CHAT).dropped


def test_the_total_is_the_weighted_mean_of_its_signals() -> None:
    found = _assess(
        "Please send the report to anna@example.com before Friday.", Kind.EMAIL, ("provider:gmail", "mention")
    )
    assert set(found.signals) == set(WEIGHTS) and all(0 <= value <= 1 for value in found.signals.values())
    mean = sum(WEIGHTS[name] * value for name, value in found.signals.items()) / sum(WEIGHTS.values())
    assert found.total == pytest.approx(mean, abs=1e-6)


def test_a_mention_never_scores_below_none() -> None:
    text = "could you look at the numbers of the second sheet when you are back at your desk"
    assert _assess(text, tags=("mention",)).total >= _assess(text).total
    assert _assess(text, tags=("sent", "reply")).total > _assess(text).total


@pytest.mark.parametrize("language", ["en", "zh"])
def test_labelled_examples_are_never_put_into_the_opposite_band(language: str) -> None:
    rows = (
        (Path(__file__).parents[1] / "bench" / "admission" / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    )
    labelled = [row.split("\t") for row in rows]
    wrong = [text for label, text in labelled if _assess(text).band == {"drop": "keep", "keep": "drop"}[label]]
    assert len(labelled) >= 200 and wrong == []
