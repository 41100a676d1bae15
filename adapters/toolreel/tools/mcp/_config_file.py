"""MCP servers as they are configured, in Python or in the ``mcpServers`` JSON that MCP clients share.

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

``${NAME}``, ``${env:NAME}`` and ``${NAME:-default}`` stand for environment variables. Keys of other clients
are ignored; the keys under ``toolreel`` are the fields of :class:`ServerSettings`, unknown ones are errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from toolreel._errors import McpConfigError
from toolreel_core._errors import ConfigError
from toolreel_core._internal.suggestions import unknown_name
from toolreel_core._jsontext.canonical import Json, either, read

__all__ = ["HttpServer", "McpServer", "ServerSettings", "StdioServer", "mcp_servers", "read_mcp_servers"]

_NUMBERS: Final = {"deadline_ms": 1, "start_ms": 1, "max_restarts": 0, "max_message_bytes": 1024}
"""Settings that are whole numbers, and the least value of each."""
_LISTS: Final = ("allow", "deny", "needs_approval", "read_only")
# "${NAME}", "${env:NAME}" or "${NAME:-default}"
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_EXPANDED: Final = ("command", "args", "env", "cwd", "url", "headers")
"""Keys in which variables are replaced; in keys of other clients, ``${...}`` may mean something else."""
_STDIO: Final = ("stdio",)
_HTTP: Final = ("http", "streamable-http", "streamable_http", "streamableHttp")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What is wanted of a server and its tools.

    Names of tools are the server's own, such as ``git_log``; ``*`` stands for any text.

    :raises ConfigError: if a number is too small to mean anything
    """

    allow: tuple[str, ...] = ("*",)
    """Only these tools are offered."""
    deny: tuple[str, ...] = ()
    """These are not, even where ``allow`` names them."""
    read_only: tuple[str, ...] = ()
    """These change nothing, so that calls may run at the same time."""
    needs_approval: tuple[str, ...] = ()
    """Somebody is asked before these run."""
    trust_hints: bool = False
    """Believe what the server says of its tools: one that only reads may run beside others, one that
    destroys needs approval. Who writes a server can write anything there, so nothing is believed unasked."""
    deadline_ms: int | None = None
    """Milliseconds that a call may take; what its host allows, if nothing is said. Progress adds nothing."""
    start_ms: int = 30_000
    """Milliseconds in which the server has to start and say what it offers."""
    max_restarts: int = 3
    """How often a server that ends by itself is started anew."""
    max_message_bytes: int = 4_000_000
    """The largest message that is taken in; a call with a larger answer fails."""

    def __post_init__(self) -> None:
        for name, least in _NUMBERS.items():
            number = getattr(self, name)
            if number is not None and (type(number) is not int or number < least):
                raise ConfigError(f"{name}: expected a whole number of at least {least}, got {number!r}")


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that is a process of its own, and is spoken to over its standard streams."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    """Set beside the few variables that every server gets: HOME, PATH and the like, and no secrets."""
    cwd: Path | None = None
    settings: ServerSettings = field(default_factory=ServerSettings)


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server that is spoken to over streamable HTTP."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: ServerSettings = field(default_factory=ServerSettings)


McpServer: TypeAlias = StdioServer | HttpServer


def read_mcp_servers(path: Path, environment: Mapping[str, str] | None = None) -> tuple[McpServer, ...]:
    """The servers of a configuration file, in its order, without disabled ones.

    :param environment: values of variables; by default those of this process
    :raises McpConfigError: if the file cannot be read or used; says where
    """
    try:
        text = path.read_text("utf-8")
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

    :raises McpConfigError: if something in it cannot be used; says where
    """
    entries = _object(_object(tree, "the file").get("mcpServers"), "mcpServers")
    return tuple(
        _server(name, _object(entry, f"mcpServers.{name}"), environment)
        for name, entry in entries.items()
        if not (isinstance(entry, Mapping) and entry.get("disabled") is True)
    )


