"""Summaries, their children, and what becomes of them when a child changes or goes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sapwood.store.database import Database
from sapwood.store.packing import pack, unpack

__all__ = ["SummaryRow", "SummaryStore"]

_COLUMNS = (
    "id, tree_id, tree_kind, level, parent_id, child_ids_json, title, body, token_count, entities_json, topics_json, time_range_start_ms, "
    "time_range_end_ms, score, sealed_at_ms, summariser, stale, content_path, content_sha256, corrections_json"
)
_PREVIEW = 2000
_ID = re.compile(r"L\d{1,2}:[0-9a-f]{8,32}")


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A row of `mem_tree_summaries`.

    `body` is Markdown in which `[n]` at the end of a line or paragraph cites the nth child; `entities` are entity ids; `score` is the best of its children's;
    `corrections` are what a person changed in it (`trees.corrections`).
    """

    summary_id: str
    tree_id: str
    tree_kind: str
    level: int
    parent_id: str | None
    child_ids: tuple[str, ...]
    title: str
    body: str
    tokens: int
    entities: tuple[str, ...]
    topics: tuple[str, ...]
    range_ms: tuple[int, int] | None
    score: float
    sealed_at_ms: int
    summariser: str
    stale: bool
    path: str
    sha256: str
    corrections: str = ""

    @classmethod
    def of(cls, r: tuple[Any, ...]) -> SummaryRow:
        """From a database row."""
        return cls(
            r[0], r[1], r[2], r[3], r[4], tuple(json.loads(r[5])), r[6], unpack(r[7]), r[8], tuple(json.loads(r[9])), tuple(json.loads(r[10])),
            (r[11], r[12]) if r[11] is not None else None, r[13], r[14], r[15], bool(r[16]), r[17], r[18], r[19],
        )  # fmt: skip


