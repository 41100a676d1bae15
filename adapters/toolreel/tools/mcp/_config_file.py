"""Reading the ``mcpServers`` JSON that MCP clients share.

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

``${NAME}``, ``${env:NAME}`` and ``${NAME:-default}`` stand for variables of the environment. What other
clients keep in their entries is passed over; under ``toolreel`` stand the fields of
:class:`~toolreel.tools.mcp._settings.ServerSettings`, where an unknown one is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from returns.pipeline import is_successful

from toolreel._errors import McpConfigError
from toolreel.tools.mcp._settings import HttpServer, McpServer, ServerSettings, StdioServer
from toolreel_core._errors import ConfigError
from toolreel_core._internal.suggestions import unknown_name
from toolreel_core._jsontext.canonical import Json, read

__all__ = ["mcp_servers", "read_mcp_servers"]

_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_STDIO: Final = ("stdio",)
_HTTP: Final = ("http", "streamable-http", "streamable_http", "streamableHttp")
_LISTS: Final = ("allow", "deny", "needs_approval", "read_only")


def read_mcp_servers(path: Path, environment: Mapping[str, str] | None = None) -> tuple[McpServer, ...]:
    """The servers that a file names, in its order, without those that it disables.

    :param environment: where variables stand; this process's own, if nothing is said
    :raises McpConfigError: if it cannot be read, or something in it cannot be used; says where
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise McpConfigError(f"{path}: cannot be read: {why}") from None
    tree = read(text, unique_keys=True)
    if not is_successful(tree):
        raise McpConfigError(f"{path}: not JSON: {tree.failure()}")
    try:
        return mcp_servers(tree.unwrap(), os.environ if environment is None else environment)
    except McpConfigError as error:
        raise McpConfigError(f"{path}: {error}") from None


def mcp_servers(tree: Json, environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """The servers of a configuration that has been read already.

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
    kind = entry.get("type", entry.get("transport", "http" if "url" in entry else "stdio"))
    if kind in _STDIO:
        command = _expanded(_text(entry.get("command"), f"{at}.command"), f"{at}.command", environment)
        args = _texts(entry.get("args", []), f"{at}.args", environment)
        env = _by_name(entry.get("env", {}), f"{at}.env", environment)
        cwd = entry.get("cwd")
        folder = None if cwd is None else Path(_expanded(_text(cwd, f"{at}.cwd"), f"{at}.cwd", environment))
        return StdioServer(name, command, args, env, folder, settings)
    if kind in _HTTP:
        url = _expanded(_text(entry.get("url"), f"{at}.url"), f"{at}.url", environment)
        if urlsplit(url).scheme not in {"http", "https"}:
            raise McpConfigError(f"{at}.url: expected an http or https URL, got {url!r}")
        headers = _by_name(entry.get("headers", {}), f"{at}.headers", environment)
        return HttpServer(name, url, headers, settings)
    known = ", ".join((*_STDIO, *_HTTP[:2]))
    hint = "; the older SSE transport is not spoken here, ask for the server's /mcp address" * (kind == "sse")
    raise McpConfigError(f"{at}.type: expected one of {known}, got {kind!r}{hint}")


def _settings(tree: Mapping[str, Json], at: str) -> ServerSettings:
    known = [each.name for each in fields(ServerSettings)]
    chosen: dict[str, Any] = {}
    for key, value in tree.items():
        if key not in known:
            raise McpConfigError(f"{at}: {unknown_name('setting', key, known)}")
        if key in _LISTS:
            chosen[key] = _texts(value, f"{at}.{key}", None)
        elif key == "trust_hints" and not isinstance(value, bool):
            raise McpConfigError(f"{at}.{key}: expected true or false, got {value!r}")
        else:
            chosen[key] = value
    try:
        return ServerSettings(**chosen)
    except ConfigError as error:
        raise McpConfigError(f"{at}.{error}") from None


def _object(value: Json, at: str) -> Mapping[str, Json]:
    if isinstance(value, Mapping):
        return value
    missing = "it is missing" if value is None else f"got {value!r}"
    raise McpConfigError(f"{at}: expected an object, {missing}")


def _text(value: Json, at: str) -> str:
    if isinstance(value, str) and value:
        return value
    missing = "it is missing" if value is None else f"got {value!r}"
    raise McpConfigError(f"{at}: expected a text, {missing}")


def _texts(value: Json, at: str, environment: Mapping[str, str] | None) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise McpConfigError(f"{at}: expected a list of texts, got {value!r}")
    found: list[str] = []
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise McpConfigError(f"{at}[{index}]: expected a text, got {item!r}")
        found.append(item if environment is None else _expanded(item, f"{at}[{index}]", environment))
    return tuple(found)


def _by_name(value: Json, at: str, environment: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, item in _object(value, at).items():
        if not isinstance(item, str):
            raise McpConfigError(f"{at}.{key}: expected a text, got {item!r}")
        found[key] = _expanded(item, f"{at}.{key}", environment)
    return found


def _expanded(text: str, at: str, environment: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        name, default = found.groups()
        if name in environment:
            return environment[name]
        if default is None:
            raise McpConfigError(
                f"{at}: the variable {name} is not set; set it, or write ${{{name}:-default}}"
            )
        return str(default)

    return _VARIABLE.sub(value, text)
