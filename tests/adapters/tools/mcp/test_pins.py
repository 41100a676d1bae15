"""Pins: tools are held to the definitions that were accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.samples import complaint
from toolreel._internal import McpConfigError
from toolreel.tools.mcp import ServerSettings, pins_of, read_pins, server_tools, unaccepted_tools, write_pins
from toolreel_core._tools import ToolDefinition, ToolSurface


def offering(**words: str) -> list[ToolDefinition]:
    tools = [{"name": name, "description": said} for name, said in words.items()]
    return [tool.definition for tool in server_tools("s", tools, ServerSettings()).tools.values()]


def test_pins_are_kept_and_hold_tools_to_what_was_accepted(tmp_path: Path) -> None:
    path = tmp_path / "mcp.pins.json"
    assert read_pins(path) is None
    before = offering(b="Look.", a="Look.")
    write_pins(path, pins_of(ToolSurface(tuple(before))))
    assert [line.split(":")[0] for line in path.read_text().splitlines()] == [
        "{",
        '  "mcp_s_a"',
        '  "mcp_s_b"',
        "}",
    ]

    assert unaccepted_tools(before, read_pins(path)) == {}
    after = unaccepted_tools(offering(a="Look.", b="Look, and tell me.", c="New."), read_pins(path))
    assert [(name, why.partition(";")[0]) for name, why in after.items()] == [
        ("mcp_s_b", "its definition is not the one that was accepted"),
        ("mcp_s_c", "it was not accepted yet"),
    ]


@pytest.mark.parametrize("text", ["", "[]", '{"a": 3}'])
def test_pins_that_cannot_be_read_are_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.pins.json"
    path.write_text(text)
    assert complaint(McpConfigError, lambda: read_pins(path)) == (
        f"{path}: expected an object of fingerprints by name; accept the tools again"
    )


def test_pins_in_a_place_that_is_none_are_an_error(tmp_path: Path) -> None:
    assert "cannot be read" in complaint(McpConfigError, lambda: read_pins(tmp_path))
    assert "cannot be written" in complaint(McpConfigError, lambda: write_pins(tmp_path, {}))
