"""Combine several tool hosts: a call goes to the host with the longest matching name prefix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from toolreel._driver.ports import AsyncToolHost, ToolHost, secrets_of
from toolreel_core._errors import ConfigError
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core._tools.faults import tool_not_implemented
from toolreel_core._tools.result_envelope import failed

_Host = TypeVar("_Host")


@dataclass(frozen=True, slots=True)
class _Routes(Generic[_Host]):
    """Hosts by name prefix."""

    hosts: Mapping[str, _Host]
    """Hosts by prefix of the inner tool names, such as ``files.``; they receive the whole name."""
    default: _Host | None = None
    """Host for tools without a matching prefix; without it, their calls fail as not implemented."""

    def __post_init__(self) -> None:
        for prefix in self.hosts:
            if "*" in prefix:
                without = prefix.rstrip("*")
                raise ConfigError(f"router: {prefix!r} is a pattern, expected a prefix; write {without!r}")

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the hosts send, by name."""
        return secrets_of(*self.hosts.values(), self.default)

    def _host(self, name: str) -> _Host | None:
        matching = [prefix for prefix in self.hosts if name.startswith(prefix)]
        return self.hosts[max(matching, key=len)] if matching else self.default


@dataclass(frozen=True, slots=True)
class Router(_Routes[ToolHost]):
    """A tool host that passes each call to the host with the longest matching prefix.

    ``Router({"files.": disk, "files.remote.": cloud}, default=others)``; combine the surfaces of
    the hosts with :func:`toolreel_core._tools.sources.compose`.

    :raises ConfigError: if a prefix contains ``*``
    """

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool on its host."""
        host = self._host(effect.name)
        return _not_implemented(effect) if host is None else host.run(effect)


@dataclass(frozen=True, slots=True)
class AsyncRouter(_Routes[AsyncToolHost]):
    """The async version of :class:`Router`."""

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool on its host."""
        host = self._host(effect.name)
        return _not_implemented(effect) if host is None else await host.run(effect)


def _not_implemented(effect: RunTool) -> ToolReturned:
    return ToolReturned(effect.ref, failed(effect.name, tool_not_implemented(effect.name)).text())
