"""A test of the core as a conversation: what the run asks for, and what it is answered.

::

    Playbook(plan).play(
        asks(),
        replies_calling(("call_a", "add", '{"a":1}')),
        runs("call_a", "add", {"a": 1}),
        returns(2),
        asks(calling(("call_a", "add", '{"a":1}')), tells("call_a", "add", {"value": 2})),
        replies("2"),
        finishes(Completed("2")),
    )

Effects are compared whole, with the refs and the request that the script implies. A script
that ends before the run does, or goes on after it, fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import TypeAlias, assert_never

import pytest

from toolreel.codec import encode
from toolreel.effects import Effect, Finish, RunTool, SendRequest
from toolreel.envelope import Envelope, failed
from toolreel.events import Event, ReplyReceived, RequestFailed, ToolReturned
from toolreel.faults import Fault
from toolreel.jsontext import Json, canonical
from toolreel.loop import start, step
from toolreel.messages import AssistantMessage, Message, SentCall, ToolMessage
from toolreel.notes import Note
from toolreel.outcome import FailureKind, Outcome
from toolreel.plan import Plan
from toolreel.request import Request
from toolreel.state import Settled, State
from toolreel.transcript import Transcript

__all__ = [
    "Asks",
    "Finishes",
    "Given",
    "Playbook",
    "Runs",
    "Turn",
    "Wanted",
    "asks",
    "body_of",
    "calling",
    "fails_to_send",
    "faults",
    "finishes",
    "replies",
    "replies_calling",
    "replies_with",
    "returns",
    "returns_text",
    "runs",
    "tells",
]


@dataclass(frozen=True, slots=True)
class Asks:
    """The model is asked, with these messages more than the last time."""

    news: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Runs:
    """A tool is run."""

    call_id: str
    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Finishes:
    """The run ends."""

    outcome: Outcome


Wanted: TypeAlias = Asks | Runs | Finishes
"""An expected effect, less what the script implies."""

Given: TypeAlias = Event | Callable[[int], Event]
"""An event, or one that answers the last effect, given that effect's ref."""

Turn: TypeAlias = Wanted | Given


@dataclass(slots=True)
class Playbook:
    """One run, and what is known of it so far."""

    plan: Plan
    state: State = field(init=False)
    notes: list[Note] = field(init=False, default_factory=list)
    """Everything that the run has noted, in order."""
    _said: Transcript = field(init=False)
    _ref: int = field(init=False, default=0)
    _turn: int = field(init=False, default=0)
    _emitted: tuple[Effect, ...] = field(init=False)

    def __post_init__(self) -> None:
        begun = start(self.plan)
        self.state, self._emitted = begun.state, begun.effects
        self.notes += begun.notes
        self._said = Transcript.of(self.plan.messages)

    def play(self, *script: Turn) -> Playbook:
        """Play a script to the end of the run."""
        self.play_up_to(*script)
        if not isinstance(self.state.phase, Settled):
            pytest.fail(f"after turn {self._turn} the script ends, but the run is still {self.state.phase!r}")
        return self

    def play_up_to(self, *script: Turn) -> Playbook:
        """Play a part of a run."""
        wanted: list[Wanted] = []
        for turn in script:
            if isinstance(turn, Asks | Runs | Finishes):
                wanted.append(turn)
            else:
                self._compare(wanted)
                self._give(turn)
                wanted = []
        self._compare(wanted)
        return self

    def _give(self, given: Given) -> None:
        event = given(self._ref) if callable(given) else given
        self._turn += 1
        taken = step(self.state, event)
        self.state, self._emitted = taken.state, taken.effects
        self.notes += taken.notes

    def _compare(self, wanted: list[Wanted]) -> None:
        """Hold what the run asks for against what the script wants, and take it off the table."""
        expected = tuple(map(self._effect, wanted))
        emitted, self._emitted = self._emitted, ()
        if expected != emitted:
            pytest.fail(_difference(self._turn + 1, expected, emitted), pytrace=False)

    def _effect(self, wanted: Wanted) -> Effect:
        match wanted:
            case Asks(news):
                self._ref += 1
                self._said = self._said.append(*news)
                return SendRequest(self._ref, Request(self.plan.model, self._said, self.plan.request_options))
            case Runs(call_id, name, arguments):
                self._ref += 1
                return RunTool(self._ref, call_id, name, canonical(arguments))
            case Finishes(outcome):
                return Finish(outcome)
            case _:
                assert_never(wanted)


