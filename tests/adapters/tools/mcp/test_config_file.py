from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.samples import complaint
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
    tree: Json = {"inputs": [], "mcpServers": {"off": {"disabled": True}, "on": {"command": "x"}}}
    assert [server.name for server in mcp_servers(tree, {})] == ["on"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (3, "mcpServers.s: expected object, got 3"),
        ({}, "mcpServers.s.command: expected a text, it is missing"),
        ({"command": "x", "args": "a b"}, 'mcpServers.s.args: expected array, got "a b"'),
        ({"command": "x", "args": ["a", 3]}, "mcpServers.s.args.1: expected string, got 3"),
        ({"command": "x", "env": {"A": 3}}, "mcpServers.s.env.A: expected string, got 3"),
        (
            {"command": "x", "env": {"A": "${NOT_SET}"}},
            "mcpServers.s.env.A: the variable NOT_SET is not set; set it, or write ${NOT_SET:-default}",
        ),
        ({"url": "ftp://a"}, "mcpServers.s.url: expected an http or https URL, got 'ftp://a'"),
        (
            {"type": "sse", "url": "https://a"},
            "mcpServers.s.type: expected one of stdio, http, streamable-http, got 'sse'; "
            "the older SSE transport is not supported, use the server's /mcp address",
        ),
        (
            {"command": "x", "toolreel": {"alow": []}},
            "mcpServers.s.toolreel: expected only 'allow', 'deny', 'read_only', 'needs_approval', "
            "'trust_hints', 'deadline_ms', 'start_ms', 'max_restarts', 'max_message_bytes', got "
            '{"alow":[]}',
        ),
        (
            {"command": "x", "toolreel": {"allow": "a"}},
            'mcpServers.s.toolreel.allow: expected array, got "a"',
        ),
        (
            {"command": "x", "toolreel": {"trust_hints": "yes"}},
            'mcpServers.s.toolreel.trust_hints: expected boolean, got "yes"',
        ),
        (
            {"command": "x", "toolreel": {"deadline_ms": 0}},
            "mcpServers.s.toolreel: deadline_ms: expected a whole number of at least 1, got 0",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(entry: Json, told: str) -> None:
    assert wrong(entry) == told


def test_a_server_has_a_name() -> None:
    told = complaint(McpConfigError, lambda: mcp_servers({"mcpServers": {" ": {"command": "x"}}}, {}))
    assert told == "mcpServers: a server needs a name that is not empty"


def test_a_file_is_read_and_named_where_it_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    assert complaint(McpConfigError, lambda: read_mcp_servers(path)) == (f"{path}: there is no such file")
    path.write_text("{")
    assert complaint(McpConfigError, lambda: read_mcp_servers(path)).startswith(f"{path}: not JSON: ")
    path.write_text('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}')
    assert "a" in complaint(McpConfigError, lambda: read_mcp_servers(path))
    path.write_text('{"servers": {}}')
    assert complaint(McpConfigError, lambda: read_mcp_servers(path)) == (
        f"{path}: mcpServers: expected object, got null"
    )
    path.write_bytes(b"\xff")
    assert complaint(McpConfigError, lambda: read_mcp_servers(path)).endswith(
        "not UTF-8 at byte 0; save it as UTF-8"
    )
    path.write_text(json.dumps({"mcpServers": {"a": {"command": "${WHERE}"}}}))
    assert read_mcp_servers(path, {"WHERE": "there"}) == (StdioServer("a", "there"),)


def test_settings_that_mean_nothing_are_refused_in_python_as_well() -> None:
    told = complaint(ConfigError, lambda: ServerSettings(max_message_bytes=10))
    assert told == "max_message_bytes: expected a whole number of at least 1024, got 10"
