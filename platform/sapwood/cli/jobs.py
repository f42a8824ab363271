"""`sapwood jobs`, `sapwood work`, `sapwood explain`: the slow work, and what it made of a chunk."""

from __future__ import annotations

from pathlib import Path

import click

from sapwood.cli.commands import Commands, open_memory, with_common_options
from sapwood.cli.console import DONE_WITH_FAILURES, errors_to_exit_codes, fail, print_json, say

_SHOWN = 50


@click.group(cls=Commands)
def jobs() -> None:
    """The slow work that waits: scores, entities, vectors."""


@jobs.command("list")
@click.option("--status", type=click.Choice(["ready", "deferred", "running", "failed"]), help="Only these.")
@with_common_options
def jobs_list(status: str | None, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """What waits, what runs, and what failed for good with its reason."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        counts, rows = memory.jobs(status, _SHOWN)
        if as_json:
            print_json({"counts": counts, "jobs": rows})
            return
        for kind, states in sorted(counts.items()):
            say(f"{kind}: " + ", ".join(f"{number} {state}" for state, number in sorted(states.items())))
        for row in rows:
            if row["error"]:
                say(f"{row['job_id']}  {row['kind']}  {row['status']}, {row['attempts']} attempts: {row['error']}")
        if not counts:
            say("No work waits.")


@jobs.command("retry")
@click.argument("ids", nargs=-1)
@with_common_options
def jobs_retry(ids: tuple[str, ...], workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Try failed jobs again: these, or all."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        _tell(memory.retry_jobs(list(ids) or None), "put back", as_json=as_json)


@jobs.command("drop")
@click.argument("ids", nargs=-1, required=True)
@with_common_options
def jobs_drop(ids: tuple[str, ...], workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Give failed jobs up."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        _tell(memory.drop_jobs(list(ids)), "dropped", as_json=as_json)


@click.command()
@click.option("--drain", is_flag=True, help="End when nothing waits any more, instead of working until Ctrl-C.")
@with_common_options
def work(drain: bool, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Do the slow work that waits."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        counts = memory.work(drain=drain)
        if as_json:
            print_json({"counts": counts})
        else:
            left = sum(number for states in counts.values() for number in states.values())
            say(f"{left} jobs are left; `sapwood jobs list` names them." if left else "All work is done.")
    raise click.exceptions.Exit(DONE_WITH_FAILURES if any("failed" in s for s in counts.values()) else 0)


@click.command()
@click.argument("chunk")
@with_common_options
def explain(chunk: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Why a chunk has its score: every signal with its weight, and the entities in it.

    CHUNK is the node_id of a hit, or its first eight or more digits.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        found = memory.explain(chunk)
        if as_json:
            print_json(found)
            return
        verdict = f"dropped: {found['reason']}" if found["dropped"] else "admitted"
        say(f"{found['chunk_id']}  {found['total']:.3f}  {verdict} (band: {found['band']})")
        for name, signal in found["signals"].items():
            say(f"  {name:20s} {signal['value']:.3f} x {signal['weight']:g}")
        if found["importance"] is not None:
            say(
                f"  {'importance':20s} {found['importance']:.3f} x 2  ({found['importance_reason'] or 'a model said so'})"
            )
        say(f"  speaks of: {', '.join(found['cues']) or 'nothing in particular'}")
        for entity in found["entities"]:
            say(f"  {entity['kind']:12s} {entity['surface']}")


@click.command()
@click.option(
    "--model",
    help="Choose another: offline, hashing, ollama:NAME, openai:NAME or none. The old one serves until it is complete.",
)
@click.option("--drop", "dropped", metavar="MODEL", help="Remove the vectors of this model.")
@click.option("--retry-failed", is_flag=True, help="Try texts again that a model gave no vector for.")
@click.option("--wait", is_flag=True, help="Make the vectors before returning.")
@with_common_options
def embed(
    model: str | None, dropped: str | None, retry_failed: bool, wait: bool, workspace: Path | None, as_json: bool, debug: bool
) -> None:  # fmt: skip
    """Vectors: which models there are, how far they are, and which one is chosen."""
    with errors_to_exit_codes(as_json=as_json, debug=debug), open_memory(workspace) as memory:
        if dropped is not None and not memory.drop_vectors(dropped):
            fail(
                f"{dropped}: no model of this name has vectors. `sapwood embed` names those that have.", as_json=as_json
            )
        if dropped is None or model is not None or retry_failed:
            memory.embed(model, retry_failed=retry_failed)
        counts = memory.work(drain=True) if wait else {}
        models = memory.vector_models()
        if as_json:
            print_json({"chosen": memory.settings.embedding_model, "models": models})
        else:
            say(f"chosen: {memory.settings.embedding_model}")
            for row in models:
                say(f"  {row['detail']}")
            if not wait:
                say("`sapwood work` fills in what is missing.")
    raise click.exceptions.Exit(DONE_WITH_FAILURES if any("failed" in s for s in counts.values()) else 0)


def _tell(number: int, verb: str, *, as_json: bool) -> None:
    if not number:
        fail(
            "No failed job has this id. `sapwood jobs list --status failed` names those that there are.",
            as_json=as_json,
        )
    if as_json:
        print_json({"jobs": number})
    else:
        say(f"{number} {'job' if number == 1 else 'jobs'} {verb}.")
