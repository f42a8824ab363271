"""Extraction without a model: its CPU beside the tokenizer's on the same chunks, and where chunks of each kind fall.

The chunks are those that the hot path cuts out of the measuring data: paragraphs joined to documents, the sessions of chats,
turns as messages of their own. The labelled examples of `admission/` say how often `drop` and `keep` are right.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sapwood.ingest.chunker import chunk
from sapwood.pipeline.examine import Subject, examine, warm_up
from sapwood.sdk.sources import Kind, Segment, render
from sapwood.text.tokens import count_tokens
from tests.bench import data

_ROUNDS = 5
LABELLED = Path(__file__).parent / "admission"


def _chunks(kind: Kind, texts: list[str]) -> Iterator[Subject]:
    body, spans = render(kind, tuple(Segment(f"s{n}", text, author="Anna") for n, text in enumerate(texts)))
    for piece in chunk(kind, body, spans):
        yield Subject(kind.value, piece.content(body), piece.tokens, (), ("Anna",))


def _subjects() -> dict[str, list[Subject]]:
    documents = [s for name in data.CHINESE for s in _chunks(Kind.DOCUMENT, data.paragraphs(name)[:600])]
    chats: list[Subject] = []
    turns: list[Subject] = []
    mails: list[Subject] = []
    for sample in data.chats():
        for said in sample.sessions.values():
            texts = [turn.get("text", "") for turn in said]
            chats += _chunks(Kind.CHAT, texts)
            mails += _chunks(Kind.EMAIL, ["\n\n".join(texts[:6])])
            turns += [Subject("chat", text, count_tokens(text), (), ()) for text in texts]
    return {"document": documents, "chat, whole sessions": chats, "chat, single turns": turns, "email": mails}


def _cpu(subjects: list[Subject]) -> tuple[float, float]:
    """Milliseconds of CPU a chunk, of the examination and of the tokenizer."""
    ours: list[float] = []
    floor: list[float] = []
    for _ in range(_ROUNDS):
        for times, action in ((ours, examine), (floor, lambda subject: count_tokens(subject.text))):
            began = time.process_time()
            for subject in subjects:
                action(subject)
            times.append(1000 * (time.process_time() - began) / len(subjects))
    return statistics.median(ours), statistics.median(floor)


def _labelled() -> dict[str, dict[str, float]]:
    """For each language, and for examples that nothing was chosen with: how many of the dropped were labelled so, and of the kept; and how many are in the grey band."""
    found: dict[str, dict[str, float]] = {}
    for language in ("en", "zh", "held-out"):
        verdicts: Counter[tuple[str, str]] = Counter()
        for line in (LABELLED / f"{language}.tsv").read_text(encoding="utf-8").splitlines():
            label, text = line.split("\t", 1)
            band = examine(Subject("chat", text, count_tokens(text), (), ())).assessment.band
            verdicts[label, band] += 1
        drop, keep = (sum(n for (_, band), n in verdicts.items() if band == chosen) for chosen in ("drop", "keep"))
        found[language] = {
            "examples": sum(verdicts.values()),
            "drop_precision": verdicts["drop", "drop"] / max(drop, 1), "keep_precision": verdicts["keep", "keep"] / max(keep, 1),
            "dropped": drop, "kept": keep, "meant_to_drop": sum(n for (label, _), n in verdicts.items() if label == "drop"),
            "meant_to_keep": sum(n for (label, _), n in verdicts.items() if label == "keep"),
        }  # fmt: skip
    return found


def run() -> dict[str, Any] | None:
    """CPU, shares of the bands by kind, and precision on the labelled examples; None when the data is not at hand."""
    if not data.at_hand():
        return None
    warm_up()
    count_tokens("warm")
    kinds = _subjects()
    whole = [s for name in ("document", "chat, whole sessions", "email") for s in kinds[name]]
    ours, floor = _cpu(whole)
    bands = {}
    for name, subjects in kinds.items():
        counts = Counter(examine(subject).assessment.band for subject in subjects)
        bands[name] = {
            "chunks": len(subjects),
            **{band: counts[band] / len(subjects) for band in ("keep", "grey", "drop")},
        }
    return {
        "chunks": len(whole),
        "ours_ms": ours,
        "tokenizer_ms": floor,
        "ratio": ours / floor,
        "bands": bands,
        "labelled": _labelled(),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
