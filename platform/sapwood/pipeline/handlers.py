"""Which handler does which kind of job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sapwood.ingest.followup import EMBED, EXTRACT, TAG
from sapwood.jobs.workers import Handler
from sapwood.pipeline.embed import PassageEmbedder
from sapwood.pipeline.extract import ChunkExtractor
from sapwood.pipeline.tag import NoteTagger
from sapwood.workspace import Workspace

__all__ = ["LANES", "open_handlers"]

LANES = {"work": 2, "model": 1}
"""Threads by lane: jobs that ask a model wait for each other, all others never for a model."""


@contextmanager
def open_handlers(workspace: Workspace) -> Iterator[Mapping[str, Handler]]:
    """The handlers of a workspace, with what they hold open for as long as the workers run."""
    embedder = PassageEmbedder(workspace)
    extractor = ChunkExtractor(LANES["work"])
    try:
        yield {EXTRACT: extractor, EMBED: embedder, TAG: NoteTagger(workspace)}
    finally:
        extractor.close()
        embedder.close()
