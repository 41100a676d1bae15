"""Ports that answer at once, offered to async drivers.

For ports that never wait (scripts, recordings): anything that blocks would block the whole
event loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolreel._driver.ports import Approver, Clock, Endpoint, Performer, ToolHost, Wanted
from toolreel_core._protocol.effects import AskApproval, RunTool, SendRequest, Wait
from toolreel_core._protocol.events import (
    ApprovalGiven,
    Event,
    ReplyReceived,
    RequestFailed,
    ToolReturned,
    WaitElapsed,
)

__all__ = ["ImmediateApprover", "ImmediateClock", "ImmediateEndpoint", "ImmediatePerformer", "ImmediateTools"]


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
class ImmediateApprover:
    """An approver that never waits, awaited."""

    approver: Approver

    async def decide(self, effect: AskApproval) -> ApprovalGiven | None:
        """Answer at once."""
        return self.approver.decide(effect)


@dataclass(frozen=True, slots=True)
class ImmediateClock:
    """A clock on which no time passes, awaited."""

    clock: Clock

    async def wait(self, effect: Wait) -> WaitElapsed:
        """Answer at once."""
        return self.clock.wait(effect)


@dataclass(frozen=True, slots=True)
class ImmediatePerformer:
    """A performer that never waits, awaited."""

    performer: Performer

    async def perform(self, effect: Wanted) -> Event | None:
        """Answer at once."""
        return self.performer.perform(effect)
