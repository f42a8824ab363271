"""What vectors may change in a ranking."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.recall.fusion import lifts, recency

_DAY = 86_400_000


def test_where_words_lead_to_what_is_meant_nothing_changes() -> None:
    assert lifts([1, 2], {1: 0.6, 2: 0.3, 3: 0.7}, 20.0, 8.0, 1.0) == {}


def test_where_words_lead_astray_the_nearest_passages_are_lifted_over_all_others() -> None:
    lifted = lifts([1, 2], {1: 0.1, 2: 0.05, 3: 0.55, 4: 0.3}, 20.0, 8.0, 1.0)
    assert lifted.keys() == {3, 4} and lifted[3] > lifted[4] > 0 and lifted[3] > 20.0


def test_without_a_word_in_common_a_passage_must_be_near() -> None:
    assert lifts([], {1: 0.19}, 0.0, 0.0, 1.0) == {}
    assert lifts([], {1: 0.3}, 0.0, 0.0, 1.0).keys() == {1}


def test_the_more_of_the_query_one_passage_holds_the_nearer_another_must_be() -> None:
    near = {1: 0.3, 2: 0.5}
    assert lifts([1], near, 20.0, 4.0, 1.0).keys() == {2}
    assert lifts([1], near, 20.0, 12.0, 1.0) == {}


def test_a_model_that_knows_no_meaning_lifts_nothing() -> None:
    assert lifts([], {1: 0.9}, 10.0, 0.0, 0.0) == {}


@given(
    st.dictionaries(st.integers(0, 50), st.floats(-1, 1)),
    st.lists(st.integers(0, 50), unique=True),
    st.just(0.0) | st.floats(1e-6, 100),  # of one word the least weight is FTS5's 1e-6
    st.floats(0, 100),
)
def test_lifts_are_positive_and_in_the_order_of_cosines(
    cosines: dict[int, float], ranked: list[int], full: float, held: float
) -> None:
    lifted = lifts(ranked, cosines, full, held, 1.0)
    assert all(value > 0 for value in lifted.values())
    order = sorted(lifted, key=lambda pid: -cosines[pid])
    assert [lifted[pid] for pid in order] == sorted(lifted.values(), reverse=True)


def test_recency_halves_in_thirty_days() -> None:
    assert (recency(0), recency(-5 * _DAY), recency(30 * _DAY), recency(60 * _DAY)) == (1.0, 1.0, 0.5, 0.25)
