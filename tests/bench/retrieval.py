"""Retrieval through `sapwood import` and `search`, with vectors and without, beside plain BM25 on the same questions.

Chats (LoCoMo): one workspace a chat; a session is a JSON file whose records are the dated turns. recall@k is the share
of a question's evidence among the first k, averaged; BM25 ranks the same turns with their dates. Chinese paragraphs
(CMRC, DRCD): a text file a paragraph; BM25 is FTS5 over single characters and pairs. The ranking's weights were chosen
on the even questions; the odd ones are held out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from sapwood.memory import Memory
from sapwood.recall.query import parse
from sapwood.store.search import Filters, SearchStore
from tests.bench import data

Row = dict[str, float]


def _import(folder: Path, workspace: Path) -> None:
    command = [sys.executable, "-m", "sapwood", "import", str(folder), "--wait", "--workspace", str(workspace)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "SAPWOOD_EMBEDDING_MODEL": "offline"})


@contextmanager
def _opened(workspace: Path) -> Iterator[tuple[Memory, Memory]]:
    """The workspace twice: with vectors, and with full text alone."""
    with Memory(workspace) as memory:
        os.environ["SAPWOOD_EMBEDDING_MODEL"] = "none"
        try:
            with Memory(workspace) as text_alone:
                yield memory, text_alone
        finally:
            del os.environ["SAPWOOD_EMBEDDING_MODEL"]


def _write_sessions(chat: data.Chat, folder: Path) -> dict[str, int]:
    """The files of a chat; session by turn id."""
    sessions: dict[str, int] = {}
    for number, turns in chat.sessions.items():
        when = datetime.strptime(chat.dates[number], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).isoformat()
        records = [{"id": t["dia_id"], "speaker": t["speaker"], "text": t.get("text", ""), "time": when} for t in turns]
        (folder / f"session_{number:02d}.json").write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
        sessions |= {t["dia_id"]: number for t in turns}
    return sessions


def _evidence(raw: list[str], known: dict[str, int]) -> set[str]:
    """The turns that a question names; a few are joined or mistyped."""
    found = {f"D{int(a)}:{int(b)}" for item in raw or [] for a, b in re.findall(r"D:?(\d+):(\d+)", str(item))}
    return {turn for turn in found if turn in known}


def _chat_rows() -> Iterator[tuple[str, int, Row]]:
    for chat in data.chats():
        with tempfile.TemporaryDirectory() as place:
            folder, workspace = Path(place) / "files", Path(place) / "ws"
            folder.mkdir()
            sessions = _write_sessions(chat, folder)
            _import(folder, workspace)
            with _opened(workspace) as memories:
                store = SearchStore(memories[0].database)
                for number, question in enumerate(chat.questions):
                    if gold := _evidence(question.get("evidence", []), sessions):
                        yield chat.name, number, _chat_row(memories, store, question["question"], gold, sessions)


def _chat_row(
    memories: tuple[Memory, Memory], store: SearchStore, question: str, gold: set[str], sessions: dict[str, int]
) -> Row:
    wanted = {sessions[turn] for turn in gold}
    row: Row = {}
    for memory, name in zip(memories, ("", "text alone: "), strict=True):
        turns = {hit.passages[0].native_id for hit in memory.search(question, unit="passage", limit=10).hits}
        items = memory.search(question, unit="item", limit=10).hits
        found = {int(re.search(r"session_(\d+)", hit.item_id)[1]) for hit in items}  # type: ignore[index]
        row[f"{name}turns R@10"] = len(gold & turns) / len(gold)
        row[f"{name}sessions R@10"] = len(wanted & found) / len(wanted)
    rows = store.match(parse(question).expression, Filters(), 10)
    bare = {row.native_id for row in store.passages([passage_id for passage_id, _ in rows]).values()}
    return {**row, "BM25 turns R@10": len(gold & bare) / len(gold)}


def _pairs(text: str) -> list[str]:
    """Single characters and pairs of Chinese, whole words of the rest: the baseline's tokens."""
    found: list[str] = []
    for run in re.findall(r"[\u3400-\u9fff]+|[a-z0-9]+", text.lower()):
        found += [*run, *(run[i : i + 2] for i in range(len(run) - 1))] if run[0] >= "\u3400" else [run]
    return found


def _paragraph_rows(name: str) -> Iterator[tuple[str, int, Row]]:
    bare = apsw.Connection(":memory:")
    bare.execute("CREATE VIRTUAL TABLE p USING fts5 (body)")
    with tempfile.TemporaryDirectory() as place:
        folder, workspace = Path(place) / "files", Path(place) / "ws"
        folder.mkdir()
        for number, paragraph in enumerate(data.paragraphs(name)):
            (folder / f"p{number}.txt").write_text(paragraph, encoding="utf-8")
            bare.execute("INSERT INTO p (rowid, body) VALUES (?,?)", (number, " ".join(_pairs(paragraph))))
        _import(folder, workspace)
        with _opened(workspace) as memories:
            for number, (question, gold) in enumerate(data.questions(name)):
                row: Row = {}
                for memory, kind in zip(memories, ("", "text alone: "), strict=True):
                    hits = memory.search(question, unit="item", limit=5).hits
                    ours = [int(re.search(r"p(\d+)\.txt", hit.item_id)[1]) for hit in hits]  # type: ignore[index]
                    row |= {f"{kind}R@1": gold in ours[:1], f"{kind}R@5": gold in ours}
                words = " OR ".join(f'"{word}"' for word in dict.fromkeys(_pairs(question)))
                ranked = bare.execute("SELECT rowid FROM p WHERE p MATCH ? ORDER BY rank LIMIT 5", (words,))
                theirs = [row[0] for row in ranked]
                yield name, number, {**row, "BM25 R@1": gold in theirs[:1], "BM25 R@5": gold in theirs}


def measure() -> dict[str, dict[str, dict[str, float]]] | None:
    """Means by set, then by held-out and all questions; None when the data is not at hand."""
    if not data.at_hand():
        return None
    data.RESULTS.mkdir(exist_ok=True)
    means: dict[str, dict[str, dict[str, float]]] = {}
    with (data.RESULTS / "retrieval.jsonl").open("w", encoding="utf-8") as out:
        for name, rows in [("LoCoMo", _chat_rows()), *((name, _paragraph_rows(name)) for name in data.CHINESE)]:
            sums: dict[str, Counter[str]] = defaultdict(Counter)
            for part, number, row in rows:
                out.write(json.dumps({"set": part, "question": number, **row}) + "\n")
                for half in ("held out", "all") if number % 2 else ("all",):
                    sums[half].update({**row, "questions": 1})
            means[name] = {half: _mean(s) for half, s in sums.items()}
    return means


def _mean(sums: Counter[str]) -> dict[str, Any]:
    count = sums["questions"]
    return {key: value if key == "questions" else value / count for key, value in sums.items()}


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
