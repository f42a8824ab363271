"""Where things lie below `wiki/`. Paths are relative, with `/`, safe on every file system."""

from __future__ import annotations

import hashlib

from sapwood.text.names import short_hash, slug

MANIFESTS = ".sapwood/items"
DECISIONS = ".sapwood/decisions.jsonl"
FORGOTTEN = ".sapwood/forgotten.jsonl"
FORGOTTEN_KEY = ".sapwood/forgotten.key"
REPORTS = "reports"
DAILY = "daily/"
OURS = (".sapwood/", ".obsidian/", "raw/", "summaries/", "topics/", "daily/", "reports/", "Home.md")
SUMMARY_FOLDERS = ("summaries/", "topics/", "daily/")


def is_inside(path: str) -> bool:
    """True for a path that stays below the folder that it is relative to."""
    return (
        bool(path)
        and not path.startswith(("/", "\\"))
        and "\0" not in path
        and ".." not in path.replace("\\", "/").split("/")
    )


def source_slug(source_id: str) -> str:
    """A folder name for a source: the last part of its id, readable, and eight hex digits of the whole id."""
    last = source_id.rstrip("/").rpartition("/")[2] or source_id
    if last == source_id:
        last = source_id.rpartition(":")[2] or source_id
    readable = slug(last, limit=70)
    tail = short_hash(source_id)
    # A slug that lost information ends in a hash of the part; the hash of the whole id says more.
    if readable.endswith(f"-{short_hash(last)}"):
        readable = readable[:-9]
    return f"{readable}-{tail}"


def chunk_path(kind: str, source_id: str, seq: int, chunk_id: str) -> str:
    """`raw/<kind>/<source-slug>/<seq>-<id16>.md`"""
    return f"raw/{kind}/{source_slug(source_id)}/{seq:04d}-{chunk_id[:16]}.md"


def manifest_path(item_id: str) -> str:
    """`.sapwood/items/<aa>/<hash>.json`"""
    digest = hashlib.sha256(item_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{MANIFESTS}/{digest[:2]}/{digest[2:34]}.json"


def summary_path(tree_kind: str, scope: str, level: int, summary_id: str) -> str:
    """`summaries/<scope-slug>/L<level>-<id16>.md`, for topics `topics/<scope-slug>/…`."""
    folder = {"source": "summaries", "topic": "topics"}[tree_kind]
    return f"{folder}/{source_slug(scope)}/L{level}-{summary_id.rpartition(':')[2][:16]}.md"


def topic_page_path(scope: str) -> str:
    """`topics/<scope-slug>.md`"""
    return f"topics/{source_slug(scope)}.md"


def digest_path(key: str) -> str:
    """`daily/<day, week, month or year>.md`"""
    return f"{DAILY}{key}.md"
