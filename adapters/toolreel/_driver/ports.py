"""Ports: the protocols that a driver calls, one method each; and how callbacks are called.

An endpoint or a tool host reports failures of the provider or the tool as events. It raises only
:class:`~toolreel_core.ReplayMismatch` (a recording that does not match the run) and bugs.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, aclosing, closing
from typing import Final, Protocol, TypeAlias, TypeGuard, TypeVar, runtime_checkable

from toolreel_core._errors import ConfigError
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

Wanted: TypeAlias = SendRequest | RunTool | AskApproval | Wait
"""An effect that needs performing: any but ``Finish``."""
ReplyPiece: TypeAlias = Delta | ReplyReceived | RequestFailed
"""A piece of a reply as it arrives; the last one is the event."""


def is_shown(effect: Wanted) -> TypeGuard[SendRequest]:
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
        """Send the request and wait for the complete reply; failures are returned as ``RequestFailed``."""
        ...


def pieces_of(endpoint: Endpoint, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
    """Each piece of a reply, if the endpoint has a method ``stream``, and last the event."""
    stream: Callable[[SendRequest], Generator[ReplyPiece]] | None = getattr(endpoint, "stream", None)
    if stream is None:
        yield endpoint.send(effect)
        return
    with closing(stream(effect)) as pieces:
        yield from pieces


async def async_pieces_of(endpoint: AsyncEndpoint, effect: SendRequest) -> AsyncGenerator[ReplyPiece, None]:
    """The async version of :func:`pieces_of`."""
    stream: Callable[[SendRequest], AsyncGenerator[ReplyPiece]] | None = getattr(endpoint, "stream", None)
    if stream is None:
        yield await endpoint.send(effect)
        return
    async with aclosing(stream(effect)) as pieces:
        async for piece in pieces:
            yield piece


@runtime_checkable
class StreamingPerformer(Protocol):
    """What a :class:`Performer` may offer besides ``perform``."""

    def stream(self, effect: SendRequest) -> Generator[Delta | Event | None, None, None]:
        """Each piece of the reply as it arrives, and last what ``perform`` would return."""
        ...


@runtime_checkable
class AsyncStreamingPerformer(Protocol):
    """The async version of :class:`StreamingPerformer`."""

    def stream(self, effect: SendRequest) -> AsyncGenerator[Delta | Event | None, None]:
        """Each piece of the reply as it arrives, and last what ``perform`` would return."""
        ...


class ToolHost(Protocol):
    """Runs tools."""

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool; if it fails, the output is an error envelope."""
        ...


class AsyncToolHost(Protocol):
    """The async version of :class:`ToolHost`."""

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool; if it fails, the output is an error envelope."""
        ...


class Approver(Protocol):
    """Decides whether a tool may run."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """The decision, or ``None`` to leave it open: the run then pauses, and can be continued later."""
        ...


class AsyncApprover(Protocol):
    """The async version of :class:`Approver`."""

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """The decision, or ``None`` to leave it open: the run then pauses, and can be continued later."""
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
        """Return after ``effect.ms`` milliseconds."""
        ...


class Performer(Protocol):
    """Performs any effect; the only port that a driver calls directly."""

    def perform(self, effect: Wanted) -> Event | None:
        """The event that answers the effect or cancels the run; ``None`` pauses the run."""
        ...


class AsyncPerformer(Protocol):
    """The async version of :class:`Performer`."""

    async def perform(self, effect: Wanted) -> Event | None:
        """The event that answers the effect or cancels the run; ``None`` pauses the run."""
        ...


class Journal(Protocol):
    """Records the events of a run, in order.

    One that also has ``record_timed(effect, event, lap)`` gets the times of each event with it, instead.
    """

    def record(self, effect: Wanted | None, event: Event) -> Event | None:
        """Record an event and the effect that it answers; ``None`` if it answers none (a cancel).

        An exception ends the run before its next effect.

        :returns: the event that the run continues with, if that is another one than was given
        """
        ...


Observer: TypeAlias = Callable[[Note], None]
"""A callback for the notes of a run (its decisions), as they are made."""

Listener: TypeAlias = Callable[[Delta], None]
"""A callback for the pieces of a streamed reply, as they arrive: text, reasoning or part of a tool call."""


def secrets_of(*parts: object) -> dict[str, str]:
    """The credentials that ports send, by name: of those with a mapping ``secrets``."""
    found: dict[str, str] = {}
    for number, part in enumerate(parts):
        for name, value in getattr(part, "secrets", {}).items():
            found[name if found.get(name, value) == value else f"{name} ({number + 1})"] = value
    return found


def withhold(journal: Journal | None, secrets: Mapping[str, str]) -> None:
    """Tell a journal what its run sends, so that no reply that says it back is written.

    A journal that writes nothing has no method ``withhold``.
    """
    told = getattr(journal, "withhold", None)
    if told is not None and secrets:
        told(secrets)


_Item = TypeVar("_Item")


def tell(observe: Callable[[_Item], None] | None, items: Iterable[_Item]) -> None:
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


_GIVEN: Final[Mapping[str, tuple[str, str, str]]] = {
    "endpoint": ("an endpoint", "send", "HttpEndpoint(base_url), or AsyncHttpEndpoint(base_url)"),
    "tools": ("a tool host", "run", "PythonTools([function, ...])"),
    "approver": ("an approver", "decide", "Always(), Never() or Later(), or Agent(approve=function)"),
    "clock": ("a clock", "wait", "SystemClock() or InstantClock()"),
    "journal": ("a journal", "record", "MemoryJournal(), or record= of an agent for files"),
    "observe": ("a function of a note", "__call__", "observe=print"),
    "inbox": ("an inbox", "messages_before", "inbox=Inbox()"),
}
"""What a run may be given, by the name of its parameter: what it is, its method, and what to write."""
_OPTIONAL: Final = {"journal", "observe", "inbox"}


def check_given(**given: object) -> None:
    """Check what a run is given before it begins.

    :raises ConfigError: if something has not its method, or is a class; says what to write
    """
    for name, value in given.items():
        what, method, instead = _GIVEN[name]
        if value is None and name in _OPTIONAL:
            continue
        is_class = isinstance(value, type) and method != "__call__"
        if is_class or not callable(getattr(value, method, None)):
            kind = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
            raise ConfigError(f"{name}: expected {what}, got {kind}; write {instead}")


# A generator that yields inside a cancel scope or with a context variable set leaks it to its reader. So
# a scope holds while the next piece is awaited, and never while it is used.


_Scope = Callable[[], AbstractContextManager[object]]


def pulled(items: Generator[_Item, None, None], scope: _Scope) -> Generator[_Item, None, None]:
    """The items, each awaited inside a scope of its own; closing it closes them.

    It ends where a scope ends what happens inside, such as a cancel scope whose time is over.
    """
    try:
        while True:
            found = list[_Item]()
            with scope():
                try:
                    found.append(next(items))
                except StopIteration:
                    return
            if not found:
                return
            yield found[0]
    finally:
        with scope():
            items.close()


async def apulled(items: AsyncGenerator[_Item, None], scope: _Scope) -> AsyncGenerator[_Item, None]:
    """The async version of :func:`pulled`."""
    try:
        while True:
            found = list[_Item]()
            with scope():
                try:
                    found.append(await anext(items))
                except StopAsyncIteration:
                    return
            if not found:
                return
            yield found[0]
    finally:
        with scope():
            await items.aclose()
