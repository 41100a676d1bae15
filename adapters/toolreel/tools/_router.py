"""One tool host out of several: a call goes to the host whose prefix of the tool's name is the longest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from toolreel._driver.ports import AsyncToolHost, ToolHost
from toolreel_core._errors import ConfigError
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.faults import tool_not_implemented
from toolreel_core._tools.result import failed

__all__ = ["AsyncRouter", "Router"]

_Host = TypeVar("_Host")


@dataclass(frozen=True, slots=True)
class Router:
    """A tool host that hands each call on; one that nobody takes is told to the model as such.

    ``Router({"files.": disk, "files.remote.": cloud}, default=others)``; make the plan's surface out of the
    hosts' with :func:`toolreel_core._tools.sources.compose`.

    :raises ConfigError: if a prefix has a ``*``, as patterns of masks do
    """

    hosts: Mapping[str, ToolHost]
    """By the prefix of the inner names that they take, such as ``files.``; they see the whole name."""
    default: ToolHost | None = None
    """Who takes what no prefix fits."""

    def __post_init__(self) -> None:
        _check_prefixes(self.hosts)

    def run(self, effect: RunTool) -> ToolReturned:
        """Have the tool run by its host; what goes wrong there is the host's own affair."""
        host = _host(effect.name, self.hosts, self.default)
        return _not_implemented(effect) if host is None else host.run(effect)


@dataclass(frozen=True, slots=True)
class AsyncRouter:
    """The same as :class:`Router`, awaited."""

    hosts: Mapping[str, AsyncToolHost]
    """By the prefix of the inner names that they take, such as ``files.``; they see the whole name."""
    default: AsyncToolHost | None = None
    """Who takes what no prefix fits."""

    def __post_init__(self) -> None:
        _check_prefixes(self.hosts)

    async def run(self, effect: RunTool) -> ToolReturned:
        """Have the tool run by its host; what goes wrong there is the host's own affair."""
        host = _host(effect.name, self.hosts, self.default)
        return _not_implemented(effect) if host is None else await host.run(effect)


def _check_prefixes(hosts: Mapping[str, object]) -> None:
    for prefix in hosts:
        if "*" in prefix:
            without = prefix.rstrip("*")
            raise ConfigError(f"router: {prefix!r} is a pattern, expected a prefix; write {without!r}")


def _host(name: str, hosts: Mapping[str, _Host], default: _Host | None) -> _Host | None:
    fitting = [prefix for prefix in hosts if name.startswith(prefix)]
    return hosts[max(fitting, key=len)] if fitting else default


def _not_implemented(effect: RunTool) -> ToolReturned:
    return ToolReturned(effect.ref, failed(effect.name, tool_not_implemented(effect.name)).text())
