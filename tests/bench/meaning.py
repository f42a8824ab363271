"""Questions that share no word with their answer: in the other language, and in other words of the same.

`meaning/passages.tsv` holds 48 short texts, half of them Chinese, each with a paraphrased question and a question in the
other language. They stand among 900 other texts of both languages. The ranking's weights were chosen without them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sapwood.memory import Memory
from tests.bench import data

_SET = Path(__file__).parent / "meaning" / "passages.tsv"


def _rows() -> list[list[str]]:
    return [line.split("\t") for line in _SET.read_text(encoding="utf-8").splitlines()]


def _write(folder: Path) -> None:
    folder.mkdir()
    for number, row in enumerate(_rows()):
        (folder / f"gold{number}.txt").write_text(row[1], encoding="utf-8")
    others = [text for name in data.CHINESE for text in data.paragraphs(name)[:225]]
    others += [turn.get("text", "") for said in next(data.chats()).sessions.values() for turn in said][:450]
    for number, text in enumerate(others):
        (folder / f"other{number}.txt").write_text(text, encoding="utf-8")


def _recall(workspace: Path, model: str) -> dict[str, dict[str, float]]:
    os.environ["SAPWOOD_EMBEDDING_MODEL"] = model
    found: dict[str, dict[str, float]] = {}
    with Memory(workspace) as memory:
        for column, name in ((2, "other words"), (3, "other language")):
            ranks = []
            for number, row in enumerate(_rows()):
                hits = [hit.source_ref for hit in memory.search(row[column], unit="item", limit=5).hits]
                ranks.append(hits.index(f"gold{number}.txt") if f"gold{number}.txt" in hits else 9)
            found[name] = {
                "R@1": sum(r == 0 for r in ranks) / len(ranks),
                "R@5": sum(r < 5 for r in ranks) / len(ranks),
            }
    os.environ.pop("SAPWOOD_EMBEDDING_MODEL")
    return found


def run() -> dict[str, dict[str, dict[str, float]]] | None:
    """Recall by kind of question, with full text alone and with vectors; None when the data is not at hand."""
    if not data.at_hand():
        return None
    with tempfile.TemporaryDirectory() as root:
        folder, workspace = Path(root) / "files", Path(root) / "ws"
        _write(folder)
        environment = {**os.environ, "SAPWOOD_EMBEDDING_MODEL": "offline"}
        command = [sys.executable, "-m", "sapwood", "import", str(folder), "--wait", "--workspace", str(workspace)]
        subprocess.run(command, check=True, capture_output=True, env=environment)
        return {name: _recall(workspace, model) for name, model in (("full text", "none"), ("with vectors", "offline"))}


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
