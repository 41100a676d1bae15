"""Checks of calls, results and worlds; the wording of answers matters as little as possible.

Their messages are stored as reasons in records, so they must not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from toolreel_core._jsontext import Json, Tree, canonical, read
from toolreel_core.evals._scenarios.evidence import Evidence, ObservedCall
from toolreel_core.evals._scenarios.scenario import Check
from toolreel_core.evals._worlds.json_pointer import at

_DONE: Final = re.compile(r"done[.!]?", re.IGNORECASE)
"""The agreed word, with a mark or without."""
_QUOTES: Final = "\"'`"
_Finding = Callable[[Evidence], str]

Order: TypeAlias = tuple[str, Tree]
"""A tool that a scenario expects to be called, and its arguments."""


def outcome(name: str, finding: _Finding) -> Check:
    """A check of whether the task was done."""
    return Check(name, "outcome", finding)


def exercise(name: str, finding: _Finding) -> Check:
    """A check of whether the hard part of the task was met."""
    return Check(name, "exercise", finding)


def arguments_of(call: ObservedCall) -> Tree:
    """The arguments of a call, as far as they are an object."""
    tree = read(call.arguments).value_or(None)
    return tree if isinstance(tree, Mapping) else {}


def says_done(seen: Evidence) -> str:
    """The final text is nothing but the agreed word."""
    said = seen.final.strip().strip(_QUOTES).strip()
    return "" if _DONE.fullmatch(said) else f"the final text is not the agreed word: {_short(seen.final)}"


def says_something(seen: Evidence) -> str:
    """The final text is not blank."""
    return "" if seen.final.strip() else "the final text is blank"


def world_has(pointer: str, value: Json) -> _Finding:
    """A finding that wants a value at one place of the world."""

    def finding(seen: Evidence) -> str:
        there = at(seen.world.contents(), pointer)
        # As text, since True equals 1 and 1.0 to Python.
        if canonical(there) == canonical(value):
            return ""
        return f"{pointer} should be {_short(canonical(value))}, it is {_short(canonical(there))}"

    return finding


def first_calls_are(*names: str) -> _Finding:
    """A finding that wants the first turn with calls to make just these, in any order."""

    def finding(seen: Evidence) -> str:
        first = next((turn.calls for turn in seen.turns if turn.calls), ())
        made = sorted(call.name for call in first)
        return "" if made == sorted(names) else f"the first calls were {made}, not {sorted(names)}"

    return finding


def called_before(name: str, *, before: str) -> _Finding:
    """A finding that wants one tool to be called before another one is."""

    def finding(seen: Evidence) -> str:
        made = [call.name for call in seen.calls]
        earlier = made[: made.index(before)] if before in made else made
        return "" if name in earlier else f"{name} was not called before {before}"

    return finding


def called(name: str) -> _Finding:
    """A finding that wants a tool to have been called with success."""

    def finding(seen: Evidence) -> str:
        fine = any(call.name == name and call.ok for call in seen.calls)
        return "" if fine else f"{name} was never called with success"

    return finding


def ordered(*orders: Order) -> Check:
    """The check that exactly these orders were given, in this order, whatever was read in between."""
    expected: Json = [{"tool": tool, "arguments": dict(arguments)} for tool, arguments in orders]
    return outcome("orders", partial(_other_orders, canonical(plain(expected))))


def _other_orders(expected: str, seen: Evidence) -> str:
    given = canonical(plain(at(seen.world.contents(), "/orders")))
    return "" if given == expected else f"expected the orders {expected}, got {given}"


def plain(value: Json, tidied: Callable[[str], str] = str.strip) -> Json:
    """A value in which 2.0 is 2, and the order of keys and blanks around texts make no difference."""
    match value:
        case str():
            return tidied(value)
        case float():
            return int(value) if value.is_integer() else value
        case Mapping():
            return {key: plain(value[key], tidied) for key in sorted(value)}
        case list() | tuple():
            return [plain(item, tidied) for item in value]
        case _:
            return value


def no_calls(seen: Evidence) -> str:
    """Nothing was called."""
    made = [call.name for call in seen.calls]
    return f"nothing was to be called, and {', '.join(made)} was" if made else ""


def error_occurred(code: str, name: str = "") -> _Finding:
    """A finding that wants an error to have come up, whatever became of it later.

    :param name: of the tool whose error it is; of any tool, if nothing is said
    """

    def finding(seen: Evidence) -> str:
        met = any(code in call.codes and name in ("", call.name) for call in seen.calls)
        return "" if met else f"{code} never came up"

    return finding


def argument_omitted(argument: str) -> _Finding:
    """A finding that wants no call to say what can be left out."""

    def finding(seen: Evidence) -> str:
        said = [call.name for call in seen.calls if argument in arguments_of(call)]
        return f"{argument} was given to {', '.join(said)}" if said else ""

    return finding


def parallel_calls_made(seen: Evidence) -> str:
    """Some turn made several calls at once."""
    return "" if any(len(turn.calls) > 1 for turn in seen.turns) else "no turn made two calls at once"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}…"
