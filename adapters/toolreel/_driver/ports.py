"""Ports: the protocols that a driver calls, one method each, and ``Ports``, which combine them.

An endpoint or a tool host reports failures of the provider or the tool as events. It raises only
:class:`~toolreel_core.ReplayMismatch` (a recording that does not match the run) and bugs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, Generic, Protocol, TypeAlias, TypeGuard, TypeVar, assert_never

from toolreel._driver.immediate import await_if_awaitable, items_without_suspending
from toolreel._driver.outcome_words import NO_SERVER, ServerAddress
from toolreel._internal import MissingExtra
from toolreel_core._errors import ConfigError
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    ApprovalGiven,
    AskApproval,
    Event,
    Note,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    ToolReturned,
    Wait,
    WaitElapsed,
)
from toolreel_core._replies import Delta
from toolreel_core._tools import Fault, failed_envelope, tool_not_implemented

Wanted: TypeAlias = SendRequest | RunTool | AskApproval | Wait
"""An effect that needs performing: any but ``Finish``."""
ReplyPiece: TypeAlias = Delta | ReplyReceived | RequestFailed


def is_turn_request(effect: Wanted) -> TypeGuard[SendRequest]:
    """Whether an effect is a request whose reply is shown; nobody is shown a summary for the model."""
    return isinstance(effect, SendRequest) and effect.purpose == "turn"


class Endpoint(Protocol):
    """Sends requests to a model."""

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the complete reply; failures are returned as ``RequestFailed``."""
        ...


class AsyncEndpoint(Protocol):
    """The async version of :class:`Endpoint`."""

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Like :meth:`Endpoint.send`."""
        ...


def stream_reply_pieces(endpoint: Endpoint | AsyncEndpoint, effect: SendRequest) -> Any:  # noqa: ANN401 - a generator
    """Each piece of a reply, if the endpoint has a method ``stream``, and last the event; sync or async."""
    stream: Callable[[SendRequest], object] = getattr(
        endpoint, "stream", partial(stream_whole_reply, endpoint)
    )
    return stream(effect)


async def stream_whole_reply(
    endpoint: Endpoint | AsyncEndpoint, effect: SendRequest
) -> AsyncGenerator[ReplyPiece, None]:
    event: ReplyReceived | RequestFailed = await await_if_awaitable(endpoint.send(effect))
    yield event


class ToolHost(Protocol):
    """Runs tools."""

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool; if it fails, the output is an error envelope."""
        ...


class AsyncToolHost(Protocol):
    """The async version of :class:`ToolHost`."""

    async def run(self, effect: RunTool) -> ToolReturned:
        """Like :meth:`ToolHost.run`."""
        ...


