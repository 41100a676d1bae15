"""A world as a tool host; worlds are immutable, so the host keeps the current one."""

from __future__ import annotations

from collections.abc import Mapping

from toolreel_core._jsontext.canonical import parse
from toolreel_core._protocol.effects import RunTool
from toolreel_core._protocol.events import ToolReturned
from toolreel_core.evals._worlds.world import World


class WorldHost:
    """Runs the tools of one world, call after call."""

    def __init__(self, world: World) -> None:
        self.world = world
        """As the calls so far have left it."""

    def run(self, effect: RunTool) -> ToolReturned:
        """Let the world answer, and keep its successor."""
        arguments = parse(effect.arguments)
        tree = arguments if isinstance(arguments, Mapping) else {}
        self.world, output = self.world.call(effect.name, tree)
        return ToolReturned(effect.ref, output)


class AsyncWorldHost:
    """The same as :class:`WorldHost`, awaited; a world never waits."""

    def __init__(self, world: World) -> None:
        self._host = WorldHost(world)

    @property
    def world(self) -> World:
        """As the calls so far have left it."""
        return self._host.world

    async def run(self, effect: RunTool) -> ToolReturned:
        """Let the world answer, and keep its successor."""
        return self._host.run(effect)
