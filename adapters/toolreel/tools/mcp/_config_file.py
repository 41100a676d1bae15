"""Configuration of MCP servers, in Python or in the ``mcpServers`` JSON that MCP clients share.

::

    {
        "mcpServers": {
            "git": {
                "command": "mcp-server-git",
                "args": ["--repository", "${HOME}/work"],
                "toolreel": {"allow": ["git_log"], "deadline_ms": 5000},
            },
            "wiki": {"url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${WIKI_TOKEN}"}},
        }
    }

``${NAME}``, ``${env:NAME}`` and ``${NAME:-default}`` are replaced by environment variables. Keys of
other clients are ignored; the keys under ``toolreel`` are the fields of :class:`ServerSettings`, and unknown
ones are errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeAlias, assert_never
from urllib.parse import urlsplit

from toolreel._internal import McpConfigError
from toolreel._secrets import known_secrets, secrets_sent, shown_url
from toolreel_core._config_checks import unknown_name
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, either, read

_NUMBERS: Final = {"deadline_ms": 1, "start_ms": 1, "max_restarts": 0, "max_message_bytes": 1024}
"""Integer settings, and the minimum of each."""
_LISTS: Final = ("allow", "deny", "needs_approval", "read_only")
# "${NAME}", "${env:NAME}" or "${NAME:-default}"
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_EXPANDED: Final = ("command", "args", "env", "cwd", "url", "headers")
"""Keys in which variables are expanded; in keys of other clients, ``${...}`` may mean something else."""
_STDIO: Final = ("stdio",)
_HTTP: Final = ("http", "streamable-http", "streamable_http", "streamableHttp")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Our settings for a server and its tools.

    Tool names are those of the server, such as ``git_log``; ``*`` matches any text.

    :raises ConfigError: if a number is too small
    """

    allow: tuple[str, ...] = ("*",)
    """Offer only these tools."""
    deny: tuple[str, ...] = ()
    """Never offer these tools, even if ``allow`` matches."""
    read_only: tuple[str, ...] = ()
    """These tools change nothing, so that their calls may run concurrently."""
    needs_approval: tuple[str, ...] = ()
    """Calls of these tools need approval."""
    trust_hints: bool = False
    """Trust the server's annotations: read-only tools may run concurrently, destructive ones need
    approval. Off by default, because a malicious server can claim anything."""
    deadline_ms: int | None = None
    """Deadline of a call in milliseconds; by default that of the host. Progress does not extend it."""
    start_ms: int = 30_000
    """Milliseconds for the server to start and list its tools."""
    max_restarts: int = 3
    """Maximum number of restarts of a server that exits."""
    max_message_bytes: int = 4_000_000
    """Maximum size of a message; a call with a larger response fails."""

    def __post_init__(self) -> None:
        for name, minimum in _NUMBERS.items():
            number = getattr(self, name)
            if number is not None and (type(number) is not int or number < minimum):
                raise ConfigError(f"{name}: expected a whole number of at least {minimum}, got {number!r}")


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


def credentials(server: McpServer) -> dict[str, str]:
    """The credentials that a server is given, by the variable or header that holds them.

    >>> credentials(StdioServer("shop", "shop-server", env={"SHOP_TOKEN": "7d1e52c0aa", "PORT": "80"}))
    {'SHOP_TOKEN': '7d1e52c0aa'}
    """
    match server:
        case StdioServer():
            return known_secrets(server.env)
        case HttpServer():
            return secrets_sent(server.url, server.headers)
        case _:
            assert_never(server)


