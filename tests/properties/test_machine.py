"""Random runs: any order of replies, results, failures and cancellations, and what always holds."""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from toolreel.codec import dump, load_effect, load_event, load_note, load_state
from toolreel.config import LoopConfig
from toolreel.effects import ANSWERS, Effect, Finish, RunTool, SendRequest, fingerprint
from toolreel.errors import ProtocolError
from toolreel.events import (
    CancelRequested,
    Event,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    ToolReturned,
)
from toolreel.jsontext import Json, canonical
from toolreel.loop import step
from toolreel.messages import AssistantMessage, Message, ToolMessage
from toolreel.outcome import FailureKind
from toolreel.plan import Plan
from toolreel.schemas import violations
from toolreel.state import AwaitingReply, AwaitingTools, Settled, State, Step
from toolreel.surface import ToolDefinition

ADD = ToolDefinition.of(
    "add",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "s": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    },
)
PLANS = st.builds(
    lambda turns, size, depth, dialects: Plan.of(
        model="m",
        messages="hi",
        options={"temperature": 0},
        tools=[ADD, ToolDefinition.of("ping")],
        config=LoopConfig(
            max_turns=turns,
            max_tool_args_bytes=size,
            max_tool_output_bytes=size,
            max_argument_depth=depth,
            text_dialects=dialects,
        ),
    ),
    st.integers(1, 4),
    st.sampled_from([200_000, 10]),
    st.sampled_from([64, 1]),
    st.sampled_from([(), ("hermes_json",), ("hermes_json", "json_fenced")]),
)

JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.sampled_from(['{"a":1}', '{"a": 2, "s": "é"}', "{}", '{"a":"1"}', '{"a":', "", "[1]"])
CALLS = st.fixed_dictionaries(
    {
        "function": JSON
        | st.fixed_dictionaries(
            {
                "name": JSON | st.sampled_from(["add", "ping", "ad", " ping "]),
                "arguments": JSON | ARGUMENTS | ARGUMENTS.map(str.upper),
            }
        )
    },
    optional={"id": JSON | st.sampled_from(["call_a", "call_b", "call_1_0", "call_2_1"])},
)
TAGGED = st.sampled_from(
    [
        'First. <tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>',
        '<tool_call>{"name": "ping"}</tool_call><tool_call>{"name": "nope"}</tool_call>',
        '<tool_call>{"name": "add", "arguments": {"a": ',
        '```json\n{"name": "ping", "arguments": {}}\n```',
    ]
)
TEXTS = st.sampled_from(["Hello.", "", "<think>Hm.</think>"])
CALLING = st.sampled_from(["tool_calls", "stop", "because", "length"])
FINISHES = st.sampled_from(["stop", "tool_calls", "length", "content_filter", "error", "because"])
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "content": TEXTS | TAGGED | JSON,
        "tool_calls": st.lists(CALLS, max_size=4) | CALLS | JSON,
        "function_call": CALLS | JSON,
        "refusal": JSON,
    },
)
WELL_CALLED = st.lists(
    st.sampled_from([("add", '{"a":1}'), ("add", '{ "a": 2, "s": "é" }'), ("ping", "{}"), ("ping", "")]).map(
        lambda call: {"id": "call_a", "function": {"name": call[0], "arguments": call[1]}}
    ),
    min_size=1,
    max_size=3,
).map(lambda calls: {"content": None, "tool_calls": calls})
USAGE = st.fixed_dictionaries({"prompt_tokens": JSON, "completion_tokens": st.integers()})
FAILURES: st.SearchStrategy[FailureKind | None] = st.sampled_from(
    [None, "connect", "timeout", "broken", "too_large", "status"]
)
OUTPUTS = st.text() | JSON.map(canonical) | st.sampled_from(['{"ok": true}', '{"ok": false}', "[" * 999])


