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
that ends before the run does, or goes on after it, fails. An answer goes to the last effect, one
of several to the call that :func:`of` names; :func:`at` says when it came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from typing import TypeAlias, assert_never

import pytest

from toolreel_core._conversation import (
    AssistantMessage,
    Media,
    Message,
    Passage,
    SentCall,
    ToolMessage,
    Transcript,
    UserMessage,
    summary_request_text,
    task_passages,
)
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import start, step
from toolreel_core._plan import Plan, Request, RequestOptions
from toolreel_core._protocol import (
    ApprovalGiven,
    AskApproval,
    CancelRequested,
    Effect,
    Event,
    FailureKind,
    Finish,
    Note,
    Outcome,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    RunTool,
    SendRequest,
    Settled,
    Spent,
    State,
    ToolReturned,
    Wait,
    WaitElapsed,
    encode,
)
from toolreel_core._tools import Envelope, Fault, failed_envelope


@dataclass(frozen=True, slots=True)
class Asks:
    """The model is asked, with these messages more than the last time."""

    news: tuple[Message, ...]
    tools: bool
    """Whether the request lets it call tools."""
    required: bool
    """Whether the request demands a call."""
    kept: tuple[Message, ...] | None
    """What of the conversation goes out from now on, if less than so far."""
    reminder: str = ""
    """What the model is reminded of in this request alone."""
    withheld: tuple[str, ...] = ()
    """Tools that the reply may not call."""
    free: bool = False
    """Whether the reply is not constrained, although the settings constrain decoding."""


@dataclass(frozen=True, slots=True)
class Summarizes:
    """The model is asked for a summary."""

    task: str
    """What the user said first."""
    old: tuple[Passage, ...]
    """What is quoted."""
    words: int


@dataclass(frozen=True, slots=True)
class Runs:
    """A tool is run."""

    call_id: str
    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class SeeksApproval:
    """Somebody is asked whether a tool may run."""

    call_id: str
    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Waits:
    """Time shall pass."""

    ms: int


@dataclass(frozen=True, slots=True)
class Finishes:
    """The run ends."""

    outcome: Outcome


Wanted: TypeAlias = Asks | Summarizes | Runs | SeeksApproval | Waits | Finishes
"""An expected effect, less what the script implies."""

Answer: TypeAlias = Callable[[int], Event]
"""The event that answers an effect, given its ref."""


@dataclass(frozen=True, slots=True)
class Of:
    """The answer to one of several calls that run at the same time."""

    call_id: str
    answer: Answer


Given: TypeAlias = Event | Answer | Of
"""An event, or an answer to the last effect or to a call."""

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
    _refs: dict[str, int] = field(init=False, default_factory=dict)
    """The ref of the latest effect for a call, by the call's id."""
    _turn: int = field(init=False, default=0)
    _emitted: tuple[Effect, ...] = field(init=False)

    def __post_init__(self) -> None:
        begun = start(self.plan)
        self.plan, self.state, self._emitted = begun.state.plan, begun.state, begun.effects
        self.notes += begun.notes
        self._said = Transcript.of(self.plan.opening, self.plan.form)

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
            if isinstance(turn, Asks | Summarizes | Runs | SeeksApproval | Waits | Finishes):
                wanted.append(turn)
            else:
                self._compare(wanted)
                self._give(turn)
                wanted = []
        self._compare(wanted)
        return self

    def _give(self, given: Given) -> None:
        if isinstance(given, Of):
            event = given.answer(self._refs[given.call_id])
        else:
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
            case Asks(news, _, _, kept, reminder, _):
                said = self._said.append(*news)
                self._said = said if kept is None else said.shortened(kept)
                request = Request(self.state.present.model, self._said, self._options(wanted), reminder)
                return SendRequest(self._next_ref(), request, endpoint=self.state.endpoint_name)
            case Summarizes(task, old, words):
                text = summary_request_text(task_passages([Passage("", task)]), old, 10**9, words)
                asked = Transcript.of([UserMessage(text)], self.plan.form)
                request = Request(self.plan.model, asked, RequestOptions(self.plan.options))
                return SendRequest(self._next_ref(), request, "summary")
            case Runs(call_id, name, arguments):
                return RunTool(self._next_ref(call_id), call_id, name, canonical(arguments))
            case SeeksApproval(call_id, name, arguments):
                return AskApproval(self._next_ref(call_id), call_id, name, canonical(arguments))
            case Waits(ms):
                return Wait(self._next_ref(), ms)
            case Finishes(outcome):
                return Finish(outcome)
            case _:
                assert_never(wanted)

    def _options(self, wanted: Asks) -> RequestOptions:
        bodies = self.state.present.bodies
        if self.state.memory.tools_dropped:
            return bodies.dropped
        if wanted.required:
            return bodies.requiring
        if wanted.withheld:
            return self.plan.options_without(wanted.withheld)
        if wanted.free:
            return bodies.unconstrained
        return bodies.with_tools if wanted.tools else bodies.without_tools

    def _next_ref(self, call_id: str = "") -> int:
        self._ref += 1
        self._refs[call_id] = self._ref
        return self._ref


