from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.samples import complaint, worked
from toolreel._internal import McpConfigError
from toolreel.tools.mcp import (
    HttpServer,
    McpServer,
    ServerSettings,
    StdioServer,
    mcp_servers,
    read_mcp_servers,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json

VARIABLES = {"HOME": "/home/ana", "TOKEN": "sesame"}


def only(entry: Json) -> McpServer:
    (server,) = mcp_servers({"mcpServers": {"s": entry}}, VARIABLES)
    return server


def wrong(entry: Json) -> str:
    return complaint(McpConfigError, lambda: only(entry))


def test_servers_that_are_processes() -> None:
    entry: Json = {
        "command": "uvx",
        "args": ["mcp-server-git", "--repository", "${HOME}/work"],
        "env": {"KEY": "${env:TOKEN}"},
        "cwd": "${HOME}",
    }
    args = ("mcp-server-git", "--repository", "/home/ana/work")
    assert only(entry) == StdioServer("s", "uvx", args, {"KEY": "sesame"}, "/home/ana")


@pytest.mark.parametrize("kind", [{}, {"type": "http"}, {"transport": "streamable-http"}])
def test_servers_on_the_web(kind: dict[str, Json]) -> None:
    entry: Json = {
        **kind,
        "url": "${BASE:-https://wiki.example}/mcp",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
    }
    assert only(entry) == HttpServer("s", "https://wiki.example/mcp", {"Authorization": "Bearer sesame"})
    assert "sesame" not in repr(only(entry))


def test_settings_of_ours_stand_under_a_key_of_ours() -> None:
    settings: Json = {
        "allow": ["git_*"],
        "deny": ["git_push"],
        "needs_approval": ["git_commit"],
        "deadline_ms": 5,
    }
    server = only({"command": "git", "toolreel": settings})
    assert server.settings == ServerSettings(
        allow=("git_*",), deny=("git_push",), needs_approval=("git_commit",), deadline_ms=5
    )


def test_what_is_meant_for_other_clients_is_passed_over() -> None:
    assert only({"command": "x", "autoApprove": ["a"], "timeout": 3}) == StdioServer("s", "x")
    assert only({"command": "x", "url": "https://a", "type": "stdio"}) == StdioServer("s", "x")
    tree: Json = {"inputs": [], "mcpServers": {"off": {"disabled": True}, "on": {"command": "x"}}}
    assert [server.name for server in mcp_servers(tree, {})] == ["on"]


@pytest.mark.parametrize(("entry", "told"), worked("what cannot be used is named with its place", "tools"))
def test_what_cannot_be_used_is_named_with_its_place(entry: Json, told: str) -> None:
    assert wrong(entry) == told


def test_a_file_is_read_and_named_where_it_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    assert complaint(McpConfigError, lambda: read_mcp_servers(path)) == (f"{path}: there is no such file")
    path.write_text("{")
    assert complaint(McpConfigError, lambda: read_mcp_servers(path)).startswith(f"{path}: not JSON: ")
    path.write_text('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}')
    assert "a" in complaint(McpConfigError, lambda: read_mcp_servers(path))
    path.write_text('{"servers": {}}')
    assert complaint(McpConfigError, lambda: read_mcp_servers(path)) == (f"{path}: mcpServers: is missing")
    path.write_bytes(b"\xff")
    assert complaint(McpConfigError, lambda: read_mcp_servers(path)).endswith(
        "not UTF-8 at byte 0; save it as UTF-8"
    )
    path.write_text(json.dumps({"mcpServers": {"a": {"command": "${WHERE}"}}}))
    assert read_mcp_servers(path, {"WHERE": "there"}) == (StdioServer("a", "there"),)


def test_settings_that_mean_nothing_are_refused_in_python_as_well() -> None:
    told = complaint(ConfigError, lambda: ServerSettings(max_message_bytes=10))
    assert told == "max_message_bytes: expected a whole number of at least 1024, got 10"