class Run(RuleBasedStateMachine):
    """One run, stepped by chance."""

    state: State
    outstanding: Effect | None = None
    highest_ref: int = 0

    @initialize(plan=PLANS)
    def run_begins(self, plan: Plan) -> None:
        self.begin(plan)

    def begin(self, plan: Plan) -> None:
        self.state = State.idle(plan)
        self.take(RunStarted())

    def awaits_reply(self) -> bool:
        return isinstance(self.state.phase, AwaitingReply)

    def awaits_tools(self) -> bool:
        return isinstance(self.state.phase, AwaitingTools)

    def is_settled(self) -> bool:
        return isinstance(self.state.phase, Settled)

    def ref(self) -> int:
        assert isinstance(self.state.phase, AwaitingReply | AwaitingTools)
        return self.state.phase.ref

    def take(self, event: Event) -> None:
        """Step twice, by way of what is written down too, and go on from there."""
        taken = step(self.state, event)
        assert step(self.state, event) == taken
        assert step(load_state(dump(self.state)), load_event(dump(event))) == taken
        self.check(taken)
        self.state = taken.state

    def check(self, taken: Step) -> None:
        assert len(taken.effects) <= 1
        assert not (self.is_settled() and taken.effects)
        assert self.is_settled() <= (taken.state == self.state)
        for note in taken.notes:
            assert load_note(dump(note)) == note
        before = list(self.state.messages.texts)
        assert list(taken.state.messages.texts)[: len(before)] == before
        self.outstanding = None
        for effect in taken.effects:
            read = load_effect(dump(effect))
            assert (read, fingerprint(read)) == (effect, fingerprint(effect))
            self.check_effect(effect)

    def check_effect(self, effect: Effect) -> None:
        if isinstance(effect, Finish):
            return
        assert effect.ref > self.highest_ref
        self.outstanding, self.highest_ref = effect, effect.ref
        if isinstance(effect, SendRequest):
            check_body(effect.request.body)
            check_history(list(effect.request.messages.messages))
        else:
            self.check_call(effect)

    def check_call(self, effect: RunTool) -> None:
        plan = self.state.plan
        tool = plan.tools.by_name[effect.name]
        assert violations(tool.parameters, effect.arguments) == ()

    def hear(self, message: Json, finish: str, usage: Json = None) -> None:
        body: Json = {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
        self.take(ReplyReceived(self.ref(), 200, canonical(body)))

    @precondition(awaits_reply)
    @rule(message=WELL_CALLED)
    def model_calls(self, message: Json) -> None:
        self.hear(message, "tool_calls")

    @precondition(awaits_reply)
    @rule(calls=st.lists(CALLS, min_size=1, max_size=4), content=TEXTS, finish=CALLING)
    def model_calls_badly(self, calls: Json, content: str, finish: str) -> None:
        self.hear({"content": content, "tool_calls": calls}, finish)

    @precondition(awaits_reply)
    @rule(content=TAGGED, finish=CALLING)
    def model_writes_calls_as_text(self, content: str, finish: str) -> None:
        self.hear({"content": content}, finish)

    @precondition(awaits_reply)
    @rule(message=MESSAGES, finish=FINISHES, usage=USAGE)
    def model_says_anything(self, message: Json, finish: str, usage: Json) -> None:
        self.hear(message, finish, usage)

    @precondition(awaits_reply)
    @rule(failure=FAILURES, status=st.none() | st.integers(400, 599), junk=st.text() | JSON.map(canonical))
    def endpoint_fails(self, failure: FailureKind | None, status: int | None, junk: str) -> None:
        if failure:
            self.take(RequestFailed(self.ref(), failure, junk, status))
        else:
            self.take(ReplyReceived(self.ref(), 200, junk))
        assert self.is_settled()

    @precondition(awaits_tools)
    @rule(output=OUTPUTS)
    def tool_returns(self, output: str) -> None:
        self.take(ToolReturned(self.ref(), output))

    @precondition(lambda self: self.state.next_ref % 3 == 0)
    @rule(reason=st.text())
    def caller_cancels(self, reason: str) -> None:
        self.take(CancelRequested(reason))
        assert self.is_settled()

    @precondition(is_settled)
    @rule(plan=PLANS)
    def another_run_begins(self, plan: Plan) -> None:
        self.highest_ref = 0
        self.begin(plan)

    @precondition(is_settled)
    @rule(ref=st.integers(0, 20), output=OUTPUTS)
    def answer_comes_late(self, ref: int, output: str) -> None:
        self.take(ToolReturned(ref, output))
        self.take(ReplyReceived(ref, 200, output))
        self.take(RequestFailed(ref, "timeout", output))

    @precondition(lambda self: not self.is_settled())
    @rule(ref=st.integers(0, 20))
    def answer_is_to_something_else(self, ref: int) -> None:
        outstanding = self.outstanding
        assert isinstance(outstanding, SendRequest | RunTool)
        for event in (
            ToolReturned(ref, "1"),
            ReplyReceived(ref, 200, "{}"),
            RequestFailed(ref, "broken", ""),
        ):
            if ref == outstanding.ref and isinstance(event, ANSWERS[type(outstanding)]):
                continue
            with pytest.raises(ProtocolError):
                step(self.state, event)

    @invariant()
    def what_is_written_down_can_be_read_back(self) -> None:
        assert load_state(dump(self.state)) == self.state

    @invariant()
    def a_run_waits_for_exactly_one_answer_until_it_has_settled(self) -> None:
        assert (self.outstanding is None) == self.is_settled()
        if not self.is_settled():
            assert self.ref() == self.highest_ref == self.state.next_ref - 1

    @invariant()
    def a_settled_run_has_a_history_that_could_go_out(self) -> None:
        if self.is_settled():
            check_history(list(self.state.messages.messages))


def check_body(body: str) -> None:
    assert canonical(json.loads(body)) == body
    body.encode()


def check_history(messages: list[Message]) -> None:
    """Each tool call has exactly one result, right behind the message that it stands in."""
    owed: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert owed
            assert message.call_id == owed.pop(0)
            assert json.loads(message.content).keys() == {"ok", "tool_name", "data", "warnings", "errors"}
            continue
        assert owed == []
        if isinstance(message, AssistantMessage):
            assert bool(message.content) != bool(message.calls)
            assert all(isinstance(json.loads(call.arguments), dict) for call in message.calls)
            owed = [call.id for call in message.calls]
            assert len(set(owed)) == len(owed)
    assert owed == []


TestRun = Run.TestCase
