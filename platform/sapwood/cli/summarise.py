"""`summarise`: who makes the summaries, and having them made again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sapwood.cli.commands import open_memory, with_common_options
from sapwood.cli.console import errors_to_exit_codes, print_json, say


@click.command()
@click.option(
    "--redo",
    type=click.Choice(["extractive", "model"]),
    help="Have those made again that were made so: extractive ones by the language model, a model's by choice of sentences.",
)
@click.option("--dry-run", is_flag=True, help="Say how many the language model would tell, and what that would cost.")
@with_common_options
def summarise(redo: str | None, dry_run: bool, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Who made the summaries; --redo has them made again while `sapwood work` runs."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if dry_run:
            _print(memory.summarise_cost(), _cost_line, as_json=as_json)
        elif redo:
            count = memory.summarise_again(redo)
            _print(
                {"queued": count},
                lambda found: f"{found['queued']} summaries are made again; `sapwood work` does it.",
                as_json=as_json,
            )
        else:
            checks = [check for check in memory.status().checks if check.name.startswith("summaries")]
            if as_json:
                print_json({check.name: check.facts for check in checks})
            for check in () if as_json else checks:
                say(f"{check.name}: {check.detail}" + (f" {check.next_step}" if check.next_step else ""))


def _cost_line(found: dict[str, Any]) -> str:
    line = f"{found['model']} would tell {found['summaries']} summaries: about {found['tokens_read']} tokens read, {found['tokens_written']} written"
    return f"{line}, {found['cost']} by the prices of the settings." if found["cost"] else f"{line}."


def _print(found: dict[str, Any], line: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        say(line(found))
