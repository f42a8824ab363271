"""`entities`: people and things, and who is who."""

from __future__ import annotations

from pathlib import Path

import click

from sapwood.cli.commands import Commands, open_memory, with_common_options
from sapwood.cli.console import errors_to_exit_codes, print_json, say

_THEN = "`sapwood work` tells their topics anew."
_HELP = ("--help", "-h")


class _Listing(Commands):
    """`entities TEXT` is short for `entities list TEXT`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in _HELP):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Listing)
def entities() -> None:
    """People and things: list them, and say who is who. `entities TEXT` lists those whose name holds TEXT."""


@entities.command("list")
@click.argument("text", required=False, default="")
@click.option(
    "--kind", "kinds", multiple=True, help="Only of this kind, such as person, organization, location, email."
)
@click.option("--limit", "-n", default=20, show_default=True, help="How many.")
@with_common_options
def list_(text: str, kinds: tuple[str, ...], limit: int, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Those whose name holds TEXT, or all, the most frequent first."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        found = memory.search_entities(text, kinds=list(kinds), limit=limit)
        if as_json:
            print_json({"entities": [match.to_json() for match in found]})
            return
        for match in found:
            last = f", last {match.last_seen[:10]}" if match.last_seen else ""
            told = "; has a page of its own" if match.page else ""
            say(f"{match.surface}  {match.kind}, in {match.mentions} chunks{last}{told}")
            click.secho(f"   {'  '.join((match.entity_id, *match.also))}", fg="cyan")
        say(f"{len(found)} {'name' if len(found) == 1 else 'names'}")


@entities.command()
@click.argument("names", nargs=-1, required=True)
@with_common_options
def merge(names: tuple[str, ...], workspace: Path | None, as_json: bool, debug: bool) -> None:
    """NAMES stand for one person or thing, called as the first one is.

    Names, addresses, handles or ids. `entities split` takes one out again.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if len(names) < 2:
            raise click.BadParameter("two or more are needed", param_hint="NAMES")
        head = memory.merge_entities(list(names))
        if as_json:
            print_json({"merged": list(names), "entity_id": head})
        else:
            say(f"{', '.join(names)} are one from now on ({head}). {_THEN}")


@entities.command()
@click.argument("name")
@with_common_options
def split(name: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """NAME stands for itself alone, and not for those with whom it was joined."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        ids = memory.split_entity(name)
        if as_json:
            print_json({"split": ids})
        else:
            say(f"{', '.join(ids)} {'stands' if len(ids) == 1 else 'stand'} for nobody else from now on.")


@entities.command()
@click.argument("name")
@click.argument("new")
@with_common_options
def rename(name: str, new: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """NAME is called NEW from now on, and is found by both."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        head = memory.rename_entity(name, new)
        if as_json:
            print_json({"entity_id": head, "name": new})
        else:
            say(f"{name} is called {new} from now on ({head}). {_THEN}")
