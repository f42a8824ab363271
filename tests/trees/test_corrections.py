"""What people change in summaries: shown, kept when the summary is made anew, known to what stands above."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Result
from tests.trees.test_days import ENV, _chat, _week
from tests.trees.test_growth import SUBJECTS, _faults, _note, _write_notes

from sapwood.memory import Memory
from sapwood.trees.corrections import Corrections, _merged

Sapwood = Callable[..., Result]


def _json(sapwood: Sapwood, *arguments: str) -> Any:
    result = sapwood(*arguments, "--json", env=ENV)
    assert result.code == 0, result.err + result.out
    return result.json


def _import(sapwood: Sapwood, folder: Path) -> Any:
    return _json(sapwood, "import", str(folder), "--wait")


def _summary(sapwood: Sapwood) -> Any:
    return next(hit for hit in _json(sapwood, "source", "files")["hits"] if hit["node_kind"] == "summary")


def _edit(workspace: Path, hit: Any, old: str, new: str) -> None:
    file = workspace / hit["path"]
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_correction_is_shown_and_kept_when_another_part_changes(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _write_notes(folder, 10)
    _import(sapwood, folder)
    hit = _summary(sapwood)
    valve = next(p for p in hit["content"].split("\n\n") if p.startswith("**Valve**"))
    _edit(workspace, hit, valve.rpartition(" [")[0], "**Valve**: It was replaced by Ruth Delgado, not repaired.")
    _edit(workspace, hit, "**Bridge**: ", "**Bridge**: In truth: ")
    (workspace / hit["path"]).write_text(
        (workspace / hit["path"]).read_text(encoding="utf-8") + "\nThe mayor knows all of this.\n", encoding="utf-8"
    )
    report = _import(sapwood, folder)
    assert report["vault"]["edited"] == [hit["path"].removeprefix("wiki/")]
    told = _summary(sapwood)
    assert (
        told["node_id"] == hit["node_id"]
        and "replaced by Ruth Delgado" in told["content"]
        and "The mayor knows" in told["content"]
    )
    assert _import(sapwood, folder)["vault"]["edited"] == []  # once
    found = _json(sapwood, "search", "Ruth Delgado replaced")
    assert [hit["node_id"] for hit in found["told"]] == [hit["node_id"]]
    said = sapwood("search", "Ruth Delgado replaced", env=ENV).out
    assert "replaced by Ruth Delgado" in said and "Nothing found" not in said
    assert _json(sapwood, "search", "Ruth Delgado sang")["told"] == []
    (folder / "04-harbour.md").write_text(
        f"# Harbour\n\n{_note('harbour', 4)}\nIt was closed for a year.\n", encoding="utf-8"
    )
    _import(sapwood, folder)
    anew = _summary(sapwood)
    assert anew["node_id"] != hit["node_id"]
    for stays in ("replaced by Ruth Delgado", "**Bridge**: In truth: ", "The mayor knows all of this."):
        assert stays in anew["content"], stays
    assert _faults(workspace) == {} and _json(sapwood, "doctor")["ok"]
    assert _json(sapwood, "rebuild")["ok"]
    _json(sapwood, "work", "--drain")
    assert _summary(sapwood)["content"] == anew["content"]
    (folder / "05-station.md").write_text(
        f"# Station\n\n{_note('station', 5)}\nIt has a new clock.\n", encoding="utf-8"
    )
    _import(sapwood, folder)
    assert "replaced by Ruth Delgado" in _summary(sapwood)["content"]  # after a rebuild too


def test_a_paragraph_that_was_removed_stays_away_and_what_is_new_comes(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _write_notes(folder, 10)
    _import(sapwood, folder)
    hit = _summary(sapwood)
    file = workspace / hit["path"]
    paragraphs = file.read_text(encoding="utf-8").split("\n\n")
    file.write_text("\n\n".join(p for p in paragraphs if not p.startswith("**Valve**")), encoding="utf-8")
    _import(sapwood, folder)
    (folder / "00-pump.md").write_text(
        f"# Pump\n\n{_note('pump', 0)}\nIt was closed for a year by Ruth Delgado.\n", encoding="utf-8"
    )
    _import(sapwood, folder)
    assert "**Valve**" not in _summary(sapwood)["content"] and "**Tunnel**" in _summary(sapwood)["content"]


def test_what_stands_above_is_told_from_the_correction(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _week(folder)
    _import(sapwood, folder)
    (day,) = _json(sapwood, "recap", "--on", "2026-05-05")["hits"]
    _edit(
        workspace,
        day,
        "We decided to sell the harbour in June.",
        "We decided to keep the lighthouse for 7,000 euros in July.",
    )
    _import(sapwood, folder)
    (week,) = _json(sapwood, "recap", "--since", "2026-05-04", "--until", "2026-05-10")["hits"]
    assert "lighthouse" in week["content"] and "sell the harbour" not in week["content"]
    _chat(
        folder,
        "late",
        [
            (
                "2026-05-05T20:00:00Z",
                "Olga",
                "I promise to paint the fence of the garden on Friday, for 300 euros from the budget.",
            )
        ],
    )
    _import(sapwood, folder)
    (day,) = _json(sapwood, "recap", "--on", "2026-05-05")["hits"]
    assert "lighthouse" in day["content"] and "fence" in day["content"]


def test_an_edit_that_nobody_has_looked_at_yet_is_not_overwritten(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _write_notes(folder, 10)
    _import(sapwood, folder)
    (folder / "04-harbour.md").write_text(
        f"# Harbour\n\n{_note('harbour', 4)}\nIt was closed for a year.\n", encoding="utf-8"
    )
    assert sapwood("import", str(folder), env=ENV).code == 0
    _edit(workspace, _stale(workspace), "**Valve**: ", "**Valve**: As everybody knows: ")
    _json(sapwood, "work", "--drain")
    assert "**Valve**: As everybody knows: " in _summary(sapwood)["content"]


def test_personal_numbers_are_cut_out_of_an_edit_that_a_worker_finds_first(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    personal = {**ENV, "SAPWOOD_REDACT_PERSONAL": "true"}
    _write_notes(folder, 10)
    _import(sapwood, folder)
    (folder / "04-harbour.md").write_text(
        f"# Harbour\n\n{_note('harbour', 4)}\nIt was closed for a year.\n", encoding="utf-8"
    )
    assert sapwood("import", str(folder), env=personal).code == 0
    _edit(workspace, _stale(workspace), "**Valve**: ", "**Valve**: 11010519491231002X says: ")
    assert sapwood("work", "--drain", env=personal).code == 0
    told = _summary(sapwood)["content"]
    assert "says: " in told and "11010519491231002X" not in told


def _stale(workspace: Path) -> dict[str, str]:
    with Memory(workspace) as memory:
        (path,) = memory.database.row("SELECT content_path FROM mem_tree_summaries WHERE stale") or ("",)
    return {"path": f"wiki/{path}"}


def test_forgetting_reaches_corrections(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    from tests.forgetting.test_forget import _traces

    _write_notes(folder, 10)
    _import(sapwood, folder)
    _edit(workspace, _summary(sapwood), "**Bridge**: ", "**Bridge**: Zanzibar says: ")
    _import(sapwood, folder)
    assert "Zanzibar" in _summary(sapwood)["content"]
    done = _json(sapwood, "forget", "--match", "zanzibar", "--yes", "--purge")
    assert done["left"] == [] and _traces(workspace, "zanzibar") == [] and "**Bridge**" in _summary(sapwood)["content"]


def test_a_correction_in_a_summary_that_waits_to_be_made_anew_stays_with_what_it_is_about(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    _write_notes(folder, 10)
    _import(sapwood, folder)
    told = {p.partition("**")[2].partition("**")[0]: p for p in _summary(sapwood)["content"].split("\n\n")}
    (folder / "04-harbour.md").write_text(
        f"# Harbour\n\n{_note('harbour', 4)}\nIt was closed for a year.\n", encoding="utf-8"
    )
    assert sapwood("import", str(folder), env=ENV).code == 0  # the summary is stale, its file has the old numbers
    _edit(workspace, _stale(workspace), "**Valve**: ", "**Valve**: As everybody knows: ")
    _json(sapwood, "work", "--drain")
    after = _summary(sapwood)["content"].split("\n\n")
    assert [p.partition("**")[2].partition("**")[0] for p in after] == [name for name in told if name != "Harbour"]
    assert sum("As everybody knows" in p for p in after) == 1


def test_a_correction_is_kept_when_its_own_source_changes_or_the_document_is_told_anew(
    sapwood: Sapwood, folder: Path, workspace: Path
) -> None:
    long = "\n\n".join(f"## {s} {n}\n\n{_note(s, n) * 12}" for n in range(4) for s in SUBJECTS)
    (folder / "long.md").write_text(long, encoding="utf-8")
    _import(sapwood, folder)
    (root,) = _json(sapwood, "source", "long.md")["hits"]
    file = workspace / root["path"]
    file.write_text(file.read_text(encoding="utf-8") + "\nThe mayor knows all of this.\n", encoding="utf-8")
    _edit(workspace, root, "## " if "## " in root["content"] else root["content"].split(".")[0], "Ruth Delgado says so")
    _import(sapwood, folder)
    (told,) = _json(sapwood, "source", "long.md")["hits"]
    assert told["content"].count("The mayor knows all of this.") == 1 and "Ruth Delgado says so" in told["content"]
    (folder / "long.md").write_text(long + "\n\nOne more line about the harbour.\n", encoding="utf-8")
    _import(sapwood, folder)
    (anew,) = _json(sapwood, "source", "long.md")["hits"]
    assert (
        anew["node_id"] != told["node_id"]
        and anew["content"].count("The mayor knows") == 1
        and "Ruth Delgado says so" in anew["content"]
    )


def test_an_edit_that_nobody_looked_at_is_kept_by_a_rebuild(sapwood: Sapwood, folder: Path, workspace: Path) -> None:
    _write_notes(folder, 10)
    _import(sapwood, folder)
    _edit(workspace, _summary(sapwood), "**Valve**: ", "**Valve**: As everybody knows: ")
    assert _json(sapwood, "rebuild")["ok"]
    _json(sapwood, "work", "--drain")
    (folder / "04-harbour.md").write_text(
        f"# Harbour\n\n{_note('harbour', 4)}\nIt was closed for a year.\n", encoding="utf-8"
    )
    _import(sapwood, folder)
    assert "As everybody knows" in _summary(sapwood)["content"]


_texts = st.text(alphabet="abc d\n", min_size=1, max_size=12).map(lambda t: " ".join(t.split())).filter(bool)


@given(
    told=st.lists(
        st.tuples(st.sets(st.integers(0, 3), min_size=1), _texts), min_size=1, max_size=6, unique_by=lambda t: t[1]
    ),
    changed=st.dictionaries(st.integers(0, 5), st.none() | _texts.map(str.upper), max_size=4),
    added=st.lists(_texts.map(str.title), max_size=2, unique=True),
)
def test_what_was_changed_stands_in_its_place_and_all_else_stays(
    told: list[tuple[set[int], str]], changed: dict[int, str | None], added: list[str]
) -> None:
    children = [f"c{n}" for n in range(4)]

    def written(paragraphs: list[tuple[set[int], str | None]]) -> str:
        return "\n\n".join(f"{text} {' '.join(f'[{n + 1}]' for n in sorted(ids))}" for ids, text in paragraphs if text)

    body = written([*told])
    edited = "\n\n".join(
        filter(None, [written([(ids, changed.get(n, text)) for n, (ids, text) in enumerate(told)]), *added])
    )
    corrections = Corrections.of(_merged(Corrections(), body, edited, children).to_text())
    # Of several paragraphs about the same, a later one takes the place of one that was removed.
    assert sorted(corrections.applied_to(body, children).split("\n\n")) == sorted(edited.split("\n\n"))
    assert _merged(corrections, edited, edited, children) == corrections
