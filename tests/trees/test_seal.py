"""Sealing while others write: nothing is lost, nothing is told that is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path

import pytest
from tests.conftest import Result

from sapwood.ingest.followup import FLUSH, flushing
from sapwood.jobs.outcome import Superseded
from sapwood.memory import Memory
from sapwood.pipeline.grow import flush_stale
from sapwood.store.jobs import JobStore
from sapwood.store.summaries import SummaryStore
from sapwood.store.tree_checks import tree_faults
from sapwood.store.trees import BufferedNode, TreeStore
from sapwood.trees.seal import Sealer
from sapwood.trees.summarising import Extractive


@pytest.fixture
def memory(
    sapwood: Callable[..., Result], folder: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    monkeypatch.setenv("SAPWOOD_EMBEDDING_MODEL", "none")
    for number in range(12):
        (folder / f"{number:02d}.txt").write_text(
            f"The crane number {number} was inspected by Anna Berg on 3 May and needs a new rope.\n", encoding="utf-8"
        )
    assert sapwood("import", str(folder), env={"SAPWOOD_EMBEDDING_MODEL": "none"}).code == 0
    with Memory(workspace) as opened:
        yield opened


@pytest.fixture
def leaves(memory: Memory) -> list[str]:
    return [row[0] for row in memory.database.rows("SELECT id FROM mem_tree_chunks ORDER BY source_id")]


def _tree(memory: Memory, leaves: list[str]) -> str:
    """A channel in whose buffer these leaves wait."""
    trees = TreeStore(memory.database)
    with memory.database.transaction():
        tree_id = trees.open("source", "chat:x:general", "general", 0)
        for place, leaf in enumerate(leaves):
            trees.add(tree_id, 0, BufferedNode(leaf, 25, 0, place, 0))
        trees.set_lifecycle(leaves, "buffered")
    return tree_id


def _sealer(memory: Memory) -> Sealer:
    return Sealer(memory.workspace, memory.database, Extractive(), UTC)


def _waiting(memory: Memory, tree_id: str, level: int = 0) -> list[str]:
    return [node.node_id for node in TreeStore(memory.database).buffered(tree_id, level, 100)]


def test_what_is_appended_while_a_summary_is_made_waits_for_the_next_one(memory: Memory, leaves: list[str]) -> None:
    tree_id = _tree(memory, leaves[:10])
    write = _sealer(memory).seal(tree_id, 0)
    with memory.database.transaction():
        TreeStore(memory.database).add(
            tree_id, 0, BufferedNode(leaves[10], 25, -5, 0, 0)
        )  # older than all that is told
    with memory.database.transaction():
        write()
    assert _waiting(memory, tree_id) == [leaves[10]]
    (summary,) = _waiting(memory, tree_id, 1)
    assert SummaryStore(memory.database).get(summary).child_ids == tuple(leaves[:10])  # type: ignore[union-attr]


@pytest.mark.parametrize("change", ["gone", "edited"])
def test_a_summary_of_what_has_changed_meanwhile_is_not_written(memory: Memory, leaves: list[str], change: str) -> None:
    tree_id = _tree(memory, leaves[:10])
    write = _sealer(memory).seal(tree_id, 0)
    with memory.database.transaction():
        if change == "gone":
            SummaryStore(memory.database).replace_node(leaves[3], None)
        else:
            memory.database.run(
                "UPDATE mem_tree_chunk_bodies SET edited = original || x'00' WHERE chunk_id = ?", (leaves[0],)
            )
            memory.database.run(
                "UPDATE mem_tree_chunk_bodies SET edited = (SELECT original FROM mem_tree_chunk_bodies WHERE chunk_id = ?) WHERE chunk_id = ?",
                (leaves[1], leaves[0]),
            )
    with pytest.raises(Superseded), memory.database.transaction():
        write()
    assert list(SummaryStore(memory.database).all()) == [] and not list(
        (memory.workspace.vault / "summaries").rglob("*")
    )


def test_two_that_seal_the_same_make_one_summary(memory: Memory, leaves: list[str]) -> None:
    tree_id = _tree(memory, leaves[:10])
    first, second = _sealer(memory).seal(tree_id, 0), _sealer(memory).seal(tree_id, 0)
    with memory.database.transaction():
        first()
    with pytest.raises(Superseded), memory.database.transaction():
        second()
    assert len(list(SummaryStore(memory.database).all())) == 1 and len(_waiting(memory, tree_id, 1)) == 1


def test_nine_leaves_wait_until_a_week_has_gone(memory: Memory, leaves: list[str]) -> None:
    tree_id = _tree(memory, leaves[:9])
    with memory.database.transaction():
        _sealer(memory).seal(tree_id, 0)()
    assert len(_waiting(memory, tree_id)) == 9
    jobs = JobStore(memory.database)
    with memory.database.transaction():
        memory.database.run("DELETE FROM mem_tree_jobs")
        jobs.enqueue([flushing("2026-11-30")], 0)
    job = jobs.claim("work", "o", "t", 0, 10**15)
    assert job is not None and job.kind == FLUSH
    with memory.database.transaction():
        flush_stale(job, memory.database).write()  # type: ignore[union-attr]
    (seal,) = [job for job in jobs.listed(None, 9) if job.kind == "seal"]
    with memory.database.transaction():
        _sealer(memory).seal(seal.payload["tree_id"], seal.payload["level"], force=seal.payload["force"])()
    assert _waiting(memory, tree_id) == [] and len(_waiting(memory, tree_id, 1)) == 1


def test_a_summary_that_loses_all_children_but_one_gives_way_to_it(memory: Memory, leaves: list[str]) -> None:
    tree_id = _tree(memory, leaves[:10])
    with memory.database.transaction():
        _sealer(memory).seal(tree_id, 0)()
    store = SummaryStore(memory.database)
    with memory.database.transaction():
        for leaf in leaves[1:10]:
            store.replace_node(leaf, None)
            TreeStore(memory.database).set_lifecycle([leaf], "dropped")
    while (stale := store.next_stale()) is not None:
        with memory.database.transaction():
            _sealer(memory).reseal(stale)()
    assert _waiting(memory, tree_id, 1) == [leaves[0]] and list(store.all()) == []
    assert {name: n for name, n in tree_faults(memory.database).items() if n} == {}