def asks(
    *news: Message,
    tools: bool = True,
    required: bool = False,
    kept: Iterable[Message] | None = None,
    reminder: str = "",
    withheld: tuple[str, ...] = (),
    free: bool = False,
) -> Asks:
    """The model is asked: the conversation so far, and these messages; or of all that, what is kept."""
    return Asks(news, tools, required, None if kept is None else tuple(kept), reminder, withheld, free)


def asks_for_summary(*old: tuple[str, str], task: str = "hi", words: int = 500) -> Summarizes:
    """The model is asked for a summary of these passages, each a heading and a text."""
    return Summarizes(task, tuple(Passage(*each) for each in old), words)


# In a script, what is expected reads as a verb.
runs, seeks_approval, waits, finishes, of = Runs, SeeksApproval, Waits, Finishes, Of


def at(ms: int, answer: Answer) -> Answer:
    """The answer, this many milliseconds after the run began."""

    def timed(ref: int) -> Event:
        event = answer(ref)
        assert not isinstance(event, RunStarted | CancelRequested)
        return replace(event, at_ms=ms)

    return timed


def calling(*calls: tuple[str, str, str]) -> AssistantMessage:
    """The history's message for a reply with calls: each an id, a name and the arguments' text."""
    return AssistantMessage("", tuple(SentCall(*call) for call in calls))


def tells(call_id: str, name: str, data: Mapping[str, Json]) -> ToolMessage:
    """The history's message for a call that went well."""
    return ToolMessage(call_id, Envelope(True, name, canonical(data)).text())


def faults(call_id: str, name: str, fault: Fault) -> ToolMessage:
    """The history's message for a call that came to nothing."""
    return ToolMessage(call_id, failed_envelope(name, fault).text())


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


def replies(content: str, *, finish: str = "stop") -> Answer:
    return replies_with(body_of(content, finish=finish))


def replies_calling(*calls: tuple[str, str, str], content: Json = None, finish: str = "tool_calls") -> Answer:
    """The model answers with calls: each an id, a name and the arguments' text."""
    return replies_with(body_of(content, *calls, finish=finish))


def replies_with(body: Json, *, status: int = 200) -> Answer:
    """The endpoint answers with a body of any shape; a string stands for the body's text."""
    text = body if isinstance(body, str) else canonical(body)
    return lambda ref: ReplyReceived(ref, status, text)


def replies_streaming(*texts: str, finish: str = "stop") -> Answer:
    """The model answers piece by piece; without a finish reason, the stream is cut."""
    return _streams([{"content": text} for text in texts], finish)


def replies_streaming_calls(*calls: tuple[str, str, str]) -> Answer:
    """The model calls tools, each name and its arguments in a piece of their own."""
    deltas: list[Json] = []
    for index, (id_, name, arguments) in enumerate(calls):
        head: Json = {
            "index": index,
            "id": id_,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        rest: Json = {"index": index, "function": {"arguments": arguments}}
        deltas += [{"tool_calls": [head]}, {"tool_calls": [rest]}]
    return _streams(deltas, "tool_calls")


def _streams(deltas: Sequence[Json], finish: str) -> Answer:
    choices: list[Json] = [{"index": 0, "delta": delta} for delta in deltas]
    last: list[Json] = [{"index": 0, "delta": {}, "finish_reason": finish}] if finish else []
    frames = [canonical({"choices": [choice]}) for choice in choices + last]
    text = "".join(f"data: {frame}\n\n" for frame in (*frames, *(["[DONE]"] if finish else [])))
    return lambda ref: ReplyReceived(ref, 200, text)


def fails_to_send(
    failure: FailureKind,
    message: str,
    status: int | None = None,
    *,
    body: str = "",
    retry_after_ms: int | None = None,
    should_retry: bool | None = None,
) -> Answer:
    return lambda ref: RequestFailed(
        ref, failure, message, status, body, retry_after_ms, should_retry=should_retry
    )


def returns(value: Json, spent: Spent | None = None) -> Answer:
    """The tool returns a value, and has asked models itself if it spent anything."""
    return returns_text(canonical(value), spent)


def returns_text(output: str, spent: Spent | None = None) -> Answer:
    """The tool's host hands over this text, JSON or not."""
    return lambda ref: ToolReturned(ref, output, spent=spent)


def gives(value: Json, *parts: Media) -> Answer:
    """The tool returns a value with images, audio or files."""
    return lambda ref: ToolReturned(ref, canonical(value), parts=parts)


def approves() -> Answer:
    return lambda ref: ApprovalGiven(ref, True)


def denies(reason: str = "") -> Answer:
    return lambda ref: ApprovalGiven(ref, False, reason)


def elapses() -> Answer:
    """The time that was waited for is over."""
    return WaitElapsed


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
