"""`sapwood backup` and `sapwood restore`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from sapwood.cli.commands import open_memory, with_common_options
from sapwood.cli.console import errors_to_exit_codes, print_json, say

__all__ = ["backup", "restore"]


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--vectors", is_flag=True, help="Also the vectors, which can be made anew from the texts.")
@with_common_options
def backup(file: Path, vectors: bool, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Write the whole workspace into one compressed file; others may go on writing meanwhile."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        report = memory.back_up(file, vectors=vectors)
        if as_json:
            print_json(asdict(report))
        else:
            say(f"{report.items} items, {report.files} files, {report.bytes / 1e6:,.1f} MB: {file}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@with_common_options
def restore(file: Path, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Unpack a backup into a workspace that does not exist yet."""
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        from sapwood.memory import Memory

        report = Memory.restore(file, workspace)
        if as_json:
            print_json(asdict(report))
        else:
            say(f"{report.items} items, {report.files} files are back." + ("" if report.vectors else " `sapwood embed --wait` makes the vectors anew."))  # fmt: skip
