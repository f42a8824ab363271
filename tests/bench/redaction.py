"""False hits of redaction on ordinary prose and code, and planted secrets that are left."""

from __future__ import annotations

import json
import random
import string
import sysconfig
from pathlib import Path
from typing import Any

from sapwood.text.redact import REDACTED, Redaction
from tests.bench import data

_ALNUM = string.ascii_letters + string.digits
_SHAPES = (
    ("AKIA", 16, string.ascii_uppercase + string.digits), ("ghp_", 36, _ALNUM), ("glpat-", 20, _ALNUM), ("npm_", 36, _ALNUM),
    ("sk_live_", 24, _ALNUM), ("AIza", 35, _ALNUM), ("sk-", 48, _ALNUM), ("sk-proj-", 48, _ALNUM), ("sk-ant-api03-", 90, _ALNUM),
    ("xoxb-123456789012-", 24, _ALNUM), ("LTAI", 20, _ALNUM), ("hf_", 34, string.ascii_letters),
)  # fmt: skip
_FRAMES = ("密钥为{}。请勿外传", "the key is {} and nothing else", "TOKEN={}", '{{"token": "{}"}}', "（{}）")


def _prose() -> list[str]:
    texts = [paragraph for name in data.CHINESE for paragraph in data.paragraphs(name)]
    return texts + [t["text"] for chat in data.chats() for turns in chat.sessions.values() for t in turns]


def _code() -> list[str]:
    library = Path(sysconfig.get_paths()["stdlib"])
    return [p.read_text(encoding="utf-8", errors="replace") for p in sorted(library.glob("*.py"))]


def _hits(texts: list[str]) -> tuple[int, int, list[str]]:
    """Hits, characters, and the words around the first ones."""
    found = size = 0
    shown: list[str] = []
    for text in texts:
        cut = Redaction().text(text)
        size += len(text)
        hits = cut.count(REDACTED) - text.count(REDACTED)
        found += hits
        if hits and len(shown) < 10:
            at = cut.index(REDACTED)
            shown.append(" ".join(cut[max(0, at - 40) : at + 30].split()))
    return found, size, shown


def run() -> dict[str, Any]:
    """Counts a million characters, and how many of the planted secrets are left."""
    made = random.Random(23)
    left = planted = 0
    for prefix, length, alphabet in _SHAPES:
        for frame in _FRAMES:
            for _ in range(20):
                secret = prefix + "".join(made.choice(alphabet) for _ in range(length))
                cut = Redaction().text(frame.format(secret))
                planted += 1
                left += secret[len(prefix) :] in cut
    result: dict[str, Any] = {"planted": planted, "left": left}
    for name, texts in (("prose", _prose() if data.at_hand() else []), ("code", _code())):
        found, size, shown = _hits(texts)
        result[name] = {"hits": found, "characters": size, "first": shown}
    return result


if __name__ == "__main__":
    print(json.dumps(run(), indent=1, ensure_ascii=False))
