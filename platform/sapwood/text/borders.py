"""Where a text may be cut: sentence ends in both languages, and grapheme clusters."""

from __future__ import annotations

import re

# A Chinese sentence ends at its mark wherever that stands. A Latin mark ends a sentence only before white space, so that
# 1,290.36, v2.0 and a link's ?x=1 stay whole; an exclamation or question mark also before Chinese. Closing quotes and
# brackets belong to the sentence that they close.
_CLOSERS = "\"'”’」』）)】》〉\\]"
_SENTENCE = re.compile(
    rf"(?:[。！？；｡][。！？；｡!?]*|……|[!?]+(?=[{_CLOSERS}]*[\u3040-\u9fff])|[.!?]+(?=[{_CLOSERS}]*(?:\s|$)))[{_CLOSERS}]*[^\S\n]*\n*|\n+",
)


def sentence_ends(text: str) -> list[int]:
    """Offsets after each sentence, including its trailing white space, ascending, the last one `len(text)`."""
    ends = [m.end() for m in _SENTENCE.finditer(text)]
    if not ends or ends[-1] != len(text):
        ends.append(len(text))
    return ends


def grapheme_cut(text: str, at: int) -> int:
    """The largest grapheme border that is not after `at`; `at` itself when one cluster is longer than that.

    Clusters are looked up in a window of 64 characters before the wanted border: longer ones (a character with
    dozens of combining marks) are cut, since a chunk's limit comes first.
    """
    if at >= len(text):
        return len(text)
    import apsw.unicode

    start = max(0, at - 64)
    window = text[start : at + 8]
    border, position = 0, 0
    while position < len(window):
        position = apsw.unicode.grapheme_next_break(window, position)
        if start + position > at:
            break
        border = position
    return start + border if border else at
