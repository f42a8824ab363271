"""What turns texts into vectors, as everything else sees it.

A vector is `dims` float32 numbers, little-endian, of length one. Texts that a model gives no usable vector for (zeros, or
not a number) are None: a vector of zeros would be stored, counted as done, and never found.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Protocol

from sapwood.errors import SapwoodError

__all__ = [
    "Embedder",
    "EmbedderError",
    "EmbedderMisconfigured",
    "EmbedderStuck",
    "EmbedderUnavailable",
    "Vector",
    "unit_vector",
]

Vector = bytes


class EmbedderError(SapwoodError):
    """A model could not be asked, or answered nonsense."""


class EmbedderUnavailable(EmbedderError):
    """Not now: down, slow, limited. `retry_after` is in seconds, None when the model does not say."""

    def __init__(self, subject: str, cause: str, next_step: str = "", *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(subject, cause, next_step)


class EmbedderMisconfigured(EmbedderError):
    """Asking again would fail in the same way: a wrong address, key, model or dimension."""


class EmbedderStuck(EmbedderError):
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
            EmbedderError: see its kinds.
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
