"""Ports that answer at once, offered to async drivers.

For ports that never wait (scripts, recordings): anything that blocks would block the whole
event loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolreel.effects import RunTool, SendRequest
from toolreel.events import Event, ReplyReceived, RequestFailed, ToolReturned
from toolreel_adapters.ports import Endpoint, Performer, ToolHost

__all__ = ["ImmediateEndpoint", "ImmediatePerformer", "ImmediateTools"]


@dataclass(frozen=True, slots=True)
class ImmediateEndpoint:
    """An endpoint that never waits, awaited."""

    endpoint: Endpoint

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Answer at once."""
        return self.endpoint.send(effect)


@dataclass(frozen=True, slots=True)
class ImmediateTools:
    """A tool host that never waits, awaited."""

    tools: ToolHost

    async def run(self, effect: RunTool) -> ToolReturned:
        """Answer at once."""
        return self.tools.run(effect)


@dataclass(frozen=True, slots=True)
class ImmediatePerformer:
    """A performer that never waits, awaited."""

    performer: Performer

    async def perform(self, effect: SendRequest | RunTool) -> Event:
        """Answer at once."""
        return self.performer.perform(effect)