class SummaryStore:
    """Queries over one connection; the caller holds the transaction where it writes."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, s: SummaryRow, fts: tuple[str, str]) -> None:
        """Insert a summary with its children and its columns of the full-text index; one that is there stays."""
        start, end = s.range_ms or (None, None)
        new = self._db.run(
            f"INSERT OR IGNORE INTO mem_tree_summaries ({_COLUMNS}, content) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                s.summary_id, s.tree_id, s.tree_kind, s.level, s.parent_id, json.dumps(s.child_ids), s.title, pack(s.body), s.tokens,
                json.dumps(s.entities, ensure_ascii=False), json.dumps(s.topics, ensure_ascii=False), start, end, s.score, s.sealed_at_ms, s.summariser,
                s.stale, s.path, s.sha256, s.corrections, s.body[:_PREVIEW],
            ),
        )  # fmt: skip
        if new:
            number = self._db.value("SELECT summary_no FROM mem_tree_summaries WHERE id = ?", (s.summary_id,))
            self._db.run("INSERT INTO mem_tree_summaries_fts (rowid, title, body) VALUES (?,?,?)", (number, *fts))
            self._db.run_many(
                "INSERT INTO mem_tree_summary_children (summary_id, place, child_id) VALUES (?,?,?)",
                [(s.summary_id, place, child) for place, child in enumerate(s.child_ids)],
            )

    def get(self, summary_id: str) -> SummaryRow | None:
        """The summary with this id."""
        row = self._db.row(f"SELECT {_COLUMNS} FROM mem_tree_summaries WHERE id = ?", (summary_id,))
        return SummaryRow.of(row) if row else None

    def find(self, start: str) -> SummaryRow | None:
        """The summary whose id is this or begins so, with eight digits or more (`L1:0a1b2c3d`, or its file's name); None when there
        are several."""
        wanted = start.replace("-", ":", 1)
        if not _ID.fullmatch(wanted):
            return None
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM mem_tree_summaries WHERE id >= ? AND id < ? LIMIT 2", (wanted, wanted + "g")
        )
        return SummaryRow.of(rows[0]) if len(rows) == 1 else None

    def of_period(self, key: str) -> SummaryRow | None:
        """What is told of a day, week, month or year, by its key."""
        row = self._db.row(
            f"SELECT {_COLUMNS} FROM mem_tree_summaries WHERE tree_kind = 'global' AND content_path = 'daily/' || ? || '.md'",
            (key,),
        )
        return SummaryRow.of(row) if row else None

    def path_of(self, summary_id: str) -> str | None:
        """Where the file of a summary lies."""
        path = self._db.value("SELECT content_path FROM mem_tree_summaries WHERE id = ?", (summary_id,))
        return str(path) if path else None

    def many(self, summary_ids: list[str]) -> dict[str, SummaryRow]:
        """Summaries by id; unknown ids are left out."""
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM mem_tree_summaries WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(summary_ids),),
        )
        return {row[0]: SummaryRow.of(row) for row in rows}

    def at_paths(self, paths: list[str]) -> list[str]:
        """Ids of the summaries whose files lie at these paths, in their order."""
        rows = self._db.rows(
            "SELECT s.id FROM json_each(?) j JOIN mem_tree_summaries s ON s.content_path = j.value ORDER BY j.key",
            (json.dumps(paths),),
        )
        return [row[0] for row in rows]

    def ids_by_path(self, folder: str, *, fresh: bool = False) -> dict[str, str]:
        """Ids of the summaries whose files lie in a folder (`daily/`), by path; with `fresh` not those that are stale."""
        rows = self._db.rows(
            "SELECT content_path, id FROM mem_tree_summaries WHERE content_path >= ?1 AND content_path < ?1 || char(0x10ffff) AND stale <= ?2",
            (folder, not fresh),
        )
        return dict(rows)

    def all(self) -> Iterator[SummaryRow]:
        """Every summary, one by one."""
        for row in self._db.each(f"SELECT {_COLUMNS} FROM mem_tree_summaries ORDER BY summary_no"):
            yield SummaryRow.of(row)

    def match(self, expression: str, column: str, values: list[str], limit: int) -> list[tuple[str, float]]:
        """`(id, bm25)` of the summaries that match best, higher is better, of those whose `id` or `tree_id` is one of these."""
        assert column in ("id", "tree_id")
        return self._db.rows(
            "SELECT s.id, -bm25(mem_tree_summaries_fts) AS score FROM mem_tree_summaries_fts f JOIN mem_tree_summaries s ON s.summary_no = f.rowid "
            f"WHERE mem_tree_summaries_fts MATCH ? AND s.{column} IN (SELECT value FROM json_each(?)) AND NOT s.stale ORDER BY score DESC, s.id LIMIT ?",
            (expression, json.dumps(values), limit),
        )

    def match_corrected(self, expression: str, limit: int) -> list[str]:
        """The summaries that match best of those in which a person corrected something."""
        rows = self._db.rows(
            "SELECT s.id FROM mem_tree_summaries_fts f JOIN mem_tree_summaries s ON s.summary_no = f.rowid "
            "WHERE mem_tree_summaries_fts MATCH ? AND s.corrections_json != '' AND NOT s.stale ORDER BY bm25(mem_tree_summaries_fts), s.id LIMIT ?",
            (expression, limit),
        )
        return [str(row[0]) for row in rows]

    def parents(self, node_id: str) -> list[str]:
        """Summaries that tell of a node, in all trees."""
        return [
            row[0]
            for row in self._db.rows(
                "SELECT summary_id FROM mem_tree_summary_children WHERE child_id = ? ORDER BY summary_id", (node_id,)
            )
        ]

    def delete(self, summary_id: str) -> str | None:
        """Remove a summary; the path of its file, None when it is not there."""
        row = self._db.row("SELECT summary_no, content_path FROM mem_tree_summaries WHERE id = ?", (summary_id,))
        if row is None:
            return None
        self._db.run("DELETE FROM mem_tree_summaries_fts WHERE rowid = ?", (row[0],))
        self._db.run("DELETE FROM mem_tree_summaries WHERE summary_no = ?", (row[0],))
        self._db.run("DELETE FROM mem_tree_entity_index WHERE node_id = ?", (summary_id,))
        return str(row[1])

    # -- change ---------------------------------------------------------------------------------------------------------

    def replace_node(
        self, old_id: str, new_id: str | None, kinds: tuple[str, ...] = ("source", "topic", "global")
    ) -> None:
        """A node has become another one, or with None is gone: everywhere where it waits, and in every summary that tells of it,
        which is stale by that. `kinds` of trees alone."""
        trees = f"(SELECT id FROM mem_tree_trees WHERE kind IN ({', '.join('?' * len(kinds))}))"
        if new_id is None:
            self._db.run(f"DELETE FROM mem_tree_buffers WHERE node_id = ? AND tree_id IN {trees}", (old_id, *kinds))
        else:
            self._db.run(
                f"UPDATE OR REPLACE mem_tree_buffers SET node_id = ? WHERE node_id = ? AND tree_id IN {trees}",
                (new_id, old_id, *kinds),
            )
        self._db.run(
            f"UPDATE mem_tree_trees SET root_id = ? WHERE root_id = ? AND id IN {trees}", (new_id, old_id, *kinds)
        )
        for parent in self.parents(old_id):
            row = self._db.row("SELECT tree_kind, child_ids_json FROM mem_tree_summaries WHERE id = ?", (parent,))
            if row is None or row[0] not in kinds:
                continue
            if new_id is not None:  # what was corrected about the old one is about the new one
                self._db.run(
                    "UPDATE mem_tree_summaries SET corrections_json = replace(corrections_json, ?, ?) WHERE id = ? AND corrections_json != ''",
                    (json.dumps(old_id), json.dumps(new_id), parent),
                )
            children = [new_id if child == old_id else child for child in json.loads(row[1])]
            self.set_children(parent, [child for child in children if child is not None])

    def retell(
        self,
        summary_id: str,
        body: str,
        tokens: int,
        sha256: str,
        entities: tuple[str, ...],
        summariser: str,
        fts: tuple[str, str],
    ) -> None:
        """The same is told in other words."""
        number = self._db.value("SELECT summary_no FROM mem_tree_summaries WHERE id = ?", (summary_id,))
        self._db.run(
            "UPDATE mem_tree_summaries SET body = ?, content = ?, token_count = ?, content_sha256 = ?, entities_json = ?, summariser = ?, rejected = '' WHERE summary_no = ?",
            (pack(body), body[:_PREVIEW], tokens, sha256, json.dumps(entities, ensure_ascii=False), summariser, number),
        )
        self._db.run("DELETE FROM mem_tree_summaries_fts WHERE rowid = ?", (number,))
        self._db.run("INSERT INTO mem_tree_summaries_fts (rowid, title, body) VALUES (?,?,?)", (number, *fts))

    def set_corrections(self, summary_id: str, corrections: str) -> None:
        """What a person changed in it."""
        self._db.run("UPDATE mem_tree_summaries SET corrections_json = ? WHERE id = ?", (corrections, summary_id))

    def files(self) -> list[tuple[str, str, int, int]]:
        """`(id, path, size, mtime_ns)` of every summary's file when it was last read."""
        return self._db.rows(
            "SELECT id, content_path, file_size, file_mtime_ns FROM mem_tree_summaries ORDER BY summary_no"
        )

    def set_files(self, seen: list[tuple[int, int, str]]) -> None:
        """Files were read: `(size, mtime_ns, id)` of each."""
        self._db.run_many("UPDATE mem_tree_summaries SET file_size = ?, file_mtime_ns = ? WHERE id = ?", seen)

    def set_rejected(self, summary_id: str, reason: str) -> None:
        """What a model wrote of it could not be taken."""
        self._db.run("UPDATE mem_tree_summaries SET rejected = ? WHERE id = ?", (reason, summary_id))

    def ask_again(self, summariser: str | None = None) -> int:
        """Let go of why models' texts could not be taken; how many summaries may be told anew now, of those that this one made."""
        self._db.run("UPDATE mem_tree_summaries SET rejected = '' WHERE rejected != ''")
        return int(
            self._db.value("SELECT count(*) FROM mem_tree_summaries WHERE ?1 IS NULL OR summariser = ?1", (summariser,))
        )

    def next_to_retell(self, summariser: str) -> SummaryRow | None:
        """The summary that this one made which is to be told by a model next: the lowest, then the newest; not while one that it tells of
        is stale."""
        row = self._db.row(
            f"SELECT {_COLUMNS} FROM mem_tree_summaries WHERE summariser = ? AND NOT stale AND rejected = '' "
            "AND NOT EXISTS (SELECT 1 FROM mem_tree_summary_children k JOIN mem_tree_summaries c ON c.id = k.child_id WHERE k.summary_id = mem_tree_summaries.id AND c.stale) "
            "ORDER BY level, time_range_end_ms DESC, id LIMIT 1",
            (summariser,),
        )
        return SummaryRow.of(row) if row else None

    def to_retell(self, summariser: str) -> Iterator[SummaryRow]:
        """All of those."""
        for row in self._db.each(
            f"SELECT {_COLUMNS} FROM mem_tree_summaries WHERE summariser = ? AND NOT stale AND rejected = '' ORDER BY level, id",
            (summariser,),
        ):
            yield SummaryRow.of(row)

    def by_summariser(self) -> dict[str, int]:
        """How many summaries each has made."""
        return dict(
            self._db.rows("SELECT summariser, count(*) FROM mem_tree_summaries GROUP BY summariser ORDER BY summariser")
        )

    def rejections(self) -> dict[str, int]:
        """Why models' texts could not be taken, the most frequent reason first."""
        return dict(
            self._db.rows(
                "SELECT rejected, count(*) FROM mem_tree_summaries WHERE rejected != '' GROUP BY rejected ORDER BY count(*) DESC, rejected"
            )
        )

    def tell_anew(self, summariser: str) -> int:
        """All that this one has made is to be made anew; how many."""
        return self._db.run("UPDATE mem_tree_summaries SET stale = 1 WHERE summariser = ?", (summariser,))

    def take_out(self, tree_id: str, node_id: str) -> None:
        """A tree does not tell of a node any more; others may."""
        self._db.run("DELETE FROM mem_tree_buffers WHERE tree_id = ? AND node_id = ?", (tree_id, node_id))
        for parent in self.parents(node_id):
            row = self._db.row("SELECT tree_id, child_ids_json FROM mem_tree_summaries WHERE id = ?", (parent,))
            if row is not None and row[0] == tree_id:
                self.set_children(parent, [child for child in json.loads(row[1]) if child != node_id])

    def set_children(self, summary_id: str, child_ids: list[str]) -> None:
        """Other children than were told of: the summary is stale."""
        self._db.run("DELETE FROM mem_tree_summary_children WHERE summary_id = ?", (summary_id,))
        self._db.run_many(
            "INSERT INTO mem_tree_summary_children (summary_id, place, child_id) VALUES (?,?,?)",
            [(summary_id, place, child) for place, child in enumerate(child_ids)],
        )
        self._db.run(
            "UPDATE mem_tree_summaries SET child_ids_json = ?, stale = 1 WHERE id = ?",
            (json.dumps(child_ids), summary_id),
        )

    def mark_stale(self, node_id: str) -> None:
        """A node reads otherwise than when it was summarised."""
        self._db.run(
            "UPDATE mem_tree_summaries SET stale = 1 WHERE id IN (SELECT summary_id FROM mem_tree_summary_children WHERE child_id = ?)",
            (node_id,),
        )

    def set_stale(self, summary_id: str) -> None:
        """What it tells of reads otherwise."""
        self._db.run("UPDATE mem_tree_summaries SET stale = 1 WHERE id = ?", (summary_id,))

    def set_fresh(self, summary_id: str) -> None:
        """It tells of what there is."""
        self._db.run("UPDATE mem_tree_summaries SET stale = 0 WHERE id = ?", (summary_id,))

    def dissolve(self, tree_id: str, leaves: Iterable[str] = ()) -> list[str]:
        """Remove all summaries of a document's tree, and its leaves from wherever they wait or are told of; the paths of the
        summaries' files. The leaves are then told of anew."""
        self._keep_corrections(tree_id)
        root = self._db.value("SELECT root_id FROM mem_tree_trees WHERE id = ?", (tree_id,))
        ids = self._db.rows("SELECT id FROM mem_tree_summaries WHERE tree_id = ?", (tree_id,))
        for node_id in dict.fromkeys([*([root] if root else []), *(row[0] for row in ids), *leaves]):
            self.replace_node(node_id, None, kinds=("source",))
        self._db.run("DELETE FROM mem_tree_buffers WHERE tree_id = ?", (tree_id,))
        return [path for (summary_id,) in ids if (path := self.delete(summary_id))]

    def _keep_corrections(self, tree_id: str) -> None:
        """What was corrected in the summaries of a tree waits for those that come after them."""
        rows = self._db.rows(
            "SELECT corrections_json FROM mem_tree_summaries WHERE tree_id = ? AND corrections_json != '' ORDER BY level, id",
            (tree_id,),
        )
        held = self._db.value("SELECT corrections_json FROM mem_tree_trees WHERE id = ?", (tree_id,))
        parts = [json.loads(text) for text in [*([held] if held else []), *(row[0] for row in rows)]]
        if parts:
            kept = {name: [row for part in parts for row in part[name]] for name in ("changed", "added")}
            self._db.run(
                "UPDATE mem_tree_trees SET corrections_json = ? WHERE id = ?",
                (json.dumps(kept, ensure_ascii=False), tree_id),
            )

    def corrected_count(self) -> int:
        """How many summaries a person has corrected."""
        return int(self._db.value("SELECT count(*) FROM mem_tree_summaries WHERE corrections_json != ''"))

    def any_stale(self) -> bool:
        """True when a summary is to be made anew."""
        return bool(self._db.value("SELECT 1 FROM mem_tree_summaries WHERE stale LIMIT 1"))

    def next_stale(self) -> SummaryRow | None:
        """The stale summary of the lowest level, by id: what is above it is made anew after it. Days come after sources."""
        row = self._db.row(
            f"SELECT {_COLUMNS} FROM mem_tree_summaries WHERE stale ORDER BY tree_kind = 'global', level, id LIMIT 1"
        )
        return SummaryRow.of(row) if row else None
