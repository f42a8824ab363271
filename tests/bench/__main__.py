"""`make bench`: measure in one run and write docs/benchmarks.md with the machine, the date and the ratios."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import hotpath, reimport, retrieval

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def main() -> None:
    """Run every benchmark that has its data at hand."""
    lines = [
        "# Benchmarks",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, Python {platform.python_version()}. Ratios are taken in one run.",
        "",
    ]
    hot = hotpath.run()
    lines += [
        "## Hot path without parsing",
        "",
        f"{hot['documents']} made-up texts of 4,000 characters, a third of them Chinese: {hot['ours_ms_per_item']:.2f} ms of CPU an item beside a floor of "
        f"{hot['floor_ms_per_item']:.2f} ms, ratio **{hot['ratio']:.2f}** (median of three; target at most 2.0).",
        "",
    ]
    again = reimport.run()
    lines += [
        "## Unchanged files",
        "",
        f"{again['files']} small files, nothing changed: {again['wall_s']:.2f} s from start to end; {again['ours_us']:.1f} µs of CPU for each further file beside "
        f"{again['walk_us']:.1f} µs of a bare walk with stat, ratio **{again['ratio']:.1f}** (target at most 3).",
        "",
    ]
    lines += retrieval.report()
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
