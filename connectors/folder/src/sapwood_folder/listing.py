"""What a listing means beside what is stored: unchanged, to be read, moved."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from sapwood.sdk import KnownItem
from sapwood_folder.walk import Entry, display_path


class Known:
    """Stored items, failures and skips by where they lie; members of an archive under the archive's path."""

    def __init__(self, items: Iterable[KnownItem]) -> None:
        self.items = list(items)
        # Most places hold one stored item. The rest, looked at again, are archives, skips and failures.
        self.plain = {i.locator: i for i in self.items if i.state == "stored" and "!/" not in i.locator}
        self._several: dict[str, list[KnownItem]] = {}
        if len(self.plain) < len(self.items):
            for item in self.items:
                if self.plain.get(item.locator) is not item:
                    self._several.setdefault(item.locator.partition("!/")[0], []).append(item)
            for place, items_there in self._several.items():
                if place in self.plain:
                    items_there.insert(0, self.plain.pop(place))

    def at(self, place: str) -> list[KnownItem]:
        """Everything that is known of the file at this place."""
        if (item := self.plain.get(place)) is not None:
            return [item]
        return self._several.get(place, [])

    @cached_property
    def ids(self) -> set[str]:
        """Every id that is taken."""
        return {item.item_id for item in self.items}


class Listing:
    """Sorts what a walk found.

    Attributes:
        unchanged: ids of stored items whose file has the same size and time.
        again: skipped or failed items whose file has the same size and time.
        changed: files to be read.
    """

    def __init__(
        self, files: list[tuple[str, int, int]], skipped: list[Entry], known: Known, *, retry_failed: bool = False
    ) -> None:
        self.known = known
        self.skipped = skipped
        self._files = files
        self._retry_failed = retry_failed
        self.unchanged: list[str] = []
        self.again: list[KnownItem] = []
        self.changed: list[Entry] = []
        self._taken: set[str] = set()
        stored, same = known.plain.get, self.unchanged.append
        for path, size, mtime_ns in files:  # what every unchanged file of a run goes through
            item = stored(path)
            if item is not None and item.mtime_ns == mtime_ns and item.size == size:
                same(item.item_id)
            else:
                self._sort(path, size, mtime_ns)

    def _sort(self, path: str, size: int, mtime_ns: int) -> None:
        there = self.known.at(display_path(path))
        same = [i for i in there if i.mtime_ns == mtime_ns and i.size == size]
        # A failed file may still have its old version stored, under the same id.
        ids = {i.item_id for i in same}
        if not same or self._retried(same) or any(i.item_id not in ids for i in there):
            self.changed.append(Entry(path, size, mtime_ns))
            return
        self.unchanged += [i.item_id for i in same if i.state == "stored"]
        self.again += [i for i in same if i.state != "stored"]

    def _retried(self, items: list[KnownItem]) -> bool:
        return any(item.retryable or (self._retry_failed and item.state != "stored") for item in items)

    @cached_property
    def _vanished(self) -> dict[str, list[KnownItem]]:
        """Stored items whose files are not where they were, by digest."""
        present = {display_path(path) for path, _, _ in self._files}
        present |= {display_path(entry.path) for entry in self.skipped}
        vanished: dict[str, list[KnownItem]] = defaultdict(list)
        for item in self.known.items:
            if item.digest and item.state == "stored" and item.locator.partition("!/")[0] not in present:
                vanished[item.digest].append(item)
        return vanished

    def same_content(self, entry: Entry, digest: str) -> list[KnownItem]:
        """The items of this file when its bytes have not changed, only its time."""
        items = self.known.at(display_path(entry.path))
        same = bool(items) and all(item.digest == digest for item in items)
        return items if same and not self._retried(items) else []

    def id_for(self, scope: str, path: str, digest: str) -> str:
        """The id of a file: the one it has, the one of the vanished file with the same content, or a new one."""
        held = next((i for i in self.known.at(path.partition("!/")[0]) if i.locator == path), None)
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
