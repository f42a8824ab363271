"""The hot path without parsing, beside a floor that does only what cannot be left out on the same texts.

Floor: tokenise, SHA-256, prepare and insert the full text, insert a row with the compressed body, write a file, one
sync a batch. Both write into a fresh folder; CPU time of the process, both in one run, taken in turns.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
import time
import zlib
from pathlib import Path

import apsw

from sapwood.ingest.commit import BATCH_ITEMS, Writer
from sapwood.sdk import DocumentSection, Metadata, canonicalise_document
from sapwood.sdk.sources import Fingerprint
from sapwood.store.connections import ConnectionStore
from sapwood.store.database import Database
from sapwood.text.fold import index_text
from sapwood.text.tokens import count_tokens, encoder
from sapwood.workspace import Workspace
from tests.bench import texts


def floor(folder: Path, documents: list[texts.Document]) -> float:
    """CPU seconds of the unavoidable work."""
    db = apsw.Connection(str(folder / "floor.db"))
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    db.execute("CREATE TABLE c (id TEXT PRIMARY KEY, tokens INTEGER, body BLOB)")
    db.execute(
        "CREATE VIRTUAL TABLE f USING fts5 (title, body, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2')"
    )
    sync = ctypes.CDLL(None).syncfs
    began = time.process_time()
    for at in range(0, len(documents), BATCH_ITEMS):
        db.execute("BEGIN IMMEDIATE")
        for number, document in enumerate(documents[at : at + BATCH_ITEMS], at):
            tokens = count_tokens(document.text)
            digest = hashlib.sha256(document.text.encode()).hexdigest()
            db.execute("INSERT INTO c VALUES (?,?,?)", (digest[:32], tokens, zlib.compress(document.text.encode(), 3)))
            db.execute(
                "INSERT INTO f (rowid, title, body) VALUES (?,?,?)",
                (number, index_text(document.title), index_text(document.text)),
            )
            with open(folder / f"{number}.md", "wb") as out:
                out.write(document.text.encode())
        handle = os.open(folder, os.O_RDONLY)
        sync(handle)
        os.close(handle)
        db.execute("COMMIT")
    return time.process_time() - began


def ours(folder: Path, documents: list[texts.Document]) -> float:
    """CPU seconds of the hot path: redact, chunk, score, commit, vault."""
    workspace = Workspace(folder)
    workspace.create()
    database = Database.open(workspace.database)
    with database.transaction():
        connection = ConnectionStore(database).open("folder", "bench", "bench", 0)
    writer = Writer(workspace, database, (connection, "folder", "bench", "bench"))
    began = time.process_time()
    feed(writer, documents, 0)
    spent = time.process_time() - began
    database.close()
    return spent


def feed(writer: Writer, documents: list[texts.Document], first: int) -> None:
    """Put documents through the writer, numbered from `first`."""
    for number, document in enumerate(documents, first):
        item_id = f"folder:bench:{number}.md"
        metadata = Metadata(
            revision=str(number),
            source_ref=f"{number}.md",
            fingerprint=Fingerprint(f"{number}.md", len(document.text), number),
        )
        source = canonicalise_document(
            item_id=item_id,
            source_id=item_id,
            scope="folder:bench",
            title=document.title,
            sections=[DocumentSection("body", document.text)],
            metadata=metadata,
        )
        assert source is not None
        writer.add(source)
        if writer.full:
            writer.flush()
    writer.flush()


def run(count: int = 1000, rounds: int = 3) -> dict[str, float]:
    """Medians of both and their ratio."""
    encoder(), index_text("预热")
    writer = texts.Writer(7)
    documents = [writer.document(n) for n in range(count)]
    results: list[tuple[float, float]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            results.append((floor(Path(one), documents), ours(Path(two) / "ws", documents)))
    bare = sorted(f for f, _ in results)[rounds // 2]
    whole = sorted(o for _, o in results)[rounds // 2]
    ratio = sorted(o / f for f, o in results)[rounds // 2]
    return {
        "documents": count,
        "floor_ms_per_item": 1000 * bare / count,
        "ours_ms_per_item": 1000 * whole / count,
        "ratio": ratio,
    }


if __name__ == "__main__":
    print(run())
