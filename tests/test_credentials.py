"""Secrets that were resolved turn up in nothing that is told."""

from __future__ import annotations

import base64
import os
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.credentials import CUT, resolve, without_secrets
from sapwood.errors import ConfigurationError

LETTERS = st.text(alphabet="abcXYZ019 +/&?=%-_.ü密", min_size=6, max_size=40)


@given(secret=LETTERS, before=st.text(max_size=9), after=st.text(max_size=9))
def test_a_resolved_secret_is_cut_in_every_form(secret: str, before: str, after: str) -> None:
    os.environ["SAPWOOD_TEST_SECRET"] = secret
    assert resolve("env:SAPWOOD_TEST_SECRET") == secret
    raw = (before + secret + after).encode("utf-8", "surrogatepass")
    for told in (
        f"{before}{secret}{after}",
        f"https://x.example/?{urlencode({'key': secret})}",
        f"https://x.example/{quote(secret, safe='')}",
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
    ):
        assert CUT in without_secrets(told), told


def test_what_is_too_short_to_be_told_apart_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_TEST_SHORT", "abc")
    assert resolve("env:SAPWOOD_TEST_SHORT") == "abc"
    assert without_secrets("the abc of it") == "the abc of it"


@pytest.mark.parametrize("reference", ["env:SAPWOOD_NOT_SET", "file:/nowhere/at/all", "cmd:ls", "plain"])
def test_a_reference_that_leads_nowhere_says_what_to_do(reference: str) -> None:
    with pytest.raises(ConfigurationError):
        resolve(reference)
