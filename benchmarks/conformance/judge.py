"""The judge: from what a run did and sent to one of five words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from benchmarks.conformance.history import Message
from benchmarks.conformance.provider import Seen
from benchmarks.conformance.replies import FINAL
from benchmarks.conformance.shape import Call, Outcome, Shape

__all__ = ["VERDICTS", "Raised", "Run", "Verdict", "Verdicts", "judged"]

Verdict: TypeAlias = Literal["right", "told", "error", "silent", "wrong"]

Verdicts: TypeAlias = Mapping[Verdict, str]

VERDICTS: Verdicts = {
    "right": "did one of the things that the shape calls right",
    "told": "did not run the call, and told the model what was wrong with it",
    "error": "ended with an exception or a typed failure",
    "silent": "ended as if all were well, without what was asked for",
    "wrong": "ran something that it must not run: cut, quoted, twice, or with other arguments",
}

_CRASHES = frozenset(
    {
        "AssertionError",
        "AttributeError",
        "IndexError",
        "JSONDecodeError",
        "KeyError",
        "NameError",
        "RangeError",
        "RecursionError",
        "ReferenceError",
        "StopAsyncIteration",
        "StopIteration",
        "SyntaxError",
        "TypeError",
        "UnboundLocalError",
        "UnicodeDecodeError",
        "UnicodeEncodeError",
        "died",
        "timeout",
    }
)
"""Exceptions that nobody raises on purpose to report a bad reply."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Raised:
    """How a run failed."""

    kind: str
    """The name of the exception's class, without its module."""
    message: str

    @property
    def deliberate(self) -> bool:
        """Whether somebody meant to report this."""
        return self.kind not in _CRASHES


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of one loop came to."""

    ran: tuple[Call, ...]
    text: str
    raised: Raised | None
    seen: Seen


def judged(shape: Shape, run: Run) -> tuple[Verdict, str]:
    """The verdict, and why."""
    if extra := _too_much(run.ran, shape.calls):
        return "wrong", f"ran {extra}"
    for outcome in shape.right:
        if _is(outcome, shape, run):
            return "right", outcome
    if run.raised:
        refused = f"; the history was refused: {run.seen.refused[0]}" if run.seen.refused else ""
        told = run.raised.message.partition("\n")[0].partition(" Traceback")[0]
        return "error", f"{run.raised.kind}: {told[:120]}{refused[:160]}"
    if _told(run) and len(run.ran) < len(shape.calls):
        return "told", "the model was told"
    if run.seen.refused:
        return "silent", f"the history was refused: {run.seen.refused[0]}"
    return "silent", f"ended with {run.text[:80]!r}"


def _is(outcome: Outcome, shape: Shape, run: Run) -> bool:
    done = run.raised is None and not run.seen.refused
    all_ran = len(run.ran) == len(shape.calls)
    match outcome:
        case "executes":
            return done and all_ran and FINAL in run.text
        case "executes_rest":
            return done and all_ran and _told(run) and FINAL in run.text
        case "tells":
            return done and not run.ran and _told(run)
        case "recovers":
            return done and not run.ran and FINAL in run.text
        case "answers":
            return done and not run.ran and shape.says in run.text
        case "fails":
            return not run.ran and run.raised is not None and run.raised.deliberate and not run.seen.refused
        case _:
            assert_never(outcome)


def _too_much(ran: Sequence[Call], allowed: Sequence[Call]) -> str:
    """The first execution that is not allowed, or was there before."""
    left = [_key(call) for call in allowed]
    for call in ran:
        if _key(call) not in left:
            return f"{call.tool} {json.dumps(call.arguments)[:120]}"
        left.remove(_key(call))
    return ""


def _key(call: Call) -> str:
    """A call as text; half a UTF-16 pair may be handed over as it is, or replaced."""
    text = json.dumps([call.tool, call.arguments], sort_keys=True, ensure_ascii=False)
    return _SURROGATE.sub("\ufffd", text)


def _told(run: Run) -> bool:
    """Whether a request that was taken says more to the model than what tools have returned."""
    if not run.seen.taken:
        return False
    first = _heard(run.seen.taken[0])
    for messages in run.seen.taken[1:]:
        heard = _heard(messages)
        if len(heard) - len(first) > len(run.ran) or heard[: len(first)] != first:
            return True
    return False


def _heard(messages: Sequence[Message]) -> list[object]:
    """What the model hears from others, message by message; some loops add to the first instead."""
    return [
        content
        for message in messages
        if message.get("role") != "assistant" and (content := message.get("content"))
    ]
