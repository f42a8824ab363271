"""The tables, as numbered migrations. A migration that has shipped is never edited; a change is a new number."""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE mem_tree_connections (
        connection_id INTEGER PRIMARY KEY,
        connector TEXT NOT NULL,
        account TEXT NOT NULL,
        name TEXT NOT NULL,
        checkpoint_json TEXT,
        created_at_ms INTEGER NOT NULL,
        UNIQUE (connector, account)
    );
    CREATE TABLE mem_tree_connection_kv (
        connection_id INTEGER NOT NULL REFERENCES mem_tree_connections ON DELETE CASCADE,
        key TEXT NOT NULL,
        value_json TEXT NOT NULL,
        PRIMARY KEY (connection_id, key)
    ) WITHOUT ROWID;
    CREATE TABLE mem_tree_runs (
        run_id INTEGER PRIMARY KEY,
        connection_id INTEGER NOT NULL REFERENCES mem_tree_connections ON DELETE CASCADE,
        started_at_ms INTEGER NOT NULL,
        ended_at_ms INTEGER,
        status TEXT NOT NULL,
        counts_json TEXT NOT NULL DEFAULT '{}',
        message TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX mem_tree_runs_by_connection ON mem_tree_runs (connection_id, run_id);

    CREATE TABLE mem_tree_items (
        item_no INTEGER PRIMARY KEY,
        item_id TEXT NOT NULL UNIQUE,
        connection_id INTEGER NOT NULL REFERENCES mem_tree_connections,
        source_id TEXT NOT NULL,
        scope TEXT NOT NULL,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        author TEXT NOT NULL,
        timestamp_ms INTEGER,
        date_source TEXT NOT NULL,
        revision TEXT NOT NULL,
        final INTEGER NOT NULL,
        metadata_json TEXT NOT NULL,
        segments_json TEXT NOT NULL,
        content_sha256 TEXT NOT NULL,
        metadata_sha256 TEXT NOT NULL,
        locator TEXT NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        digest TEXT NOT NULL,
        ingested_at_ms INTEGER NOT NULL,
        updated_at_ms INTEGER NOT NULL,
        passage_count INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX mem_tree_items_by_connection ON mem_tree_items (connection_id, item_no);
    CREATE INDEX mem_tree_items_by_source ON mem_tree_items (source_id);
    CREATE INDEX mem_tree_items_by_time ON mem_tree_items (timestamp_ms);

    CREATE TABLE mem_tree_chunks (
        id TEXT PRIMARY KEY,
        source_kind TEXT NOT NULL,
        source_id TEXT NOT NULL,
        source_ref TEXT,
        owner TEXT NOT NULL,
        timestamp_ms INTEGER,
        time_range_start_ms INTEGER,
        time_range_end_ms INTEGER,
        tags_json TEXT NOT NULL,
        content TEXT NOT NULL,
        token_count INTEGER NOT NULL,
        seq_in_source INTEGER NOT NULL,
        created_at_ms INTEGER NOT NULL,
        parent_summary_id TEXT,
        lifecycle_status TEXT NOT NULL DEFAULT 'pending_extraction',
        content_path TEXT NOT NULL UNIQUE,
        content_sha256 TEXT NOT NULL,
        headings_json TEXT NOT NULL DEFAULT '[]',
        pages_json TEXT NOT NULL DEFAULT '[]',
        file_size INTEGER NOT NULL DEFAULT 0,
        file_mtime_ns INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX mem_tree_chunks_by_source ON mem_tree_chunks (source_kind, source_id, seq_in_source);
    CREATE INDEX mem_tree_chunks_by_lifecycle ON mem_tree_chunks (lifecycle_status);

    CREATE TABLE mem_tree_chunk_bodies (
        chunk_id TEXT PRIMARY KEY REFERENCES mem_tree_chunks ON DELETE CASCADE,
        original BLOB NOT NULL,
        edited BLOB,
        edited_at_ms INTEGER,
        original_lost INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE TABLE mem_tree_edit_conflicts (
        chunk_id TEXT PRIMARY KEY,
        item_id TEXT NOT NULL,
        original BLOB NOT NULL,
        edited BLOB NOT NULL,
        noticed_at_ms INTEGER NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE mem_tree_item_chunks (
        item_no INTEGER NOT NULL REFERENCES mem_tree_items ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        chunk_id TEXT NOT NULL REFERENCES mem_tree_chunks,
        start_at INTEGER NOT NULL,
        end_at INTEGER NOT NULL,
        prefix TEXT NOT NULL,
        suffix TEXT NOT NULL,
        PRIMARY KEY (item_no, seq)
    ) WITHOUT ROWID;
    CREATE INDEX mem_tree_item_chunks_by_chunk ON mem_tree_item_chunks (chunk_id);

    CREATE TABLE mem_tree_passages (
        passage_id INTEGER PRIMARY KEY,
        seq INTEGER NOT NULL,
        start_at INTEGER NOT NULL,
        end_at INTEGER NOT NULL,
        timestamp_ms INTEGER,
        author TEXT NOT NULL,
        native_id TEXT NOT NULL,
        source_ref TEXT NOT NULL,
        page INTEGER
    );
    CREATE VIRTUAL TABLE mem_tree_passages_fts USING fts5 (
        title, body, dates,
        content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
    );

    CREATE TABLE mem_tree_score (
        chunk_id TEXT PRIMARY KEY REFERENCES mem_tree_chunks ON DELETE CASCADE,
        total REAL NOT NULL,
        token_count_signal REAL NOT NULL,
        unique_words_signal REAL NOT NULL,
        metadata_weight REAL NOT NULL,
        source_weight REAL NOT NULL,
        interaction_weight REAL NOT NULL,
        entity_density REAL NOT NULL,
        dropped INTEGER NOT NULL DEFAULT 0,
        reason TEXT,
        computed_at_ms INTEGER NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE mem_tree_item_issues (
        item_id TEXT PRIMARY KEY,
        connection_id INTEGER NOT NULL REFERENCES mem_tree_connections ON DELETE CASCADE,
        scope TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('failed', 'skipped')),
        code TEXT NOT NULL,
        message TEXT NOT NULL,
        next_step TEXT NOT NULL,
        retryable INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        locator TEXT NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        digest TEXT NOT NULL,
        first_at_ms INTEGER NOT NULL,
        last_at_ms INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX mem_tree_item_issues_by_connection ON mem_tree_item_issues (connection_id, state);

    CREATE TABLE mem_tree_unlinks (path TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE mem_tree_redactions (
        source_id TEXT NOT NULL,
        class TEXT NOT NULL,
        hits INTEGER NOT NULL,
        PRIMARY KEY (source_id, class)
    ) WITHOUT ROWID;
    CREATE TABLE mem_tree_state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    """,
    # Before this number foreign keys were off, and bodies and scores outlived their chunks.
    """
    DELETE FROM mem_tree_chunk_bodies WHERE chunk_id NOT IN (SELECT id FROM mem_tree_chunks);
    DELETE FROM mem_tree_score WHERE chunk_id NOT IN (SELECT id FROM mem_tree_chunks);
    """,
    # Every run looks at every file of the vault and at every item's id: out of these, not out of rows with previews and segments.
    """
    CREATE INDEX mem_tree_chunks_by_file ON mem_tree_chunks (content_path, file_size, file_mtime_ns);
    CREATE INDEX mem_tree_items_by_scope ON mem_tree_items (connection_id, scope, item_id);
    """,
    """
    CREATE TABLE mem_tree_jobs (
        job_no INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        payload_json TEXT NOT NULL,
        dedupe_key TEXT,
        lane TEXT NOT NULL,
        priority INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('ready', 'deferred', 'running', 'failed')),
        attempts INTEGER NOT NULL DEFAULT 0,
        max_attempts INTEGER NOT NULL DEFAULT 5,
        available_at_ms INTEGER NOT NULL,
        worker_id TEXT,
        claim_token TEXT,
        lease_until_ms INTEGER,
        last_error TEXT NOT NULL DEFAULT '',
        created_at_ms INTEGER NOT NULL,
        started_at_ms INTEGER
    );
    CREATE UNIQUE INDEX mem_tree_jobs_by_key ON mem_tree_jobs (dedupe_key) WHERE status != 'failed';
    CREATE INDEX mem_tree_jobs_ready ON mem_tree_jobs (lane, priority, job_no) WHERE status = 'ready';
    CREATE INDEX mem_tree_jobs_due ON mem_tree_jobs (available_at_ms) WHERE status = 'deferred';
    CREATE INDEX mem_tree_jobs_running ON mem_tree_jobs (worker_id) WHERE status = 'running';
    CREATE INDEX mem_tree_jobs_failed ON mem_tree_jobs (job_no) WHERE status = 'failed';
    CREATE TABLE mem_tree_entity_index (
        entity_id TEXT NOT NULL,
        node_id TEXT NOT NULL,
        node_kind TEXT NOT NULL CHECK (node_kind IN ('leaf', 'summary')),
        entity_kind TEXT NOT NULL,
        surface TEXT NOT NULL,
        score REAL NOT NULL,
        timestamp_ms INTEGER,
        tree_id TEXT,
        PRIMARY KEY (entity_id, node_id)
    ) WITHOUT ROWID;
    CREATE INDEX mem_tree_entity_index_by_node ON mem_tree_entity_index (node_id);
    CREATE TABLE mem_tree_entity_aliases (
        alias_id TEXT PRIMARY KEY,
        entity_id TEXT NOT NULL,
        origin TEXT NOT NULL
    ) WITHOUT ROWID;
    ALTER TABLE mem_tree_score ADD COLUMN llm_importance REAL;
    ALTER TABLE mem_tree_score ADD COLUMN llm_importance_reason TEXT;
    """,
    # What a passage's vector was made from. Passages of before get a number of their own: no text has it, and each is its own.
    """
    ALTER TABLE mem_tree_passages ADD COLUMN text_hash INTEGER NOT NULL DEFAULT 0;
    UPDATE mem_tree_passages SET text_hash = -passage_id;
    CREATE TABLE mem_tree_dropped_passages (passage_id INTEGER PRIMARY KEY);
    ALTER TABLE mem_tree_jobs ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE mem_tree_people (
        name TEXT NOT NULL,
        address TEXT NOT NULL,
        PRIMARY KEY (name, address)
    ) WITHOUT ROWID;
    CREATE TABLE mem_tree_note_tags (chunk_id TEXT PRIMARY KEY) WITHOUT ROWID;
    """,
    # How often in a row the process ended that had a job: no fault of the job, in most cases. Entities of retired chunks stayed
    # in the index before.
    """
    ALTER TABLE mem_tree_jobs ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
    DELETE FROM mem_tree_entity_index WHERE node_id NOT IN (SELECT id FROM mem_tree_chunks);
    """,
    # Trees. A node is a chunk or a summary; buffers hold what is to be summarised next, one row a node. Chunks of before are
    # examined once more, so that they come into their trees and days.
    """
    CREATE TABLE mem_tree_trees (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('source', 'topic', 'global')),
        scope TEXT NOT NULL,
        title TEXT NOT NULL,
        root_id TEXT,
        max_level INTEGER NOT NULL DEFAULT 0,
        status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived')),
        created_at_ms INTEGER NOT NULL,
        last_sealed_at_ms INTEGER,
        UNIQUE (kind, scope)
    ) WITHOUT ROWID;
    CREATE TABLE mem_tree_buffers (
        tree_id TEXT NOT NULL REFERENCES mem_tree_trees ON DELETE CASCADE,
        level INTEGER NOT NULL,
        node_id TEXT NOT NULL,
        token_count INTEGER NOT NULL,
        moment_ms INTEGER NOT NULL,
        place INTEGER NOT NULL,
        added_at_ms INTEGER NOT NULL,
        PRIMARY KEY (tree_id, level, node_id)
    ) WITHOUT ROWID;
    CREATE INDEX mem_tree_buffers_by_node ON mem_tree_buffers (node_id);
    CREATE INDEX mem_tree_buffers_by_age ON mem_tree_buffers (level, added_at_ms);
    CREATE TABLE mem_tree_summaries (
        summary_no INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        tree_id TEXT NOT NULL REFERENCES mem_tree_trees ON DELETE CASCADE,
        tree_kind TEXT NOT NULL,
        level INTEGER NOT NULL,
        parent_id TEXT,
        child_ids_json TEXT NOT NULL,
        title TEXT NOT NULL,
        content TEXT NOT NULL,
        body BLOB NOT NULL,
        token_count INTEGER NOT NULL,
        entities_json TEXT NOT NULL,
        topics_json TEXT NOT NULL,
        time_range_start_ms INTEGER,
        time_range_end_ms INTEGER,
        score REAL NOT NULL,
        sealed_at_ms INTEGER NOT NULL,
        summariser TEXT NOT NULL,
        stale INTEGER NOT NULL DEFAULT 0,
        content_path TEXT NOT NULL UNIQUE,
        content_sha256 TEXT NOT NULL
    );
    CREATE INDEX mem_tree_summaries_by_tree ON mem_tree_summaries (tree_id, level);
    CREATE INDEX mem_tree_summaries_stale ON mem_tree_summaries (level) WHERE stale;
    CREATE TABLE mem_tree_summary_children (
        summary_id TEXT NOT NULL REFERENCES mem_tree_summaries (id) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        child_id TEXT NOT NULL,
        PRIMARY KEY (summary_id, place)
    ) WITHOUT ROWID;
    CREATE INDEX mem_tree_summary_children_by_child ON mem_tree_summary_children (child_id);
    CREATE TABLE mem_tree_days (
        day TEXT NOT NULL,
        chunk_id TEXT NOT NULL REFERENCES mem_tree_chunks ON DELETE CASCADE,
        PRIMARY KEY (day, chunk_id)
    ) WITHOUT ROWID;
    CREATE INDEX mem_tree_days_by_chunk ON mem_tree_days (chunk_id);
    CREATE VIRTUAL TABLE mem_tree_summaries_fts USING fts5 (
        title, body,
        content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
    );
    INSERT OR IGNORE INTO mem_tree_jobs (id, kind, payload_json, dedupe_key, lane, priority, status, available_at_ms, created_at_ms)
        SELECT 'job:' || lower(hex(randomblob(16))), 'extract_chunk', json_object('chunk_id', id), 'extract:' || id, 'work', 60, 'ready', 0, 0
        FROM mem_tree_chunks WHERE lifecycle_status IN ('admitted', 'dropped');
    """,
    # Topics: who and what is named, asked for and told about, and what the user calls them.
    """
    CREATE INDEX mem_tree_entity_index_by_time ON mem_tree_entity_index (entity_id, timestamp_ms) WHERE node_kind = 'leaf';
    CREATE INDEX mem_tree_entity_aliases_by_entity ON mem_tree_entity_aliases (entity_id);
    CREATE INDEX mem_tree_summaries_by_kind ON mem_tree_summaries (tree_kind, level, content_path);
    CREATE INDEX mem_tree_trees_by_root ON mem_tree_trees (root_id);
    CREATE TABLE mem_tree_entity_names (entity_id TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE mem_tree_hotness (
        entity_id TEXT PRIMARY KEY,
        hotness REAL NOT NULL DEFAULT 0,
        mentions INTEGER NOT NULL DEFAULT 0,
        last_ms INTEGER NOT NULL,
        unseen INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE TABLE mem_tree_entity_queries (
        entity_id TEXT NOT NULL,
        day INTEGER NOT NULL,
        hits INTEGER NOT NULL,
        PRIMARY KEY (entity_id, day)
    ) WITHOUT ROWID;
    """,
    # Summaries that a language model or a person tells otherwise: why a model's text could not be taken, what was asked a day, what was
    # corrected by hand, and what a file looked like when it was last read.
    """
    ALTER TABLE mem_tree_summaries ADD COLUMN rejected TEXT NOT NULL DEFAULT '';
    ALTER TABLE mem_tree_summaries ADD COLUMN corrections_json TEXT NOT NULL DEFAULT '';
    ALTER TABLE mem_tree_trees ADD COLUMN corrections_json TEXT NOT NULL DEFAULT '';
    ALTER TABLE mem_tree_summaries ADD COLUMN file_size INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE mem_tree_summaries ADD COLUMN file_mtime_ns INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX mem_tree_summaries_to_retell ON mem_tree_summaries (summariser, level) WHERE NOT stale AND rejected = '';
    CREATE TABLE mem_tree_model_use (
        day TEXT NOT NULL,
        model TEXT NOT NULL,
        calls INTEGER NOT NULL,
        tokens_read INTEGER NOT NULL,
        tokens_written INTEGER NOT NULL,
        PRIMARY KEY (day, model)
    ) WITHOUT ROWID;
    """,
    # How somebody is written, without reading all that names them.
    "CREATE INDEX mem_tree_entity_index_by_name ON mem_tree_entity_index (entity_id, surface);",
)

PASSAGE_BITS = 20
"""A passage's id is its item's number shifted by this, plus its place in the item: neighbours differ by one and the
item is known without a look-up."""
