from __future__ import annotations

import pytest

from tests.samples import ECHO, PING, complaint
from toolreel.errors import ConfigError
from toolreel.jsontext import JsonText, canonical
from toolreel.surface import ToolDefinition, ToolSurface


def test_a_definition_is_written_as_the_model_will_see_it() -> None:
    assert ECHO.tree() == {
        "type": "function",
        "function": {
            "name": "echo",
            "description": "Say it again.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        },
    }


def test_without_a_schema_a_tool_takes_no_arguments() -> None:
    nothing = canonical({"type": "object", "properties": {}, "additionalProperties": False})
    assert ToolDefinition.of("ping") == ToolDefinition("ping", "", nothing)


def test_an_empty_schema_is_kept() -> None:
    assert ToolDefinition.of("any", "", {}).parameters == "{}"


@pytest.mark.parametrize("name", ["a", "A-z_09", "x" * 64])
def test_a_name_that_every_provider_takes_is_kept(name: str) -> None:
    assert ToolDefinition(name).name == name


@pytest.mark.parametrize("name", ["", "two words", "dot.ted", "é", "newline\n", "x" * 65])
def test_a_name_that_a_provider_would_refuse_is_refused(name: str) -> None:
    assert complaint(ConfigError, lambda: ToolDefinition(name)) == (
        f"tool name {name!r} does not fit [a-zA-Z0-9_-]{{1,64}}; providers refuse it"
    )


def test_a_schema_that_cannot_be_used_is_refused_by_the_name_of_its_tool() -> None:
    assert complaint(ConfigError, lambda: ToolDefinition("echo", parameters=canonical(["x"]))) == (
        "tool 'echo': a tool's parameters must be a JSON Schema object, not [\"x\"]"
    )


def test_a_surface_keeps_the_order_of_its_tools() -> None:
    surface = ToolSurface((PING, ECHO))
    assert surface.names == ("ping", "echo")
    assert surface.text == canonical([PING.tree(), ECHO.tree()])
    assert type(surface.text) is JsonText


def test_a_tool_is_found_by_its_name() -> None:
    assert dict(ToolSurface((PING, ECHO)).by_name) == {"ping": PING, "echo": ECHO}


def test_a_surface_without_tools_is_an_empty_list() -> None:
    assert ToolSurface().text == "[]"


def test_two_tools_may_not_share_a_name() -> None:
    again = ToolDefinition.of("echo", "Another.")
    assert complaint(ConfigError, lambda: ToolSurface((ECHO, PING, again))) == (
        "tool 'echo' is defined twice; rename one of the two"
    )


def test_surfaces_are_equal_by_their_definitions() -> None:
    assert ToolSurface((ECHO,)) == ToolSurface((ECHO,))
    assert ToolSurface((ECHO, PING)) != ToolSurface((PING, ECHO))
