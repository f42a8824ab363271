"""Which handler does which kind of job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sapwood.ingest.followup import EMBED, EXTRACT
from sapwood.jobs.workers import Handler
from sapwood.pipeline.embed import PassageEmbedder
from sapwood.pipeline.extract import extract_chunk
from sapwood.workspace import Workspace

__all__ = ["open_handlers"]


@contextmanager
def open_handlers(workspace: Workspace) -> Iterator[Mapping[str, Handler]]:
    """The handlers of a workspace, with what they hold open for as long as the workers run."""
    embedder = PassageEmbedder(workspace)
    try:
        yield {EXTRACT: extract_chunk, EMBED: embedder}
    finally:
        embedder.close()