class Approver(Protocol):
    """Decides whether a tool may run."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """The decision, or ``None`` to leave it open: the run then pauses, and can be continued later."""
        ...


class AsyncApprover(Protocol):
    """The async version of :class:`Approver`."""

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """Like :meth:`Approver.decide`."""
        ...


class Clock(Protocol):
    """Waits between retries.

    One that also has ``now()``, in seconds, tells drivers the time by which they measure what a run takes.
    """

    def wait(self, effect: Wait) -> WaitElapsed:
        """Return after ``effect.ms`` milliseconds."""
        ...


class AsyncClock(Protocol):
    """The async version of :class:`Clock`."""

    async def wait(self, effect: Wait) -> WaitElapsed:
        """Like :meth:`Clock.wait`."""
        ...


class Performer(Protocol):
    """Performs any effect; the only port that a driver calls directly."""

    def perform(self, effect: Wanted) -> Event | None:
        """The event that answers the effect or cancels the run; ``None`` pauses the run."""
        ...


class AsyncPerformer(Protocol):
    """The async version of :class:`Performer`."""

    async def perform(self, effect: Wanted) -> Event | None:
        """Like :meth:`Performer.perform`."""
        ...


class Journal(Protocol):
    """Records the events of a run, in order.

    One with an attribute ``keeps_times`` that is true gets the times of each event as a third argument.
    """

    def record(self, effect: Wanted | None, event: Event) -> Event | None:
        """Record an event and the effect that it answers; ``None`` if it answers none (a cancel).

        An exception ends the run before its next effect.

        :returns: the event that the run continues with, if that is another one than was given
        """
        ...


Observer: TypeAlias = Callable[[Note], None]

Listener: TypeAlias = Callable[[Delta], None]
"""A callback for the pieces of a streamed reply, as they arrive: text, reasoning or part of a tool call."""


def secrets_of_ports(*parts: object) -> dict[str, str]:
    """The credentials that ports send, by name: of those with a mapping ``secrets``."""
    found: dict[str, str] = {}
    for number, part in enumerate(parts):
        for name, value in getattr(part, "secrets", {}).items():
            # Two endpoints may send different keys in the same header.
            found[name if found.get(name, value) == value else f"{name} ({number + 1})"] = value
    return found


def register_journal_secrets(journal: Journal | None, secrets: Mapping[str, str]) -> None:
    """Tell a journal what its run sends, so that no reply that says it back is written.

    A journal that writes nothing has no method ``withhold``.
    """
    told = getattr(journal, "withhold", None)
    if told is not None and secrets:
        told(secrets)


_Item = TypeVar("_Item")
_Endpoint = TypeVar("_Endpoint")
# A limit, since an endpoint of the user may have an attribute `endpoint` that is the endpoint itself.
_DEPTH = 8
"""How many endpoints and performers may wrap one another."""


def notify(observe: Callable[[_Item], None] | None, items: Iterable[_Item]) -> None:
    """Call the observer with each note or delta; its exceptions become a ``RuntimeWarning``."""
    if observe is None:
        return
    for item in items:
        try:
            observe(item)
        except Exception as error:  # noqa: BLE001 - a broken progress display must not end a run
            warnings.warn(
                f"the observer failed on {type(item).__name__}: {error!r}", RuntimeWarning, stacklevel=2
            )


_GIVEN: Mapping[str, tuple[str, str, str]] = {
    "endpoint": ("an endpoint", "send", "HttpEndpoint(base_url), or AsyncHttpEndpoint(base_url)"),
    "tools": ("a tool host", "run", "PythonTools([function, ...])"),
    "approver": ("an approver", "decide", "Always(), Never() or Later(), or Agent(approve=function)"),
    "clock": ("a clock", "wait", "SystemClock() or InstantClock()"),
    "journal": ("a journal", "record", "MemoryJournal(), or record= of an agent for files"),
    "observe": ("a function of a note", "__call__", "observe=print"),
    "inbox": ("an inbox", "messages_before", "inbox=Inbox()"),
    "on_error": ("a function of a call and its exception", "__call__", "on_error=print"),
    "isolated": ("True or an Isolation", "response", "isolated=Isolation(memory_bytes=...)"),
}
"""What runs and tools may be given, by the parameter: what it is, its method, and what to write."""
_OPTIONAL = {"journal", "observe", "inbox", "on_error", "isolated"}


def check_run_arguments(**given: object) -> None:
    for name, value in given.items():
        what, method, instead = _GIVEN[name]
        if value is None and name in _OPTIONAL:
            continue
        is_class = isinstance(value, type) and method != "__call__"
        if is_class or not callable(getattr(value, method, None)):
            kind = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
            raise ConfigError(f"{name}: expected {what}, got {kind}; write {instead}")


NO_SCOPE = nullcontext()
_ENDS_AT = ContextVar("toolreel_run_ends_at", default=inf)


def time_left() -> float:
    """Seconds until the run is over, at least 0; infinite if its time is not limited."""
    return max(0.0, _ENDS_AT.get() - time.monotonic())


@contextmanager
def limit_time_until(moment: float, inner: AbstractContextManager[object] = NO_SCOPE) -> Generator[None]:
    """Limit the time of what happens inside; a run in a tool of another one ends with that at the latest.

    :param moment: on the clock of ``time.monotonic``
    :param inner: a scope inside of it
    """
    before = _ENDS_AT.set(min(moment, _ENDS_AT.get()))
    try:
        with inner:
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
        """Sleep for ``effect.ms`` milliseconds, or for what is left of ``max_wall_ms``."""
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


def fault_event(effect: RunTool, fault: Callable[[str], Fault]) -> ToolReturned:
    return ToolReturned(effect.ref, failed_envelope(effect.name, fault(effect.name)).text())


@dataclass(frozen=True, slots=True)
class NoTools:
    def run(self, effect: RunTool) -> ToolReturned:
        return fault_event(effect, tool_not_implemented)


class _AnyPorts:
    __slots__ = ()
    endpoint: Any
    tools: Any
    approver: Any
    clock: Any

    def __post_init__(self) -> None:
        check_run_arguments(
            endpoint=self.endpoint, tools=self.tools, approver=self.approver, clock=self.clock
        )

    @property
    def secrets(self) -> Mapping[str, str]:
        """The credentials that endpoint and tools send, by name; journals do not write them."""
        return secrets_of_ports(self.endpoint, self.tools)

    def _call_port(self, effect: Wanted) -> Any:  # noqa: ANN401 - of async ports, something to await
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
class Ports(_AnyPorts):
    """A performer for :func:`~toolreel._driver.drivers.run`: an endpoint, tools, an approver and a clock.

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
        answer: Event | None = self._call_port(effect)
        return answer

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """Each piece of the reply as it arrives, and last the event that answers the effect."""
        return items_without_suspending(stream_reply_pieces(self.endpoint, effect))


