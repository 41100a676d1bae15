"""Performing effects through ports: one ``match`` from effect to port, in two colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from toolreel.effects import RunTool, SendRequest
from toolreel.events import Event
from toolreel_adapters.ports import AsyncEndpoint, AsyncToolHost, Endpoint, ToolHost

__all__ = ["AsyncPorts", "Ports"]


@dataclass(frozen=True, slots=True)
class Ports:
    """A performer out of an endpoint and a tool host."""

    endpoint: Endpoint
    tools: ToolHost

    def perform(self, effect: SendRequest | RunTool) -> Event:
        """Hand the effect to the port that performs its kind."""
        match effect:
            case SendRequest():
                return self.endpoint.send(effect)
            case RunTool():
                return self.tools.run(effect)
            case _:
                assert_never(effect)


@dataclass(frozen=True, slots=True)
class AsyncPorts:
    """The same as :class:`Ports`, awaited."""

    endpoint: AsyncEndpoint
    tools: AsyncToolHost

    async def perform(self, effect: SendRequest | RunTool) -> Event:
        """Hand the effect to the port that performs its kind."""
        match effect:
            case SendRequest():
                return await self.endpoint.send(effect)
            case RunTool():
                return await self.tools.run(effect)
            case _:
                assert_never(effect)
