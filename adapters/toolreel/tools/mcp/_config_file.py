"""Configuration of MCP servers, in Python or in the ``mcpServers`` JSON that MCP clients share.

``${NAME}``, ``${env:NAME}`` and ``${NAME:-default}`` are replaced by environment variables. Keys of other
clients are ignored; those under ``toolreel`` are the fields of :class:`ServerSettings`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

from toolreel._internal import McpConfigError, read_text_file
from toolreel._secrets import known_secrets, secrets_in_request, url_safe_to_log
from toolreel_core._config_checks import Natural, PlaceError, Table, check_and_convert_settings
from toolreel_core._jsontext import Json, read_json, value_or_failure

# "${NAME}", "${env:NAME}" or "${NAME:-default}"
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# Clients spell the same transport differently.
_HTTP = ("http", "streamable-http", "streamable_http", "streamableHttp")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Our settings for a server and its tools.

    Tool names are those of the server, such as ``git_log``, not ``mcp_git_git_log``; ``*`` matches any text.

    :raises ConfigError: if a number is too small
    """

    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    """These tools change nothing, so that their calls may run concurrently."""
    needs_approval: tuple[str, ...] = ()
    trust_hints: bool = False
    """Trust the server's annotations: read-only tools may run concurrently, destructive ones need
    approval. Off by default, because a malicious server can claim anything."""
    deadline_ms: int | None = None
    """Deadline of a call in milliseconds; by default that of the host. Progress does not extend it."""
    start_ms: int = 30_000
    """Time limit for the start, with its list of tools, and for each later list."""
    max_restarts: Natural = 3
    """Restarts after the server ended; replacing a forgotten session does not count."""
    max_message_bytes: Annotated[int, 1024] = 4_000_000
    """Maximum size of a message; a call with a larger response fails."""

    def __post_init__(self) -> None:
        check_and_convert_settings(self)


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that runs as a child process, over stdin and stdout."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    """Additional variables; every server gets HOME, PATH and the like, but no other variables."""
    cwd: Path | str | None = None
    settings: ServerSettings = field(default_factory=ServerSettings)


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server over streamable HTTP."""

    name: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: ServerSettings = field(default_factory=ServerSettings)


McpServer: TypeAlias = StdioServer | HttpServer
"""A server over stdio or over HTTP."""


def server_credentials(server: McpServer) -> dict[str, str]:
    """The credentials that a server is given, by the variable or header that holds them."""
    if isinstance(server, StdioServer):
        return known_secrets(server.env)
    return secrets_in_request(server.url, server.headers)


def read_mcp_servers(path: Path | str, environment: Mapping[str, str] | None = None) -> tuple[McpServer, ...]:
    """The servers of a configuration file, in order, without disabled ones.

    :param environment: environment variables; by default those of this process
    :raises McpConfigError: if the file cannot be read or is invalid; names the place
    """
    text = read_text_file(Path(path), McpConfigError, "there is no such file")
    tree = value_or_failure(
        read_json(text, unique_keys=True).alt(lambda why: McpConfigError(f"{path}: not JSON: {why}"))
    )
    if isinstance(tree, McpConfigError):
        raise tree
    try:
        return mcp_servers(tree, os.environ if environment is None else environment)
    except McpConfigError as error:
        raise McpConfigError(f"{path}: {error}") from None


def mcp_servers(tree: Json, environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """The servers of a parsed configuration.

    >>> mcp_servers({"mcpServers": {"time": {"command": "mcp-server-time"}}}, {})[0].name
    'time'

    :raises McpConfigError: if it is invalid; names the place
    """
    try:
        top = Table.of(tree)
        if "mcpServers" not in top.values:
            raise top.error_at("is missing", "mcpServers")
        servers = top.table("mcpServers").tables()
        return tuple(
            _read_server(name, table, environment)
            for name, table in servers
            if table.values.get("disabled") is not True
        )
    except PlaceError as error:
        raise McpConfigError(str(error)) from None


def _read_server(name: str, table: Table, environment: Mapping[str, str]) -> McpServer:
    if not name.strip():
        raise PlaceError(("mcpServers",), "a server needs a name that is not empty")
    entry = table.values
    if entry.get("command") and entry.get("url") and not entry.keys() & {"type", "transport"}:
        raise table.error_at("does not go with command; leave one of them out, or add a type", "url")
    transport = entry.get("type", entry.get("transport", "http" if "url" in entry else "stdio"))
    if transport != "stdio" and transport not in _HTTP:
        hint = "; the older SSE transport is not supported, use the server's /mcp address"
        what = f"expected one of stdio, {', '.join(_HTTP[:2])}, got {transport!r}"
        raise table.error_at(f"{what}{hint * (transport == 'sse')}", "type")
    kind: type[McpServer] = StdioServer if transport == "stdio" else HttpServer
    # Keys of other clients are left alone: there, ``${...}`` may mean something else. The values are checked
    # before variables are expanded, so that no error shows the value of one.
    keys = {each.name for each in fields(kind)} - {"name", "settings"}
    given = {key: value for key, value in entry.items() if key in keys and value is not None}
    settings = table.table("toolreel").build(ServerSettings)
    server = Table(table.place, given).build(kind, {"name": name, "settings": settings})
    for key in given:
        value = _expand_variables(getattr(server, key), f"mcpServers.{name}.{key}", environment)
        server = replace(server, **{key: value})
    if isinstance(server, HttpServer) and urlsplit(server.url).scheme not in {"http", "https"}:
        raise table.error_at(f"expected an http or https URL, got {url_safe_to_log(server.url)!r}", "url")
    return server


def _expand_variables(value: Any, at: str, environment: Mapping[str, str]) -> Any:  # noqa: ANN401
    if isinstance(value, Mapping):
        return {key: _expand_variables(item, f"{at}.{key}", environment) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(
            _expand_variables(item, f"{at}.{index}", environment) for index, item in enumerate(value)
        )

    def replacement(found: re.Match[str]) -> str:
        name, default = found.groups()
        if name not in environment and default is None:
            raise McpConfigError(
                f"{at}: the variable {name} is not set; set it, or write ${{{name}:-default}}"
            )
        return environment.get(name, str(default))

    return _VARIABLE.sub(replacement, value)
