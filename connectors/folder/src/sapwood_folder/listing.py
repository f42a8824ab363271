"""What a listing means beside what is stored: unchanged, to be read, moved."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from sapwood.sdk import KnownItem
from sapwood_folder.walk import Entry, display_path


@dataclass(slots=True)
class Known:
    """Stored items, failures and skips by where they lie; members of an archive under the archive's path."""

    by_locator: dict[str, list[KnownItem]] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)

    @classmethod
    def load(cls, items: Iterable[KnownItem]) -> Known:
        """Index them."""
        known = cls()
        for item in items:
            place = item.locator.partition("!/")[0] if "!/" in item.locator else item.locator
            known.by_locator.setdefault(place, []).append(item)
            known.ids.add(item.item_id)
        return known


class Listing:
    """Sorts the entries of a walk.

    Attributes:
        unchanged: stored, skipped or failed items whose file has the same size and time.
        changed: entries to be read.
        skipped: entries that are not read, with their reasons.
    """

    def __init__(self, entries: list[Entry], known: Known, *, retry_failed: bool = False) -> None:
        self.known = known
        self._retry_failed = retry_failed
        self.unchanged: list[KnownItem] = []
        self.changed: list[Entry] = []
        self.skipped: list[Entry] = []
        self._taken: set[str] = set()
        present: set[str] = set()
        by_locator = known.by_locator
        unchanged = self.unchanged
        for entry in entries:
            path = entry.path if entry.path.isascii() else display_path(entry.path)
            present.add(path)
            if entry.skip:
                self.skipped.append(entry)
                continue
            items = by_locator.get(path)
            if (
                items
                and items[0].size == entry.size
                and items[0].mtime_ns == entry.mtime_ns
                and not _retried(items, retry_failed)
            ):
                unchanged += items
            else:
                self.changed.append(entry)
        self._vanished: dict[str, list[KnownItem]] = defaultdict(list)
        for locator, items in by_locator.items():
            if locator not in present:
                for item in items:
                    if item.digest and item.state == "stored":
                        self._vanished[item.digest].append(item)

    def same_content(self, entry: Entry, digest: str) -> list[KnownItem]:
        """The stored items of this file when its bytes have not changed, only its time."""
        items = self.known.by_locator.get(display_path(entry.path), [])
        same = bool(items) and all(item.digest == digest for item in items)
        return items if same and not _retried(items, self._retry_failed) else []

    def id_for(self, scope: str, path: str, digest: str) -> str:
        """The id of a file: the one it has, the one of the vanished file with the same content, or a new one."""
        held = next((i for i in self.known.by_locator.get(path.partition("!/")[0], []) if i.locator == path), None)
        if held:
            return held.item_id
        name = path.rpartition("/")[2]
        candidates = [
            i
            for i in self._vanished.get(digest, [])
            if i.item_id not in self._taken and ("!/" in i.locator) == ("!/" in path)
        ]
        if "!/" in path:  # a member moves with its archive
            candidates = [i for i in candidates if i.locator.partition("!/")[2] == path.partition("!/")[2]]
        candidates.sort(key=lambda i: (i.locator.rpartition("/")[2] != name, i.locator))
        if candidates:
            self._taken.add(candidates[0].item_id)
            return candidates[0].item_id
        item_id = fresh_id(scope, path)
        if item_id in self.known.ids:  # a moved file still holds the id of this place
            item_id = f"{item_id}~{hashlib.sha256(f'{path}:{digest}'.encode()).hexdigest()[:8]}"
        return item_id


def fresh_id(scope: str, path: str) -> str:
    """The id of a file that is seen for the first time."""
    return f"{scope}:{path}"


def _retried(items: list[KnownItem], retry_failed: bool) -> bool:
    return any(item.retryable or (retry_failed and item.state != "stored") for item in items)
