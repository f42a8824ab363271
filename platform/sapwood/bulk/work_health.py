"""What `status` says about the slow work: what waits, why, and what of it is dead; and how far the vectors are."""

from __future__ import annotations

from collections import Counter

from sapwood.checks import Check
from sapwood.clock import from_ms, iso_z
from sapwood.config import Settings
from sapwood.errors import StoreError
from sapwood.models.choice import NO_MODEL
from sapwood.store.database import Database
from sapwood.store.jobs import JobStore
from sapwood.store.vectors import Model, VectorStore
from sapwood.workspace import Workspace

__all__ = ["vector_agreement", "vectors", "work"]

_SHOWN = 5


def work(database: Database, dropped_chunks: int, dropped_passages: int) -> list[Check]:
    """Pending, deferred and failed jobs and dropped chunks, each with a number and a reason."""
    store = JobStore(database)
    states: Counter[str] = Counter()
    for kinds in store.counts_by_kind().values():
        states.update(kinds)
    pending = states["ready"] + states["running"]
    return [
        Check(
            "pending work", True, f"{pending} jobs" if pending else "none",
            "`sapwood work` does it." if pending else "", {"jobs": store.counts_by_kind()},
        ),
        _deferred(store, states["deferred"]),
        _failed(store, states["failed"]),
        Check(
            "dropped", True, f"{dropped_chunks} chunks that say nothing; a search finds them with --include-dropped",
            facts={"chunks": dropped_chunks, "passages": dropped_passages},
        ),
    ]  # fmt: skip


def _deferred(store: JobStore, number: int) -> Check:
    rows = store.listed("deferred", _SHOWN) if number else []
    reasons = list(
        dict.fromkeys(f"{row.last_error or row.kind}, until {iso_z(from_ms(row.available_at_ms))}" for row in rows)
    )
    return Check(
        "deferred work", True, f"{number} jobs: {'; '.join(reasons)}" if number else "none", facts={"jobs": number, "reasons": reasons}
    )  # fmt: skip


def _failed(store: JobStore, number: int) -> Check:
    if not number:
        return Check("failed work", True, "none", facts={"jobs": 0})
    named = [
        f"{row.kind} {row.payload.get('chunk_id', '')}".strip() + f": {row.last_error}"
        for row in store.listed("failed", _SHOWN)
    ]
    more = f"; and {number - len(named)} more" if number > len(named) else ""
    return Check(
        "failed work", False, f"{number} jobs failed for good: {'; '.join(named)}{more}",
        "sapwood jobs list --status failed shows them; sapwood jobs retry tries again.", {"jobs": number},
    )  # fmt: skip


def vectors(workspace: Workspace, database: Database, settings: Settings) -> list[Check]:
    """For each model: how many passages can be found by its vectors, and which texts it gave none for."""
    if settings.embedding_model == NO_MODEL:
        return [Check("searchable by vectors", True, "off: embedding_model is none", facts={"vectors": 0})]
    store = VectorStore(database, workspace.embeddings)
    try:
        with store.attached() as there:
            models = store.models() if there else []
            checks = [_model(store, model, settings) for model in models]
    except StoreError as error:
        return [Check("searchable by vectors", False, str(error), facts={"vectors": 0})]
    if any(model.name == settings.embedding_model for model in models):
        return checks
    waiting = Check(
        "searchable by vectors", True, f"none yet with {settings.embedding_model}", "`sapwood work` makes them.", {"vectors": 0, "model": settings.embedding_model}
    )  # fmt: skip
    return [waiting, *checks]


def _model(store: VectorStore, model: Model, settings: Settings) -> Check:
    totals = store.totals(model)
    chosen = model.name == settings.embedding_model
    detail = f"{totals.stored} passages with {model.signature}"
    if chosen:
        detail += f", {totals.missing} to come" if totals.missing else ""
    elif any(other.complete and other.name == settings.embedding_model for other in store.models()):
        detail += f": not in use any more; `sapwood embed --drop {model.name}` removes them"
    else:
        detail += ": they serve until the chosen model has all"
    step = ""
    if totals.failed:
        first = "; ".join(f"passage {passage}: {reason}" for passage, reason in store.failures(model, _SHOWN))
        detail += f", {totals.failed} texts without one ({first})"
        step = "`sapwood embed --retry-failed` tries them again."
    return Check(
        "searchable by vectors" if chosen else f"vectors of {model.name}", not totals.failed, detail, step,
        {"model": model.name, "signature": model.signature, "vectors": totals.stored, "missing": totals.missing, "failed": totals.failed, "complete": model.complete},
    )  # fmt: skip


def vector_agreement(workspace: Workspace, database: Database, settings: Settings) -> Check:
    """That live passages are the vectors of the chosen model, once its work is done."""
    name = "live passages = vectors"
    if settings.embedding_model == NO_MODEL:
        return Check(name, True, "off: embedding_model is none")
    store = VectorStore(database, workspace.embeddings)
    try:
        with store.attached() as there:
            models = [m for m in store.models() if m.name == settings.embedding_model] if there else []
            if not models:
                return Check(name, True, "none yet; `sapwood work` makes them")
            model = models[-1]
            totals, strays = store.totals(model), store.strays(model)
    except StoreError as error:
        return Check(name, False, str(error))
    facts = {
        "signature": model.signature,
        "vectors": totals.stored,
        "missing": totals.missing,
        "failed": totals.failed,
        "strays": strays,
    }
    waits = "embed_passages" in JobStore(database).counts_by_kind()
    if waits and (totals.missing or strays):
        return Check(
            name,
            True,
            f"{totals.stored} vectors, {totals.missing} to come, {strays} to go; `sapwood work` does it",
            facts=facts,
        )
    good = not totals.missing and not strays
    detail = (
        f"{totals.stored} of {model.signature}"
        if good
        else f"{totals.missing} passages have none, {strays} vectors have no passage"
    )
    return Check(name, good, detail, "" if good else "Run `sapwood embed`.", facts)
