"""The embedder's process: started on demand, shared, ended by idleness, replaced when it dies."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest

from sapwood.models.embedder import EmbedderStuck, unit_vector
from sapwood.models.http import ModelMisconfigured
from sapwood.models.local import LocalEmbedder
from sapwood.models.wire import LOCK_NAME, SOCKET_NAME, Answer, Request

IDLE = 30.0


def _pid(folder: Path) -> int:
    return int((folder / LOCK_NAME).read_text())


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]
    except OSError:
        return ""


def _is_alive(pid: int) -> bool:
    return _state(pid) not in ("", "Z")


def _wait_for(condition: object, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    if (tmp_path / LOCK_NAME).exists():
        try:
            os.kill(_pid(tmp_path), signal.SIGKILL)
        except (OSError, ValueError):
            pass


@pytest.fixture
def hashing(folder: Path) -> LocalEmbedder:
    return LocalEmbedder("hashing", folder, IDLE)


def _cosine(a: bytes | None, b: bytes | None) -> float:
    assert a is not None and b is not None
    return math.fsum(x * y for x, y in zip(array("f", a), array("f", b), strict=True))


def test_vectors_have_length_one_and_equal_texts_have_equal_ones(hashing: LocalEmbedder) -> None:
    first, second, other = hashing.encode(["the rent rises", "the rent rises", "奶奶的饺子"])
    assert first == second and first is not None and len(first) == 4 * 512
    assert _cosine(first, first) == pytest.approx(1, abs=1e-4) and _cosine(first, other) < 0.3
    hashing.close()


def test_the_default_model_knows_what_two_languages_mean(folder: Path) -> None:
    model = LocalEmbedder("offline", folder, IDLE)
    question, right, wrong = model.encode(["房租涨了多少？", "The landlord raised the rent by eight percent.", "Fold each wrapper eleven times."])  # fmt: skip
    assert _cosine(question, right) > _cosine(question, wrong) + 0.2
    assert all(model.encode(["", "\0", "😀", "a" * 30_000, "字" * 30_000]))
    model.close()


def test_several_commands_share_one_process(folder: Path) -> None:
    embedders = [LocalEmbedder("hashing", folder, IDLE) for _ in range(6)]
    threads = [threading.Thread(target=e.encode, args=(["a", "b"],)) for e in embedders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pid = _pid(folder)
    assert embedders[0].encode(["c"]) and _pid(folder) == pid
    assert oct((folder / SOCKET_NAME).stat().st_mode & 0o777) == "0o600"


def test_a_killed_process_is_started_again(hashing: LocalEmbedder, folder: Path) -> None:
    before = hashing.encode(["words"])
    first = _pid(folder)
    os.kill(first, signal.SIGKILL)
    _wait_for(lambda: not _is_alive(first))
    assert hashing.encode(["words"]) == before and _pid(folder) != first


def test_the_process_ends_when_it_is_idle_or_its_workspace_is_gone(folder: Path) -> None:
    short = LocalEmbedder("hashing", folder, 1.0)
    short.encode(["words"])
    pid = _pid(folder)
    _wait_for(lambda: not _is_alive(pid))
    assert not (folder / SOCKET_NAME).exists()
    lasting = LocalEmbedder("hashing", folder, IDLE)
    lasting.encode(["words"])
    pid = _pid(folder)
    (folder / SOCKET_NAME).unlink()
    _wait_for(lambda: not _is_alive(pid))


def test_a_question_does_not_wait_for_a_long_batch(folder: Path) -> None:
    model = LocalEmbedder("offline", folder, IDLE)
    model.encode(["loads the model"])
    order: list[str] = []
    batch = [f"Sentence {n} about the weather and the harvest in the valley. " * 4 for n in range(150)]

    def fill() -> None:
        LocalEmbedder("offline", folder, IDLE).encode(batch)
        order.append("batch")

    filling = threading.Thread(target=fill)
    filling.start()
    for number in range(3):
        model.encode(["what about the harvest?"], urgent=True)
        order.append(f"question {number}")
    filling.join()
    assert order[-1] == "batch"


def test_a_folder_with_a_long_path_has_a_socket_too(tmp_path: Path) -> None:
    deep = tmp_path / ("长" * 40) / ("deep" * 20)
    deep.mkdir(parents=True)
    embedder = LocalEmbedder("hashing", deep, 1.0)
    assert embedder.encode(["words"])[0] is not None


def test_texts_over_which_the_process_ends_again_and_again_are_told(
    hashing: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.models.local.receive", lambda *_: None)
    with pytest.raises(EmbedderStuck, match="ended 3 times"):
        hashing.encode(["words"])


def test_a_process_that_hangs_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = LocalEmbedder("hashing", folder, IDLE)
    embedder.encode(["words"])
    pid = _pid(folder)
    os.kill(pid, signal.SIGSTOP)
    _wait_for(lambda: _state(pid) == "T")
    monkeypatch.setattr("sapwood.models.local._LOAD_SECONDS", 0.5)
    monkeypatch.setattr("sapwood.models.local._TEXT_SECONDS", 0.0)
    with pytest.raises(EmbedderStuck, match="in time"):
        embedder.encode(["words"])
    _wait_for(lambda: not _is_alive(pid))


def test_an_answer_that_does_not_fit_is_refused(hashing: LocalEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    for answer, cause in (
        (Answer(b"\0" * 8, 4), "another number"),
        (Answer(error="cannot be loaded (x)"), "cannot be loaded"),
    ):
        monkeypatch.setattr(LocalEmbedder, "_ask", lambda self, request, answer=answer: answer)
        with pytest.raises(ModelMisconfigured, match=cause):
            hashing.encode(["words"])
    assert Request("m", []).texts == []


@pytest.mark.parametrize("numbers", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_zeros_and_what_is_no_number_make_no_vector(numbers: list[float]) -> None:
    assert unit_vector(array("f", numbers)) is None
    vector = unit_vector(array("f", [3.0, 4.0]))
    assert vector is not None and list(array("f", vector)) == pytest.approx([0.6, 0.8])
