"""A topic's page in the vault: what is told of somebody or something, what was said lately, and who is named with them.

What a person writes below the last heading is theirs, and stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path, PurePosixPath
from typing import Any

from sapwood.clock import from_ms, zone
from sapwood.config import load_settings
from sapwood.store.database import Database
from sapwood.store.entities import EntityStore
from sapwood.store.hotness import MOMENTS
from sapwood.store.identities import IdentityStore
from sapwood.store.items import ItemStore
from sapwood.store.summaries import SummaryRow, SummaryStore
from sapwood.store.trees import TreeRow, TreeStore, tree_id_of
from sapwood.trees.focus import names_of, passages_naming
from sapwood.vault import frontmatter
from sapwood.vault.chunkfile import body_sha256, entity_tags, without_heading
from sapwood.vault.files import keep_changed
from sapwood.vault.links import link_to, plain
from sapwood.vault.paths import topic_page_path
from sapwood.workspace import Workspace, write_atomically

__all__ = ["NOTES", "keep_notes", "page_notes", "restore_topics", "write_topic_page"]

NOTES = "## Notes"
_LATELY, _WITH, _TOLD, _SNIPPET = 20, 12, 5, 200


def write_topic_page(workspace: Workspace, database: Database, tree_id: str, notes: str | None = None) -> None:
    """Write a topic's page anew when it would read otherwise.

    One whose upper part somebody has changed goes into the trash first; what stands below `## Notes` is kept, and `notes` are put
    in its place where they are given. Properties and tags of a person's own are kept too.
    """
    tree = TreeStore(database).tree(tree_id)
    if tree is None:
        return
    days = load_settings(workspace.config_file).timezone
    body = _body(database, tree, days)
    file = workspace.vault / topic_page_path(tree.scope)
    held = _held(file)
    fields, text = frontmatter.parse(held) if held else ({}, "")
    upper, below = _parted(text)
    if notes is not None:
        below = f"{NOTES}\n\n{notes}\n"
    if held and (fields is None or fields.get("sha256") not in (body_sha256(upper), body_sha256(body))):
        keep_changed(workspace, file.name, held)
    page = (
        f"{frontmatter.compose(_with_own(_fields(database, tree, body), fields or {}))}{body}{below or NOTES + chr(10)}"
    )
    if page != held:
        write_atomically(file, page)


def page_notes(workspace: Workspace, scope: str) -> str:
    """What a person wrote on a topic's page; empty for nothing."""
    _, text = frontmatter.parse(_held(workspace.vault / topic_page_path(scope)))
    return _parted(text)[1].removeprefix(NOTES).strip()


def keep_notes(workspace: Workspace, notes: list[str]) -> None:
    """Put what a person wrote on pages that are no more into the trash, where it can be found."""
    keep_changed(workspace, "notes.md", "\n\n".join(notes) + "\n")


def _with_own(ours: dict[str, object], held: Mapping[str, Any]) -> dict[str, object]:
    own = {name: value for name, value in held.items() if name not in ours}
    tags, had = ours["tags"], held.get("tags")
    assert isinstance(tags, list)
    extra = (
        [tag for tag in had if isinstance(tag, str) and tag not in tags]
        if isinstance(had, list) and held.get("kind") == "topic"
        else []
    )
    # Tags of ours that are of before, such as those of an old name, are left out.
    return {**ours, "tags": [*tags, *(tag for tag in extra if "/" not in tag)], **own}


def restore_topics(workspace: Workspace, database: Database) -> list[tuple[str, str]]:
    """Make topic trees anew out of their pages, without what they tell; which pages could not be used, with the reason."""
    lost: list[tuple[str, str]] = []
    trees = TreeStore(database)
    for file in sorted(workspace.vault.glob("topics/*.md")):
        fields, _ = frontmatter.parse(_held(file))
        path = file.relative_to(workspace.vault).as_posix()
        if fields is None or fields.get("kind") != "topic":
            continue  # a note of the user's
        try:
            scope, title, began, status = (
                str(fields["tree_scope"]),
                str(fields["title"]),
                int(fields["created_at_ms"]),
                str(fields["status"]),
            )
            if topic_page_path(scope) != path or status not in ("active", "archived"):
                raise ValueError("is a copy, or lies elsewhere than it was written")
        except (KeyError, TypeError, ValueError) as error:
            lost.append((path, f"cannot be used ({error}); the topic comes back when it is hot"))
            continue
        trees.set_status(trees.open("topic", scope, title, began), status)
    return lost


