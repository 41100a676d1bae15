"""Scripted fakes of the ports, for the tests of whoever builds on toolreel.

A script fails when it is asked for more than it holds, and :meth:`finish` fails when something
in it was never asked for: a test that passes has used its script up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from toolreel.effects import RunTool, SendRequest
from toolreel.errors import ReplayMismatch
from toolreel.events import ReplyReceived, RequestFailed, ToolReturned
from toolreel.jsontext import Json, canonical
from toolreel.outcome import FailureKind

__all__ = ["Lost", "ScriptedEndpoint", "ScriptedTools", "calling", "saying"]


@dataclass(frozen=True, slots=True)
class Lost:
    """A request that fails, as an item of a script."""

    failure: FailureKind
    message: str
    status: int | None = None


Line: TypeAlias = str | Mapping[str, Json] | Lost
"""A reply body as text or as a tree, or a failure."""


def saying(content: str, finish: str = "stop") -> Mapping[str, Json]:
    """The body of a reply that is a text.

    >>> saying("Done.")["choices"][0]["message"]
    {'role': 'assistant', 'content': 'Done.'}
    """
    return _body({"role": "assistant", "content": content}, finish)


def calling(*calls: tuple[str, Mapping[str, Json]], text: str | None = None) -> Mapping[str, Json]:
    """The body of a reply that calls tools, each given by name and arguments; ids are ``call_a``, …."""
    entries: list[Json] = [
        {
            "id": f"call_{chr(ord('a') + index)}",
            "type": "function",
            "function": {"name": name, "arguments": canonical(arguments)},
        }
        for index, (name, arguments) in enumerate(calls)
    ]
    return _body({"role": "assistant", "content": text, "tool_calls": entries}, "tool_calls")


def _body(message: Mapping[str, Json], finish: str) -> Mapping[str, Json]:
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


class ScriptedEndpoint:
    """Answers requests from a script, in order, and keeps what it was asked."""

    def __init__(self, script: Iterable[Line]) -> None:
        self._left = deque(script)
        self.asked: list[SendRequest] = []

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """The next line of the script.

        :raises toolreel.ReplayMismatch: if the script is over
        """
        self.asked.append(effect)
        if not self._left:
            raise ReplayMismatch(
                f"request {len(self.asked)} was sent, but the script has no reply left for it"
            )
        line = self._left.popleft()
        match line:
            case Lost():
                return RequestFailed(effect.ref, line.failure, line.message, line.status)
            case str():
                return ReplyReceived(effect.ref, 200, line)
            case _:
                return ReplyReceived(effect.ref, 200, canonical(line))

    def finish(self) -> None:
        """Fail if a line of the script was never asked for."""
        if self._left:
            raise ReplayMismatch(f"{len(self._left)} replies of the script were never asked for")


class ScriptedTools:
    """Answers tool calls from a script of outputs by tool name, and keeps what it was asked."""

    def __init__(self, script: Mapping[str, Iterable[Json]]) -> None:
        self._left = {name: deque(outputs) for name, outputs in script.items()}
        self.ran: list[RunTool] = []

    def run(self, effect: RunTool) -> ToolReturned:
        """The tool's next output.

        :raises toolreel.ReplayMismatch: if the script has none
        """
        self.ran.append(effect)
        outputs = self._left.get(effect.name)
        if not outputs:
            raise ReplayMismatch(
                f"{effect.name}({effect.arguments}) was called, but the script has no output for it"
            )
        return ToolReturned(effect.ref, canonical(outputs.popleft()))

    def finish(self) -> None:
        """Fail if an output of the script was never asked for."""
        if over := {name: len(outputs) for name, outputs in self._left.items() if outputs}:
            left = ", ".join(f"{count} of {name}" for name, count in over.items())
            raise ReplayMismatch(f"outputs of the script were never asked for: {left}")
