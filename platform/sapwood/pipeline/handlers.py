"""Which handler does which kind of job."""

from __future__ import annotations

from sapwood.ingest.followup import EXTRACT
from sapwood.jobs.workers import Handler
from sapwood.pipeline.extract import extract_chunk

HANDLERS: dict[str, Handler] = {EXTRACT: extract_chunk}