def read_mcp_servers(path: Path | str, environment: Mapping[str, str] | None = None) -> tuple[McpServer, ...]:
    """The servers of a configuration file, in order, without disabled ones.

    :param environment: environment variables; by default those of this process
    :raises McpConfigError: if the file cannot be read or is invalid; names the place
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise McpConfigError(f"{path}: cannot be read: {why}") from None
    tree = either(read(text, unique_keys=True).alt(lambda why: McpConfigError(f"{path}: not JSON: {why}")))
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
    entries = _expect_object(_expect_object(tree, "the file").get("mcpServers"), "mcpServers")
    return tuple(
        _read_server(name, _expect_object(entry, f"mcpServers.{name}"), environment)
        for name, entry in entries.items()
        if not (isinstance(entry, Mapping) and entry.get("disabled") is True)
    )


def _read_server(name: str, entry: Mapping[str, Json], environment: Mapping[str, str]) -> McpServer:
    at = f"mcpServers.{name}"
    if not name.strip():
        raise McpConfigError("mcpServers: a server needs a name that is not empty")
    settings = _read_settings(_expect_object(entry.get("toolreel", {}), f"{at}.toolreel"), f"{at}.toolreel")
    expanded = {
        key: _expand_variables(entry[key], f"{at}.{key}", environment)
        for key in _EXPANDED
        if entry.get(key) is not None
    }
    kind = entry.get("type", entry.get("transport", "http" if "url" in entry else "stdio"))
    if kind in _STDIO:
        command = _expect_text(expanded.get("command"), f"{at}.command")
        args = _expect_texts(expanded.get("args", []), f"{at}.args")
        folder = Path(_expect_text(expanded["cwd"], f"{at}.cwd")) if "cwd" in expanded else None
        return StdioServer(
            name, command, args, _expect_text_object(expanded.get("env", {}), f"{at}.env"), folder, settings
        )
    if kind in _HTTP:
        url = _expect_text(expanded.get("url"), f"{at}.url")
        if urlsplit(url).scheme not in {"http", "https"}:
            raise McpConfigError(f"{at}.url: expected an http or https URL, got {shown_url(url)!r}")
        return HttpServer(
            name, url, _expect_text_object(expanded.get("headers", {}), f"{at}.headers"), settings
        )
    known = ", ".join((*_STDIO, *_HTTP[:2]))
    hint = "; the older SSE transport is not supported, use the server's /mcp address" * (kind == "sse")
    raise McpConfigError(f"{at}.type: expected one of {known}, got {kind!r}{hint}")


def _read_settings(tree: Mapping[str, Json], at: str) -> ServerSettings:
    known = [each.name for each in fields(ServerSettings)]
    chosen: dict[str, Any] = {}
    for key, value in tree.items():
        if key not in known:
            raise McpConfigError(f"{at}: {unknown_name('setting', key, known)}")
        if key == "trust_hints" and not isinstance(value, bool):
            raise _type_error(f"{at}.{key}", "true or false", value)
        chosen[key] = _expect_texts(value, f"{at}.{key}") if key in _LISTS else value
    try:
        return ServerSettings(**chosen)
    except ConfigError as error:
        raise McpConfigError(f"{at}.{error}") from None


def _type_error(at: str, expected: str, value: Json) -> McpConfigError:
    found = "it is missing" if value is None else f"got {value!r}"
    return McpConfigError(f"{at}: expected {expected}, {found}")


def _expect_object(value: Json, at: str) -> Mapping[str, Json]:
    if isinstance(value, Mapping):
        return value
    raise _type_error(at, "an object", value)


def _expect_text(value: Json, at: str, *, empty: bool = False) -> str:
    """A string; an argument or the value of a variable may be empty."""
    if isinstance(value, str) and (value or empty):
        return value
    raise _type_error(at, "a text", value)


def _expect_texts(value: Json, at: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _type_error(at, "a list of texts", value)
    return tuple(_expect_text(item, f"{at}[{index}]", empty=True) for index, item in enumerate(value))


def _expect_text_object(value: Json, at: str) -> dict[str, str]:
    return {
        key: _expect_text(item, f"{at}.{key}", empty=True) for key, item in _expect_object(value, at).items()
    }


def _expand_variables(value: Json, at: str, environment: Mapping[str, str]) -> Json:
    """The value with variables expanded in all its strings."""
    if isinstance(value, Mapping):
        return {key: _expand_variables(item, f"{at}.{key}", environment) for key, item in value.items()}
    if not isinstance(value, str):
        items = value if isinstance(value, Sequence) else ()
        return [
            _expand_variables(item, f"{at}[{index}]", environment) for index, item in enumerate(items)
        ] or value

    def replacement(found: re.Match[str]) -> str:
        name, default = found.groups()
        if name not in environment and default is None:
            raise McpConfigError(
                f"{at}: the variable {name} is not set; set it, or write ${{{name}:-default}}"
            )
        return environment.get(name, str(default))

    return _VARIABLE.sub(replacement, value)
