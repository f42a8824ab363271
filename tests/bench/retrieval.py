"""Retrieval through `sapwood import` and `search` on dated chats, beside plain BM25 on the same questions.

One workspace a chat; a session is a JSON file whose records are the turns, dated. recall@k is the share of a
question's evidence among the first k turns, averaged. The ranking's weights were chosen on the even questions.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from sapwood.memory import Memory
from sapwood.recall.query import parse
from sapwood.store.search import Filters, SearchStore

DATA = Path(os.environ.get("SAPWOOD_BENCH", Path(__file__).parents[3] / "shared" / "bench")) / "locomo-a.json"
RESULTS = Path(__file__).parents[2] / "bench-results" / "retrieval.jsonl"


def _session_time(text: str) -> str:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).isoformat()


def _write_sessions(sample: dict[str, Any], folder: Path) -> dict[str, int]:
    """The files of a chat; session by turn id."""
    sessions: dict[str, int] = {}
    talk = sample["conversation"]
    for key in talk:
        match = re.fullmatch(r"session_(\d+)", key)
        if not match or not isinstance(talk[key], list):
            continue
        when = _session_time(talk[f"{key}_date_time"])
        turns = []
        for turn in talk[key]:
            sessions[turn["dia_id"]] = int(match[1])
            caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            turns.append(
                {"id": turn["dia_id"], "speaker": turn["speaker"], "text": turn.get("text", "") + caption, "time": when}
            )
        (folder / f"session_{int(match[1]):02d}.json").write_text(
            json.dumps(turns, ensure_ascii=False), encoding="utf-8"
        )
    return sessions


def _evidence(raw: list[str], known: dict[str, int]) -> set[str]:
    found = {f"D{int(a)}:{int(b)}" for item in raw or [] for a, b in re.findall(r"D:?(\d+):(\d+)", str(item))}
    return {turn for turn in found if turn in known}


def measure() -> dict[str, dict[str, float]] | None:
    """recall@10 of turns and sessions, ours and BM25, over the odd (held out) questions and over all."""
    if not DATA.exists():
        return None
    RESULTS.parent.mkdir(exist_ok=True)
    sums = {half: {"ours": 0.0, "bm25": 0.0, "sessions": 0.0, "questions": 0.0} for half in ("held out", "all")}
    with RESULTS.open("w", encoding="utf-8") as out:
        for sample in json.loads(DATA.read_text(encoding="utf-8")):
            with tempfile.TemporaryDirectory() as place:
                folder, workspace = Path(place) / "files", Path(place) / "ws"
                folder.mkdir()
                sessions = _write_sessions(sample, folder)
                subprocess.run(
                    [sys.executable, "-m", "sapwood", "import", str(folder), "--workspace", str(workspace)],
                    check=True,
                    capture_output=True,
                )
                with Memory(workspace) as memory:
                    _questions(memory, sample, sessions, sums, out)
    return {
        half: {k: v / s["questions"] for k, v in s.items() if k != "questions"} | {"questions": s["questions"]}
        for half, s in sums.items()
    }


def _questions(
    memory: Memory, sample: dict[str, Any], sessions: dict[str, int], sums: dict[str, dict[str, float]], out: Any
) -> None:
    store = SearchStore(memory.database)
    for number, question in enumerate(sample["qa"]):
        gold = _evidence(question.get("evidence", []), sessions)
        if not gold:
            continue
        hits = memory.search(question["question"], unit="passage", limit=10).hits
        ours = [hit.passages[0].native_id for hit in hits]
        by_item = memory.search(question["question"], unit="item", limit=10).hits
        rows = store.match(parse(question["question"]).expression, Filters(), 10)
        bare = [store.passages([pid])[pid].native_id for pid, _ in rows]
        golden_sessions = {sessions[turn] for turn in gold}
        found_sessions = {int(re.search(r"session_(\d+)", hit.item_id)[1]) for hit in by_item}  # type: ignore[index]
        row = {
            "ours": len(gold & set(ours)) / len(gold),
            "bm25": len(gold & set(bare)) / len(gold),
            "sessions": len(golden_sessions & found_sessions) / len(golden_sessions),
        }
        out.write(json.dumps({"sample": sample["sample_id"], "question": number, **row}) + "\n")
        for half in ("held out", "all") if number % 2 else ("all",):
            for key, value in row.items():
                sums[half][key] += value
            sums[half]["questions"] += 1


def report() -> list[str]:
    """Lines of the benchmark page."""
    found = measure()
    if found is None:
        return ["## Retrieval", "", "Not measured: the data is not at hand (name its folder with SAPWOOD_BENCH).", ""]
    lines = [
        "## Retrieval, LoCoMo, no model",
        "",
        "| questions | turns R@10 | BM25 on the same passages | sessions R@10 |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {half} ({s['questions']:.0f}) | {s['ours']:.3f} | {s['bm25']:.3f} | {s['sessions']:.3f} |"
        for half, s in found.items()
    ]
    lines += ["", f"SQLite {apsw.sqlite_lib_version()}. Per question: `bench-results/retrieval.jsonl`.", ""]
    return lines


if __name__ == "__main__":
    print("\n".join(report()))
