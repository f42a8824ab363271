"""The vector leg of a search: which passages mean what the query means, whatever words they use."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import structs

from sapwood.config import Settings
from sapwood.errors import SapwoodError
from sapwood.models.choice import NO_MODEL, open_embedder
from sapwood.store.search import Filters, SearchStore
from sapwood.store.vectors import Model, VectorStore

if TYPE_CHECKING:
    from pathlib import Path

    from sapwood.models.embedder import Embedder

__all__ = ["LIVE", "VectorAnswer", "VectorLeg"]

LIVE = "live"
_NEAREST = 400  # passages whose signs are nearest; among them are 99 in 100 of the ten nearest


@dataclass(frozen=True, slots=True)
class VectorAnswer:
    """Cosines by passage; `state` is `live`, or says why there are none or not all."""

    state: str
    cosines: dict[int, float] = field(default_factory=dict)
    strength: float = 0.0


class Asked:
    """A query that is on its way to the model, or the reason why it is not."""

    def __init__(
        self, leg: VectorLeg, reason: str, model: Model | None = None, vector: Future[list[bytes | None]] | None = None
    ) -> None:
        self._leg = leg
        self._reason = reason
        self._model = model
        self._vector = vector

    def answer(self, store: SearchStore, filters: Filters, also: list[int]) -> VectorAnswer:
        """Cosines of the nearest passages that pass the filters, and of `also`. Never raises for a model's sake."""
        model, pending = self._model, self._vector
        if model is None or pending is None:
            return VectorAnswer(self._reason)
        try:
            vector = pending.result()[0]
            if vector is None:
                return VectorAnswer("unavailable: the model gives no vector for this query")
            if len(vector) != 4 * model.dims:
                return VectorAnswer(
                    f"unavailable: {model.name} gives {len(vector) // 4} numbers, its vectors have {model.dims}"
                )
            cosines = self._leg.compare(model, vector, store, filters, also)
        except SapwoodError as error:
            return VectorAnswer(f"unavailable: {error}")
        return VectorAnswer(LIVE if model.complete else "live, still filling in", cosines, strength(model.name))


class VectorLeg:
    """Asks the model that serves: the chosen one once it is complete, before that the one that was.

    Args:
        settings: say which model is chosen.
        folder: of the local model's process.
        vectors: embeddings.db.
    """

    def __init__(self, settings: Settings, folder: Path, vectors: VectorStore) -> None:
        self._settings = settings
        self._folder = folder
        self._vectors = vectors
        self._embedders: dict[str, Embedder] = {}
        self._threads: ThreadPoolExecutor | None = None

    def begin(self, text: str) -> Asked:
        """Send a query to its model, which thinks while the full text is searched. Never raises for a model's sake."""
        if self._settings.embedding_model == NO_MODEL:
            return Asked(self, "off: embedding_model is none")
        try:
            with self._vectors.attached() as there:
                model = self._serving() if there else None
            if model is None:
                return Asked(self, "none yet: `sapwood work` makes them")
            embedder = self._embedder(model)
        except SapwoodError as error:
            return Asked(self, f"unavailable: {error}")
        if embedder is None:
            return Asked(self, f"unavailable: the vectors are of {model.signature}, which this version does not have")
        if self._threads is None:
            self._threads = ThreadPoolExecutor(1, "embed")
        return Asked(self, "", model, self._threads.submit(embedder.encode, [text], urgent=True))

    def compare(
        self, model: Model, vector: bytes, store: SearchStore, filters: Filters, also: list[int]
    ) -> dict[int, float]:
        """Cosines of the nearest passages that pass the filters, and of `also`."""
        with self._vectors.attached() as there:
            if not there:
                return {}
            where, bindings = store.where(filters, "b.passage_id")
            near = self._vectors.nearest(model, vector, _NEAREST, where, bindings)
            return self._vectors.cosines(model, vector, list(dict.fromkeys([*near, *also])))

    def close(self) -> None:
        """Let go of the models."""
        for embedder in self._embedders.values():
            embedder.close()
        self._embedders.clear()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None

    def _serving(self) -> Model | None:
        models = [model for model in self._vectors.models() if model.dims]
        chosen = [model for model in models if model.name == self._settings.embedding_model]
        complete = [model for model in models if model.complete]
        return next(iter([m for m in chosen if m.complete][-1:] or complete[-1:] or chosen[-1:]), None)

    def _embedder(self, model: Model) -> Embedder | None:
        if model.name not in self._embedders:
            # At the address and with the key that its vectors were made with: the settings may be another model's by now.
            own = structs.replace(self._settings, embedding_url=model.url, embedding_key=model.key_reference)
            self._embedders[model.name] = open_embedder(model.name, own, self._folder)
        embedder = self._embedders[model.name]
        return embedder if embedder.signature == model.signature else None


def strength(name: str) -> float:
    """How much a model's cosine counts beside full text, 0 to 1, as measured (`tests/bench`): hashed letters know no more than full text."""
    return 0.0 if name == "hashing" else 1.0