def _held(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    except OSError:
        return ""


def _parted(text: str) -> tuple[str, str]:
    """What is ours of a page, and what is the user's."""
    at = text.find(f"\n{NOTES}")
    return (text, "") if at < 0 else (text[: at + 1], text[at + 1 :])


def _fields(database: Database, tree: TreeRow, body: str) -> dict[str, object]:
    group = IdentityStore(database).group([tree.scope])
    written = EntityStore(database).surfaces(group)
    kind = tree.scope.partition(":")[0]
    return {
        "kind": "topic", "title": tree.title, "tree_id": tree.tree_id, "tree_scope": tree.scope, "entity_ids": group, "status": tree.status,
        "created_at_ms": tree.created_at_ms,
        "aliases": list(dict.fromkeys([tree.title, *written[:_WITH]])), "tags": ["topic", *entity_tags([(kind, tree.title)])], "sha256": body_sha256(body),
    }  # fmt: skip


def _body(database: Database, tree: TreeRow, timezone: str) -> str:
    group = IdentityStore(database).group([tree.scope])
    names = names_of(database, group)
    lines = [f"# {plain(tree.title)}", ""]
    if tree.status == "archived":
        lines += ["Nothing has been said lately; this page goes on when something is.", ""]
    lines += _told(database, tree, timezone)
    lines += _lately(database, group, names, timezone)
    lines += _named_with(database, group)
    return "\n".join(lines) + "\n"


def _told(database: Database, tree: TreeRow, timezone: str) -> list[str]:
    summaries = SummaryStore(database).many(TreeStore(database).tops(tree.tree_id)).values()
    newest = sorted(summaries, key=lambda s: (-(s.range_ms[1] if s.range_ms else 0), s.summary_id))[:_TOLD]
    if not newest:
        return []
    names = [PurePosixPath(s.path).stem for s in newest]
    days = zone(timezone)
    links = [f"- {link_to(name, s.title)}{_days(s, days)}" for name, s in zip(names, newest, strict=True)]
    return ["## Told", "", *links, "", f"![[{names[0]}]]", ""]


def _days(summary: SummaryRow, days: tzinfo) -> str:
    """Of which days a summary tells: several of one topic have the same title."""
    if summary.range_ms is None:
        return ""
    first, last = (from_ms(ms).astimezone(days).date().isoformat() for ms in summary.range_ms)
    return f", {first}" if first == last else f", {first} to {last}"


def _lately(database: Database, group: list[str], names: list[str], timezone: str) -> list[str]:
    lines: list[str] = []
    days = zone(timezone)
    for chunk_id in EntityStore(database).leaves(group, None, None, _LATELY):
        found = ItemStore(database).with_chunk(chunk_id)
        if found is None:
            continue
        item, chunk = found
        moment = EntityStore(database).moment_of(chunk_id)
        date = from_ms(moment).astimezone(days).date().isoformat() if moment is not None else "no date"
        rows = passages_naming(database, chunk_id, chunk.shown, names)
        said = plain(
            without_heading((chunk.shown[rows[-1].start : rows[-1].end] if rows else chunk.shown).lstrip("\n"))
        )
        short = said if len(said) <= _SNIPPET else said[:_SNIPPET].rstrip() + " …"
        lines.append(f"- {date} · {link_to(PurePosixPath(chunk.content_path).stem, item.title)}: {short}")
    return ["## Lately", "", *lines, ""] if lines else []


def _named_with(database: Database, group: list[str]) -> list[str]:
    identities, trees = IdentityStore(database), TreeStore(database)
    counts: dict[str, int] = {}
    for entity_id, kind, count in EntityStore(database).named_with(group):
        if kind not in MOMENTS:
            head = identities.head(entity_id)
            counts[head] = max(count, counts.get(head, 0))
    often = sorted(counts, key=lambda head: (-counts[head], head))[:_WITH]
    lines: list[str] = []
    for head in often:
        name = identities.name_of(head)
        is_told = trees.tree(tree_id_of("topic", head)) is not None
        lines.append(
            f"- {link_to(PurePosixPath(topic_page_path(head)).stem, name) if is_told else plain(name)}: {counts[head]}"
        )
    return ["## Named with", "", *lines, ""] if lines else []
