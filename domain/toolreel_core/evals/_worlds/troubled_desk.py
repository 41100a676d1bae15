"""A desk in trouble: calls that time out, are refused for the moment, or go through without saying so.

A table of answers cannot say this, since the same call has another result when it is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from toolreel_core._jsontext import Json, JsonText, Tree, canonical, parse
from toolreel_core.evals._worlds.desk import Desk
from toolreel_core.evals._worlds.json_pointer import at
from toolreel_core.evals._worlds.world import success


@dataclass(frozen=True, slots=True)
class Trouble:
    """What goes wrong in calls of a tool."""

    tool: str
    output: JsonText
    """What such a call returns."""
    calls: int | None = 1
    """How many calls go wrong, from the first on; ``None``: all of them."""
    noted: bool = False
    """Whether the order is noted all the same."""


@dataclass(frozen=True, slots=True)
class Status:
    """A tool that tells whether an order was noted."""

    tool: str
    order: str
    """The tool whose orders it looks for."""
    key: str
    """The argument by which an order is found."""


@dataclass(frozen=True, slots=True)
class TroubledDesk:
    """A desk, what goes wrong at it, and which tools were called so far."""

    desk: Desk
    troubles: tuple[Trouble, ...] = ()
    statuses: tuple[Status, ...] = ()
    made: tuple[str, ...] = ()

    def call(self, name: str, arguments: Tree) -> tuple[TroubledDesk, JsonText]:
        """Go wrong, tell the status of an order, or else answer as the desk does."""
        number, after = self.made.count(name) + 1, replace(self, made=(*self.made, name))
        desk, output = self.desk.call(name, arguments)
        for trouble in self.troubles:
            if trouble.tool == name and (trouble.calls is None or number <= trouble.calls):
                return (replace(after, desk=desk) if trouble.noted else after), trouble.output
        for status in self.statuses:
            if status.tool == name:
                found = self._has(status, arguments.get(status.key))
                return after, success(name, {status.key: arguments.get(status.key), "found": found})
        return replace(after, desk=desk), output

    def contents(self) -> Json:
        """The orders, in order."""
        return self.desk.contents()

    def _has(self, status: Status, wanted: Json) -> bool:
        """Whether there is such an order, however its key is written."""
        orders = (order for order in self.desk.orders if order.tool == status.order)
        return any(
            canonical(at(parse(order.arguments), f"/{status.key}")) == canonical(wanted) for order in orders
        )
