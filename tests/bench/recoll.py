"""Sapwood beside Recoll on one folder of real files: CPU until searchable, a run without changes, a run after thirty
changes, and known items.

A known item is a file with three words that stand in it and in no other file; it is found when it is among the first
twenty hits of these words. Needs `recollindex` and `recollq` (Debian's recollcmd); the folder is what Debian's packages
ship as documentation, or `$SAPWOOD_BENCH_DOCS`.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from sapwood.memory import Memory

SOURCE = Path(os.environ.get("SAPWOOD_BENCH_DOCS", "/usr/share/doc"))
_WORD = re.compile(rb"[a-z]{5,14}")
_SAMPLE = 300


def _timed(command: list[str]) -> tuple[float, float]:
    """CPU seconds of the command and its children, and wall seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - began


def known_items(folder: Path) -> dict[str, list[str]]:
    """Path below the folder to three words that no other file holds."""
    words: dict[str, set[bytes]] = {}
    spread: Counter[bytes] = Counter()
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink() or path.suffix in (".png", ".gif", ".jpg", ".db", ".zip", ".docx"):
            continue
        try:
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        except (OSError, EOFError):
            continue
        if b"\x00" in data[:4096]:
            continue
        # In JSON a line break is written \\n: the n belongs to no word.
        found = set(_WORD.findall(data[:400_000].replace(b"\\n", b"  ").lower()))
        words[path.relative_to(folder).as_posix()] = found
        spread.update(found)
    items = {path: sorted(w.decode() for w in held if spread[w] == 1) for path, held in words.items()}
    able = sorted(path for path, own in items.items() if len(own) >= 3)
    chosen = random.Random(3).sample(able, min(_SAMPLE, len(able)))
    return {path: random.Random(path).sample(items[path], 3) for path in chosen}


def _recoll_finds(config: Path, query: str, path: Path) -> bool:
    found = subprocess.run(
        ["recollq", "-c", str(config), "-n", "20", query], capture_output=True, text=True, check=False
    ).stdout
    return f"[file://{path}]" in found


def _change_thirty(folder: Path) -> None:
    chosen = sorted(p for p in folder.rglob("copyright") if p.is_file() and not p.is_symlink())[:20]
    for path in chosen:
        path.write_bytes(path.read_bytes() + b"\nA line that was added.\n")
    for number in range(10):
        (folder / f"new-{number}.txt").write_text(f"A new note, number {number}.\n", encoding="utf-8")


def run() -> dict[str, float] | None:
    """CPU and wall seconds of both, and counts of known items; None where Recoll or the folder is missing."""
    if not shutil.which("recollindex") or not SOURCE.is_dir():
        return None
    with tempfile.TemporaryDirectory() as place:
        folder, config, workspace = Path(place) / "docs", Path(place) / "recoll", Path(place) / "ws"
        shutil.copytree(SOURCE, folder, symlinks=True, ignore_dangling_symlinks=True)
        corpus = Path(__file__).parents[3] / "shared" / "corpus"
        if corpus.is_dir():
            shutil.copytree(corpus, folder / "zz-corpus")
        (folder / "zz-gb18030.txt").write_bytes("青瓷茶盏藏在书房的暗格里。\n".encode("gb18030"))
        (folder / "zz-traditional.txt").write_text("圖書館裡的鐵櫃藏著龍紋銅鏡。\n", encoding="utf-8")
        config.mkdir()
        (config / "recoll.conf").write_text(f"topdirs = {folder}\n", encoding="utf-8")
        files = sum(1 for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
        recoll = ["recollindex", "-c", str(config)]
        ours = [sys.executable, "-m", "sapwood", "import", str(folder), "--workspace", str(workspace)]
        bare = min(_timed([sys.executable, "-c", "pass"])[1] for _ in range(5))
        results: dict[str, float] = {"files": files, "interpreter_s": bare}
        results["recoll_cpu_s"], _ = _timed(recoll)
        results["ours_cpu_s"], _ = _timed(ours)
        results["recoll_unchanged_s"] = min(_timed(recoll)[1] for _ in range(3))
        results["ours_unchanged_s"] = min(_timed(ours)[1] for _ in range(3)) - bare
        results |= _find(folder, config, workspace)
        _change_thirty(folder)
        results["recoll_thirty_s"] = _timed(recoll)[1]
        _change_thirty(folder)
        results["ours_thirty_s"] = _timed(ours)[1] - bare
        return results


def _find(folder: Path, config: Path, workspace: Path) -> dict[str, float]:
    items = known_items(folder)
    theirs = mine = lost = 0
    missing: list[str] = []
    with Memory(workspace) as memory:

        def finds(query: str, path: str) -> bool:
            hits = memory.search(query, unit="item", limit=20).hits
            return any(hit.source_ref.split("!/")[0] == path for hit in hits)

        for path, words in items.items():
            by_recoll, by_us = _recoll_finds(config, " ".join(words), folder / path), finds(" ".join(words), path)
            theirs += by_recoll
            mine += by_us
            if by_recoll and not by_us:
                lost += 1
                missing.append(f"{path}: {' '.join(words)}")
        chinese = [("青瓷茶盏", "zz-gb18030.txt"), ("图书馆", "zz-traditional.txt"), ("龙纹铜镜", "zz-traditional.txt")]
        found = sum(finds(query, path) for query, path in chinese)
        found_by_recoll = sum(_recoll_finds(config, query, folder / path) for query, path in chinese)
    for line in missing:
        print("found by Recoll only:", line)
    return {
        "known": len(items), "recoll_finds": theirs, "ours_finds": mine, "recoll_only": lost,
        "chinese": len(chinese), "recoll_chinese": found_by_recoll, "ours_chinese": found,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
