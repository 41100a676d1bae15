"""``Ports`` and ``AsyncPorts``: perform each effect through the port for its kind.

With adapters that offer sync ports to the async driver.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, assert_never

from toolreel._driver.ports import (
    Approver,
    AsyncApprover,
    AsyncClock,
    AsyncEndpoint,
    AsyncToolHost,
    Clock,
    Endpoint,
    ReplyPiece,
    ToolHost,
    Wanted,
    async_pieces_of,
    check_given,
    pieces_of,
    secrets_of,
)
from toolreel._internal import MissingExtra
from toolreel_core._protocol import (
    ApprovalGiven,
    AskApproval,
    Event,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    ToolReturned,
    Wait,
    WaitElapsed,
)
from toolreel_core._tools import failed, tool_not_implemented

_ENDS_AT: Final = ContextVar("toolreel_run_ends_at", default=inf)


def time_left() -> float:
    """Seconds until the run is over, at least 0; infinite if its time is not limited."""
    return max(0.0, _ENDS_AT.get() - time.monotonic())


@contextmanager
def ending_at(moment: float) -> Generator[None]:
    """Limit the time of what happens inside. A run inside a tool of another run ends with it at the latest.

    :param moment: on the clock of ``time.monotonic``
    """
    before = _ENDS_AT.set(min(moment, _ENDS_AT.get()))
    try:
        yield
    finally:
        _ENDS_AT.reset(before)


class SystemClock:
    """Sleeps, blocking the calling thread.

    A wait is over when the run's time is: its event then has the time at which the core ends the run.
    """

    def wait(self, effect: Wait) -> WaitElapsed:
        """Sleep for ``effect.ms`` milliseconds, or for what is left of ``max_wall_ms``."""
        time.sleep(min(effect.ms / 1000, time_left()))
        return WaitElapsed(effect.ref)


class AsyncSystemClock:
    """The async version of :class:`SystemClock`, for asyncio and trio."""

    async def wait(self, effect: Wait) -> WaitElapsed:
        """Sleep for ``effect.ms`` milliseconds, or for what is left of ``max_wall_ms``.

        :raises MissingExtra: if anyio is not installed
        """
        try:
            import anyio
        except ImportError:
            raise MissingExtra.of("http", "anyio") from None
        await anyio.sleep(min(effect.ms / 1000, time_left()))
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


@dataclass(frozen=True, slots=True)
class NoTools:
    """The tool host of ports that were given none."""

    def run(self, effect: RunTool) -> ToolReturned:
        """Fail as not implemented."""
        return _not_implemented(effect)


@dataclass(frozen=True, slots=True)
class AsyncNoTools:
    """The async version of :class:`NoTools`."""

    async def run(self, effect: RunTool) -> ToolReturned:
        """Fail as not implemented."""
        return _not_implemented(effect)


def _not_implemented(effect: RunTool) -> ToolReturned:
    return ToolReturned(effect.ref, failed(effect.name, tool_not_implemented(effect.name)).text())


class _AnyPorts:
    """What both kinds of ports do besides performing effects."""

    __slots__ = ()
    endpoint: Any
    tools: Any
    approver: Any
    clock: Any

    def __post_init__(self) -> None:
        check_given(endpoint=self.endpoint, tools=self.tools, approver=self.approver, clock=self.clock)

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that endpoint and tools send, by name; journals do not write them."""
        return secrets_of(self.endpoint, self.tools)


@dataclass(frozen=True, slots=True)
class Ports(_AnyPorts):
    """A performer for :func:`~toolreel._driver.sync.run`, from an endpoint, tools, an approver and a clock.

    :param endpoint: sends requests to a model, for example ``toolreel.http.HttpEndpoint``
    :param tools: runs tool calls, for example ``toolreel.PythonTools`` or ``toolreel.Router``; none for a
        plan without tools
    :param approver: decides about tools that need approval; by default the run pauses at the first one
    :param clock: waits between retries; by default it sleeps. If it has ``now()``, it also tells the time
    """

    endpoint: Endpoint
    tools: ToolHost = field(default_factory=NoTools)
    approver: Approver = field(default_factory=Later)
    clock: Clock = field(default_factory=SystemClock)

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

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """Each piece of the reply as it arrives, and last the event that answers the effect."""
        return pieces_of(self.endpoint, effect)


@dataclass(frozen=True, slots=True)
class AsyncPorts(_AnyPorts):
    """The async version of :class:`Ports`, for :func:`~toolreel._driver.aio.arun`."""

    endpoint: AsyncEndpoint
    tools: AsyncToolHost = field(default_factory=AsyncNoTools)
    approver: AsyncApprover = field(default_factory=AsyncLater)
    clock: AsyncClock = field(default_factory=AsyncSystemClock)

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

    def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Each piece of the reply as it arrives, and last the event that answers the effect."""
        return async_pieces_of(self.endpoint, effect)


# Only for sync ports that never block (scripts, recordings): a blocking one would block the event loop.


@dataclass(frozen=True, slots=True)
class ImmediateEndpoint:
    """Offers a sync endpoint that never blocks as an async one."""

    endpoint: Endpoint

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that the endpoint sends."""
        return secrets_of(self.endpoint)

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Call the sync port."""
        return self.endpoint.send(effect)

    async def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Each piece of the reply, and last the event, from the sync port."""
        with closing(pieces_of(self.endpoint, effect)) as pieces:
            for piece in pieces:
                yield piece


@dataclass(frozen=True, slots=True)
class ImmediateClock:
    """Offers a sync clock that never sleeps as an async one."""

    clock: Clock

    async def wait(self, effect: Wait) -> WaitElapsed:
        """Call the sync port."""
        return self.clock.wait(effect)
