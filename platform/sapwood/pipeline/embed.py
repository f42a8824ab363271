"""`embed_passages`: a vector for every passage, the newest first, in slices that let the worker stop in between."""

from __future__ import annotations

from array import array
from dataclasses import replace
from pathlib import Path

from sapwood.clock import now_ms
from sapwood.config import Settings, load_settings
from sapwood.errors import ConfigurationError, DamagedStoreError
from sapwood.ingest.followup import embedding
from sapwood.ingest.passages import passage_text
from sapwood.jobs.outcome import Done, Err, Outcome
from sapwood.models.choice import NO_MODEL, open_embedder
from sapwood.models.embedder import Embedder, EmbedderStuck, Vector
from sapwood.models.http import ModelMisconfigured, ModelRefused, ModelUnavailable
from sapwood.pipeline.chunk_jobs import until_available
from sapwood.sdk.sources import Kind
from sapwood.store.database import Database
from sapwood.store.jobs import JobRow, JobStore
from sapwood.store.passages import PassageTexts
from sapwood.store.vectors import Model, VectorStore
from sapwood.workspace import Workspace

__all__ = ["PassageEmbedder"]

_SLICE = 256  # passages a job
_BATCH = 32  # texts a request
_TOP = 1 << 62
_NO_VECTOR = "the model gives no vector for it"
_ENDS_MODEL = "the model's process ends or hangs over it"


class PassageEmbedder:
    """The handler. Which model is asked is read from the settings anew for each slice, so that a change counts at once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._opened: tuple[Settings, Embedder] | None = None

    def __call__(self, job: JobRow, database: Database) -> Outcome:
        """Fill in one slice; the job that fills the next one is put in with this one's end."""
        try:
            settings = load_settings(self._workspace.config_file)
            vectors = VectorStore(database, self._workspace.embeddings)
            if settings.embedding_model == NO_MODEL:
                return Done()
            embedder = self._embedder(settings)
            below = int(job.payload.get("below", _TOP))
            with vectors.attached(create=True):
                if below == _TOP:
                    vectors.purge()
                model = vectors.add_model(
                    embedder.signature, settings.embedding_model, settings.embedding_url, settings.embedding_key
                )
                lowest = self._fill(database, vectors, model, embedder, below)
                if lowest is None and below == _TOP:
                    vectors.set_complete(model, now_ms())
                    return Done()
        except ModelUnavailable as error:
            return until_available(error)
        except (ModelMisconfigured, ConfigurationError) as error:
            return Err(str(error), retryable=False)
        except DamagedStoreError as error:
            if Path(error.subject) == self._workspace.embeddings and error.cause.startswith("is damaged"):
                VectorStore(database, self._workspace.embeddings).remove()
            return Err(str(error))
        # At the end of a pass, or in one that found all filled in but what came meanwhile, look from the top again.
        return Done(lambda: JobStore(database).enqueue([embedding(lowest)], now_ms()))

    def close(self) -> None:
        """Let go of the model."""
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None

    def _embedder(self, settings: Settings) -> Embedder:
        if self._opened is None or self._opened[0] != settings:
            self.close()
            self._opened = (settings, open_embedder(settings.embedding_model, settings, self._workspace.memory_tree))
        return self._opened[1]

    def _fill(
        self, database: Database, vectors: VectorStore, model: Model, embedder: Embedder, below: int
    ) -> int | None:
        """Make the vectors of one slice; the lowest passage in it, None when nothing was missing below."""
        missing = vectors.missing(model, below, _SLICE)
        if not missing:
            return None
        known = vectors.known(model, sorted({hashed for _, hashed in missing}))
        found: dict[int, Vector] = dict(known)
        failures: dict[int, str] = {}
        texts = PassageTexts(database).of([passage_id for passage_id, hashed in missing if hashed not in known])
        wanted = {hashed: texts[passage_id] for passage_id, hashed in missing if passage_id in texts}
        hashes = list(wanted)
        try:
            for at in range(0, len(hashes), _BATCH):
                batch = hashes[at : at + _BATCH]
                texts_of = [passage_text(Kind(wanted[h].kind), wanted[h].author, wanted[h].body) for h in batch]
                for hashed, (vector, reason) in zip(batch, _encode(embedder, texts_of), strict=True):
                    if vector is None:
                        failures[hashed] = reason
                    else:
                        model = _with_dims(vectors, model, vector)
                        found[hashed] = vector
        finally:  # what was made before a model failed is kept
            vectors.put(
                model,
                [(passage_id, hashed, found[hashed]) for passage_id, hashed in missing if hashed in found],
                [(passage_id, hashed, failures[hashed]) for passage_id, hashed in missing if hashed in failures],
            )
        return missing[-1][0]


def _encode(embedder: Embedder, texts: list[str]) -> list[tuple[Vector | None, str]]:
    """A vector or a reason for each text. When the model's process ends over a batch, its texts go one by one: the text
    that ends it again is named, the others are not held up by it."""
    try:
        return [(vector, _NO_VECTOR) for vector in embedder.encode(texts)]
    except EmbedderStuck:
        if len(texts) == 1:
            return [(None, _ENDS_MODEL)]
        return [answer for text in texts for answer in _encode(embedder, [text])]
    except ModelRefused as error:
        if len(texts) == 1:
            raise
        refusal = error
    answers: list[tuple[Vector | None, str]] = []
    for text in texts:
        try:
            answers += _encode(embedder, [text])
        except ModelRefused as error:
            answers.append((None, error.cause))
    if not any(vector for vector, _ in answers):
        raise refusal  # it is not the texts
    return answers


def _with_dims(vectors: VectorStore, model: Model, vector: Vector) -> Model:
    dims = len(vector) // array("f").itemsize
    if dims % 8:
        raise ModelMisconfigured(
            f"the embedding model {model.name}", f"gives {dims} numbers, which is no multiple of 8"
        )
    if model.dims and model.dims != dims:
        raise ModelMisconfigured(
            f"the embedding model {model.name}", f"gives {dims} numbers where it gave {model.dims} before",
            "Put the old model back, or begin anew: sapwood rebuild --vectors",
        )  # fmt: skip
    if model.dims:
        return model
    vectors.set_dims(model, dims)
    return replace(model, dims=dims)
