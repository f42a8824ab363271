"""What `status` says about the trees, and what `doctor` proves of them."""

from __future__ import annotations

from sapwood.checks import Check
from sapwood.clock import now, now_ms, zone
from sapwood.config import Settings
from sapwood.ingest.followup import resealing
from sapwood.pipeline.retell import BY_MODEL
from sapwood.store.database import Database
from sapwood.store.jobs import JobStore
from sapwood.store.model_use import ModelUseStore
from sapwood.store.summaries import SummaryStore
from sapwood.store.tree_checks import tree_faults
from sapwood.store.trees import TreeStore
from sapwood.trees.files import is_as_written, repair_summaries
from sapwood.trees.summarising import EXTRACTIVE
from sapwood.vault.paths import topic_page_path
from sapwood.workspace import Workspace

__all__ = ["prove_trees", "summaries", "told_by"]

_SHOWN = 5


def summaries(database: Database) -> Check:
    """How many summaries there are, and what waits to be summarised."""
    counts = TreeStore(database).counts()
    detail = f"{counts['summaries']} in {counts['trees']} trees; {counts['waiting']} nodes wait for more of their kind"
    if counts["stale"]:
        detail += f"; {counts['stale']} are made anew, since what they tell of has changed"
    return Check("summaries", True, detail, facts=counts)


def told_by(database: Database, settings: Settings) -> list[Check]:
    """Who made the summaries, what of a model's could not be taken, and what it was asked today. Nothing to say without a model."""
    store = SummaryStore(database)
    made, rejected = store.by_summariser(), store.rejections()
    if settings.summariser != BY_MODEL and set(made) <= {EXTRACTIVE}:
        return []
    today = now().astimezone(zone(settings.timezone)).date().isoformat()
    calls, read, written = ModelUseStore(database).of_day(today)
    parts = [f"{count} by {'choice of sentences' if name == EXTRACTIVE else name}" for name, count in made.items()]
    detail = f"{', '.join(parts) or 'none yet'}; {calls} calls today, {read} tokens read, {written} written"
    if settings.summary_tokens_per_day:
        detail += f", of {settings.summary_tokens_per_day} allowed"
    if rejected:
        reasons = "; ".join(f"{count} since {reason}" for reason, count in list(rejected.items())[:_SHOWN])
        detail += f". Not taken: {reasons}"
    step = "`sapwood summarise --redo extractive` asks again." if rejected else ""
    facts = {"made": made, "rejected": rejected, "calls": calls, "tokens_read": read, "tokens_written": written}
    return [Check("summaries by a model", True, detail, step, facts)]


def prove_trees(workspace: Workspace, database: Database, *, repair: bool) -> list[Check]:
    """That every leaf is where its state says, is told of once, and that rows of summaries are their files."""
    if repair:
        repair_summaries(workspace, database)
        with database.transaction():
            JobStore(database).enqueue([resealing()], now_ms())
    faults = {name: count for name, count in tree_faults(database).items() if count}
    checks = [
        Check(
            "leaves, buffers and summaries agree", not faults, "; ".join(f"{count} {name}" for name, count in faults.items()) or "equal",
            "Run `sapwood rebuild`." if faults else "", faults,
        )
    ]  # fmt: skip
    wrong: list[str] = []
    total = 0
    claimed = {topic_page_path(tree.scope) for tree in TreeStore(database).trees("topic")}
    for summary in SummaryStore(database).all():
        total += 1
        claimed.add(summary.path)
        if not is_as_written(workspace, summary):
            wrong.append(f"{summary.path} is missing, damaged, or holds another text than its row")
    checks.append(
        Check(
            "summary rows = summary files", not wrong, f"{total} summaries" if not wrong else "; ".join(wrong[:_SHOWN]),
            "Run `sapwood doctor --repair`." if wrong else "", {"summaries": total, "wrong": len(wrong)},
        )
    )  # fmt: skip
    left = sorted(
        path
        for folder in ("summaries", "daily", "topics")
        for file in (workspace.vault / folder).rglob("*.md")
        if (path := file.relative_to(workspace.vault).as_posix()) not in claimed
    )
    checks.append(
        Check(
            "notes among the summaries that no summary claims", True, f"{len(left)}: they are yours, or left of a restored copy" if left else "none",
            facts={"paths": left[:_SHOWN]},
        )
    )  # fmt: skip
    if "seal" not in JobStore(database).counts_by_kind() and (stale := TreeStore(database).counts()["stale"]):
        checks.append(Check("stale summaries", False, f"{stale} are to be made anew, and no job does it", "Run `sapwood doctor --repair`."))  # fmt: skip
    return checks
