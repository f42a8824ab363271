"""A connector that tells its secret everywhere: the host keeps it nowhere."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Result
from tests.plugins.conftest import install_plugin

Sapwood = Callable[..., Result]
SECRET = "Kx9-tell/nobody+7731"
BODY = """
import base64, os
from urllib.parse import quote
from sapwood.sdk import *
from sapwood.sdk import API_VERSION
class Config(ConnectorConfig):
    token: SecretReference = "env:TEST_TOKEN"
class Chatty:
    def __init__(self, config): self.config = config
    def check(self, ctx): return CheckReport("one", title="Chatty")
    def pull(self, ctx, request):
        t = ctx.secrets.get(self.config.token)
        forms = [t, quote(t, safe=""), base64.b64encode(f"ada:{t}".encode()).decode()]
        for form in forms:
            print("printed", form)
            ctx.log.warning("logged %s", form)
            yield Progress(1, 2, f"reading {form}")
        for n, form in enumerate(forms):
            yield Failed(f"chatty:one:{n}", "chatty:one", ItemError("bad", f"failed with {form}", f"try {form}"))
        yield Skipped("chatty:one:s", "chatty:one", f"skipped for {t}")
        yield Checkpoint({})
        if os.environ.get("TEST_ENDS") == "crash": raise ValueError(f"crashed with {forms}")
        if os.environ.get("TEST_ENDS") == "error": raise TransientError(f"sent {forms[1]}", hint=f"look at {forms[2]}")
        if os.environ.get("TEST_ENDS") == "exit": print(f"last words {forms}", flush=True); os._exit(3)
@hookimpl
def connectors(): return [ConnectorSpec("chatty", "Chatty", API_VERSION, Config, CheckpointModel, Chatty)]
"""


@pytest.mark.parametrize("ends", ["", "crash", "error", "exit"])
def test_no_file_and_no_message_holds_it(
    sapwood: Sapwood, tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    place = tmp_path / "site"
    install_plugin(place, "sapwood-chatty", "chatty", "chatty_one", BODY)
    monkeypatch.setenv("PYTHONPATH", str(place))
    monkeypatch.setenv("TEST_TOKEN", SECRET)
    monkeypatch.setenv("TEST_ENDS", ends)
    told = [sapwood("connect", "chatty"), sapwood("sync", "--json"), sapwood("status", "--json"), sapwood("sync")]
    said = "".join(result.out + result.err for result in told)
    assert "[secret]" in said
    kept = b"".join(file.read_bytes() for file in workspace.rglob("*") if file.is_file())
    coded = base64.b64encode(f"ada:{SECRET}".encode()).decode()
    for form in (SECRET, "Kx9-tell%2Fnobody%2B7731", coded):
        assert form not in said and form.encode() not in kept, form
    log = (workspace / "logs" / "sapwood.log").read_text(encoding="utf-8")
    assert len(re.findall(r"logged \[secret\]", log)) >= 2
