"""What every command is made with: its group, its common options, its workspace."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sapwood.cli.console import INTERRUPTED, print_json, start_logging


class Commands(click.Group):
    """Commands in the order in which they are defined; with `--json` a usage error is a JSON object on stdout too."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # wherever it comes: click would make an ordinary failure of it
            if ctx.parent is not None:
                raise
            click.echo("Stopped.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except click.UsageError as error:
            if ctx.parent is None and "--json" in sys.argv:
                print_json({"error": error.format_message()})
            raise


def with_common_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--workspace`, `--json` and `--debug`."""
    for option in (
        click.option("--debug", is_flag=True, help="Show where an error came from."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."),
        click.option("--workspace", "-w", type=click.Path(path_type=Path), help="The workspace; default $SAPWOOD_WORKSPACE or ~/.sapwood."),
    ):  # fmt: skip
        command = option(command)
    return command


def open_memory(workspace: Path | None, *, create: bool = False) -> Any:
    """The `Memory` of a workspace, whose log is open from then on."""
    from sapwood.memory import Memory

    memory = Memory(workspace, create=create)
    start_logging(memory.workspace)
    return memory
