"""The manifest of an item: what `rebuild` needs beside the chunk files to give the same ids and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sapwood.vault.paths import MANIFESTS, is_inside

SCHEMA = 1
_dump = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


@dataclass(frozen=True, slots=True)
class ManifestChunk:
    """A chunk of an item: slice `[start, end)` of the item's text, what was put around it, and its file."""

    chunk_id: str
    seq: int
    start: int
    end: int
    prefix: str
    suffix: str
    path: str
    sha256: str
    tokens: int
    headings: tuple[str, ...]
    pages: tuple[int, ...]
    range_ms: tuple[int, int] | None
    source_ref: str

    def to_json(self) -> list[Any]:
        """The fields in order."""
        return [
            self.chunk_id, self.seq, self.start, self.end, self.prefix, self.suffix, self.path, self.sha256, self.tokens,
            list(self.headings), list(self.pages), list(self.range_ms) if self.range_ms else None, self.source_ref,
        ]  # fmt: skip

    @classmethod
    def from_json(cls, row: list[Any]) -> ManifestChunk:
        """The inverse of `to_json`."""
        chunk_id, seq, start, end, prefix, suffix, path, sha256, tokens, headings, pages, span, source_ref = row
        if not is_inside(path):
            raise ValueError(f"the path {path!r} leads out of the vault")
        moments = (span[0], span[1]) if span else None
        return cls(
            chunk_id,
            seq,
            start,
            end,
            prefix,
            suffix,
            path,
            sha256,
            tokens,
            tuple(headings),
            tuple(pages),
            moments,
            source_ref,
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """An item on disk. `item` holds the columns of its row, `segments` its spans, `chunks` its chunk list."""

    item: dict[str, Any]
    segments: list[list[Any]]
    chunks: list[ManifestChunk]

    def to_text(self) -> str:
        """JSON with one chunk or segment a line, so that a diff of the vault says something."""
        head = _dump(self.item)
        segments = ",\n  ".join(map(_dump, self.segments))
        chunks = ",\n  ".join(_dump(c.to_json()) for c in self.chunks)
        return f'{{"schema": {SCHEMA},\n "item": {head},\n "segments": [{segments}],\n "chunks": [{chunks}]}}\n'

    @classmethod
    def from_text(cls, text: str) -> Manifest:
        """The inverse of `to_text`.

        Raises:
            ValueError: no manifest, or one of a newer schema.
        """
        try:
            data = json.loads(text)
            if data["schema"] > SCHEMA:
                raise ValueError(f"schema {data['schema']} is newer than {SCHEMA}")
            return cls(data["item"], data["segments"], [ManifestChunk.from_json(row) for row in data["chunks"]])
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"is no manifest ({type(error).__name__}: {error})") from error


def manifest_files(vault: Path) -> Iterator[Path]:
    """The files of all manifests, sorted."""
    folder = vault / MANIFESTS
    if folder.is_dir():
        for part in sorted(folder.iterdir()):
            if part.is_dir():
                yield from sorted(part.glob("*.json"))
