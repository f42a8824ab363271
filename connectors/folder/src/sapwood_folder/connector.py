"""The folder connector: list, compare, read what changed, say what is gone.

An unchanged file costs one stat. The listing comes first and whole, so that a file that moved is recognised (same
content, old place gone) and keeps its id.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from msgspec import structs
from pydantic import Field, field_validator

from sapwood.sdk import (
    API_VERSION,
    Capability,
    CheckpointModel,
    CheckReport,
    ConfigError,
    ConnectorConfig,
    ConnectorSpec,
    Converted,
    ConvertError,
    ConvertFile,
    ConvertLimits,
    Event,
    Failed,
    Fingerprint,
    ItemError,
    KnownItem,
    ListError,
    Member,
    Progress,
    PullRequest,
    Removed,
    RemovedReason,
    RunContext,
    ScopeComplete,
    SecretReference,
    Seen,
    SeenMany,
    Skipped,
)
from sapwood_folder.items import as_source, file_time
from sapwood_folder.listing import Known, Listing, fresh_id
from sapwood_folder.walk import Entry, Walk, display_path

STILL_SECONDS = 0.6  # a file that was written so recently may still be being written
_PATIENCE = 60.0
_HONEST_RATIO = 10


def _is_archive(name: str) -> bool:
    return name.lower().endswith((".zip", ".gz", ".mbox", ".mbx"))


class FolderConfig(ConnectorConfig):
    """Configuration of a folder."""

    root: str = Field(description="Absolute path of the folder.")
    include: tuple[str, ...] = Field((), description="Only files that match one of these patterns; empty for all.")
    exclude: tuple[str, ...] = Field((), description="Files and folders that match one of these are left out.")
    passwords: tuple[SecretReference, ...] = Field(
        (), description="Passwords to try on encrypted files, as references."
    )
    max_file_mb: int = Field(2000, ge=1, description="Larger files are skipped with a reason.")
    max_text_mb: int = Field(
        64, ge=1, description="Larger plain text, Markdown, JSON and HTML files are skipped with a reason."
    )

    @field_validator("root")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if not os.path.isabs(value):
            raise ValueError("give an absolute path")
        return value


class FolderCheckpoint(CheckpointModel):
    """Nothing: what is stored already says what is new."""


class FolderConnector:
    """Reads one folder."""

    def __init__(self, config: FolderConfig) -> None:
        self._config = config
        self._passwords: tuple[str, ...] = ()
        self._zone: tzinfo = UTC
        self._limits = ConvertLimits(text_bytes=config.max_text_mb * 1024 * 1024)

    def check(self, ctx: RunContext) -> CheckReport:
        """The folder's account is its name and a hash of its real path."""
        root = Path(self._config.root)
        if not root.is_dir():
            raise ConfigError(f"{root} is not a folder", field="root", hint="Give the path of a folder that exists.")
        real = os.path.realpath(root)
        digest = hashlib.sha256(os.fsencode(real)).hexdigest()[:8]
        name = display_path(os.path.basename(real)) or "root"
        safe = "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")[:40] or "folder"
        return CheckReport(f"{safe}-{digest}", title=name)

    def pull(self, ctx: RunContext, request: PullRequest) -> Iterator[Event]:
        """List, then read what is new or changed."""
        self._zone = ctx.zone
        scope = f"folder:{ctx.account}"
        walk = Walk(self._config.root, self._config.include, self._config.exclude, self._config.max_file_mb * 1_000_000)
        try:
            if request.containers:
                for path in request.containers:
                    walk.take(path)
            else:
                walk.run()
        except OSError as error:
            raise ListError(
                scope,
                f"The folder cannot be listed: {error.strerror or error}.",
                hint="Is its disk connected? Nothing was deleted.",
            ) from error
        known = Known(ctx.known.all())
        if not (walk.files or walk.skipped or walk.unlisted) and known.items and not request.may_be_empty:
            raise ListError(
                scope,
                "The folder is empty, but files of it are stored.",
                hint="Is its disk connected? Nothing was deleted. If all is really gone, import it with --confirm-deletes.",
            )
        listing = Listing(walk.files, walk.skipped, known, retry_failed=request.retry_failed)
        for folder, reason in walk.unlisted:
            problem = ItemError(
                "unreadable", f"the folder cannot be listed ({reason})", "Change its permissions.", stage="list"
            )
            yield Failed(f"{scope}:{folder}/", scope, problem, Fingerprint(f"{folder}/"))
        yield from self._unchanged(listing, scope)
        self._passwords = (
            tuple(ctx.secrets.get(reference) for reference in self._config.passwords) if listing.changed else ()
        )
        yield from self._changed(ctx, listing, scope)
        if not walk.unlisted and not request.containers and not ctx.cancelled():
            yield ScopeComplete(scope)

    def _unchanged(self, listing: Listing, scope: str) -> Iterator[Event]:
        if listing.unchanged:
            yield SeenMany(scope, tuple(listing.unchanged))
        for item in listing.again:
            yield _again(item, scope)
        for entry in listing.skipped:
            path = display_path(entry.path)
            held = listing.known.at(path)
            if entry.excluded:
                for item in held:
                    if item.state == "stored":
                        yield Removed(item.item_id, RemovedReason.OUT_OF_SCOPE)
            item_id = held[0].item_id if len(held) == 1 else fresh_id(scope, path)
            yield Skipped(item_id, scope, entry.skip, Fingerprint(path, entry.size, entry.mtime_ns))
            if not entry.excluded:
                yield from _kept(listing, path, scope, item_id)

    # -- reading --------------------------------------------------------------------------------------------------

    def _changed(self, ctx: RunContext, listing: Listing, scope: str) -> Iterator[Event]:
        if not listing.changed:
            return
        total = sum(entry.size for entry in listing.changed)
        done = 0
        yield Progress(0, total, unit="bytes")
        queue: list[tuple[Entry, str]] = []

        def files() -> Iterator[ConvertFile]:
            for entry, digest in self._settled(ctx, listing):
                queue.append((entry, digest))
                yield self._file(ctx, entry)

        # Events that need no conversion (touched, vanished, unreadable) are put here while files are drawn.
        self._aside: list[Event] = []
        for file, found in ctx.convert_all(files()):
            entry, digest = queue.pop(0)
            yield from self._take_aside()
            again = self._restat(entry)
            if again is not None and (again.size, again.mtime_ns) != (entry.size, entry.mtime_ns):
                yield from self._read_again(ctx, listing, again, scope)
            else:
                yield from self._emit(ctx, listing, entry, digest, file, found, scope)
            done += entry.size
            yield Progress(done, total, display_path(entry.path), unit="bytes")
        yield from self._take_aside()

    def _take_aside(self) -> Iterator[Event]:
        aside, self._aside = self._aside, []
        yield from aside

    def _settled(self, ctx: RunContext, listing: Listing) -> Iterator[tuple[Entry, str]]:
        """Changed files that stand still, with their digests; those that were just written come last."""
        young: list[Entry] = []
        now_ns = time.time_ns()
        for entry in listing.changed:
            if now_ns - entry.mtime_ns < STILL_SECONDS * 1e9:
                young.append(entry)
            else:
                yield from self._digested(ctx, listing, entry)
        deadline = time.monotonic() + _PATIENCE
        while young and not ctx.cancelled():
            newest = max(entry.mtime_ns for entry in young)
            ctx.sleep(min(max(STILL_SECONDS - (time.time_ns() - newest) / 1e9, 0.05), STILL_SECONDS))
            still: list[Entry] = []
            moving: list[Entry] = []
            for entry in young:
                now = self._restat(entry)
                if now is not None:
                    (still if (now.size, now.mtime_ns) == (entry.size, entry.mtime_ns) else moving).append(now)
            for entry in still:
                yield from self._digested(ctx, listing, entry)
            if moving and time.monotonic() > deadline:
                for entry in moving:
                    error = ItemError("busy", "is still being written", "It is read on the next run.", retryable=True)
                    self._aside += self._failed(listing, entry, error, ctx)
                return
            young = moving

    def _digested(self, ctx: RunContext, listing: Listing, entry: Entry) -> Iterator[tuple[Entry, str]]:
        scope = f"folder:{ctx.account}"
        try:
            digest = self._digest(entry)
        except FileNotFoundError:
            return  # gone since the listing: the next run sees what became of it
        except OSError as error:
            problem = ItemError(
                "unreadable",
                f"cannot be read ({error.strerror or error})",
                "Change its permissions, or check the disk.",
            )
            self._aside += self._failed(listing, entry, problem, ctx)
            return
        same = listing.same_content(entry, digest)
        if same:
            mark = Fingerprint(display_path(entry.path), entry.size, entry.mtime_ns, digest)
            self._aside += [_touched(item, replace(mark, locator=item.locator), scope) for item in same]
            return
        yield entry, digest

    def _digest(self, entry: Entry) -> str:
        with open(os.path.join(self._config.root, entry.path), "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()[:32]

    def _restat(self, entry: Entry) -> Entry | None:
        try:
            info = os.stat(os.path.join(self._config.root, entry.path), follow_symlinks=False)
        except OSError:
            return None
        return entry._replace(size=info.st_size, mtime_ns=info.st_mtime_ns)

    def _file(self, ctx: RunContext, entry: Entry) -> ConvertFile:
        # Any file may turn out to hold others, such as an mbox that is called .txt.
        workdir = str(ctx.tmp / hashlib.sha256(entry.path.encode("utf-8", "surrogatepass")).hexdigest()[:16])
        limits = self._limits
        if _is_archive(entry.path):
            # An honest archive of pictures is large and unpacks to little more; a bomb is small and unpacks to much.
            limits = replace(limits, unpacked_bytes=max(limits.unpacked_bytes, _HONEST_RATIO * entry.size))
        return ConvertFile(
            os.path.join(self._config.root, entry.path),
            display_path(entry.path).rpartition("/")[2],
            entry.size,
            file_time(entry.mtime_ns),
            workdir,
            self._passwords,
            limits,
        )

    def _read_again(self, ctx: RunContext, listing: Listing, entry: Entry, scope: str) -> Iterator[Event]:
        """The file changed while it was read: wait for it to stand still and read it once more."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            ctx.sleep(STILL_SECONDS)
            now = self._restat(entry)
            if now is None:
                return
            if now == entry:
                digest = self._digest(entry)
                file = self._file(ctx, entry)
                for _, found in ctx.convert_all([file]):
                    if self._restat(entry) == entry:
                        yield from self._emit(ctx, listing, entry, digest, file, found, scope)
                        return
            entry = self._restat(entry) or entry
        yield from self._failed(
            listing,
            entry,
            ItemError("busy", "is still being written", "It is read on the next run.", retryable=True),
            ctx,
        )

    # -- events ---------------------------------------------------------------------------------------------------

    def _emit(
        self,
        ctx: RunContext,
        listing: Listing,
        entry: Entry,
        digest: str,
        file: ConvertFile,
        found: Converted | ConvertError | None,
        scope: str,
    ) -> Iterator[Event]:
        path = display_path(entry.path)
        mark = Fingerprint(path, entry.size, entry.mtime_ns, digest)
        if isinstance(found, Converted) and found.members:
            yield from self._members(ctx, listing, path, mark, file, found, scope, 1)
            return
        yield from self._told(listing, path, mark, found, scope)

    def _told(
        self,
        listing: Listing,
        path: str,
        mark: Fingerprint,
        found: Converted | ConvertError | None,
        scope: str,
        source_id: str = "",
    ) -> Iterator[Event]:
        """What became of a file or a member; where it cannot be read, what is stored out of it stays."""
        item_id = listing.id_for(scope, path, mark.digest)
        yield self._event(item_id, path, mark, found, scope, source_id)
        if isinstance(found, ConvertError):
            yield from _kept(listing, path, scope, item_id)

    def _event(
        self,
        item_id: str,
        path: str,
        mark: Fingerprint,
        found: Converted | ConvertError | None,
        scope: str,
        source_id: str,
    ) -> Event:
        if found is None:
            extension = path.rpartition("/")[2].rpartition(".")[2].lower() if "." in path.rpartition("/")[2] else ""
            return Skipped(
                item_id,
                scope,
                f"files of type .{extension} are not read" if extension else "has no extension, and is no text",
                mark,
            )
        if isinstance(found, ConvertError):
            return Failed(
                item_id, scope, ItemError(found.code, found.message, found.next_step, "convert", found.retryable), mark
            )
        source = as_source(item_id, source_id or item_id, path, mark, found, scope, self._zone)
        return source if source is not None else Skipped(item_id, scope, "holds no text", mark)

    def _members(
        self,
        ctx: RunContext,
        listing: Listing,
        path: str,
        mark: Fingerprint,
        archive: ConvertFile,
        found: Converted,
        scope: str,
        depth: int,
    ) -> Iterator[Event]:
        """The files of an archive as items of their own: `<archive>!/<member>`, each with the archive's fingerprint."""
        deep = depth >= archive.limits.depth
        opened: list[Member] = []
        for member in found.members:
            reason = member.skipped
            if not reason and deep and _is_archive(member.name):
                reason = f"archives nested over {archive.limits.depth} deep are not opened"
            if reason:
                name = display_path(f"{path}!/{member.name}")
                yield Skipped(f"{scope}:{name}", scope, reason, replace(mark, locator=name))
            else:
                opened.append(member)
        # Bytes that the archives inside this one may still unpack to, all together.
        left = archive.limits.unpacked_bytes - sum(m.size for m in found.members if not m.skipped)

        def files() -> Iterator[ConvertFile]:
            for m in opened:
                inner = replace(self._limits, unpacked_bytes=max(left, 0)) if _is_archive(m.name) else self._limits
                yield self._member_file(m, inner)

        for member, (file, inner) in zip(opened, ctx.convert_all(files()), strict=False):
            name = display_path(f"{path}!/{member.name}")
            if isinstance(inner, Converted) and inner.members:
                left -= sum(m.size for m in inner.members)
                yield from self._members(ctx, listing, name, mark, file, inner, scope, depth + 1)
            else:
                source_id = f"{scope}:{display_path(path)}" if found.one_source else ""
                yield from self._told(listing, name, replace(mark, locator=name), inner, scope, source_id)
            Path(member.path).unlink(missing_ok=True)

    def _member_file(self, member: Member, limits: ConvertLimits) -> ConvertFile:
        name = member.name.rpartition("/")[2]
        unpacked = f"{member.path}.unpacked"
        return ConvertFile(member.path, name, member.size, member.modified, unpacked, self._passwords, limits)

    def _failed(self, listing: Listing, entry: Entry, error: ItemError, ctx: RunContext) -> list[Event]:
        path = display_path(entry.path)
        scope = f"folder:{ctx.account}"
        own = next((item for item in listing.known.at(path) if item.locator == path), None)
        item_id = own.item_id if own else fresh_id(scope, path)
        mark = Fingerprint(path, entry.size, entry.mtime_ns)
        return [Failed(item_id, scope, error, mark), *_kept(listing, path, scope, item_id)]


def _kept(listing: Listing, path: str, scope: str, told: str) -> Iterator[Event]:
    """What is stored out of a file that cannot be read this time, an mbox or an archive: it stays, for it was not seen to be gone."""
    for item in listing.known.at(path.partition("!/")[0]):
        inside = item.locator == path or item.locator.startswith(f"{path}!/")
        if item.state == "stored" and inside and item.item_id != told:
            yield Seen(item.item_id, scope, item.revision)


def _again(item: KnownItem, scope: str) -> Event:
    """A file that was skipped or failed and has not changed: the same verdict, without reading it."""
    mark = Fingerprint(item.locator, item.size, item.mtime_ns, item.digest)
    if item.state == "skipped":
        return Skipped(item.item_id, scope, item.problem, mark)
    return Failed(
        item.item_id, scope, ItemError(item.code, item.problem, item.next_step, "convert", item.retryable), mark
    )


def _touched(item: KnownItem, mark: Fingerprint, scope: str) -> Event:
    if item.state == "stored":
        return Seen(item.item_id, scope, item.revision, mark)
    return _again(structs.replace(item, size=mark.size, mtime_ns=mark.mtime_ns, digest=mark.digest), scope)


def _make(config: Any) -> FolderConnector:
    return FolderConnector(config)


SPEC = ConnectorSpec(
    key="folder",
    title="Folder of documents",
    api=API_VERSION,
    config_model=FolderConfig,
    checkpoint_model=FolderCheckpoint,
    factory=_make,
    capabilities=frozenset({Capability.INCREMENTAL, Capability.ENUMERATE, Capability.EDITS, Capability.OFFLINE}),
)
