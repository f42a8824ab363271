"""What turns texts into vectors, as everything else sees it.

A vector is `dims` float32 numbers, little-endian, of length one. Texts that a model gives no usable vector for (zeros, or
not a number) are None: a vector of zeros would be stored, counted as done, and never found.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Protocol

from sapwood.models.http import ModelError

__all__ = [
    "Embedder",
    "EmbedderStuck",
    "Vector",
    "unit_vector",
]

Vector = bytes


class EmbedderStuck(ModelError):
    """The model's process ended or hung over these texts; one of them may be the reason."""


class Embedder(Protocol):
    """Texts to vectors."""

    @property
    def signature(self) -> str:
        """Model, version and dimensions: vectors of two signatures are never compared."""

    def encode(self, texts: Sequence[str], *, urgent: bool = False) -> list[Vector | None]:
        """A vector for each text, in order; None where the model gave none.

        Args:
            texts: passages or one question.
            urgent: somebody waits for it; goes before batches that are being worked on.

        Raises:
            ModelError: see its kinds.
        """

    def close(self) -> None:
        """Let go of connections."""


def unit_vector(numbers: array[float]) -> Vector | None:
    """The vector with length one; None for zeros, NaN and infinities."""
    norm = math.sqrt(math.sumprod(numbers, numbers)) if hasattr(math, "sumprod") else math.hypot(*numbers)
    if not math.isfinite(norm) or norm < 1e-9:
        return None
    if abs(norm - 1.0) < 1e-4:
        return numbers.tobytes()
    return array("f", [number / norm for number in numbers]).tobytes()
