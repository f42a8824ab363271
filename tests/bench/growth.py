"""What one more item costs when 1,000 and when 50,000 are stored, beside bare FTS5 on the same texts."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import apsw

from sapwood.ingest.commit import BATCH_ITEMS, Writer
from sapwood.memory import Memory
from sapwood.store.connections import ConnectionStore
from sapwood.text.fold import index_text
from tests.bench import texts
from tests.bench.hotpath import feed

_WINDOW = 1000
_SIZE = 1200  # characters of a document


def _ours(place: Path, documents: list[texts.Document]) -> list[float]:
    """CPU seconds of each thousand."""
    with Memory(place / "ws", create=True) as memory:
        with memory.database.transaction():
            connection = ConnectionStore(memory.database).open("folder", "bench", "bench", 0)
        writer = Writer(memory.workspace, memory.database, (connection, "folder", "bench", "bench"))
        spent: list[float] = []
        for at in range(0, len(documents), _WINDOW):
            began = time.process_time()
            feed(writer, documents[at : at + _WINDOW], at)
            spent.append(time.process_time() - began)
    return spent


def _bare(place: Path, documents: list[texts.Document]) -> list[float]:
    db = apsw.Connection(str(place / "bare.db"))
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    db.execute("CREATE VIRTUAL TABLE f USING fts5 (title, body, content='', contentless_delete=1)")
    spent: list[float] = []
    for at in range(0, len(documents), _WINDOW):
        prepared = [
            (number, index_text(d.title), index_text(d.text))
            for number, d in enumerate(documents[at : at + _WINDOW], at)
        ]
        began = time.process_time()
        for first in range(0, len(prepared), BATCH_ITEMS):
            with db:
                db.executemany(
                    "INSERT INTO f (rowid, title, body) VALUES (?,?,?)", prepared[first : first + BATCH_ITEMS]
                )
        spent.append(time.process_time() - began)
    return spent


def _ratio(spent: list[float]) -> float:
    """The mean of the last three thousands over that of the second to fourth: the first pays for caches and tables."""
    return sum(spent[-3:]) / sum(spent[1:4])


def run(count: int = 50_000) -> dict[str, float]:
    """CPU milliseconds an item at both ends, and the ratios."""
    made = texts.Writer(5, _SIZE)
    documents = [made.document(n) for n in range(count)]
    with tempfile.TemporaryDirectory() as place:
        ours, bare = _ours(Path(place), documents), _bare(Path(place), documents)
    return {
        "items": count, "early_ms": sum(ours[1:4]) / 3, "late_ms": sum(ours[-3:]) / 3,
        "ratio": _ratio(ours), "fts5_ratio": _ratio(bare),
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
