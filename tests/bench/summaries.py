"""Summaries without a model beside the lead, a random choice and TextRank, and what topics and sources add to a plain search.

ROUGE F1 of summaries as long as the reference, by words and by single Chinese characters. The choice of sentences was tuned on the even
half of the data: the odd half is what counts. TextRank is sumy's, ROUGE is rouge-score's; see requirements.txt beside this file.
"""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sapwood.ingest.commit import Writer
from sapwood.memory import Memory
from sapwood.recall.topics import search_topic
from sapwood.recall.trees import search_source
from sapwood.sdk.canonicalise import Message, canonicalise_chat
from sapwood.sdk.sources import Kind, Segment, render
from sapwood.store.connections import ConnectionStore
from sapwood.store.trees import TreeStore
from sapwood.text.tokens import count_tokens
from sapwood.trees.extractive import extract
from sapwood.trees.sentences import Part, sentences_of
from sapwood.trees.summarising import Extractive
from sapwood.trees.support import CITED, unsupported
from tests.bench import data

_WORDS = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")
_MEETINGS = ("qmsum-val-a.jsonl", "vcsum-short-dev-a.jsonl")
Turns = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Task:
    """What is to be summarised, and how a person did; `number` tells the halves apart."""

    name: str
    number: int
    turns: Turns
    reference: str


def _tasks() -> Iterator[_Task]:
    for i, meeting in enumerate(_lines(_MEETINGS[0])):
        turns = [(t["speaker"], re.sub(r"\{\w+\}", "", t["content"])) for t in meeting["meeting_transcripts"]]
        for j, query in enumerate(meeting["general_query_list"]):
            yield _Task("QMSum, whole meetings", i + j, turns, query["answer"])
        for j, query in enumerate(meeting["specific_query_list"]):
            chosen = [t for first, last in query["relevant_text_span"] for t in turns[int(first) : int(last) + 1]]
            yield _Task("QMSum, spans", i + j, chosen, query["answer"])
    for i, meeting in enumerate(_lines(_MEETINGS[1])):
        turns = [
            (f"发言人{who}", "".join(said)) for who, said in zip(meeting["speaker"], meeting["context"], strict=True)
        ]
        yield _Task("VCSum", i, turns, meeting["discussion"])


def _lines(name: str) -> Iterator[Any]:
    for line in (data.FOLDER / name).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


class _Words:
    """Words and single Chinese characters, for ROUGE and for TextRank alike."""

    def tokenize(self, text: str) -> list[str]:
        return _WORDS.findall(text.lower())

    to_words = tokenize


def _part(turns: Turns) -> Part:
    body, _ = render(Kind.CHAT, tuple(Segment(f"s{n}", text, author=who) for n, (who, text) in enumerate(turns)))
    return Part("all", body, Kind.CHAT)


def _lead(sentences: list[str], tokens: int) -> str:
    text = ""
    for sentence in sentences:
        if count_tokens(text) >= tokens:
            break
        text = f"{text} {sentence}".strip()
    while count_tokens(text) > tokens:
        text = text[: int(len(text) * min(0.98, tokens / count_tokens(text)))]
    return text


def _filled(sentences: list[str], order: list[int], tokens: int) -> str:
    """Sentences in the order of their worth until the length is reached, told in the order of the text."""
    chosen: list[int] = []
    used = 0
    for place in order:
        if used + (cost := count_tokens(sentences[place])) <= tokens:
            chosen.append(place)
            used += cost
    return " ".join(sentences[place] for place in sorted(chosen))


def _text_rank(sentences: list[str], tokens: int) -> str:
    from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
    from sumy.summarizers.text_rank import TextRankSummarizer

    document = ObjectDocumentModel([Paragraph([Sentence(text, _Words()) for text in sentences])])
    rates = TextRankSummarizer().rate_sentences(document)
    places: dict[Any, int] = {}
    for place, sentence in enumerate(document.sentences):
        places.setdefault(sentence, place)
    order = [places[sentence] for sentence in sorted(rates, key=lambda s: (-rates[s], places[s]))]
    return _filled(sentences, order, tokens)


def rouge(half: str = "odd") -> dict[str, dict[str, tuple[float, float, float]]] | None:
    """ROUGE-1, -2 and -L by set and method, of one half of the tasks or `all`; None without the data or the two libraries."""
    try:
        from rouge_score import rouge_scorer
        from sumy.summarizers import text_rank
    except ImportError:
        return None
    del text_rank
    if not (data.FOLDER / _MEETINGS[0]).exists():
        return None
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=_Words())
    scores: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    for task in _tasks():
        if half != "all" and task.number % 2 != (half == "odd"):
            continue
        part = _part(task.turns)
        sentences = [sentence.text for sentence in sentences_of([part])]
        tokens = count_tokens(task.reference)
        order = list(range(len(sentences)))
        random.Random(task.number).shuffle(order)
        made = {
            "lead": _lead(sentences, tokens), "random": _filled(sentences, order, tokens), "TextRank": _text_rank(sentences, tokens),
            "Sapwood": "\n".join(told.text for told in extract([part], tokens)),
        }  # fmt: skip
        for method, text in made.items():
            found = scorer.score(task.reference, text)
            scores[task.name, method].append(tuple(found[name].fmeasure for name in ("rouge1", "rouge2", "rougeL")))
    means: dict[str, dict[str, tuple[float, float, float]]] = defaultdict(dict)
    for (name, method), rows in scores.items():
        one, two, longest = (statistics.mean(column) for column in zip(*rows, strict=True))
        means[name][method] = (one, two, longest)
    return dict(means)


