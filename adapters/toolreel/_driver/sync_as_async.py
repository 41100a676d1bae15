"""Adapters that offer sync ports to the async driver.

Only for ports that never block (scripts, recordings): a blocking port would block the event loop.
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


@dataclass(frozen=True, slots=True)
class ImmediateEndpoint:
    """Offers a sync endpoint that never blocks as an async one."""

    endpoint: Endpoint

    async def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """Call the sync port."""
        return self.endpoint.send(effect)


@dataclass(frozen=True, slots=True)
class ImmediateTools:
    """Offers a sync tool host that never blocks as an async one."""

    tools: ToolHost

    async def run(self, effect: RunTool) -> ToolReturned:
        """Call the sync port."""
        return self.tools.run(effect)


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


@dataclass(frozen=True, slots=True)
class ImmediatePerformer:
    """Offers a sync performer that never blocks as an async one."""

    performer: Performer

    async def perform(self, effect: Wanted) -> Event | None:
        """Call the sync port."""
        return self.performer.perform(effect)
