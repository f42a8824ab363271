"""`make bench`: measure in one run and write docs/benchmarks.md with the machine, the date and the ratios.

`python -m tests.bench NAME …` measures only some, and writes no page.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench import footprint, growth, hotpath, parsing, recoll, redaction, reimport, retrieval, searching

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
_MISSING = ["Not measured: its data or the program beside it is not at hand.", ""]


def _hotpath() -> list[str]:
    r = hotpath.run()
    return [
        f"{r['documents']} made-up texts of 4,000 characters, a third of them Chinese: {r['ours_ms_per_item']:.2f} ms of CPU an item beside a floor of "
        f"{r['floor_ms_per_item']:.2f} ms, ratio **{r['ratio']:.2f}** (median of three; at most 2.0 is wanted).",
        "",
    ]


def _growth() -> list[str]:
    r = growth.run()
    return [
        f"{r['items']:,} texts of 1,200 characters: {r['early_ms']:.2f} ms of CPU an item after the first thousand, {r['late_ms']:.2f} ms at the end, ratio "
        f"**{r['ratio']:.2f}** (at most 1.33 is wanted); bare FTS5 on the same texts {r['fts5_ratio']:.2f}.",
        "",
    ]


def _footprint() -> list[str]:
    r = footprint.run()
    return [
        f"Import of {r['files']:,} files: the importing process peaks at **{r['peak_mib']:.0f} MiB** (at most 400).",
        "",
    ]


def _reimport() -> list[str]:
    r = reimport.run()
    return [
        f"{r['files']:,} small files, nothing changed: {r['wall_s']:.2f} s from start to end. Each further file costs {r['ours_us']:.1f} µs of CPU in all "
        f"processes together and {r['wall_us']:.1f} µs of time, beside {r['walk_us']:.1f} µs of a bare walk with stat: ratios **{r['cpu_ratio']:.1f}** and "
        f"**{r['wall_ratio']:.1f}** (at most 3 is wanted). The vault's files are looked at in the same run: that is one more stat each.",
        "",
    ]


def _parsing() -> list[str]:
    rows = parsing.run()
    if not rows:
        return _MISSING
    lines = ["| format | files | documents/s | pages/s | bare library | its documents/s |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {r['format']} | {r['files']} | {r['ours_docs_s']:,.0f} | {r['ours_pages_s']:,.0f} | {r['library']} | {r['bare_docs_s']:,.0f} |"
        for r in rows
    ]
    return [*lines, "", "One process, CPU time, files of the corpus that both read.", ""]


def _recoll() -> list[str]:
    r = recoll.run()
    if r is None:
        return _MISSING
    cpu, known = r["ours_cpu_s"] / r["recoll_cpu_s"], int(r["known"])
    return [
        f"{r['files']:,.0f} files that Debian's packages ship as documentation, with the corpus.",
        "",
        "| | Sapwood | Recoll | wanted |",
        "|---|---|---|---|",
        f"| CPU until searchable | {r['ours_cpu_s']:.0f} s | {r['recoll_cpu_s']:.0f} s | ratio **{cpu:.2f}**, at most 2 |",
        f"| nothing changed | {r['ours_unchanged_s']:.2f} s | {r['recoll_unchanged_s']:.2f} s | at most 1 s beyond interpreter start |",
        f"| after thirty changes | {r['ours_thirty_s']:.2f} s | {r['recoll_thirty_s']:.2f} s | at most 1.5 s beyond interpreter start |",
        f"| {known} known items found | {r['ours_finds']:.0f} | {r['recoll_finds']:.0f} | all that Recoll finds; missed: {r['recoll_only']:.0f} |",
        f"| {r['chinese']:.0f} questions on GB18030 and Traditional files | {r['ours_chinese']:.0f} | {r['recoll_chinese']:.0f} | all |",
        "",
    ]


def _searching() -> list[str]:
    r = searching.run()
    if r is None:
        return _MISSING
    return [
        f"{r['passages']:,} passages, {r['questions']} questions: p95 {r['ours_p95_ms']:.0f} ms beside {r['fts5_p95_ms']:.0f} ms of the bare FTS5 queries, "
        f"ratio **{r['ratio']:.2f}** (at most 3).",
        "",
    ]


def _retrieval() -> list[str]:
    sets = retrieval.measure()
    if sets is None:
        return _MISSING
    lines = []
    for name, halves in sets.items():
        columns = list(next(iter(halves.values())))
        lines += [f"### {name}", "", f"| questions | {' | '.join(c for c in columns if c != 'questions')} |"]
        lines += ["|---" * len(columns) + "|"]
        lines += [
            f"| {half} ({means['questions']:.0f}) | {' | '.join(f'{means[c]:.3f}' for c in columns if c != 'questions')} |"
            for half, means in halves.items()
        ]
        lines += [""]
    return [*lines, "No model. Per question: `bench-results/retrieval.jsonl`.", ""]


def _redaction() -> list[str]:
    r = redaction.run()
    lines = [f"{r['planted']} planted secrets of twelve shapes in five surroundings: **{r['left']}** left.", ""]
    for name in ("prose", "code"):
        part = r[name]
        lines += [f"False hits on {name}: {part['hits']} in {part['characters'] / 1e6:.1f} million characters.", ""]
    return [*lines, "The code is Python's standard library; its hits are assignments to names like `password`.", ""]


_PARTS: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "hotpath": ("Hot path without parsing", _hotpath), "growth": ("Growth", _growth), "footprint": ("Memory", _footprint),
    "reimport": ("Unchanged files", _reimport), "parsing": ("Parsing", _parsing), "recoll": ("Beside Recoll", _recoll),
    "searching": ("Search", _searching), "retrieval": ("Retrieval", _retrieval), "redaction": ("Redaction", _redaction),
}  # fmt: skip


def main(chosen: list[str]) -> None:
    """Measure what was chosen, or all; the page is written when all was measured."""
    lines: list[Any] = [
        "# Benchmarks",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python {platform.python_version()}. Ratios are taken in one run.",
        "",
    ]
    for name in chosen or list(_PARTS):
        title, measure = _PARTS[name]
        part = [f"## {title}", "", *measure()]
        print("\n".join(part), flush=True)
        lines += part
    if not chosen:
        PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
