"""The measuring data, where it is at hand: `$SAPWOOD_BENCH`, else `../shared/bench` beside the project."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("SAPWOOD_BENCH", Path(__file__).parents[3] / "shared" / "bench"))
CHATS = "locomo-a.json"
CHINESE = ("cmrc2018-dev-a", "drcd-dev-a")
RESULTS = Path(__file__).parents[2] / "bench-results"


@dataclass(frozen=True)
class Chat:
    """One chat of LoCoMo: its sessions' turns, each with `dia_id`, `speaker`, `text`; their dates; its questions."""

    name: str
    sessions: dict[int, list[dict[str, Any]]]
    dates: dict[int, str]
    questions: list[dict[str, Any]]


def at_hand() -> bool:
    """True when all files are there."""
    return all((FOLDER / name).exists() for name in (CHATS, *(f"{name}.json" for name in CHINESE)))


def chats() -> Iterator[Chat]:
    """All chats; a picture's caption is part of its turn's text."""
    for sample in json.loads((FOLDER / CHATS).read_text(encoding="utf-8")):
        talk = sample["conversation"]
        numbers = sorted(int(m[1]) for key in talk if (m := re.fullmatch(r"session_(\d+)", key)))
        sessions = {n: talk[f"session_{n}"] for n in numbers if isinstance(talk[f"session_{n}"], list)}
        for turns in sessions.values():
            for turn in turns:
                if turn.get("blip_caption"):
                    turn["text"] = f"{turn.get('text', '')} [image: {turn['blip_caption']}]"
        dates = {n: talk[f"session_{n}_date_time"] for n in sessions}
        yield Chat(sample["sample_id"], sessions, dates, sample["qa"])


def _entries(name: str) -> Iterator[dict[str, Any]]:
    for article in json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["data"]:
        yield from article["paragraphs"]


def paragraphs(name: str) -> list[str]:
    """The paragraphs of a Chinese set, in order."""
    return [entry["context"] for entry in _entries(name)]


def questions(name: str) -> list[tuple[str, int]]:
    """`(question, number of its paragraph)`."""
    return [(qa["question"], number) for number, entry in enumerate(_entries(name)) for qa in entry["qas"]]