def _server(name: str, entry: Mapping[str, Json], environment: Mapping[str, str]) -> McpServer:
    at = f"mcpServers.{name}"
    if not name.strip():
        raise McpConfigError("mcpServers: a server needs a name that is not empty")
    settings = _settings(_object(entry.get("toolreel", {}), f"{at}.toolreel"), f"{at}.toolreel")
    ours = {
        key: _expanded(entry[key], f"{at}.{key}", environment)
        for key in _EXPANDED
        if entry.get(key) is not None
    }
    kind = entry.get("type", entry.get("transport", "http" if "url" in entry else "stdio"))
    if kind in _STDIO:
        command = _text(ours.get("command"), f"{at}.command")
        args = _texts(ours.get("args", []), f"{at}.args")
        folder = Path(_text(ours["cwd"], f"{at}.cwd")) if "cwd" in ours else None
        return StdioServer(name, command, args, _by_name(ours.get("env", {}), f"{at}.env"), folder, settings)
    if kind in _HTTP:
        url = _text(ours.get("url"), f"{at}.url")
        if urlsplit(url).scheme not in {"http", "https"}:
            raise McpConfigError(f"{at}.url: expected an http or https URL, got {url!r}")
        return HttpServer(name, url, _by_name(ours.get("headers", {}), f"{at}.headers"), settings)
    known = ", ".join((*_STDIO, *_HTTP[:2]))
    hint = "; the older SSE transport is not spoken here, ask for the server's /mcp address" * (kind == "sse")
    raise McpConfigError(f"{at}.type: expected one of {known}, got {kind!r}{hint}")


def _settings(tree: Mapping[str, Json], at: str) -> ServerSettings:
    known = [each.name for each in fields(ServerSettings)]
    chosen: dict[str, Any] = {}
    for key, value in tree.items():
        if key not in known:
            raise McpConfigError(f"{at}: {unknown_name('setting', key, known)}")
        if key == "trust_hints" and not isinstance(value, bool):
            raise _wrong(f"{at}.{key}", "true or false", value)
        chosen[key] = _texts(value, f"{at}.{key}") if key in _LISTS else value
    try:
        return ServerSettings(**chosen)
    except ConfigError as error:
        raise McpConfigError(f"{at}.{error}") from None


def _wrong(at: str, expected: str, value: Json) -> McpConfigError:
    found = "it is missing" if value is None else f"got {value!r}"
    return McpConfigError(f"{at}: expected {expected}, {found}")


def _object(value: Json, at: str) -> Mapping[str, Json]:
    if isinstance(value, Mapping):
        return value
    raise _wrong(at, "an object", value)


def _text(value: Json, at: str) -> str:
    if isinstance(value, str) and value:
        return value
    raise _wrong(at, "a text", value)


def _texts(value: Json, at: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _wrong(at, "a list of texts", value)
    return tuple(_any_text(item, f"{at}[{index}]") for index, item in enumerate(value))


def _by_name(value: Json, at: str) -> dict[str, str]:
    return {key: _any_text(item, f"{at}.{key}") for key, item in _object(value, at).items()}


def _any_text(value: Json, at: str) -> str:
    """A text that may be empty, as an argument or the value of a variable may."""
    if isinstance(value, str):
        return value
    raise _wrong(at, "a text", value)


def _expanded(value: Json, at: str, environment: Mapping[str, str]) -> Json:
    """A value with the variables in all its texts replaced."""
    if isinstance(value, Mapping):
        return {key: _expanded(item, f"{at}.{key}", environment) for key, item in value.items()}
    if not isinstance(value, str):
        items = value if isinstance(value, Sequence) else ()
        return [_expanded(item, f"{at}[{index}]", environment) for index, item in enumerate(items)] or value

    def replacement(found: re.Match[str]) -> str:
        name, default = found.groups()
        if name not in environment and default is None:
            raise McpConfigError(
                f"{at}: the variable {name} is not set; set it, or write ${{{name}:-default}}"
            )
        return environment.get(name, str(default))

    return _VARIABLE.sub(replacement, value)