def asks(*news: Message) -> Asks:
    """The model is asked: the conversation so far, and these messages."""
    return Asks(news)


def runs(call_id: str, name: str, arguments: Mapping[str, Json]) -> Runs:
    return Runs(call_id, name, arguments)


def finishes(outcome: Outcome) -> Finishes:
    return Finishes(outcome)


def calling(*calls: tuple[str, str, str]) -> AssistantMessage:
    """The history's message for a reply with calls: each an id, a name and the arguments' text."""
    return AssistantMessage("", tuple(SentCall(*call) for call in calls))


def tells(call_id: str, name: str, data: Mapping[str, Json]) -> ToolMessage:
    """The history's message for a call that went well."""
    return ToolMessage(call_id, Envelope(True, name, canonical(data)).text())


def faults(call_id: str, name: str, fault: Fault) -> ToolMessage:
    """The history's message for a call that came to nothing."""
    return ToolMessage(call_id, failed(name, fault).text())


def body_of(content: Json = None, *calls: tuple[str, str, Json], finish: str = "") -> dict[str, Json]:
    """The body of a reply; unless told otherwise it finishes as the API documents it."""
    message: dict[str, Json] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
            for identity, name, arguments in calls
        ]
    reason = finish or ("tool_calls" if calls else "stop")
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def replies(content: str, *, finish: str = "stop") -> Given:
    return replies_with(body_of(content, finish=finish))


def replies_calling(*calls: tuple[str, str, str], content: Json = None, finish: str = "tool_calls") -> Given:
    """The model answers with calls: each an id, a name and the arguments' text."""
    return replies_with(body_of(content, *calls, finish=finish))


def replies_with(body: Json, *, status: int = 200) -> Given:
    """The endpoint answers with a body of any shape; a string stands for the body's text."""
    text = body if isinstance(body, str) else canonical(body)
    return lambda ref: ReplyReceived(ref, status, text)


def fails_to_send(failure: FailureKind, message: str, status: int | None = None) -> Given:
    return lambda ref: RequestFailed(ref, failure, message, status)


def returns(value: Json) -> Given:
    """The tool returns a value."""
    return returns_text(canonical(value))


def returns_text(output: str) -> Given:
    """The tool's host hands over this text, JSON or not."""
    return lambda ref: ToolReturned(ref, output)


def _difference(turn: int, expected: tuple[Effect, ...], emitted: tuple[Effect, ...]) -> str:
    wanted, got = _names(expected), _names(emitted)
    diff = unified_diff(_pretty(expected), _pretty(emitted), "expected", "emitted", n=6, lineterm="")
    return "\n".join([f"before turn {turn}: expected {wanted}, but the run emitted {got}", *diff])


def _names(effects: tuple[Effect, ...]) -> str:
    return ", ".join(type(effect).__name__ for effect in effects) or "nothing"


def _pretty(effects: tuple[Effect, ...]) -> list[str]:
    trees = [_unfolded(encode(effect)) for effect in effects]
    return json.dumps(trees, indent=2, ensure_ascii=False).splitlines()


def _unfolded(tree: Json) -> Json:
    """The tree with the envelopes in it as trees of their own, for the eye."""
    match tree:
        case Mapping():
            unfolded = {key: _unfolded(value) for key, value in tree.items()}
            if tree.get("type") == "tool_message":
                unfolded["content"] = json.loads(str(tree["content"]))
            return unfolded
        case list():
            return [_unfolded(value) for value in tree]
        case _:
            return tree
