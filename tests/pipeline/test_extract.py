"""Extraction from the queue to the index, the aliases and the notes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from sapwood.ingest.commit import Writer
from sapwood.memory import Memory
from sapwood.sdk import CanonicalisedSource, Kind, Metadata, Person, Segment
from sapwood.store.connections import ConnectionStore
from tests.conftest import run_command
from tests.pipeline.poison import poisoned

_WHEN = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("SAPWOOD_EMBEDDING_MODEL", "none")
    with Memory(tmp_path / "ws", create=True) as opened:
        yield opened


def _take_in(
    memory: Memory, *texts: str, kind: Kind = Kind.DOCUMENT, people: tuple[Person, ...] = (), start: int = 0
) -> None:
    with memory.database.transaction():
        connection = ConnectionStore(memory.database).open("folder", "a", "a", 0)
    writer = Writer(memory.workspace, memory.database, (connection, "folder", "a", "a"))
    for number, text in enumerate(texts, start):
        metadata = Metadata(timestamp=_WHEN, people=people, revision=f"r{number}{text}")
        writer.add(CanonicalisedSource(f"folder:a:{number}", f"folder:a:{number}", "folder:a", kind, f"Note {number}", (Segment("s", text, at=_WHEN),), metadata))  # fmt: skip
    writer.flush()


def _entities(memory: Memory) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for title, entity in memory.database.rows(
        "SELECT i.title, e.entity_id FROM mem_tree_entity_index e JOIN mem_tree_item_chunks c ON c.chunk_id = e.node_id JOIN mem_tree_items i USING (item_no)"
    ):
        found.setdefault(title, set()).add(entity)
    return found


def test_names_of_one_item_are_found_in_the_texts_of_others(memory: Memory) -> None:
    _take_in(
        memory,
        "A letter about the harvest.",
        people=(Person(name="周冬雨", address="zhou@example.cn"), Person(name="bela kun")),
    )
    _take_in(
        memory,
        "昨天周冬雨说收成很好，大家都同意明年再种。",
        "Yesterday bela kun sold the old tractor to a neighbour.",
        start=1,
    )
    memory.work(drain=True)
    found = _entities(memory)
    assert "person:周冬雨" in found["Note 1"] and "person:bela kun" in found["Note 2"]


def test_a_name_with_one_address_is_its_alias_and_one_with_two_is_nobodys(memory: Memory) -> None:
    anna, other = Person(name="Anna Ek", address="Anna@x.org"), Person(name="Anna Ek", address="ek@y.org")
    _take_in(memory, "One.", people=(anna, Person(name="Bo Li", address="bo@x.org")))
    aliases = "SELECT alias_id, entity_id FROM mem_tree_entity_aliases ORDER BY alias_id"
    assert memory.database.rows(aliases) == [("person:anna ek", "email:anna@x.org"), ("person:bo li", "email:bo@x.org")]
    _take_in(memory, "Two.", people=(other,), start=1)
    _take_in(memory, "Three.", people=(anna,), start=2)
    assert memory.database.rows(aliases) == [("person:anna ek", ""), ("person:bo li", "email:bo@x.org")]


def test_a_search_for_a_name_lifts_what_its_owner_is_part_of(memory: Memory) -> None:
    _take_in(
        memory,
        "The budget was agreed by everybody, and the dates stand.",
        people=(Person(name="Bo Li", address="bo@x.org"),),
    )
    _take_in(memory, "The budget was agreed by everybody, and the dates stand too.", start=1)
    memory.work(drain=True)
    hits = memory.search("budget bo@x.org").hits
    assert hits[0].title == "Note 0" and hits[0].breakdown["entity"] > 0 and "entity" not in hits[1].breakdown


def _note(memory: Memory, title: str) -> tuple[Path, dict[str, Any], str]:
    path = memory.database.value(
        "SELECT c.content_path FROM mem_tree_chunks c JOIN mem_tree_item_chunks ic ON ic.chunk_id = c.id JOIN mem_tree_items i USING (item_no) WHERE i.title = ?",
        (title,),
    )
    file = memory.workspace.vault / path
    head, _, body = file.read_text(encoding="utf-8").removeprefix("---\n").partition("\n---\n")
    return file, yaml.safe_load(head), body


def test_entities_become_tags_and_the_users_own_tags_stay(memory: Memory) -> None:
    _take_in(memory, "Yesterday Olga Petrova met 马化腾 at the Central Bank about the loan, as #BigPlan says.")
    file, fields, body = _note(memory, "Note 0")
    text = (
        file.read_text(encoding="utf-8")
        .replace("tags:\n", "tags:\n  - mine\n")
        .replace("schema:", "rating: 5\nschema:")
    )
    file.write_text(text, encoding="utf-8")
    memory.work(drain=True)
    _, fields, after = _note(memory, "Note 0")
    assert {"person/Olga-Petrova", "person/马化腾", "organization/Central-Bank", "hashtag/BigPlan", "mine"} <= set(
        fields["tags"]
    )
    assert after == body and fields["rating"] == 5 and "mine" not in fields["entities"]
    assert memory.doctor().ok
    _take_in(memory, "Yesterday nobody met anybody about any loan at all.")
    memory.work(drain=True)
    _, fields, _ = _note(memory, "Note 0")
    assert fields["tags"][1:] == ["mine"] and "entities" not in fields and fields["rating"] == 5


def test_a_note_that_somebody_edits_meanwhile_is_not_written_over(memory: Memory) -> None:
    _take_in(memory, "Yesterday Olga Petrova met the landlord about the loan.")
    file, _, _ = _note(memory, "Note 0")
    file.write_text(file.read_text(encoding="utf-8").replace("landlord", "lawyer"), encoding="utf-8")
    edited = file.read_text(encoding="utf-8")
    memory.work(drain=True)
    assert file.read_text(encoding="utf-8") == edited


@pytest.mark.parametrize(
    ("word", "cause"),
    [("POISON-HANG", "longer than"), ("POISON-EXIT", "exit code 7"), ("POISON-MEMORY", "more memory")],
)
def test_a_text_that_breaks_its_examination_is_named_and_the_others_are_done(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, word: str, cause: str
) -> None:
    monkeypatch.setattr("sapwood.pipeline.extract.examine", poisoned)
    monkeypatch.setattr("sapwood.pipeline.extract._SECONDS", 1.5)
    monkeypatch.setattr("sapwood.jobs.workers._BASE_MS", 1)
    texts = [f"Yesterday Olga Petrova signed paper number {n}." for n in range(20)]
    texts[7] += f" {word}"
    _take_in(memory, *texts)
    assert memory.work(drain=True) == {"extract_chunk": {"failed": 1}}
    (failed,) = memory.jobs("failed")[1]
    assert "Note 7" in failed["error"] and cause in failed["error"] and failed["attempts"] == 5
    status = memory.status()
    assert not status.ok and "Note 7" in next(c.detail for c in status.checks if c.name == "failed work")
    found = _entities(memory)
    assert len(found) == 19 and all("person:olga petrova" in entities for entities in found.values())
    assert len(memory.search("Petrova", limit=50).hits) == 20
    monkeypatch.undo()
    assert memory.retry_jobs() == 1 and memory.work(drain=True) == {}


def test_a_search_passes_over_what_was_dropped_unless_it_is_asked_for(memory: Memory) -> None:
    _take_in(memory, "ok", "👍", "收到", kind=Kind.CHAT)
    _take_in(memory, "ok, then we pay Olga Petrova $2,400 by 2026-05-05 because the landlord asked.", start=5)
    before = {hit.title for hit in memory.search("ok").hits}
    assert before == {"Note 0", "Note 5"}
    memory.work(drain=True)
    assert [hit.title for hit in memory.search("ok").hits] == ["Note 5"]
    assert [hit.title for hit in memory.search("收到").hits] == []
    assert [hit.title for hit in memory.search("收到", include_dropped=True).hits] == ["Note 2"]
    assert {hit.title for hit in memory.search("").hits} == {"Note 5"}
    dropped = next(check for check in memory.status().checks if check.name == "dropped")
    assert dropped.facts == {"chunks": 3, "passages": 3}
    _take_in(memory, "ok, but the contract with Olga Petrova ends in June 2027 and we must decide.", kind=Kind.CHAT)
    memory.work(drain=True)
    assert {hit.title for hit in memory.search("ok").hits} == {"Note 0", "Note 5"}


def test_what_somebody_saves_while_tags_are_written_stays(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood.vault.files import FileBatch

    _take_in(memory, "Yesterday Olga Petrova met the landlord about the loan.")
    file, _, _ = _note(memory, "Note 0")
    stage = FileBatch.stage

    def saving(batch: FileBatch) -> object:
        stats = stage(batch)
        if any(path.startswith("raw/") for path in batch._files):
            file.write_text(file.read_text(encoding="utf-8").replace("landlord", "lawyer"), encoding="utf-8")
        return stats

    monkeypatch.setattr(FileBatch, "stage", saving)
    memory.work(drain=True)
    assert "lawyer" in file.read_text(encoding="utf-8")
    monkeypatch.undo()
    memory.doctor()
    assert memory.search("lawyer").hits


def test_who_wrote_what_stands_in_a_chunk_is_an_entity_of_it_and_goes_with_it(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    texts = [
        ("李娜", "深圳的仓库合同已经签了，租金每月两万元。"),
        ("Carl Ott", "I pay the deposit of $400 on Friday, because the owner asked."),
    ]
    said = [{"speaker": who, "time": f"2026-05-08T08:0{n}:00Z", "text": text} for n, (who, text) in enumerate(texts)]
    file = folder / "talk.json"
    file.write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
    run_command("import", str(folder), "--wait", workspace=memory.workspace.root)
    assert {"person:李娜", "person:carl ott"} <= _entities(memory)["talk"]
    file.write_text(
        json.dumps([*said[:1], *said[:1]], ensure_ascii=False).replace("两万元", "三万元"), encoding="utf-8"
    )
    run_command("import", str(folder), "--wait", workspace=memory.workspace.root)
    assert "person:carl ott" not in {
        row[0] for row in memory.database.rows("SELECT entity_id FROM mem_tree_entity_index")
    }
    assert "person:李娜" in _entities(memory)["talk"]


def test_an_author_that_no_parser_can_read_holds_up_no_extraction(memory: Memory) -> None:
    with memory.database.transaction():
        connection = ConnectionStore(memory.database).open("folder", "a", "a", 0)
    said = Segment("s", "The rent rises to 900 euros in June.", at=_WHEN, author="anna@example.org " + "(" * 3000)
    writer = Writer(memory.workspace, memory.database, (connection, "folder", "a", "a"))
    writer.add(CanonicalisedSource("folder:a:0", "folder:a:0", "folder:a", Kind.EMAIL, "Rent", (said,), Metadata(timestamp=_WHEN)))  # fmt: skip
    writer.flush()
    assert memory.work(drain=True) == {} and "quantity:900 euros" in _entities(memory)["Rent"]
