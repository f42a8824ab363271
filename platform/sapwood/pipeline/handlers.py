"""Which handler does which kind of job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sapwood.config import load_settings
from sapwood.ingest.followup import APPEND, ASK, DIGEST, EMBED, EXTRACT, FLUSH, ROUTE, SEAL, TAG
from sapwood.jobs.workers import Handler
from sapwood.pipeline.ask_model import ModelExtractor
from sapwood.pipeline.embed import PassageEmbedder
from sapwood.pipeline.extract import ChunkExtractor
from sapwood.pipeline.grow import DigestHandler, SealHandler, append_buffer, flush_stale
from sapwood.pipeline.tag import NoteTagger
from sapwood.pipeline.topics import TopicHandler
from sapwood.workspace import Workspace

__all__ = ["Handlers", "open_handlers"]

_IDLE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Handlers:
    """Handlers by kind of job, threads by lane, and what is to be told how long there has been nothing to do.

    Jobs that ask a model have a lane of their own and wait for each other; all others never wait for a model.
    """

    by_kind: Mapping[str, Handler]
    lanes: Mapping[str, int]
    on_idle: Callable[[float], None]


@contextmanager
def open_handlers(workspace: Workspace) -> Iterator[Handlers]:
    """The handlers of a workspace, with what they hold open for as long as the workers run."""
    workers = load_settings(workspace.config_file).workers
    embedder = PassageEmbedder(workspace)
    extractor = ChunkExtractor(workspace, workers)
    model = ModelExtractor(workspace)
    sealer = SealHandler(workspace)
    try:
        yield Handlers(
            {
                EXTRACT: extractor,
                ASK: model,
                EMBED: embedder,
                TAG: NoteTagger(workspace),
                APPEND: append_buffer,
                SEAL: sealer,
                FLUSH: flush_stale,
                ROUTE: TopicHandler(workspace),
                DIGEST: DigestHandler(workspace),
            },
            {"work": workers, "model": 1},
            lambda seconds: extractor.close() if seconds > _IDLE_SECONDS else None,  # its processes hold dictionaries
        )
    finally:
        extractor.close()
        model.close()
        sealer.close()
        embedder.close()
