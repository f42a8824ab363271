"""What stands in a chunk: the entities in its text and its deep score. Runs in a worker process: the text is untrusted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sapwood.pipeline.admission import Assessment, assess
from sapwood.pipeline.better_extractors import spans_of
from sapwood.sdk.sources import Kind
from sapwood.text.entities import Entity, find_entities
from sapwood.text.fold import index_text
from sapwood.text.names_cjk import chinese_names

__all__ = ["Examination", "Subject", "examine", "warm_up"]

_HEADING = re.compile(r"^## .*$", re.MULTILINE)
_TERMS = 300  # characters whose words the counting signal looks at


@dataclass(frozen=True, slots=True)
class Subject:
    """What is needed of a chunk and its item.

    `names` are people whose names are known already and occur in the text; `extractors` are better ones to be asked too.
    """

    kind: str
    text: str
    tokens: int
    tags: tuple[str, ...]
    names: tuple[str, ...]
    extractors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found."""

    entities: tuple[Entity, ...]
    assessment: Assessment


def examine(subject: Subject) -> Examination:
    """Find entities and score."""
    kind = Kind(subject.kind)
    text = _HEADING.sub("", subject.text) if kind is Kind.CHAT else subject.text
    better = spans_of(text, subject.extractors)
    entities = find_entities(text, subject.names, [*better, *chinese_names(text)])
    terms = index_text(text[:_TERMS]).split()
    return Examination(tuple(entities), assess(kind, text, terms, subject.tokens, subject.tags, entities))


def warm_up() -> None:
    """Load the tables that the first chunk would wait for."""
    list(chinese_names("张伟在深圳。"))
    index_text("字")
