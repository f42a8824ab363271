"""What a connector says of itself."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sapwood.sdk import Capability, ConnectorSpec, ScopeComplete
from sapwood.testkit.check import check
from sapwood.testkit.checks.ground import READ, TEXTS, fill
from sapwood.testkit.host import MemoryHost
from sapwood.testkit.world import World

__all__ = ["Describing"]

_SECRET = re.compile(r"(?:^|_)(?:token|password|passphrase|secret|api_?key|credentials?)s?$", re.IGNORECASE)


class Describing:
    """Groups `spec` and `check`."""

    @check("spec.loads")
    def test_spec_loads(self, spec: ConnectorSpec) -> None:
        assert spec.title.strip(), "give the connector a title, people choose it by that"
        assert spec.default_interval.total_seconds() >= 60, "an interval is a minute at least"

    @check("spec.describes_its_fields", "spec.loads")
    def test_spec_describes_its_fields(self, spec: ConnectorSpec) -> None:
        bare = [name for name, field in _properties(spec).items() if not field.get("description")]
        assert not bare, f"give these fields a description, people are asked for them: {', '.join(bare)}"

    @check("spec.takes_the_worlds_configuration", "spec.loads")
    def test_spec_takes_the_worlds_configuration(self, spec: ConnectorSpec, world: World) -> None:
        spec.config_model.model_validate(dict(world.config))

    @check("spec.refuses_unknown_fields", "spec.takes_the_worlds_configuration")
    def test_spec_refuses_unknown_fields(self, spec: ConnectorSpec, world: World) -> None:
        try:
            spec.config_model.model_validate({**world.config, "nothing_of_this_name": 1})
        except ValueError:
            return
        pytest.fail("a field of no meaning is taken: derive the configuration from ConnectorConfig")

    @check("spec.keeps_secrets_as_references", "spec.takes_the_worlds_configuration")
    def test_spec_keeps_secrets_as_references(self, spec: ConnectorSpec) -> None:
        plain = [
            name
            for name, field in _properties(spec).items()
            if _SECRET.search(name) and "secret-reference" not in str(field)
        ]
        assert not plain, f"these fields hold secrets; make them SecretReference: {', '.join(plain)}"

    @check("check.names_the_account", "spec.takes_the_worlds_configuration")
    def test_check_names_the_account(self, host: MemoryHost) -> None:
        account = host.check()
        assert account.strip(), "check must name the account: it goes into every id"
        assert host.check() == account, "the account changed between two checks: ids would change with it"

    @check("honesty.names_scopes_if_it_enumerates", *READ)
    def test_honesty_names_scopes_if_it_enumerates(self, spec: ConnectorSpec, host: MemoryHost, world: World) -> None:
        fill(world, TEXTS)
        named = any(isinstance(event, ScopeComplete) for event in host.run().events)
        if named:
            assert Capability.ENUMERATE in spec.capabilities, "it yields ScopeComplete and does not declare ENUMERATE"
        else:
            assert Capability.ENUMERATE not in spec.capabilities, "it declares ENUMERATE and yields no ScopeComplete"

    @check("honesty.has_the_methods_that_it_declares", "spec.takes_the_worlds_configuration")
    def test_honesty_has_the_methods_that_it_declares(self, spec: ConnectorSpec, world: World) -> None:
        connector = spec.factory(spec.config_model.model_validate(dict(world.config)))
        for capability, method in ((Capability.RETRY_ITEMS, "refetch"),):
            if capability in spec.capabilities:
                assert callable(getattr(connector, method, None)), f"it declares {capability} and has no {method}()"


def _properties(spec: ConnectorSpec) -> dict[str, Any]:
    properties: dict[str, Any] = spec.config_model.model_json_schema().get("properties", {})
    return properties
