"""``Ports`` and ``AsyncPorts``: perform each effect through the port for its kind.

With the approvers and clocks to choose from, and adapters that offer sync ports to the async driver.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import assert_never

from toolreel._driver.ports import (
    Approver,
    AsyncApprover,
    AsyncClock,
    AsyncEndpoint,
    AsyncToolHost,
    Clock,
    Endpoint,
    ToolHost,
    Wanted,
)
from toolreel._internal.errors import MissingExtra
from toolreel_core._errors import ConfigError
from toolreel_core._protocol.effects import AskApproval, RunTool, SendRequest, Wait
from toolreel_core._protocol.events import (
    ApprovalGiven,
    Event,
    ReplyReceived,
    RequestFailed,
    WaitElapsed,
)


@dataclass(frozen=True, slots=True)
class Always:
    """Approves every call."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """Approve."""
        return ApprovalGiven(effect.ref, True)


@dataclass(frozen=True, slots=True)
class Never:
    """Denies every call."""

    reason: str = ""
    """Why; the model sees it in the result of the call."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """Deny, with the reason."""
        return ApprovalGiven(effect.ref, False, self.reason)


@dataclass(frozen=True, slots=True)
class Later:
    """Leaves every decision open: the run pauses, and ``go_on`` or ``resume`` continues it."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:  # noqa: ARG002 - of the port
        """Leave the decision open."""
        return None


@dataclass(frozen=True, slots=True)
class AsyncLater:
    """The async version of :class:`Later`."""

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:  # noqa: ARG002 - of the port
        """Leave the decision open."""
        return None


class SystemClock:
    """Sleeps, blocking the calling thread."""

    def wait(self, effect: Wait) -> WaitElapsed:
        """Sleep for ``effect.ms`` milliseconds."""
        time.sleep(effect.ms / 1000)
        return WaitElapsed(effect.ref)


class AsyncSystemClock:
    """The async version of :class:`SystemClock`, for asyncio and trio."""

    async def wait(self, effect: Wait) -> WaitElapsed:
        """Sleep for ``effect.ms`` milliseconds.

        :raises MissingExtra: if anyio is not installed
        """
        try:
            import anyio
        except ImportError:
            raise MissingExtra.of("http", "anyio") from None
        await anyio.sleep(effect.ms / 1000)
        return WaitElapsed(effect.ref)


class InstantClock:
    """Returns at once and lists the requested waits, in milliseconds, in ``waited``."""

    def __init__(self) -> None:
        self.waited: list[int] = []

    def wait(self, effect: Wait) -> WaitElapsed:
        """Return at once."""
        self.waited.append(effect.ms)
        return WaitElapsed(effect.ref)


@dataclass(frozen=True, slots=True)
class Ports:
    """A performer for :func:`~toolreel._driver.sync.run`, from an endpoint, tools, an approver and a clock.

    :param endpoint: sends requests to a model, for example ``toolreel.http.HttpEndpoint``
    :param tools: runs tool calls, for example ``toolreel.PythonTools`` or ``toolreel.Router``
    :param approver: decides about tools that need approval; by default the run pauses at the first one
    :param clock: waits between retries; by default it sleeps
    """

    endpoint: Endpoint
    tools: ToolHost
    approver: Approver = field(default_factory=Later)
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        _check_tools(self.tools, "PythonTools")

    def perform(self, effect: Wanted) -> Event | None:
        """The event that answers the effect; ``None`` if the approver has not decided yet."""
        match effect:
            case SendRequest():
                return self.endpoint.send(effect)
            case RunTool():
                return self.tools.run(effect)
            case AskApproval():
                return self.approver.decide(effect)
            case Wait():
                return self.clock.wait(effect)
            case _:
                assert_never(effect)


@dataclass(frozen=True, slots=True)
class AsyncPorts:
    """The async version of :class:`Ports`, for :func:`~toolreel._driver.aio.arun`."""

    endpoint: AsyncEndpoint
    tools: AsyncToolHost
    approver: AsyncApprover = field(default_factory=AsyncLater)
    clock: AsyncClock = field(default_factory=AsyncSystemClock)

    def __post_init__(self) -> None:
        _check_tools(self.tools, "AsyncPythonTools")

    async def perform(self, effect: Wanted) -> Event | None:
        """The event that answers the effect; ``None`` if the approver has not decided yet."""
        match effect:
            case SendRequest():
                return await self.endpoint.send(effect)
            case RunTool():
                return await self.tools.run(effect)
            case AskApproval():
                return await self.approver.decide(effect)
            case Wait():
                return await self.clock.wait(effect)
            case _:
                assert_never(effect)


def _check_tools(tools: object, host: str) -> None:
    if not callable(getattr(tools, "run", None)):
        kind = type(tools).__name__
        raise ConfigError(f"tools: expected a tool host, got {kind}; write {host}([function, ...])")


# Only for sync ports that never block (scripts, recordings): a blocking one would block the event loop.


@dataclass(frozen=True, slots=True)
class ImmediateEndpoint:
    """Offers a sync endpoint that never blocks as an async one."""

    endpoint: Endpoint

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Call the sync port."""
        return self.endpoint.send(effect)


@dataclass(frozen=True, slots=True)
class ImmediateApprover:
    """Offers a sync approver that never blocks as an async one."""

    approver: Approver

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """Call the sync port."""
        return self.approver.decide(effect)


@dataclass(frozen=True, slots=True)
class ImmediateClock:
    """Offers a sync clock that never sleeps as an async one."""

    clock: Clock

    async def wait(self, effect: Wait) -> WaitElapsed:
        """Call the sync port."""
        return self.clock.wait(effect)
