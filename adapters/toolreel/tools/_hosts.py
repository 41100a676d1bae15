"""Tool hosts made of others: routed by the prefix of a name, or with a thread for each call.

Synchronous programs import this module too, so async libraries are imported inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from toolreel._driver import AsyncToolHost, NoTools, ToolHost, await_if_awaitable, secrets_of_ports
from toolreel._internal import start_in_daemon_thread
from toolreel_core._protocol import (
    ApprovalGiven,
    AskApproval,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    ToolReturned,
)

if TYPE_CHECKING:
    from concurrent.futures import Future


_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Threaded:
    """Async version of an endpoint, a host or an approver: each call has a thread, which may be abandoned."""

    port: Any

    @property
    def secrets(self) -> Mapping[str, str]:
        return secrets_of_ports(self.port)

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        return await await_future(start_in_daemon_thread("request", partial(self.port.send, effect)))

    async def run(self, effect: RunTool) -> ToolReturned:
        return await await_future(start_in_daemon_thread(effect.name, partial(self.port.run, effect)))

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        # A sync ``decide`` may return an awaitable: that of an agent's ``approve`` function.
        return await await_if_awaitable(
            await await_future(start_in_daemon_thread("approve", partial(self.port.decide, effect)))
        )


async def await_future(returned: Future[_Result]) -> _Result:
    import anyio  # the drivers say so if it is not installed

    done = anyio.Event()
    returned.add_done_callback(_thread_safe_callback(done.set))
    await done.wait()
    return returned.result()


def _thread_safe_callback(wake: Callable[[], object]) -> Callable[[object], None]:
    import asyncio

    later: Callable[[Callable[[], object]], object]
    try:
        later = asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        import trio

        later = trio.lowlevel.current_trio_token().run_sync_soon

    def from_thread(_: object) -> None:
        with suppress(RuntimeError):  # the loop may be closed by then
            later(wake)

    return from_thread


_Host = TypeVar("_Host")


@dataclass(frozen=True, slots=True)
class _Routes(Generic[_Host]):
    hosts: Mapping[str, _Host]
    """Hosts by prefix of the inner tool names, such as ``files.`` or ``files.*``."""
    default: _Host | None = None
    """Host for tools without a matching prefix; without it, their calls fail as not implemented."""

    @property
    def secrets(self) -> Mapping[str, str]:
        return secrets_of_ports(*self.hosts.values(), self.default)

    def _host_of(self, name: str) -> _Host | NoTools:
        matching = [prefix for prefix in self.hosts if name.startswith(prefix.rstrip("*"))]
        return (self.hosts[max(matching, key=len)] if matching else self.default) or NoTools()


@dataclass(frozen=True, slots=True)
class Router(_Routes[ToolHost]):
    """A tool host that passes each call to the host with the longest matching prefix.

    ``Router({"files.": disk, "files.remote.": cloud}, default=others)``; combine the surfaces of
    the hosts with :func:`toolreel_core._tools.tool_surface.compose`.
    """

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool on its host."""
        return self._host_of(effect.name).run(effect)


@dataclass(frozen=True, slots=True)
class AsyncRouter(_Routes[AsyncToolHost]):
    """The async version of :class:`Router`."""

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool on its host."""
        return await await_if_awaitable(self._host_of(effect.name).run(effect))
