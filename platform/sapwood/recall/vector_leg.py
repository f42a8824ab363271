"""The vector leg of a search: which passages mean what the query means, whatever words they use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sapwood.config import Settings
from sapwood.errors import SapwoodError, StoreError
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

    def ask(self, store: SearchStore, text: str, filters: Filters, also: list[int]) -> VectorAnswer:
        """Cosines of the nearest passages that pass the filters, and of `also`. Never raises for a model's sake."""
        if self._settings.embedding_model == NO_MODEL:
            return VectorAnswer("off: embedding_model is none")
        try:
            with self._vectors.attached() as there:
                model = self._serving() if there else None
                if model is None:
                    return VectorAnswer("none yet: `sapwood work` makes them")
                embedder = self._embedder(model)
                if embedder is None:
                    return VectorAnswer(
                        f"unavailable: the vectors are of {model.signature}, which this version does not have"
                    )
                vector = embedder.encode([text], urgent=True)[0]
                if vector is None:
                    return VectorAnswer("unavailable: the model gives no vector for this query")
                if len(vector) != 4 * model.dims:
                    return VectorAnswer(
                        f"unavailable: {model.name} gives {len(vector) // 4} numbers, its vectors have {model.dims}"
                    )
                where, bindings = store.where(filters, "b.passage_id")
                near = self._vectors.nearest(model, vector, _NEAREST, where, bindings)
                cosines = self._vectors.cosines(model, vector, list(dict.fromkeys([*near, *also])))
        except StoreError as error:
            return VectorAnswer(f"unavailable: {error}")
        except SapwoodError as error:
            return VectorAnswer(f"unavailable: {error}")
        return VectorAnswer(LIVE if model.complete else "live, still filling in", cosines, strength(model.name))

    def close(self) -> None:
        """Let go of the models."""
        for embedder in self._embedders.values():
            embedder.close()
        self._embedders.clear()

    def _serving(self) -> Model | None:
        models = [model for model in self._vectors.models() if model.dims]
        chosen = [model for model in models if model.name == self._settings.embedding_model]
        complete = [model for model in models if model.complete]
        return next(iter([m for m in chosen if m.complete][-1:] or complete[-1:] or chosen[-1:]), None)

    def _embedder(self, model: Model) -> Embedder | None:
        if model.name not in self._embedders:
            self._embedders[model.name] = open_embedder(model.name, self._settings, self._folder)
        embedder = self._embedders[model.name]
        return embedder if embedder.signature == model.signature else None


def strength(name: str) -> float:
    """How much a model's cosine counts beside full text, 0 to 1, as measured (`tests/bench`): hashed letters know no more than full text."""
    return 0.0 if name == "hashing" else 1.0