@dataclass(frozen=True, slots=True)
class AsyncPorts(_AnyPorts):
    """The async version of :class:`Ports`, for :func:`~toolreel._driver.drivers.arun`."""

    endpoint: AsyncEndpoint
    tools: AsyncToolHost | NoTools = field(default_factory=NoTools)
    approver: AsyncApprover = field(default_factory=AsyncLater)
    clock: AsyncClock | InstantClock = field(default_factory=AsyncSystemClock)

    async def perform(self, effect: Wanted) -> Event | None:
        """The event that answers the effect; ``None`` if the approver has not decided yet."""
        answer: Event | None = await await_if_awaitable(self._call_port(effect))
        return answer

    def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Each piece of the reply as it arrives, and last the event that answers the effect."""
        pieces: AsyncGenerator[ReplyPiece] = stream_reply_pieces(self.endpoint, effect)
        return pieces


# The endpoints of a plan with fallbacks, as one.


@dataclass(frozen=True, slots=True)
class _SeveralEndpoints(Generic[_Endpoint]):
    first: _Endpoint
    """The plan's own endpoint."""
    fallbacks: Mapping[str, _Endpoint] = field(default_factory=dict)
    """The endpoints of the plan's fallbacks, by their names."""

    @property
    def secrets(self) -> Mapping[str, str]:
        return secrets_of_ports(self.first, *self.fallbacks.values())

    def endpoint_named(self, name: str) -> _Endpoint:
        """The endpoint of a fallback; the plan's own for an empty name."""
        return self.fallbacks[name] if name else self.first


@dataclass(frozen=True, slots=True)
class Endpoints(_SeveralEndpoints[Endpoint]):
    """The endpoints of a plan with fallbacks: each request goes to the one that it names.

    ::

        with HttpEndpoint(url) as first, HttpEndpoint(other_url) as second:
            run(plan, Ports(Endpoints(first, {"backup": second}), tools))

    Closing them is up to you.
    """

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request to the endpoint that it names."""
        return self.endpoint_named(effect.endpoint).send(effect)

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """Each piece of the reply, if that endpoint streams, and last the event."""
        return items_without_suspending(stream_reply_pieces(self.endpoint_named(effect.endpoint), effect))


@dataclass(frozen=True, slots=True)
class AsyncEndpoints(_SeveralEndpoints[AsyncEndpoint]):
    """The async version of :class:`Endpoints`."""

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request to the endpoint that it names."""
        return await self.endpoint_named(effect.endpoint).send(effect)

    def stream(self, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Each piece of the reply, if that endpoint streams, and last the event."""
        pieces: AsyncGenerator[ReplyPiece] = stream_reply_pieces(self.endpoint_named(effect.endpoint), effect)
        return pieces


def server_address_of_performer(performer: object, fallback: str) -> ServerAddress:
    """Where the endpoint of a performer sends its requests; empty if it doesn't say."""
    for layer in _layers_of_performer(performer, fallback):
        server = getattr(getattr(layer, "address", None), "server", None)
        if isinstance(server, ServerAddress):
            return server
    return NO_SERVER


def _layers_of_performer(outer: Any, fallback: str = "") -> Iterator[Any]:  # noqa: ANN401 - of any kind
    for _ in range(_DEPTH):
        yield outer
        if isinstance(outer, Endpoints | AsyncEndpoints):
            outer = outer.fallbacks.get(fallback) if fallback else outer.first
        else:
            outer = getattr(outer, "endpoint", None) or getattr(outer, "performer", None)


def check_fallback_endpoints(plan: Plan, performer: object) -> None:
    wanted = [fallback.name for fallback in plan.fallbacks]
    # A custom endpoint may read SendRequest.endpoint itself; one with an address has a single server.
    for layer in _layers_of_performer(performer) if wanted else ():
        known = getattr(layer, "fallbacks", () if hasattr(layer, "address") else None)
        if known is not None:
            break
    else:
        return
    if missing := [name for name in wanted if name not in known]:
        given = ", ".join(f'"{name}": ...' for name in wanted)
        kind = "AsyncEndpoints" if isinstance(performer, AsyncPorts) else "Endpoints"
        raise ConfigError(
            f"the plan falls back to {missing[0]!r}, and the ports have no endpoint of that name; "
            f"write {kind}(endpoint, {{{given}}})"
        )
