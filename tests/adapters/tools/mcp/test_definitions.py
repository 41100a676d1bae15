"""What real MCP servers write into their schemas: understood, or left out by name, and nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.samples import complaint, worked
from toolreel._internal import McpConfigError
from toolreel.tools.mcp import ServerSettings, read_pins, server_tools

DEFAULTS = ServerSettings()


def listed(name: str, schema: Any = None, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any schema
    return {"name": name, "inputSchema": schema or {}, **more}


def test_hints_are_believed_only_where_that_is_asked_for() -> None:
    tools = [
        listed("look", annotations={"readOnlyHint": True}),
        listed("wipe", annotations={"destructiveHint": True}),
        listed("other"),
    ]

    def flags(settings: ServerSettings) -> list[tuple[bool, bool]]:
        found = server_tools("s", tools, settings).tools.values()
        return [(tool.definition.read_only, tool.definition.needs_approval) for tool in found]

    assert flags(DEFAULTS) == [(False, False)] * 3
    assert flags(ServerSettings(trust_hints=True)) == [(True, False), (False, True), (False, False)]
    by_name = ServerSettings(read_only=("o*",), needs_approval=("*",), deadline_ms=9)
    assert flags(by_name) == [(False, True), (False, True), (True, True)]


def test_only_what_is_wanted_is_offered() -> None:
    tools = [listed(name, title="Do it.") for name in ("git_log", "git_push", "status")]
    offer = server_tools("s", tools, ServerSettings(allow=("git_*",), deny=("*_push",)))
    assert ([*offer.tools], offer.left_out) == (["mcp_s_git_log"], {})
    assert offer.tools["mcp_s_git_log"].definition.description == "Do it."


@pytest.mark.parametrize(
    ("settings", "told"), worked("a setting that names no tool of the server is a mistake", "tools")
)
def test_a_setting_that_names_no_tool_of_the_server_is_a_mistake(
    settings: dict[str, Any], told: list[str]
) -> None:
    tools = [listed("count"), listed("clear")]
    assert [*server_tools("s", tools, ServerSettings(**settings)).mistakes] == told


@pytest.mark.parametrize(
    ("names", "inner"), worked("names that are alike to the model get a digest", "tools")
)
def test_names_that_are_alike_to_the_model_get_a_digest(names: list[str], inner: list[str]) -> None:
    tools = [listed(name) for name in names]
    assert [*server_tools("s", tools, DEFAULTS).tools] == inner
    assert {*server_tools("s", tools[::-1], DEFAULTS).tools} == {*inner}


def test_a_tool_that_is_listed_twice_is_one_and_another_of_its_name_is_told() -> None:
    tools = [listed("a"), listed("a")]
    assert server_tools("s", tools, DEFAULTS).left_out == {}
    tools.append(listed("a", description="Another."))
    offer = server_tools("s", tools, DEFAULTS)
    assert offer.tools["mcp_s_a"].definition.description == ""
    assert offer.left_out == {"mcp_s_a": "its server lists another tool of the same name"}


@pytest.mark.parametrize("text", ["", "[]", '{"a": 3}'])
def test_pins_that_cannot_be_read_are_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.pins.json"
    path.write_text(text)
    assert complaint(McpConfigError, lambda: read_pins(path)) == (
        f"{path}: expected an object of fingerprints by name; accept the tools again"
    )
