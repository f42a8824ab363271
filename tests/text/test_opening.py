"""Where a note begins to say something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.text.opening import opening_end


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Date: 2023-05-12\nThe kitchen was painted.", "The kitchen was painted."),
        ("日期：2023年6月3日\n今天和张伟谈了进度。", "今天和张伟谈了进度。"),
        ("date: 2023-05-14\n\n# Kitchen\n\n**Author:** Anna\nThe shelves came.", "The shelves came."),
        ("Status: open\nOwner: Kim\n\nThe pump failed.", "The pump failed."),
        ("时间：2023-06-05\n参加人：张伟、李娜\n\n李娜发言。", "李娜发言。"),
        ("Important: call the plumber.\n\nHe comes on Friday.", "Important: call the plumber.\n\nHe comes on Friday."),
        ("Date: the 5th was rainy, and we stayed.", "Date: the 5th was rainy, and we stayed."),
        ("Author: Anna. She wrote it on the train.", "Author: Anna. She wrote it on the train."),
        ("Kim: we agreed.\nLee: I will write it.\n\nMore.", "Kim: we agreed.\nLee: I will write it.\n\nMore."),
        ("# Only a heading\n", "# Only a heading\n"),
        ("Date: 2023-05-12\n", "Date: 2023-05-12\n"),
        ("", ""),
    ],
)
def test_headings_and_properties_of_a_note_are_no_part_of_what_it_says(text: str, said: str) -> None:
    assert text[opening_end(text) :] == said


@given(st.text(alphabet="#: ：\nDateaut日期2023-5.。x*", max_size=80))
def test_what_is_left_begins_within_the_text_and_is_stable(text: str) -> None:
    said = text[opening_end(text) :]
    assert text.endswith(said)
    assert said == text or opening_end(said) == 0
