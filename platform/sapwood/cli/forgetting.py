"""`forget`: show what would go, take it out, bring it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sapwood.cli.commands import open_memory, with_common_options
from sapwood.cli.console import DONE_WITH_FAILURES, errors_to_exit_codes, print_json, say

_SHOWN = 20
_TEXTS = 3
_WIDTH = 160


@click.command()
@click.argument("target", required=False)
@click.option("--match", help="Forget every message and paragraph that holds this text.")
@click.option("--yes", is_flag=True, help="Do it; without this it is only shown.")
@click.option("--purge", is_flag=True, help="At once and for good, off the disk; without this it can be brought back.")
@click.option("--undo", metavar="RECEIPT", help="Bring back what a receipt took.")
@click.option("--list", "list_", is_flag=True, help="What was forgotten, and what can be brought back.")
@with_common_options
def forget(
    target: str | None, match: str | None, yes: bool, purge: bool, undo: str | None, list_: bool, workspace: Path | None,
    as_json: bool, debug: bool,
) -> None:  # fmt: skip
    """Forget an item, a source, a person or thing, or a text; it does not come back with the next sync.

    TARGET is an item_id or node_id, a source's name or id, or a name that `sapwood entities` lists.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if sum(map(bool, (target, match is not None, undo, list_))) != 1:
            raise click.UsageError("Give one of TARGET, --match, --undo or --list.")
        if list_:
            _list(memory, as_json=as_json)
        elif undo:
            _undo(memory, undo, as_json=as_json)
        elif not yes:
            _show(memory, target, match, as_json=as_json)
        else:
            _act(memory, target, match, purge=purge, as_json=as_json)


def _show(memory: Any, target: str | None, match: str | None, *, as_json: bool) -> None:
    _, affected = memory.to_forget(target, match=match)
    if as_json:
        items = [
            {"item_id": one.item.item_id, "title": one.item.title, "whole": one.whole, "why": one.why, "texts": one.shown} for one in affected
        ]  # fmt: skip
        print_json({"would_forget": items, "done": False})
        return
    for one in affected[:_SHOWN]:
        say(f"{one.item.title}  {'all of it: ' + one.why if one.whole else _parts(one)}")
        click.secho(f"   {one.item.item_id}", fg="cyan")
        for text in () if one.whole else one.shown[:_TEXTS]:
            line = " ".join(text.split())
            say(f"   - {line if len(line) <= _WIDTH else line[:_WIDTH] + ' …'}")
    if len(affected) > _SHOWN:
        say(f"and {len(affected) - _SHOWN} more")
    if affected:
        whole = sum(one.whole for one in affected)
        say(
            f"{whole} items would go as a whole, {len(affected) - whole} in part. Nothing was changed; add --yes to do it."
        )
    else:
        say("Nothing holds it.")


def _parts(one: Any) -> str:
    names = (
        ("message", len(one.cut.segments)),
        ("paragraph", len(one.cut.units)),
        ("name", len(one.cut.names)),
        ("edit", len(one.edits)),
    )
    return ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in names if count)


def _act(memory: Any, target: str | None, match: str | None, *, purge: bool, as_json: bool) -> None:
    was_settled = not memory.jobs()[0]
    done = memory.forget(target, match=match, purge=purge)
    if was_settled:  # what changed is told anew at once, as everything else is
        memory.work(drain=True)
    if as_json:
        print_json(done)
    else:
        counts = (
            ", ".join(f"{count} {name}" for name, count in done["counts"].items() if count)
            or "nothing of what is stored"
        )
        say(f"Forgotten: {counts}. Receipt {done['receipt']}.")
        if not purge:
            say(
                f"It can be brought back for {memory.settings.forgotten_days} days: sapwood forget --undo {done['receipt']}"
            )
        for place in done["left"]:
            say(f"still there: {place}")
        if purge:
            say("Backups that you made elsewhere are yours to delete.")
    if done["left"]:
        raise click.exceptions.Exit(DONE_WITH_FAILURES)


def _undo(memory: Any, receipt: str, *, as_json: bool) -> None:
    was_settled = not memory.jobs()[0]
    back = memory.remember(receipt)
    if was_settled:
        memory.work(drain=True)
    if as_json:
        print_json({"restored": back.restored, "changed": back.changed})
        return
    say(f"{len(back.restored)} items are back as they were.")
    for title in back.changed:
        say(f"{title} has changed since; the next sync reads it again, whole.")


def _list(memory: Any, *, as_json: bool) -> None:
    found = memory.forgotten()
    if as_json:
        print_json(
            {"receipts": [{"receipt": r.number, "at": r.at, "state": r.state, "counts": r.counts} for r in found]}
        )
        return
    for receipt in found:
        counts = ", ".join(f"{count} {name}" for name, count in receipt.counts.items() if count)
        state = {"kept": "can be brought back", "purged": "gone for good", "begun": "was interrupted; run it again"}[
            receipt.state
        ]
        say(f"{receipt.number}  {receipt.at[:16]}  {counts or 'nothing'}; {state}")
    say(f"{len(found)} {'receipt' if len(found) == 1 else 'receipts'}")
