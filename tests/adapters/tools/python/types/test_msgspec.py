"""msgspec is no dependency, not even of these tests: what stands in for it answers as msgspec 0.22 does."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.samples import complaint
from toolreel._errors import AdapterError
from toolreel.tools._python.types.msgspec import schema_of_struct
from toolreel_core._errors import ConfigError
from toolreel_core._tools.surface import ToolDefinition


class Booking:
    """What would be a msgspec.Struct."""


def stand_in(kind: type) -> dict[str, Any]:
    if kind is not Booking:
        raise TypeError(f"type {kind!r} is not supported")
    part = {"title": "Booking", "type": "object", "properties": {"room": {"type": "string"}}, "required": []}
    return {"$ref": "#/$defs/Booking", "$defs": {"Booking": part}}


@pytest.fixture
def msgspec(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("msgspec")
    vars(module)["json"] = SimpleNamespace(schema=stand_in)
    monkeypatch.setitem(sys.modules, "msgspec", module)


@pytest.mark.usefixtures("msgspec")
def test_a_struct_gives_the_schema_of_a_tool() -> None:
    tool = ToolDefinition.of("book", "Book it.", schema_of_struct(Booking))
    assert tool.parameters == (
        '{"title":"Booking","type":"object","properties":{"room":{"type":"string"}},"required":[]}'
    )
    assert '"required"' not in str(tool.tree())


@pytest.mark.usefixtures("msgspec")
def test_a_type_that_has_no_schema_is_told() -> None:
    assert complaint(ConfigError, lambda: schema_of_struct(int)) == (
        "<class 'int'> makes no schema: type <class 'int'> is not supported"
    )


def test_without_msgspec_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msgspec", None)
    assert complaint(AdapterError, lambda: schema_of_struct(Booking)) == (
        "msgspec is not installed: pip install msgspec"
    )