def faithfulness() -> dict[str, float] | None:
    """Summaries of all tasks as a seal would make them: the greatest share of their input's tokens, and names and numbers that do not stand
    there."""
    if not (data.FOLDER / _MEETINGS[0]).exists():
        return None
    longest, invented, count = 0.0, 0, 0
    for task in _tasks():
        parts = [Part(f"p{n}", _part(task.turns[n::4]).text, Kind.CHAT) for n in range(4) if task.turns[n::4]]
        text = Extractive().summarise(parts, [who for who, _ in task.turns])
        said = CITED.sub("", text)
        source = "\n".join(part.text for part in parts)
        longest = max(longest, count_tokens(said) / max(1, count_tokens(source)))
        told = re.sub(
            r"\*\*|^- |(?: asked| decided| promised)?: | 问：| 答应：| 决定：| 说：", " ", said, flags=re.MULTILINE
        )
        invented += len(unsupported(told, source))
        count += 1
    return {"summaries": count, "longest_share": longest, "unsupported": invented}


def questions() -> dict[str, dict[str, float]] | None:
    """Recall@10 of a plain search, and of asking the person or the meeting that a question is about."""
    if not data.at_hand():
        return None
    return {"When did it happen (LoCoMo)": _temporal(), "Summarise X (QMSum)": _meetings()}


def _store_chat(memory: Memory, name: str, sessions: list[tuple[datetime, list[tuple[str, str, str]]]]) -> None:
    """One item a session, one message a turn `(id, author, text)`."""
    with memory.database.transaction():
        connection = ConnectionStore(memory.database).open("chat", "bench", "bench", 0)
    writer = Writer(memory.workspace, memory.database, (connection, "chat", "bench", "bench"))
    for number, (began, turns) in enumerate(sessions):
        messages = [Message(i, began + timedelta(seconds=20 * n), who, text) for n, (i, who, text) in enumerate(turns)]
        source = canonicalise_chat(
            item_id=f"chat:bench:{name}:{number}",
            source_id=f"chat:bench:{name}",
            scope=name,
            title=name,
            messages=messages,
        )
        if source is not None:
            writer.add(source)
    writer.flush()


def _temporal() -> dict[str, float]:
    plain, topic = [], []
    for chat in data.chats():
        with tempfile.TemporaryDirectory() as place, _quiet(Path(place) / "ws") as memory:
            sessions = [
                (
                    datetime.strptime(chat.dates[n], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC),
                    [(t["dia_id"], t["speaker"], t.get("text") or "…") for t in turns],
                )
                for n, turns in chat.sessions.items()
            ]
            _store_chat(memory, chat.name, sessions)
            memory.work(drain=True)
            people = {turn["speaker"] for turns in chat.sessions.values() for turn in turns}
            for question in chat.questions:
                gold = set(re.findall(r"D\d+:\d+", " ".join(map(str, question.get("evidence", [])))))
                named = [who for who in people if who in question["question"]]
                if question["category"] != 2 or not gold or len(named) != 1:
                    continue
                plain.append(_share(gold, memory.search(question["question"], unit="passage", limit=10).hits))
                found = search_topic(memory.database, named[0], question["question"], unit="passage", limit=10)
                topic.append(_share(gold, found.hits))
    return {"questions": len(plain), "plain": statistics.mean(plain), "asked": statistics.mean(topic)}


def _meetings() -> dict[str, float]:
    plain, asked = [], []
    with tempfile.TemporaryDirectory() as place, _quiet(Path(place) / "ws") as memory:
        meetings = list(_lines(_MEETINGS[0]))
        for number, meeting in enumerate(meetings):
            turns = [
                (f"m{number}t{n}", t["speaker"], t["content"]) for n, t in enumerate(meeting["meeting_transcripts"])
            ]
            _store_chat(
                memory, f"meeting {number}", [(datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=number), turns)]
            )
        memory.work(drain=True)
        for number, meeting in enumerate(meetings):
            trees = TreeStore(memory.database).named(f"chat:bench:meeting {number}")
            for query in meeting["specific_query_list"]:
                gold = {
                    f"m{number}t{n}"
                    for first, last in query["relevant_text_span"]
                    for n in range(int(first), int(last) + 1)
                }
                plain.append(_share(gold, memory.search(query["query"], unit="passage", limit=10).hits))
                asked.append(
                    _share(gold, search_source(memory.database, trees, query["query"], unit="passage", limit=10).hits)
                )
    return {"questions": len(plain), "plain": statistics.mean(plain), "asked": statistics.mean(asked)}


def _share(gold: set[str], hits: Any) -> float:
    """How many of what could be found are among the first ten."""
    found = {passage.native_id for hit in hits for passage in hit.passages}
    return len(gold & found) / min(10, len(gold))


def _quiet(workspace: Path) -> Memory:
    os.environ["SAPWOOD_EMBEDDING_MODEL"] = "none"
    return Memory(workspace, create=True)


def run() -> dict[str, Any]:
    """All of it; parts are None where their data is not at hand."""
    return {"rouge": rouge(), "faithfulness": faithfulness(), "questions": questions()}


if __name__ == "__main__":
    print(json.dumps(run(), indent=1, ensure_ascii=False))
