"""The extractive summariser: sentences of the children, chosen and left as they are. Needs no model.

A sentence's worth is how much of what the whole speaks of it speaks of (its terms, weighted by how often they occur here and
how rare they are in a language), and what it does: it opens a section, decides, promises, holds names and figures. The next
one is always that which adds most to what is chosen already, for its length; every child has its say while there is room.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sapwood.text.fold import CJK, CJK_CLASS, fold
from sapwood.text.tokens import count_tokens
from sapwood.trees.sentences import Act, Part, Sentence, sentences_of, told

__all__ = ["ACT_WORTH", "Told", "extract"]


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of one child: lines of Markdown, without a citation."""

    node_id: str
    text: str


_WORD = re.compile(rf"[^\W\d_{CJK_CLASS}][\w'’-]*|\d[\d.,:/-]*\d|\d|[{CJK_CLASS}]+")
_STOP = frozenset(
    """a about after again all also am an and any are as at be because been before being but by can could did do does doing don't
down for from get go going got had has have having he her here him his how i i'd i'll i'm i've if in into is isn't it it's its
just kind know like lot make maybe me mean more most my no not now of off oh ok okay on one only or other our out over really
right s see she should so some something sort still such t than that that's the their them then there there's they they're
thing things think this those though to too uh um up us very want was we we'll we're well were what when where which while
who why will with would yeah yes you you're your""".split()  # noqa: SIM905
)
_FUNCTION = frozenset(
    "的了是在和与就都也又而但把被对于从到向给让会能可要有没不这那其之个们吧吗呢啊呀哦嗯我你他她它很还啦嘛呃噢然所以因为如果什么怎"
)
ACT_WORTH = {Act.DECIDE: 2.0, Act.PROMISE: 1.5, Act.ASK: 0.8, Act.SAY: 1.0}
_COST_BASE, _COST_POWER = 5, 0.7  # what a sentence adds is divided by (its tokens + 5)^0.7
_TOLD_AGAIN = 0.3  # of a term's weight is left each time it is told
_LEAST = 0.2  # of what the first sentence told: less is only told to fill the room
_TURN = 0.3  # how much a part that has been told of stands back, for each of its sentences
_ROUNDS, _ROOM = 3, 0.03  # how often the room that is left is looked at, and how much of it is left alone
_NEAR = 40  # sentences before and after a chosen one that are looked at for joining it
_FIGURE = re.compile(r"\d")


def extract(parts: list[Part], tokens: int, names: Iterable[str] = (), most: int | None = None) -> list[Told]:
    """A summary: what is told of each child that says anything, in their order.

    Args:
        parts: the children.
        tokens: how many tokens the summary may have, citations not counted.
        names: of people and things that are known to occur; sentences that hold one are worth more.
        most: more tokens that are allowed only so that every child has one sentence.
    """
    most = tokens if most is None else max(most, tokens)
    selection = _Selection(sentences_of(parts), {fold(name) for name in names if len(name) > 1})
    chosen = selection.choose(tokens, most)
    for _ in range(_ROUNDS):  # told together, sentences take less room than each by itself
        room = tokens - _length(selection.sentences, chosen)
        if room <= _ROOM * tokens:
            break
        chosen = selection.choose(selection.spent + room, most)
    return [Told(parts[n].node_id, text) for n, text in _within(selection.sentences, chosen, most)]


def _length(sentences: list[Sentence], chosen: list[int]) -> int:
    """Tokens of all that is told."""
    return count_tokens("\n\n".join(text for _, text in _told_by_part(sentences, sorted(chosen))))


def _within(sentences: list[Sentence], chosen: list[int], tokens: int) -> list[tuple[int, str]]:
    """What is told, without the last chosen ones where the whole would be too long."""
    while chosen:
        lines = _told_by_part(sentences, sorted(chosen))
        if count_tokens("\n\n".join(text for _, text in lines)) <= tokens:
            return lines
        chosen = chosen[:-1]
    return []


def _terms(text: str) -> list[str]:
    """What a sentence speaks of: words without endings, Chinese pairs; function words left out."""
    found: list[str] = []
    for word in _WORD.findall(fold(text)):
        if word[0] >= "\u2e80":
            pairs = [word[i : i + 2] for i in range(len(word) - 1)]
            found += [pair for pair in pairs if pair[0] not in _FUNCTION and pair[1] not in _FUNCTION]
        elif word not in _STOP and (len(word) > 1 or word.isdigit()):
            found.append(word.removesuffix("'s").removesuffix("’s")[:8])
    return found


