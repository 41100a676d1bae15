"""Ports: what a driver needs from the world, one method each.

An endpoint or a tool host reports whatever goes wrong on the far side as an event. Only a
recording that disagrees with the run (:class:`~toolreel.errors.ReplayMismatch`) and bugs are raised.
"""

from __future__ import annotations

from typing import Protocol

from toolreel.effects import RunTool, SendRequest
from toolreel.events import Event, ReplyReceived, RequestFailed, ToolReturned
from toolreel.notes import Note

__all__ = [
    "AsyncEndpoint",
    "AsyncPerformer",
    "AsyncToolHost",
    "Endpoint",
    "Journal",
    "Observer",
    "Performer",
    "ToolHost",
]


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


class Performer(Protocol):
    """All that a driver knows of the world."""

    def perform(self, effect: SendRequest | RunTool) -> Event:
        """Perform the effect; the event answers it, or cancels the run."""
        ...


class AsyncPerformer(Protocol):
    """The same as :class:`Performer`, awaited."""

    async def perform(self, effect: SendRequest | RunTool) -> Event:
        """Perform the effect; the event answers it, or cancels the run."""
        ...


class Journal(Protocol):
    """Something that keeps the events of a run, in order."""

    def record(self, effect: SendRequest | RunTool | None, event: Event) -> None:
        """Keep an event, and which effect it answered; ``None`` for one that nobody asked for."""
        ...


class Observer(Protocol):
    """Somebody who wants to see what a run decides, as it happens."""

    def __call__(self, note: Note, /) -> None:
        """Look at a note."""
        ...
