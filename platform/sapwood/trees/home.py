"""`Home.md`, where a person begins to read the vault, and Obsidian's settings for it.

Both are offers: settings are only made where there are none, and a page that somebody has changed is left for them.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from sapwood.store.database import Database
from sapwood.store.summaries import SummaryStore
from sapwood.store.trees import TreeStore, tree_id_of
from sapwood.trees import calendar
from sapwood.trees.nodes import load_nodes
from sapwood.vault import frontmatter
from sapwood.vault.chunkfile import body_sha256
from sapwood.vault.links import link_to, plain
from sapwood.vault.paths import DAILY, REPORTS, topic_page_path
from sapwood.workspace import Workspace, write_atomically

__all__ = ["write_home"]

_DAYS, _WEEKS, _MONTHS, _SOURCES, _TOPS, _TOPICS, _REPORTS = 7, 4, 12, 30, 10, 50, 5
_SETTINGS = {
    "graph.json": {
        "colorGroups": [
            {"query": "path:daily", "color": {"a": 1, "rgb": 14725458}}, {"query": "path:summaries", "color": {"a": 1, "rgb": 5431378}},
            {"query": "path:topics", "color": {"a": 1, "rgb": 10040012}},
            {"query": "path:raw", "color": {"a": 1, "rgb": 8421504}},
        ]
    },
    "types.json": {
        "types": {"date": "datetime", "time_range_start": "datetime", "time_range_end": "datetime", "sealed_at": "datetime", "level": "number", "edited": "checkbox"}
    },
}  # fmt: skip


def write_home(workspace: Workspace, database: Database) -> None:
    """Write the page anew when it would read otherwise, and the settings that are missing."""
    for name, settings in _SETTINGS.items():
        file = workspace.vault / ".obsidian" / name
        if not file.exists():
            write_atomically(file, json.dumps(settings, indent=2) + "\n")
    page = workspace.vault / "Home.md"
    body = _body(workspace, database)
    text = f"{frontmatter.compose({'kind': 'home', 'sha256': body_sha256(body)})}{body}"
    try:
        fields, held = frontmatter.parse(page.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        fields, held = ({}, "") if not page.exists() else (None, "")
    is_ours = not page.exists() or (fields is not None and fields.get("sha256") == body_sha256(held))
    if is_ours and held != body:
        write_atomically(page, text)


def _body(workspace: Workspace, database: Database) -> str:
    lines = ["# Home", ""]
    keys = sorted((PurePosixPath(path).stem for path in SummaryStore(database).ids_by_path(DAILY)), reverse=True)
    levels = {level: [key for key in keys if calendar.level_of(key) == level] for level in range(4)}
    if levels[0]:
        lines += ["## Days", "", *(f"- [[{key}]]" for key in levels[0][:_DAYS]), ""]
        for name, level, most in (("Weeks", 1, _WEEKS), ("Months", 2, _MONTHS), ("Years", 3, None)):
            if levels[level]:
                lines += [f"{name}: {' · '.join(f'[[{key}]]' for key in levels[level][:most])}", ""]
    sources = _sources(database)
    if sources:
        lines += ["## Sources", "", *sources, ""]
    topics = [tree for tree in TreeStore(database).trees("topic") if tree.status == "active"][:_TOPICS]
    if topics:
        pages = [f"- {link_to(PurePosixPath(topic_page_path(tree.scope)).stem, tree.title)}" for tree in topics]
        lines += ["## Topics", "", *pages, ""]
    folder = workspace.vault / REPORTS
    reports = sorted((file.stem for file in folder.glob("*.md")), reverse=True)[:_REPORTS] if folder.is_dir() else []
    if reports:
        lines += ["## Imports", "", *(f"- [[{name}]]" for name in reports), ""]
    return "\n".join(lines)


def _sources(database: Database) -> list[str]:
    """Each folder, channel or mailbox: a link to what is told of it as a whole, else what stands in it so far, the newest first."""
    trees, lines = TreeStore(database), []
    rows = trees.overview()
    for row in rows[:_SOURCES]:
        path = SummaryStore(database).path_of(row["root"]) if row["root"] and not row["waiting"] else None
        if path:
            lines.append(f"- {link_to(PurePosixPath(path).stem, row['title'])}")
            continue
        tops = trees.tops(tree_id_of("source", row["scope"]))
        told = SummaryStore(database).many(tops)
        nodes = sorted(load_nodes(database, tops), key=lambda node: (-(node.range_ms or (0, 0))[1], node.node_id))
        if nodes:
            lines += [
                f"- {plain(row['title'])}",
                *(
                    f"  - {link_to(n.link, told[n.node_id].title if n.node_id in told else n.title)}"
                    for n in nodes[:_TOPS]
                ),
            ]
        if len(nodes) > _TOPS:
            lines.append(f"  - {len(nodes) - _TOPS} more")
    return [*lines, f"- {len(rows) - _SOURCES} more"] if len(rows) > _SOURCES else lines
