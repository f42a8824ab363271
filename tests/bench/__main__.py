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

from tests.bench import (
    embedding,
    extraction,
    footprint,
    growth,
    hotpath,
    idle,
    meaning,
    parsing,
    queue,
    recoll,
    redaction,
    reimport,
    retrieval,
    searching,
    summaries,
    trees,
)

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
    rows = searching.run()
    if rows is None:
        return _MISSING
    lines = [
        "| passages with vectors | questions | p95 | bare FTS5 query | bare vector query | ratio to their sum |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['passages']:,} | {r['questions']} | {r['ours_p95_ms']:.0f} ms | {r['fts5_p95_ms']:.0f} ms | {r['vectors_p95_ms']:.0f} ms | **{r['ratio']:.2f}** |"
        for r in rows
    ]
    return [*lines, "", "At 100,000 passages at most 3 is wanted.", ""]


def _queue() -> list[str]:
    r = queue.run()
    return [
        f"Empty jobs from claim to settled: {r['jobs_s_1']:,.0f} a second with one worker, {r['jobs_s_3']:,.0f} with three. A claim costs {r['claim_us_1000']:.0f} µs "
        f"of CPU with 1,000 jobs waiting and {r['claim_us_100000']:.0f} µs with 100,000: ratio **{r['ratio']:.2f}** (at most 1.2).",
        "",
    ]


def _extraction() -> list[str]:
    r = extraction.run()
    if r is None:
        return _MISSING
    lines = [
        f"{r['chunks']} chunks: {r['ours_ms']:.2f} ms of CPU a chunk beside {r['tokenizer_ms']:.2f} ms of the tokenizer, ratio **{r['ratio']:.2f}** (at most 3).",
        "", "| chunks | number | keep (from 0.85) | grey | drop (to 0.15) |", "|---|---|---|---|---|",
    ]  # fmt: skip
    lines += [
        f"| {name} | {b['chunks']:,} | {b['keep']:.0%} | {b['grey']:.0%} | {b['drop']:.0%} |"
        for name, b in r["bands"].items()
    ]
    lines += [
        "",
        "| labelled examples | number | right among dropped | right among kept | dropped of those meant | kept of those meant |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {e['examples']:.0f} | {e['drop_precision']:.3f} | {e['keep_precision']:.3f} | {e['dropped']:.0f} of {e['meant_to_drop']:.0f} | {e['kept']:.0f} of {e['meant_to_keep']:.0f} |"
        for name, e in r["labelled"].items()
    ]
    return [
        *lines,
        "",
        "The signals were chosen with the examples of `en` and `zh`; the held-out ones were written after that.",
        "",
    ]


def _embedding() -> list[str]:
    r = embedding.run()
    if r is None:
        return _MISSING
    return [
        f"{r['passages']:,.0f} passages: {r['ours_s']:.1f} a second from the job to the table beside {r['bare_s']:.1f} of the bare model on one core, ratio "
        f"**{r['ratio']:.2f}** (at least 0.9). Searches meanwhile: p95 {r['busy_p95_ms']:.0f} ms beside {r['idle_p95_ms']:.0f} ms with nothing to do, ratio "
        f"**{r['search_ratio']:.2f}** (at most 2).",
        "",
    ]


def _meaning() -> list[str]:
    sets = meaning.run()
    if sets is None:
        return _MISSING
    lines = ["| question | full text R@1 | R@5 | with vectors R@1 | R@5 |", "|---|---|---|---|---|"]
    for kind in sets["full text"]:
        text, both = sets["full text"][kind], sets["with vectors"][kind]
        lines.append(f"| in {kind} | {text['R@1']:.3f} | {text['R@5']:.3f} | {both['R@1']:.3f} | {both['R@5']:.3f} |")
    return [
        *lines,
        "",
        "48 texts among 900 others (`tests/bench/meaning`); at least 1.5 times full text's R@5 is wanted.",
        "",
    ]


def _idle() -> list[str]:
    r = idle.run()
    return [
        f"`sapwood work` after five minutes without work: {r['mib']:.0f} MiB in {r['processes']:.0f} process(es) (at most 200), {r['core']:.2%} of a core (at most 0.2 %).",
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
    return [*lines, "The offline model. Per question: `bench-results/retrieval.jsonl`.", ""]


def _trees() -> list[str]:
    r = trees.run()
    return [
        f"{r['leaves']:,} messages as leaves of 20 channels: {r['early_ms']:.2f} ms of CPU a leaf from the thousandth to the five thousandth for all that follows (append, seal, days "
        f"and what is above them), {r['late_ms']:.2f} ms among the last four thousand, ratio **{r['ratio']:.2f}** (at most 1.2 is wanted). Answers then, p95: a source "
        f"{r['source_p95_ms']:.1f} ms, drill down {r['drill_p95_ms']:.1f} ms, a day {r['day_p95_ms']:.1f} ms, a month {r['month_p95_ms']:.1f} ms, a person "
        f"{r['topic_p95_ms']:.1f} ms (at most 20 each).",
        "",
    ]


def _summaries() -> list[str]:
    r = summaries.run()
    lines: list[str] = []
    if r["rouge"]:
        lines += [
            "ROUGE-1, -2 and -L of summaries as long as the reference, on the half of the data that the choice of sentences was not tuned on:",
            "",
        ]
        lines += ["| | lead | random | TextRank | Sapwood |", "|---|---|---|---|---|"]
        for name, methods in r["rouge"].items():
            cells = (
                " / ".join(f"{value:.3f}" for value in methods[method])
                for method in ("lead", "random", "TextRank", "Sapwood")
            )
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    if found := r["faithfulness"]:
        lines += [
            f"{found['summaries']} summaries as a seal makes them: at most {found['longest_share']:.2f} of their input's tokens (1.0 is allowed), "
            f"**{found['unsupported']}** names or numbers that do not stand in it.", "",
        ]  # fmt: skip
    if r["questions"]:
        lines += ["| recall@10 | questions | plain search | asked of the person or meeting |", "|---|---|---|---|"]
        lines += [
            f"| {name} | {row['questions']} | {row['plain']:.3f} | {row['asked']:.3f} |"
            for name, row in r["questions"].items()
        ]
        lines += [
            "",
            "Both people are named in every chunk of LoCoMo, so that asking one of them leaves nothing out.",
            "",
        ]
    return lines or _MISSING


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
    "queue": ("Queue", _queue), "extraction": ("Extraction", _extraction), "embedding": ("Embedding", _embedding),
    "searching": ("Search", _searching), "retrieval": ("Retrieval", _retrieval), "meaning": ("Questions without a common word", _meaning),
    "trees": ("Trees", _trees), "summaries": ("Summaries", _summaries), "redaction": ("Redaction", _redaction), "idle": ("Idle", _idle),
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
