"""The desk: a world made of tables, whose reading tools answer queries and whose writing tools note orders.

The checks of a scenario look at the orders: which tools were called, with which arguments. The names of the
fields here are part of the catalogue's digest (see ``fingerprint``), so renaming them changes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from toolreel_core._jsontext import Json, JsonText, Tree, canonical, parse
from toolreel_core.evals._worlds.world import failure, is_failure, success


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a tool for certain arguments."""

    tool: str
    wanted: JsonText
    """Arguments that a call must have, letter case of texts aside; others may accompany them."""
    data: JsonText
    """A JSON object."""

    @classmethod
    def of(cls, tool: str, wanted: Tree, data: Tree) -> Answer:
        """An answer from everyday values."""
        return cls(tool, canonical(wanted), canonical(data))

    def fits(self, name: str, arguments: Tree) -> bool:
        """Whether it is an answer to this call."""
        wanted = parse(self.wanted)
        pairs = wanted.items() if isinstance(wanted, dict) else ()
        return name == self.tool and all(_alike(arguments.get(key), value) for key, value in pairs)


@dataclass(frozen=True, slots=True)
class Order:
    """A call that was noted."""

    tool: str
    arguments: JsonText


@dataclass(frozen=True, slots=True)
class Desk:
    """Answers that are there, and orders that were given."""

    answers: tuple[Answer, ...] = ()
    takes: tuple[str, ...] = ()
    """Tools that only note what is asked of them, and always work."""
    orders: tuple[Order, ...] = ()

    def call(self, name: str, arguments: Tree) -> tuple[Desk, JsonText]:
        """Answer from the table, or note the order."""
        for answer in self.answers:
            if answer.fits(name, arguments):
                return self, JsonText(answer.data)
        if name not in self.takes:
            return self, failure(name, "NOT_FOUND", f"{name} knows nothing of what was asked for.")
        order = Order(name, canonical(arguments))
        return replace(self, orders=(*self.orders, order)), success(name, {"noted": len(self.orders) + 1})

    def told(self, name: str, arguments: Tree, output: str) -> Desk:
        """The desk after a call of a real tool, whose result came from outside."""
        if name not in self.takes or is_failure(output):
            return self
        return replace(self, orders=(*self.orders, Order(name, canonical(arguments))))

    def contents(self) -> Json:
        """The orders, in order."""
        return {
            "orders": [{"tool": order.tool, "arguments": parse(order.arguments)} for order in self.orders]
        }


def _alike(one: Json, other: Json) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.strip().casefold() == other.strip().casefold()
    return canonical(one) == canonical(other)
