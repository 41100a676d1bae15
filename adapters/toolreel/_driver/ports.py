"""Ports: what a driver needs from the world, one method each.

An endpoint or a tool host reports whatever goes wrong on the far side as an event. Only a
recording that disagrees with the run (:class:`~toolreel_core.ReplayMismatch`) and bugs are raised.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from toolreel_core._protocol.effects import AskApproval, RunTool, SendRequest, Wait
from toolreel_core._protocol.events import (
    ApprovalGiven,
    Event,
    ReplyReceived,
    RequestFailed,
    ToolReturned,
    WaitElapsed,
)
from toolreel_core._protocol.notes import Note
from toolreel_core._replies.streaming.stream import Delta

__all__ = [
    "Approver",
    "AsyncApprover",
    "AsyncClock",
    "AsyncEndpoint",
    "AsyncPerformer",
    "AsyncToolHost",
    "Clock",
    "Endpoint",
    "Journal",
    "Listener",
    "Observer",
    "Performer",
    "ToolHost",
    "Wanted",
]

Wanted: TypeAlias = SendRequest | RunTool | AskApproval | Wait
"""An effect that somebody has to perform: any but ``Finish``."""


class Endpoint(Protocol):
    """Something that answers requests to a model."""

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the whole reply."""
        ...


class AsyncEndpoint(Protocol):
    """The same as :class:`Endpoint`, awaited."""

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Send the request and wait for the whole reply."""
        ...


class ToolHost(Protocol):
    """Something that runs tools."""

    def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool; a failure of the tool is an envelope in the output."""
        ...


class AsyncToolHost(Protocol):
    """The same as :class:`ToolHost`, awaited."""

    async def run(self, effect: RunTool) -> ToolReturned:
        """Run the tool; a failure of the tool is an envelope in the output."""
        ...


class Approver(Protocol):
    """Somebody who decides whether a tool may run."""

    def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """The decision, or ``None`` for "not now": the run then rests, and can go on later."""
        ...


class AsyncApprover(Protocol):
    """The same as :class:`Approver`, awaited."""

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """The decision, or ``None`` for "not now": the run then rests, and can go on later."""
        ...


class Clock(Protocol):
    """Something that lets time pass."""

    def wait(self, effect: Wait) -> WaitElapsed:
        """Come back when the time is over."""
        ...


class AsyncClock(Protocol):
    """The same as :class:`Clock`, awaited."""

    async def wait(self, effect: Wait) -> WaitElapsed:
        """Come back when the time is over."""
        ...


class Performer(Protocol):
    """All that a driver knows of the world."""

    def perform(self, effect: Wanted) -> Event | None:
        """Perform the effect; the event answers it, or cancels the run. ``None`` lets the run rest."""
        ...


class AsyncPerformer(Protocol):
    """The same as :class:`Performer`, awaited."""

    async def perform(self, effect: Wanted) -> Event | None:
        """Perform the effect; the event answers it, or cancels the run. ``None`` lets the run rest."""
        ...


class Journal(Protocol):
    """Something that keeps the events of a run, in order."""

    def record(self, effect: Wanted | None, event: Event) -> None:
        """Keep an event, and which effect it answered; ``None`` for one that nobody asked for."""
        ...


class Observer(Protocol):
    """Somebody who wants to see what a run decides, as it happens."""

    def __call__(self, note: Note, /) -> None:
        """Look at a note."""
        ...


class Listener(Protocol):
    """Somebody who wants to see a reply as it comes."""

    def __call__(self, delta: Delta, /) -> None:
        """Look at a piece of the reply."""
        ...
