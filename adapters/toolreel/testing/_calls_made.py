"""The calls of a run as data, and the run as a short listing: what claims about it are checked against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, cast

from toolreel._driver.run import Run
from toolreel_core._conversation.message import AssistantMessage, SentCall, ToolMessage
from toolreel_core._jsontext.canonical import Json, canonical, read
from toolreel_core._protocol.outcome import Completed
from toolreel_core._protocol.state import Settled

__all__ = ["CallMade", "calls_made", "listing", "told"]

_SHOWN: Final = 100
"""Characters of a value that a listing shows."""


@dataclass(frozen=True, slots=True)
class CallMade:
    """A call that the model made and was given a result for."""

    name: str
    """The tool's inner name, or the name that the model made up."""
    arguments: Json
    """As the model gave them; text where they were no JSON."""
    failed: tuple[str, ...] = ()
    """Codes of what was wrong; none if the call worked."""

    def __str__(self) -> str:
        """The call in one line.

        >>> print(CallMade("add", {"a": 1, "b": [2]}))
        add(a=1, b=[2])
        """
        return f"{self.name}({told(self.arguments)})"


def calls_made(run: Run) -> tuple[CallMade, ...]:
    """The calls of a run with their results, in the order in which the model made them."""
    return tuple(_calls(run))


def listing(run: Run, marks: Mapping[int, str] | None = None) -> str:
    """What happened, in a line a call.

    :param marks: what to add to the line of a call, by its place
    """
    lines = [
        f"  {at + 1}. {_short(str(call))}  {', '.join(call.failed) or 'ok'}{(marks or {}).get(at, '')}"
        for at, call in enumerate(calls_made(run))
    ]
    return "\n".join(["what happened:", *(lines or ["  no calls"]), f"  {_ending(run)}"])


def told(arguments: Json) -> str:
    """Arguments as a call would be written."""
    if not isinstance(arguments, Mapping):
        return canonical(arguments)
    return ", ".join(f"{name}={canonical(value)}" for name, value in arguments.items())


def _calls(run: Run) -> Iterator[CallMade]:
    said = tuple(run.state.messages.messages)[len(run.state.plan.messages) :]
    for at, message in enumerate(said):
        if isinstance(message, AssistantMessage):
            results = takewhile(lambda later: isinstance(later, ToolMessage), said[at + 1 :])
            for call, result in zip(message.calls, results, strict=False):
                yield _made(run, call, cast("ToolMessage", result))


def _made(run: Run, call: SentCall, result: ToolMessage) -> CallMade:
    name = run.state.plan.tools.inner(call.name)
    return CallMade(name, read(call.arguments).value_or(call.arguments), _codes(result))


def _codes(result: ToolMessage) -> tuple[str, ...]:
    match read(result.content).value_or(None):
        case {"ok": False, "errors": [*errors]}:
            return tuple(str(error["code"]) for error in errors if isinstance(error, Mapping))
        case _:
            return ()


def _ending(run: Run) -> str:
    match run.state.phase:
        case Settled(outcome=Completed(content)):
            return f"completed: {_short(canonical(content))}"
        case Settled(outcome=outcome):
            return f"ended: {_short(repr(outcome))}"
        case phase:
            return f"rests: {type(phase).__name__}"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
