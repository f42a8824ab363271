"""Connections, their checkpoints, runs, and the items that were skipped or failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sapwood.store.database import Database
from sapwood.store.schema import PASSAGE_BITS

_PAGE = 20_000
_MAX_ROWID = 2**63 - 1
_ISSUE_FIELDS = (
    "item_id",
    "scope",
    "state",
    "code",
    "message",
    "next_step",
    "retryable",
    "locator",
    "size",
    "mtime_ns",
    "digest",
    "attempts",
)


@dataclass(frozen=True, slots=True)
class Issue:
    """An item that was skipped or failed."""

    item_id: str
    scope: str
    state: str
    code: str
    message: str
    next_step: str
    retryable: bool
    locator: str = ""
    size: int = 0
    mtime_ns: int = 0
    digest: str = ""
    attempts: int = 1


_WAVE_MS = 600_000


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of a connection: items, chunks (of them not examined yet, and dropped), passages (of them in the full-text index), files that
    failed or were skipped, when something was stored last in milliseconds, and the chunks of the last ten minutes before that: all, examined."""

    items: int
    chunks: int
    pending: int
    dropped: int
    passages: int
    searchable: int
    failed: int
    skipped: int
    last_stored_ms: int | None
    wave_total: int
    wave_examined: int


class ConnectionStore:
    """Queries over one connection; the caller holds the transaction where it writes."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def open(self, connector: str, account: str, name: str, now_ms: int) -> int:
        """The id of a connection, made when it is new; its name is kept up to date."""
        found = self._db.row(
            "SELECT connection_id, name FROM mem_tree_connections WHERE connector = ? AND account = ?",
            (connector, account),
        )
        if found:
            if name and found[1] != name:
                self._db.run("UPDATE mem_tree_connections SET name = ? WHERE connection_id = ?", (name, found[0]))
            return int(found[0])
        self._db.run(
            "INSERT INTO mem_tree_connections (connector, account, name, created_at_ms) VALUES (?,?,?,?)",
            (connector, account, name or account, now_ms),
        )
        return self._db.last_id()

    def all(self) -> list[tuple[int, str, str, str]]:
        """`(connection_id, connector, account, name)`, sorted by name."""
        return self._db.rows(
            "SELECT connection_id, connector, account, name FROM mem_tree_connections ORDER BY name, connection_id"
        )

    def checkpoint(self, connection_id: int) -> dict[str, Any] | None:
        """The last committed checkpoint."""
        text = self._db.value(
            "SELECT checkpoint_json FROM mem_tree_connections WHERE connection_id = ?", (connection_id,)
        )
        return json.loads(text) if text else None

    def set_checkpoint(self, connection_id: int, state: dict[str, Any]) -> None:
        """Move the checkpoint, in the transaction of the data that it stands for."""
        self._db.run(
            "UPDATE mem_tree_connections SET checkpoint_json = ? WHERE connection_id = ?",
            (json.dumps(state), connection_id),
        )

    def kv_get(self, connection_id: int, key: str) -> Any:
        """A value of the connector, or None."""
        text = self._db.value(
            "SELECT value_json FROM mem_tree_connection_kv WHERE connection_id = ? AND key = ?", (connection_id, key)
        )
        return json.loads(text) if text else None

    def kv_set(self, connection_id: int, key: str, value: Any) -> None:
        """Store a value; None removes it."""
        if value is None:
            self._db.run("DELETE FROM mem_tree_connection_kv WHERE connection_id = ? AND key = ?", (connection_id, key))
        else:
            self._db.run(
                "INSERT OR REPLACE INTO mem_tree_connection_kv VALUES (?,?,?)",
                (connection_id, key, json.dumps(value, ensure_ascii=False)),
            )

    def known_page(self, connection_id: int, after: int) -> tuple[str, int | None]:
        """A JSON array of `KnownItem` fields: first the stored items by number, then (negative positions) the issues.

        SQLite writes the JSON: a run over a hundred thousand unchanged files spends most of its time on these rows.
        """
        if after >= 0:
            last = self._db.value(
                "SELECT item_no FROM mem_tree_items WHERE connection_id = ? AND item_no > ? ORDER BY item_no LIMIT 1 OFFSET ?",
                (connection_id, after, _PAGE - 1),
            )
            rows = self._db.value(
                "SELECT json_group_array(json_array(item_id, revision, locator, size, mtime_ns, digest)) FROM mem_tree_items "
                "WHERE connection_id = ? AND item_no > ? AND item_no <= ?",
                (connection_id, after, last or _MAX_ROWID),
            )
            return rows, last or -1
        skip = -after - 1
        issues = self._db.row(
            "SELECT json_group_array(json_array(item_id, '', locator, size, mtime_ns, digest, state, code, message, next_step, "
            "json(iif(retryable, 'true', 'false')))), count(*) FROM (SELECT * FROM mem_tree_item_issues WHERE connection_id = ? "
            "ORDER BY item_id LIMIT ? OFFSET ?)",
            (connection_id, _PAGE, skip),
        )
        assert issues is not None
        return issues[0], -(skip + _PAGE) - 1 if issues[1] == _PAGE else None

    def known_item(self, connection_id: int, item_id: str) -> tuple[Any, ...] | None:
        """One row of `known_page`'s first kind."""
        return self._db.row(
            "SELECT item_id, revision, locator, size, mtime_ns, digest FROM mem_tree_items WHERE connection_id = ? AND item_id = ?",
            (connection_id, item_id),
        )

    def stored_items(self, connection_id: int) -> Iterator[tuple[str, str, str, int]]:
        """`(item_id, locator, title, chunks)` of every stored item."""
        yield from self._db.each(
            "SELECT item_id, locator, title, (SELECT count(*) FROM mem_tree_item_chunks c WHERE c.item_no = i.item_no) FROM mem_tree_items i "
            "WHERE connection_id = ? ORDER BY item_no",
            (connection_id,),
        )

    def item_ids(self, connection_id: int, scope: str) -> set[str]:
        """Ids of the stored items of a scope."""
        return {
            item_id
            for (item_id,) in self._db.each(
                "SELECT item_id FROM mem_tree_items WHERE connection_id = ? AND scope = ?", (connection_id, scope)
            )
        }

    def issue_ids(self, connection_id: int, scope: str) -> set[str]:
        """Ids of the skipped and failed items of a scope."""
        return {
            row[0]
            for row in self._db.each(
                "SELECT item_id FROM mem_tree_item_issues WHERE connection_id = ? AND scope = ?", (connection_id, scope)
            )
        }

    def put_issue(self, connection_id: int, issue: Issue, now_ms: int) -> None:
        """Remember why an item is not stored; the same issue again counts as one more attempt."""
        self._db.run(
            "INSERT INTO mem_tree_item_issues (item_id, connection_id, scope, state, code, message, next_step, retryable, attempts, locator, size, "
            "mtime_ns, digest, first_at_ms, last_at_ms) VALUES (?,?,?,?,?,?,?,?,1,?,?,?,?,?,?) ON CONFLICT (item_id) DO UPDATE SET scope = excluded.scope, "
            "state = excluded.state, code = excluded.code, message = excluded.message, next_step = excluded.next_step, retryable = excluded.retryable, "
            "attempts = attempts + 1, locator = excluded.locator, size = excluded.size, mtime_ns = excluded.mtime_ns, digest = excluded.digest, last_at_ms = excluded.last_at_ms",
            (
                issue.item_id, connection_id, issue.scope, issue.state, issue.code, issue.message, issue.next_step, issue.retryable,
                issue.locator, issue.size, issue.mtime_ns, issue.digest, now_ms, now_ms,
            ),
        )  # fmt: skip

    def drop_issue(self, item_id: str) -> None:
        """The item was read, or is gone."""
        self._db.run("DELETE FROM mem_tree_item_issues WHERE item_id = ?", (item_id,))

    def issues(self, state: str | None = None, limit: int = 1000) -> list[Issue]:
        """Failed items first, then by id."""
        rows = self._db.rows(
            "SELECT item_id, scope, state, code, message, next_step, retryable, locator, size, mtime_ns, digest, attempts FROM mem_tree_item_issues "
            "WHERE ? IS NULL OR state = ? ORDER BY state, item_id LIMIT ?",
            (state, state, limit),
        )
        return [Issue(**dict(zip(_ISSUE_FIELDS, row, strict=True)) | {"retryable": bool(row[6])}) for row in rows]

    # -- runs -----------------------------------------------------------------------------------------------------

    def begin_run(self, connection_id: int, now_ms: int) -> int:
        """Open a run; runs that a killed process left open are marked as interrupted."""
        self._db.run(
            "UPDATE mem_tree_runs SET status = 'interrupted', ended_at_ms = ?, message = 'the process was ended before the run was' "
            "WHERE connection_id = ? AND status = 'running'",
            (now_ms, connection_id),
        )
        self._db.run(
            "INSERT INTO mem_tree_runs (connection_id, started_at_ms, status) VALUES (?, ?, 'running')",
            (connection_id, now_ms),
        )
        return self._db.last_id()

    def end_run(self, run_id: int, status: str, counts: dict[str, int], message: str, now_ms: int) -> None:
        """Close a run."""
        self._db.run(
            "UPDATE mem_tree_runs SET ended_at_ms = ?, status = ?, counts_json = ?, message = ? WHERE run_id = ?",
            (now_ms, status, json.dumps(counts), message, run_id),
        )

    def last_run(self, connection_id: int) -> tuple[str, int, int | None, dict[str, int], str] | None:
        """`(status, started_at_ms, ended_at_ms, counts, message)` of the newest run."""
        row = self._db.row(
            "SELECT status, started_at_ms, ended_at_ms, counts_json, message FROM mem_tree_runs WHERE connection_id = ? ORDER BY run_id DESC LIMIT 1",
            (connection_id,),
        )
        return (row[0], row[1], row[2], json.loads(row[3]), row[4]) if row else None

    def last_success(self, connection_id: int) -> int | None:
        """When the newest run ended that was done, in milliseconds."""
        moment = self._db.value(
            "SELECT max(ended_at_ms) FROM mem_tree_runs WHERE connection_id = ? AND status = 'done'", (connection_id,)
        )
        return None if moment is None else int(moment)

    def progress(self, connection_id: int) -> Progress:
        """What a connection has stored, and how much of that is done; see `Progress`."""
        items, passages, last = self._db.row(
            "SELECT count(*), coalesce(sum(passage_count), 0), max(updated_at_ms) FROM mem_tree_items WHERE connection_id = ?",
            (connection_id,),
        ) or (0, 0, None)
        chunks, pending, dropped, total, examined = self._db.row(
            "SELECT count(*), coalesce(sum(status = 'pending_extraction'), 0), coalesce(sum(status = 'dropped'), 0), coalesce(sum(made >= ?2), 0), "
            "coalesce(sum(made >= ?2 AND status != 'pending_extraction'), 0) FROM (SELECT DISTINCT c.id, c.lifecycle_status AS status, c.created_at_ms AS made "
            "FROM mem_tree_items i JOIN mem_tree_item_chunks ic ON ic.item_no = i.item_no JOIN mem_tree_chunks c ON c.id = ic.chunk_id WHERE i.connection_id = ?1)",
            (connection_id, (last or 0) - _WAVE_MS),
        ) or (0, 0, 0, 0, 0)
        issues = dict(
            self._db.rows(
                "SELECT state, count(*) FROM mem_tree_item_issues WHERE connection_id = ? GROUP BY state",
                (connection_id,),
            )
        )
        searchable = self._db.value(
            f"SELECT count(*) FROM mem_tree_items i JOIN mem_tree_passages_fts_docsize d ON d.id >= i.item_no << {PASSAGE_BITS} "
            f"AND d.id < (i.item_no + 1) << {PASSAGE_BITS} WHERE i.connection_id = ?",
            (connection_id,),
        )
        return Progress(
            items,
            chunks,
            pending,
            dropped,
            passages,
            int(searchable),
            issues.get("failed", 0),
            issues.get("skipped", 0),
            last,
            total,
            examined,
        )