class _Selection:
    """Sentences, what each of them adds to those that are chosen, and what it costs."""

    def __init__(self, sentences: list[Sentence], names: set[str]) -> None:
        self.sentences = sentences
        terms = [_terms(s.text) for s in sentences]
        spread: Counter[str] = Counter()
        for words in terms:
            spread.update(set(words))
        # What each term still adds: what stands once is hardly what it is about, what is told is told.
        self._left = {term: max(n - 1, 0.2) ** 0.6 for term, n in spread.items()}
        self._terms = [sorted(set(words)) for words in terms]
        self._worth = [_worth(s, t, names) for s, t in zip(sentences, terms, strict=True)]
        frames = {
            (s.speaker, s.act, bool(CJK.search(s.text))): told(s.speaker, s.act, s.text[:1])
            for s in sentences
            if s.speaker
        }
        framed = {key: count_tokens(frame) for key, frame in frames.items()}
        self._costs = [count_tokens(s.text) for s in sentences]
        self._frames = [framed.get((s.speaker, s.act, bool(CJK.search(s.text))), 0) for s in sentences]
        self._is_talk = any(self._frames)
        self._keys = [(s.part, s.speaker, s.act) for s in sentences]
        self._told_by: Counter[tuple[int, str, Act]] = Counter()
        self._in_order: list[int] = []
        self._heap: list[tuple[float, int]] = []
        self._told_of: Counter[int] = Counter()
        self._chosen: list[int] = []
        self._taken: set[int] = set()
        self.spent = 0

    def choose(self, tokens: int, most: int) -> list[int]:
        """Numbers of sentences in the order of choice: first one of each part within `most` tokens, then the best within `tokens`."""
        able = [number for number, terms in enumerate(self._terms) if terms and number not in self._taken]
        untold = {self.sentences[number].part for number in able} - self._told_of.keys()
        for number in self._by_priority(able):
            part = self.sentences[number].part
            if part in untold and self._take(number, most):
                untold.discard(part)
        first = max((self._gain(n, whole=True) for n in self._chosen), default=0.0)
        for number in self._by_priority(able):
            if number not in self._taken and self._gain(number) > _LEAST * first:
                self._take(number, tokens)
        return self._chosen

    def _by_priority(self, numbers: list[int]) -> Iterator[int]:
        """Sentences, the best next one first, as it is after what has been taken meanwhile."""
        # A stale priority is too high at most, and is looked at again: what gains by a choice is put in anew by `_take`.
        self._heap = [(-self._priority(n), n) for n in numbers]
        heapq.heapify(self._heap)
        while self._heap:
            stale, number = heapq.heappop(self._heap)
            if number in self._taken:
                continue
            now = -self._priority(number)
            if now > stale:
                heapq.heappush(self._heap, (now, number))
            else:
                yield number

    def _take(self, number: int, tokens: int) -> bool:
        cost = self._cost(number)
        if self.spent + cost > tokens:
            return False
        self._chosen.append(number)
        self._taken.add(number)
        self.spent += cost
        insort(self._in_order, number)
        self._told_by[self._keys[number]] += 1
        self._told_of[self.sentences[number].part] += 1
        for term in self._terms[number]:
            self._left[term] *= _TOLD_AGAIN
        for near in self._joinable(number) if self._is_talk else ():
            heapq.heappush(self._heap, (-self._priority(near), near))
        return True

    def _cost(self, number: int) -> int:
        """Tokens that it adds: its own, and what the names of speakers take more, or less where it joins what is told of the same one."""
        if not self._is_talk:
            return self._costs[number]
        before, after = self._beside(number)
        frame, behind = self._frames[number], self._frames[after] if after is not None else 0
        if self._joins(before, number):
            frame = 0
        frame += behind * (self._joins(before, after) - self._joins(number, after))
        return self._costs[number] + frame

    def _likely_cost(self, number: int) -> int:
        """Its cost, where nothing is told yet of the same speaker without a look at what it might part: that is looked at when it is taken."""
        if self._told_by[self._keys[number]]:
            return max(self._cost(number), 0)
        return self._costs[number] + self._frames[number]

    def _beside(self, number: int) -> tuple[int | None, int | None]:
        """The chosen sentences before and after it."""
        at = bisect_left(self._in_order, number)
        after = next((n for n in self._in_order[at : at + 2] if n != number), None)
        return (self._in_order[at - 1] if at else None), after

    def _joins(self, one: int | None, other: int | None) -> bool:
        """True for two that are told in one line when they follow each other."""
        return one is not None and other is not None and self._keys[one] == self._keys[other]

    def _joinable(self, number: int) -> Iterator[int]:
        """Sentences near a chosen one that would be told in its line."""
        before, after = self._beside(number)
        for near in range(
            max(number - _NEAR, (before if before is not None else -1) + 1),
            min(number + _NEAR, after if after is not None else len(self.sentences)),
        ):
            if near not in self._taken and self._terms[near] and self._joins(number, near):
                yield near

    def _gain(self, number: int, *, whole: bool = False) -> float:
        """What a sentence adds; `whole` for one that is chosen: what it added then."""
        gain: float = sum(map(self._left.__getitem__, self._terms[number])) * self._worth[number]
        return gain / _TOLD_AGAIN if whole else gain

    def _priority(self, number: int) -> float:
        cost: float = (self._likely_cost(number) + _COST_BASE) ** _COST_POWER
        return self._gain(number) / cost / (1 + _TURN * self._told_of[self.sentences[number].part])


def _worth(sentence: Sentence, terms: list[str], names: set[str]) -> float:
    worth = ACT_WORTH[sentence.act]
    if sentence.opening:
        worth *= 1.15
    if _FIGURE.search(sentence.text):
        worth *= 1.1
    if len(terms) < 3:
        worth *= 0.5
    folded = fold(sentence.text) if names else ""
    if any(name in folded for name in names):
        worth *= 1.1
    return worth


def _told_by_part(sentences: list[Sentence], chosen: list[int]) -> list[tuple[int, str]]:
    lines: dict[int, list[tuple[Sentence, list[str]]]] = {}
    for n in chosen:
        sentence = sentences[n]
        of_part = lines.setdefault(sentence.part, [])
        if of_part and (of_part[-1][0].speaker, of_part[-1][0].act) == (sentence.speaker, sentence.act):
            of_part[-1][1].append(sentence.text)
        else:
            of_part.append((sentence, [sentence.text]))
    return [(part, "\n".join(_line(sentence, texts) for sentence, texts in of_part)) for part, of_part in lines.items()]


def _line(sentence: Sentence, texts: list[str]) -> str:
    joined = texts[0]
    for text in texts[1:]:
        joined += text if joined[-1] >= "\u2e80" else f" {text}"
    return told(sentence.speaker, sentence.act, joined) if sentence.speaker else joined
