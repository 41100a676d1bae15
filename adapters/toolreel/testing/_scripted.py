"""Scripted endpoints and tools, for your tests.

A script raises when it has no more answers, and :meth:`finish` raises when some were not used: a test that
passes has used its whole script.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, product
from string import ascii_lowercase
from typing import TypeAlias

from toolreel._driver import Listener, ReplyPiece, notify
from toolreel_core._errors import ReplayMismatch
from toolreel_core._jsontext import Json, canonical
from toolreel_core._protocol import (
    FailureKind,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    ToolReturned,
)
from toolreel_core._replies import deltas_in

# Not in arguments, which are JSON in a string, where each of these quotes is escaped.
_ID = re.compile(r'"id":"call_[a-z]+"')


@dataclass(frozen=True, slots=True)
class Lost:
    """A failed request, as an item of a script."""

    failure: FailureKind
    message: str
    status: int | None = None


Line: TypeAlias = str | Mapping[str, Json] | Lost
"""A reply body as text or JSON, or a failure."""


def saying(content: str, finish: str = "stop") -> Mapping[str, Json]:
    """The body of a reply with text content.

    >>> saying("Done.")["choices"][0]["message"]
    {'role': 'assistant', 'content': 'Done.'}
    """
    return _reply_body({"role": "assistant", "content": content}, finish)


def calling(*calls: tuple[str, Mapping[str, Json]], text: str | None = None) -> Mapping[str, Json]:
    """The body of a reply with tool calls, given as name and arguments.

    Ids are ``call_a``, ``call_b``, …; a :class:`ScriptedEndpoint` numbers on over its whole script.
    """
    entries: list[Json] = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": canonical(arguments)},
        }
        for call_id, (name, arguments) in zip(_call_ids(), calls, strict=False)
    ]
    message = {"role": "assistant", "content": text, "tool_calls": entries}
    return _Calling(_reply_body(message, "tool_calls"))


class _Calling(dict[str, Json]):
    """The body of a reply with tool calls, whose ids stand for whatever is free."""


def _call_ids() -> Iterator[str]:
    """``call_a`` to ``call_z``, then ``call_aa`` and so on."""
    for length in count(1):
        for letters in product(ascii_lowercase, repeat=length):
            yield f"call_{''.join(letters)}"


def _scripted_bodies(script: Iterable[Line]) -> Iterator[str | Lost]:
    ids = _call_ids()
    for line in script:
        if isinstance(line, _Calling):
            yield _ID.sub(lambda _: f'"id":"{next(ids)}"', canonical(line))
        else:
            yield line if isinstance(line, str | Lost) else canonical(line)


def streaming(*pieces: str, finish: str = "stop") -> str:
    r"""The body of a streamed reply with text in chunks; ``finish=""`` truncates it.

    >>> print(streaming("Hi.").partition("\n")[0])
    data: {"choices":[{"index":0,"delta":{"content":"Hi."}}]}
    """
    choices: list[Json] = [{"index": 0, "delta": {"content": piece}} for piece in pieces]
    if finish:
        choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    frames = [canonical({"choices": [choice]}) for choice in choices] + ["[DONE]"] * bool(finish)
    return "".join(f"data: {frame}\n\n" for frame in frames)


def _reply_body(message: Mapping[str, Json], finish: str) -> Mapping[str, Json]:
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


class ScriptedEndpoint:
    """An endpoint that answers requests from a script, in order; ``asked`` has the requests."""

    def __init__(self, script: Iterable[Line], *, on_delta: Listener | None = None) -> None:
        self._remaining = deque(_scripted_bodies(script))
        self._on_delta = on_delta
        self.asked: list[SendRequest] = []

    def send(self, effect: SendRequest) -> ReplyReceived | RequestFailed:
        """The next answer of the script.

        :raises toolreel.ReplayMismatch: if none is left
        """
        self.asked.append(effect)
        if not self._remaining:
            raise ReplayMismatch(
                f"request {len(self.asked)} was sent, but the script has no reply left for it"
            )
        body = self._remaining.popleft()
        if isinstance(body, Lost):
            return RequestFailed(effect.ref, body.failure, body.message, body.status)
        listener = self._on_delta if effect.purpose == "turn" else None
        notify(listener, deltas_in(body, effect.request.form, whole=effect.request.streamed))
        return ReplyReceived(effect.ref, 200, body)

    def stream(self, effect: SendRequest) -> Generator[ReplyPiece, None, None]:
        """The pieces of the next answer, one by one, and last the answer as :meth:`send` returns it."""
        event = self.send(effect)
        if effect.request.streamed and isinstance(event, ReplyReceived):
            yield from deltas_in(event.body, effect.request.form, whole=True)
        yield event

    def finish(self) -> None:
        """Fail if an answer was not used."""
        if self._remaining:
            raise ReplayMismatch(f"{len(self._remaining)} replies of the script were never asked for")


class ScriptedTools:
    """A tool host that answers from a script of outputs by tool name; ``ran`` has the calls."""

    def __init__(self, script: Mapping[str, Iterable[Json]]) -> None:
        self._remaining = {name: deque(outputs) for name, outputs in script.items()}
        self.ran: list[RunTool] = []

    def run(self, effect: RunTool) -> ToolReturned:
        """The tool's next output.

        :raises toolreel.ReplayMismatch: if none is left
        """
        self.ran.append(effect)
        outputs = self._remaining.get(effect.name)
        if not outputs:
            raise ReplayMismatch(
                f"{effect.name}({effect.arguments}) was called, but the script has no output for it"
            )
        return ToolReturned(effect.ref, canonical(outputs.popleft()))

    def finish(self) -> None:
        """Fail if an output was not used."""
        if over := {name: len(outputs) for name, outputs in self._remaining.items() if outputs}:
            left = ", ".join(f"{count} of {name}" for name, count in over.items())
            raise ReplayMismatch(f"outputs of the script were never asked for: {left}")
