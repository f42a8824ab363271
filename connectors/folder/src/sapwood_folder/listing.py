"""What a listing means beside what is stored: unchanged, to be read, moved."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from sapwood.sdk import KnownItem
from sapwood_folder.walk import Entry, display_path


class Known:
    """Stored items, failures and skips by where they lie; members of an archive under the archive's path.

    Attributes:
        by_locator: the items of each place.
        unread: places that hold an item which is not stored.
    """

    def __init__(self, items: Iterable[KnownItem]) -> None:
        self.by_locator: dict[str, list[KnownItem]] = {}
        self.unread: set[str] = set()
        by_locator = self.by_locator
        for item in items:
            place = item.locator
            if "!/" in place:
                place = place.partition("!/")[0]
            if place in by_locator:
                by_locator[place].append(item)
            else:
                by_locator[place] = [item]
            if item.state != "stored":
                self.unread.add(place)

    @cached_property
    def ids(self) -> set[str]:
        """Every id that is taken."""
        return {item.item_id for items in self.by_locator.values() for item in items}


class Listing:
    """Sorts the entries of a walk.

    Attributes:
        unchanged: stored, skipped or failed items whose file has the same size and time.
        changed: entries to be read.
        skipped: entries that are not read, with their reasons.
    """

    def __init__(self, entries: list[Entry], known: Known, *, retry_failed: bool = False) -> None:
        self.known = known
        self._entries = entries
        self._retry_failed = retry_failed
        self.unchanged: list[KnownItem] = []
        self.changed: list[Entry] = []
        self.skipped: list[Entry] = []
        self._taken: set[str] = set()
        by_locator, unread = known.by_locator, known.unread
        unchanged = self.unchanged
        for entry in entries:  # the loop that every unchanged file of a run goes through
            path, size, mtime_ns, skip, _ = entry
            if skip:
                self.skipped.append(entry)
                continue
            if not (path.isascii() and path.isprintable()):
                path = display_path(path)
            items = by_locator.get(path)
            if (
                items is None
                or (first := items[0]).mtime_ns != mtime_ns
                or first.size != size
                or (path in unread and _retried(items, retry_failed))
            ):
                self.changed.append(entry)
            else:
                unchanged += items

    @cached_property
    def _vanished(self) -> dict[str, list[KnownItem]]:
        """Stored items whose files are not where they were, by digest."""
        present = {display_path(entry.path) for entry in self._entries}
        vanished: dict[str, list[KnownItem]] = defaultdict(list)
        for locator, items in self.known.by_locator.items():
            if locator not in present:
                for item in items:
                    if item.digest and item.state == "stored":
                        vanished[item.digest].append(item)
        return vanished

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
