"""Which handler does which kind of job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sapwood.ingest.followup import APPEND, ASK, EMBED, EXTRACT, FLUSH, SEAL, TAG
from sapwood.jobs.workers import Handler
from sapwood.pipeline.ask_model import ModelExtractor
from sapwood.pipeline.embed import PassageEmbedder
from sapwood.pipeline.extract import ChunkExtractor
from sapwood.pipeline.grow import SealHandler, append_buffer, flush_stale
from sapwood.pipeline.tag import NoteTagger
from sapwood.workspace import Workspace

__all__ = ["LANES", "Handlers", "open_handlers"]

_IDLE_SECONDS = 60.0

LANES = {"work": 2, "model": 1}
"""Threads by lane: jobs that ask a model wait for each other, all others never for a model."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """Handlers by kind of job, and what is to be told how long there has been nothing to do."""

    by_kind: Mapping[str, Handler]
    on_idle: Callable[[float], None]


@contextmanager
def open_handlers(workspace: Workspace) -> Iterator[Handlers]:
    """The handlers of a workspace, with what they hold open for as long as the workers run."""
    embedder = PassageEmbedder(workspace)
    extractor = ChunkExtractor(workspace, LANES["work"])
    model = ModelExtractor(workspace)
    try:
        yield Handlers(
            {
                EXTRACT: extractor,
                ASK: model,
                EMBED: embedder,
                TAG: NoteTagger(workspace),
                APPEND: append_buffer,
                SEAL: SealHandler(workspace),
                FLUSH: flush_stale,
            },
            lambda seconds: extractor.close() if seconds > _IDLE_SECONDS else None,  # its processes hold dictionaries
        )
    finally:
        extractor.close()
        model.close()
        embedder.close()
