"""The extractive summariser: what it may tell and what it must not."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sapwood.sdk.sources import Kind
from sapwood.text.tokens import count_tokens
from sapwood.trees.extractive import extract
from sapwood.trees.sentences import Part, sentences_of
from sapwood.trees.summarising import Extractive

PUMP = (
    "The pump in the north station failed on 3 May. A bearing of the pump had run dry. The station was without water for six hours. "
    "Lunch was soup. The pump was repaired with a new bearing from the store. The weather was mild."
)
TEXTS = st.text(st.sampled_from("ab cd. Ef! 泵站。轴承，\n- *#|"), max_size=400)


def test_what_the_whole_is_about_is_told_and_what_stands_beside_it_is_not() -> None:
    told = extract([Part("a", PUMP, Kind.DOCUMENT)], 30)[0].text
    assert "bearing" in told and "soup" not in told and "weather" not in told


def test_every_part_that_says_something_is_told_of_once_in_order() -> None:
    parts = [
        Part(str(n), f"Topic number{n} holds fact{n}. It also names thing{n} and place{n}.", Kind.DOCUMENT)
        for n in range(4)
    ]
    assert [told.node_id for told in extract(parts, 60)] == ["0", "1", "2", "3"]


def test_the_same_is_not_told_twice() -> None:
    parts = [Part(str(n), "The bearing of the pump had run dry.", Kind.DOCUMENT) for n in range(2)]
    parts.append(Part("2", "Anna ordered a new valve from Hamburg.", Kind.DOCUMENT))
    assert [told.node_id for told in extract(parts, 20)] == ["0", "2"]


def test_a_decision_is_told_before_small_talk() -> None:
    chat = "\n\n".join(
        f"## 2026-05-03T09:0{n}:00Z — {who}\n{what}"
        for n, (who, what) in enumerate(
            [("Anna", "How was your weekend at the lake?"), ("Ben", "The weekend at the lake was nice."), ("Anna", "We decided to move the launch to June."), ("Ben", "The lake was cold.")]
        )
    )  # fmt: skip
    assert (
        extract([Part("c", chat, Kind.CHAT)], 25)[0].text
        == "- **Anna** decided: We decided to move the launch to June."
    )


def test_citations_name_the_number_of_the_part() -> None:
    parts = [Part("a", "", Kind.DOCUMENT), Part("b", PUMP, Kind.DOCUMENT, title="Report")]
    body = Extractive().summarise(parts, [])
    assert body.startswith("**Report**: The ") and body.endswith(" [2]")


@given(st.lists(TEXTS, max_size=5))
def test_a_summary_is_never_longer_than_its_input_and_says_nothing_that_is_not_there(texts: list[str]) -> None:
    parts = [Part(str(n), text, Kind.DOCUMENT) for n, text in enumerate(texts)]
    body = Extractive().summarise(parts, [])
    told = re.sub(r" \[\d+\]$", "", body, flags=re.MULTILINE)  # citations and titles are not counted
    assert count_tokens(told) <= sum(count_tokens(text) for text in texts)
    said = {s.text for s in sentences_of(parts)}
    for sentence in sentences_of([Part("s", body)]):
        assert any(sentence.text in original or original in sentence.text for original in said)


@given(TEXTS, st.integers(0, 40))
def test_the_wanted_length_is_kept(text: str, tokens: int) -> None:
    told = extract([Part("a", text, Kind.DOCUMENT)], tokens)
    assert count_tokens("\n\n".join(t.text for t in told)) <= tokens


def test_chunks_of_one_source_stand_below_its_title_once() -> None:
    parts = [
        Part(f"c{number}", f"## 2024-05-01T10:0{number}:00Z — Ann\nThe pump number {number} was repaired in Antwerp on Friday.\n", Kind.CHAT, title)
        for number, title in enumerate(["Yard", "Yard", "Office", "Yard"])
    ]  # fmt: skip
    told = Extractive().summarise(parts, [])
    assert [line for line in told.split("\n") if line.startswith("**")] == ["**Yard**:", "**Office**:", "**Yard**:"]
    assert all(f"[{number}]" in told for number in (1, 2, 3, 4))


def test_what_one_speaker_says_in_a_row_is_told_in_one_line_before_another_name_is_paid_for() -> None:
    said = [
        ("Maximiliana Featherstonehaugh-Cholmondeley", "The dredger of Antwerp needs a new pump before the winter. The pump for the dredger costs 900 euros in Ghent. The harbour of Ghent closes on Friday."),
        ("Bartholomew Wriothesley-Throckmorton", "The dredger has a second pump in the shed."),
        ("Maximiliana Featherstonehaugh-Cholmondeley", "The shed of the harbour is locked at night."),
    ]  # fmt: skip
    body = "\n\n".join(f"## 2024-05-01T10:0{n}:00Z — {who}\n{text}" for n, (who, text) in enumerate(said)) + "\n"
    (told,) = extract([Part("c", body, Kind.CHAT)], 60)
    assert count_tokens(told.text) <= 60
    assert told.text.count("Maximiliana") == 1 and told.text.count(". ") == 2 and "Bartholomew" not in told.text
