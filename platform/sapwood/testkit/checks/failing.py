"""Whether failures are told for what they are, and hold up nothing else."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from sapwood.sdk import AuthError, ConnectorError, Failed, RateLimited, Skipped, TransientError
from sapwood.sdk.events import event_to_json
from sapwood.testkit.check import check
from sapwood.testkit.checks.ground import READ, TEXTS, failing, fill, held, run_that_may_fail
from sapwood.testkit.host import MemoryHost
from sapwood.testkit.world import World

__all__ = ["Failing"]


class Failing:
    """Groups `faults` and `secrets`."""

    @check("faults.a_refused_credential_is_an_auth_error", *READ)
    def test_faults_a_refused_credential_is_an_auth_error(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        host.run()
        with failing(world, "unauthorised"):
            for what, action in (("check", host.check), ("pull", host.run)):
                error = _error_of(action)
                assert isinstance(error, AuthError), f"the service answers 401, and {what} makes of it: {_named(error)}"
                assert error.hint, f"{what}: give the AuthError a hint, what the user does next"

    @check("faults.a_limit_is_told_with_its_time", *READ)
    def test_faults_a_limit_is_told_with_its_time(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        with failing(world, "limited"):
            host.account = "kit"
            error = _error_of(host.run)
        assert isinstance(error, RateLimited), (
            f"the service answers 429 with Retry-After: 120, and that becomes: {_named(error)}"
        )
        assert 100 <= error.retry_after <= 200, f"it said 120 seconds, and retry_after is {error.retry_after}"

    @check("faults.a_short_limit_is_waited_for", *READ)
    @pytest.mark.parametrize("kind", ["limited once", "limited by date", "limited without a time", "down once"])
    def test_faults_a_short_limit_is_waited_for(self, host: MemoryHost, world: World, kind: str) -> None:
        fill(world, TEXTS)
        host.check()
        with failing(world, kind):
            error = _error_of(host.run)
        assert error is None or isinstance(error, RateLimited | TransientError), f"it becomes: {_named(error)}"
        host.run()
        assert all(held(host, text) for text in TEXTS), "what was asked for when the service failed never came"

    @check("faults.a_service_that_is_down_is_transient", *READ)
    @pytest.mark.parametrize("kind", ["down", "cut", "garbled"])
    def test_faults_a_service_that_is_down_is_transient(self, host: MemoryHost, world: World, kind: str) -> None:
        fill(world, TEXTS)
        host.check()
        with failing(world, kind):
            error = _error_of(host.run)
        assert isinstance(error, TransientError | RateLimited), (
            f"the service is {kind}, and that becomes: {_named(error)}; a TransientError is tried again later"
        )

    @check("faults.one_bad_item_holds_up_no_other", *READ)
    def test_faults_one_bad_item_holds_up_no_other(self, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        MemoryHost(
            host.spec, host.config, host.tmp
        ).run()  # so that the service knows whether items are read one by one
        with failing(world, "one item forbidden"):
            run = run_that_may_fail(host)
        assert not isinstance(run, ConnectorError), f"one item answers 403, and the whole run ends: {_named(run)}"
        assert all(held(host, text) for text in TEXTS[1:]), "one item answers 403, and others did not come"
        told = any(isinstance(event, Failed | Skipped) for event in run.events)
        assert told, "the item that could not be read was left out without a word: yield Failed"

    @check("secrets.turn_up_nowhere", *READ)
    def test_secrets_turn_up_nowhere(
        self, host: MemoryHost, world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        if not world.secret:
            pytest.skip("this world has no secret")
        caplog.set_level(logging.DEBUG)
        fill(world, TEXTS)
        run = host.run()
        said = {"an event": json.dumps([event_to_json(event) for event in run.events], default=str)}
        said["the checkpoint"] = json.dumps(host.checkpoint)
        said["ctx.kv"] = json.dumps(host.kv, default=str)
        for kind in ("unauthorised", "down", "garbled", "limited"):
            for error in _errors_under(host, world, kind):
                said[f"the error of a service that is {kind}"] = str(error)
        said["the log"] = "\n".join(record.getMessage() for record in caplog.records)
        said["what it prints"] = "".join(capfd.readouterr())
        for place, text in said.items():
            assert not any(form in text for form in _forms(world.secret)), f"the secret stands in {place}"


def _errors_under(host: MemoryHost, world: World, kind: str) -> Iterator[BaseException]:
    try:
        fault = world.fault(kind)
        fault.__enter__()
    except NotImplementedError:
        return
    try:
        for action in (host.check, host.run):
            if error := _error_of(action):
                yield error
    finally:
        fault.__exit__(None, None, None)


def _error_of(action: object) -> Exception | None:
    """What a call raises."""
    assert callable(action)
    try:
        action()
    except Exception as error:
        return error
    return None


def _named(error: object) -> str:
    return "no error" if error is None else f"{type(error).__name__}: {error}"


def _forms(secret: str) -> set[str]:
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return {secret, quote(secret, safe=""), encoded}
