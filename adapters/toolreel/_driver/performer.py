"""Performing effects through ports: one ``match`` from effect to port, in two colours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from toolreel._driver.approvers import AsyncLater, Later
from toolreel._driver.clocks import AsyncSystemClock, SystemClock
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
from toolreel_core._protocol.effects import AskApproval, RunTool, SendRequest, Wait
from toolreel_core._protocol.events import Event

__all__ = ["AsyncPorts", "Ports"]


@dataclass(frozen=True, slots=True)
class Ports:
    """A performer out of an endpoint, a tool host, an approver and a clock."""

    endpoint: Endpoint
    tools: ToolHost
    approver: Approver = field(default_factory=Later)
    """Without one, a run rests where a tool needs approval."""
    clock: Clock = field(default_factory=SystemClock)

    def perform(self, effect: Wanted) -> Event | None:
        """Hand the effect to the port that performs its kind."""
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
    """The same as :class:`Ports`, awaited."""

    endpoint: AsyncEndpoint
    tools: AsyncToolHost
    approver: AsyncApprover = field(default_factory=AsyncLater)
    """Without one, a run rests where a tool needs approval."""
    clock: AsyncClock = field(default_factory=AsyncSystemClock)

    async def perform(self, effect: Wanted) -> Event | None:
        """Hand the effect to the port that performs its kind."""
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
