"""The contract: objects check themselves and survive JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.sdk import (
    Acl,
    Attachment,
    CanonicalisedSource,
    Checkpoint,
    ConnectorConfig,
    Container,
    Converted,
    ConvertError,
    DateSource,
    DocumentSection,
    Failed,
    Fingerprint,
    ItemError,
    Kind,
    MailMessage,
    Member,
    Message,
    Metadata,
    Person,
    Progress,
    PullRequest,
    Removed,
    RemovedScope,
    ScopeComplete,
    SecretReference,
    Seen,
    SeenMany,
    Segment,
    Skipped,
    canonicalise_chat,
    canonicalise_document,
    canonicalise_email,
    decode_text,
)
from sapwood.sdk.events import event_from_json, event_to_json
from sapwood.sdk.sources import render, unescape

NOW = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)
FULL = CanonicalisedSource(
    "slack:T1:C1/t1",
    "slack:T1:C1",
    "C1",
    Kind.CHAT,
    "general",
    (
        Segment("1", "hi", NOW, "Al", "https://x/1"),
        Segment("2", "早", NOW + timedelta(hours=1), "Bo", page=None, headers=(("To", "x"),)),
    ),
    Metadata(
        owner="me",
        timestamp=NOW,
        time_range=(NOW, NOW + timedelta(hours=1)),
        date_source=DateSource.SAID,
        source_ref="https://x",
        tags=("a",),
        people=(Person("U1", "Al"),),
        container=(Container("T1", "team"), Container("C1", "general")),
        thread_id="t1",
        revision="7",
        acl=Acl("private", ("U1",)),
        attachments=(Attachment("f1", "x.pdf", size=3),),
        truncated="long",
        final=False,
        merge=True,
        removed_segments=("0",),
        fingerprint=Fingerprint("x", 1, 2, "d"),
        media_type="text/plain",
        warnings=("w",),
    ),
)
EVENTS = [
    FULL,
    Removed("x:y:z"),
    RemovedScope("C1"),
    Failed("x:y:z", "C1", ItemError("damaged", "is damaged", "Copy it.", "convert", False), Fingerprint("p")),
    Skipped("x:y:z", "C1", "empty"),
    Seen("x:y:z", "C1", "7", Fingerprint("p", 1, 2)),
    SeenMany("C1", ("x:y:z", "x:y:a")),
    ScopeComplete("C1"),
    Checkpoint({"cursor": "abc"}),
    Progress(1, 2, "x"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
def test_every_event_survives_json(event: object) -> None:
    assert event_from_json(json.loads(json.dumps(event_to_json(event)))) == event  # type: ignore[arg-type]


def test_what_is_no_event_is_refused() -> None:
    with pytest.raises(TypeError, match="is not an event"):
        event_to_json("x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown event"):
        event_from_json({"event": "nonsense"})


def test_naive_times_are_refused_and_others_become_utc() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        Metadata(timestamp=datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="no time zone"):
        Segment("1", "x", datetime(2026, 1, 1))
    assert (
        Metadata(timestamp=NOW.astimezone(timezone(timedelta(hours=8))), date_source=DateSource.SAID).timestamp == NOW
    )


@pytest.mark.parametrize(
    "change",
    [
        {"item_id": " "},
        {"source_id": ""},
        {"scope": "a\nb"},
        {"item_id": "x" * 5000},
        {"segments": (Segment("1", "a"), Segment("1", "b"))},
        {"segments": (), "title": " "},
    ],
)
def test_an_item_that_breaks_the_contract_cannot_be_made(change: dict[str, object]) -> None:
    fields = {
        "item_id": "a:b:c",
        "source_id": "a:b:c",
        "scope": "s",
        "kind": Kind.DOCUMENT,
        "title": "T",
        "segments": (Segment("1", "x"),),
    }
    with pytest.raises(ValueError):
        CanonicalisedSource(**(fields | change))  # type: ignore[arg-type]


def test_a_chat_is_rendered_in_the_briefs_shape_sorted_and_escaped() -> None:
    source = canonicalise_chat(
        item_id="s:t:c", source_id="s:t:c", scope="c", title="general",
        messages=[Message("2", NOW + timedelta(minutes=1), "Bo", "two\n## no heading", "https://x/2"), Message("1", NOW, "Al", "one"), Message("3", NOW, "Al", "  ")],
    )  # fmt: skip
    assert source is not None
    assert (
        source.markdown == "## 2026-05-04T09:30:00Z — Al\none\n\n## 2026-05-04T09:31:00Z — Bo\ntwo\n\\## no heading\n"
    )
    assert source.metadata.time_range == (NOW, NOW + timedelta(minutes=1))
    assert source.metadata.source_ref == "https://x/2"


def test_a_mail_is_rendered_in_the_briefs_shape() -> None:
    source = canonicalise_email(
        item_id="m:a:t",
        source_id="m:a:inbox",
        scope="inbox",
        title="Hello",
        messages=[MailMessage("1", NOW, "Al <al@x.org>", ("bo@x.org",), "Hello", "Hi\n---\nAl")],
    )
    assert source is not None
    assert (
        source.markdown
        == "---\nFrom: Al <al@x.org>\nTo: bo@x.org\nSubject: Hello\nDate: 2026-05-04T09:30:00Z\n\nHi\n\\---\nAl\n"
    )
    assert Person(name="Al", address="al@x.org", role="sender") in source.metadata.people


def test_empty_batches_give_nothing() -> None:
    ids = {"item_id": "a:b:c", "source_id": "a:b:c", "scope": "s"}
    assert canonicalise_chat(**ids, title="x", messages=[]) is None
    assert canonicalise_email(**ids, title="x", messages=[]) is None
    assert canonicalise_document(**ids, title=" ", sections=[DocumentSection("1", "  ")]) is None


@given(st.sampled_from(list(Kind)), st.lists(st.text(alphabet="ab#- \n\\中", max_size=40), min_size=1, max_size=6))
def test_spans_cover_the_text_and_give_each_segment_back(kind: Kind, bodies: list[str]) -> None:
    segments = tuple(Segment(str(n), body, NOW, "Al") for n, body in enumerate(bodies))
    text, spans = render(kind, segments)
    assert "".join(text[s.start : s.end] for s in spans) == text
    for segment, span in zip(segments, spans, strict=True):
        expected = segment.text.strip("\n").rstrip() if kind is Kind.DOCUMENT else segment.text.strip()
        assert unescape(kind, text[span.text_start : span.text_end]) == expected


def test_requests_and_conversions_survive_json() -> None:
    request = PullRequest({"a": 1}, containers=("x",), since=NOW, max_items=3, retry_failed=True)
    assert PullRequest.from_json(json.loads(json.dumps(request.to_json()))) == request
    converted = Converted(
        "T",
        (Segment("1", "x"),),
        Kind.DOCUMENT,
        NOW,
        None,
        (Person(name="Al"),),
        ("t",),
        (),
        "text/plain",
        ("w",),
        "",
        (Member("m", "/p", 1, NOW),),
    )
    assert Converted.from_json(json.loads(json.dumps(converted.to_json()))) == converted


def test_a_convert_error_crosses_a_process_border() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(ConvertError("encrypted", "is encrypted", "Give it.", retryable=True)))
    assert (error.code, error.message, error.next_step, error.retryable) == (
        "encrypted",
        "is encrypted",
        "Give it.",
        True,
    )


def test_a_configuration_takes_references_and_no_secrets() -> None:
    class Config(ConnectorConfig):
        token: SecretReference  # type: ignore[valid-type]

    assert Config(token="env:TOKEN").token == "env:TOKEN"
    with pytest.raises(ValueError, match="reference"):
        Config(token="xoxb-123")
    with pytest.raises(ValueError, match="Extra inputs"):
        Config(token="env:TOKEN", other=1)


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        ("简体中文".encode("gb18030"), "简体中文", "gb18030"),
        (("a" * 5000 + "é中").encode(), "a" * 5000 + "é中", "utf-8"),
        ("\ufeffx".encode(), "x", "utf-8-sig"),
        ("This is text".encode("utf-16-le"), "This is text", "utf-16-le"),
        ("x中".encode("utf-16"), "x中", "utf-16"),
        ("وأعرب".encode("iso-8859-6"), "وأعرب", "iso-8859-6"),
        (b"", "", "utf-8"),
    ],
)
def test_bytes_are_decoded_by_the_ladder(data: bytes, text: str, encoding: str) -> None:
    assert decode_text(data, "iso-8859-6" if encoding == "iso-8859-6" else "") == (text, encoding)


def test_gb2312_and_gbk_are_read_as_the_wider_gb18030() -> None:
    assert decode_text("镕㎏".encode("gbk"), "gb2312") == ("镕㎏", "gb18030")
    assert decode_text("镕㎏".encode("gbk"), "GBK") == ("镕㎏", "gb18030")
