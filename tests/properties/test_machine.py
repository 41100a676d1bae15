"""Random runs: any order of replies, results, failures and cancellations, and what always holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.playbook import body_of
from tests.strategies import failures, json_values, providers, times
from toolreel_core._conversation import HISTORY_POLICIES, AssistantMessage, Message, ToolMessage, UserMessage
from toolreel_core._errors import ProtocolError
from toolreel_core._jsontext import Json, canonical, encodable_text
from toolreel_core._loop import pending, start, step
from toolreel_core._plan import Plan, Request
from toolreel_core._protocol import (
    ANSWERS,
    ApprovalGiven,
    AskApproval,
    AwaitingApproval,
    AwaitingReply,
    AwaitingTools,
    CallAbandoned,
    CancelRequested,
    Effect,
    Event,
    Finish,
    HistoryShortened,
    ReplyReceived,
    RequestFailed,
    RunStarted,
    RunTool,
    SendRequest,
    Settled,
    State,
    Step,
    ToolReturned,
    UserSpoke,
    Wait,
    WaitElapsed,
    Waiting,
    dump,
    fingerprint,
    load_effect,
    load_event,
    load_note,
    load_state,
)
from toolreel_core._schema import violations
from toolreel_core._settings import LoopConfig, Provider, estimate_tokens_by_bytes
from toolreel_core._tools import ToolDefinition

Wanted: TypeAlias = SendRequest | RunTool | AskApproval | Wait

ADD = ToolDefinition.of(
    "add",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "s": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    },
)
PING = ToolDefinition.of("ping")
TRAITS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {}, {"read_only": True}, {"read_only": True, "polling": True}, {"needs_approval": True}]
)


def with_traits(tool: ToolDefinition) -> st.SearchStrategy[ToolDefinition]:
    return TRAITS.map(lambda traits: replace(tool, **traits))


CONFIGS = st.builds(
    # A warning that would come after the end is a contradiction.
    lambda common, rare: LoopConfig.of(
        {
            **common,
            **rare,
            **({"repetition_warn": None} if rare.get("repetition_stop") == 2 else {}),
        }
    ),
    st.fixed_dictionaries(
        {
            "max_turns": st.integers(1, 5),
            "max_conversation_turns": st.none() | st.integers(1, 9),
            "repetition_warn": st.sampled_from([None, 3]),
            "parallel_tools": st.booleans(),
            "nudge_no_tool_calls": st.integers(0, 2),
            "fix_empty_final_disable_tools": st.booleans(),
            "fallback_without_tools": st.booleans(),
            "max_tries": st.integers(1, 3),
            "text_dialects": st.sampled_from([(), ("hermes_json",), ("hermes_json", "json_fenced")]),
            "history_policies": st.lists(st.sampled_from([*HISTORY_POLICIES]), unique=True),
        }
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "tool_use_mode": st.sampled_from(["enforced", "disabled"]),
            "tool_failure_policy": st.just("tolerated"),
            "max_tool_calls_per_turn": st.integers(1, 2),
            "max_tool_args_bytes": st.just(10),
            "max_tool_output_bytes": st.just(10),
            "max_argument_depth": st.just(1),
            "max_total_tokens": st.integers(1, 500),
            "max_cost": st.floats(0.01, 2),
            "max_wall_ms": st.integers(1, 5_000),
            "max_tool_calls": st.integers(1, 4),
            "repetition_stop": st.sampled_from([None, 2, 4]),
            "fix_empty_final": st.just(False),
            "context_window_tokens": st.integers(80, 400),
            "require_first_call": st.just(True),
            "constrained_calls": st.just("response_format"),
            "restate_task": st.just(True),
            "repeated_effects": st.just("refuse"),
            "withhold_repeated": st.just(1),
            "stream": st.sampled_from(["always", "final"]),
        },
    ).filter(lambda rare: len(rare) <= 5),
)
PLANS = st.builds(
    lambda tools, config, options, seed, provider, overrides, output: Plan.of(
        model="m",
        messages="hi",
        options=options,
        tools=tools,
        config=config,
        seed=seed,
        provider=provider,
        overrides=overrides,
        output=output,
    ),
    st.tuples(with_traits(ADD), with_traits(PING)),
    CONFIGS,
    st.sampled_from(
        [{"temperature": 0}, {"max_tokens": 7, "tool_choice": "auto"}, {"parallel_tool_calls": False}]
    ),
    st.integers(0, 9),
    st.just(Provider()) | providers,
    st.sampled_from([{}, {}, {"temperature": 2, "model": "other"}, {"parallel_tool_calls": False}]),
    st.sampled_from([None, None, {"type": "object", "required": ["a"]}, {"type": "array"}]),
)

JSON = json_values
ARGUMENTS = st.sampled_from(['{"a":1}', '{"a": 2, "s": "é"}', "{}", '{"a":"1"}', '{"a":', "", "[1]"])
CALLS = st.fixed_dictionaries(
    {
        "function": JSON
        | st.fixed_dictionaries(
            {
                "name": JSON | st.sampled_from(["add", "ping", "ad", " ping ", "final_answer"]),
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
TEXTS = st.sampled_from(["Hello.", "", "<think>Hm.</think>", '{"a":1}', "So: [1]", "```json\n[2]\n```"])
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
    st.sampled_from(
        [
            ("add", '{"a":1}'),
            ("final_answer", '{"a":1}'),
            ("add", '{ "a": 2, "s": "é" }'),
            ("ping", "{}"),
            ("ping", ""),
        ]
    ).map(lambda call: {"id": "call_a", "function": {"name": call[0], "arguments": call[1]}}),
    min_size=1,
    max_size=3,
).map(lambda calls: {"content": None, "tool_calls": calls})
USAGE = st.fixed_dictionaries(
    {"prompt_tokens": JSON | st.integers(0, 99), "completion_tokens": st.integers(0, 9) | st.integers()},
    optional={"cost": st.floats(0, 1) | JSON},
)
ERRORS = st.fixed_dictionaries({"code": st.sampled_from([429, "503", 400]) | JSON, "message": JSON})
OUTPUTS = st.text() | JSON.map(canonical) | st.sampled_from(['{"ok": true}', '{"ok": false}', "[" * 999])


SPOKEN = "The user: "
"""What every message of the user begins with, and none of the loop's own."""


class Run(RuleBasedStateMachine):
    """One run, stepped by chance."""

    state: State
    stored: list[str]
    """The record of the state before each event."""
    events: list[Event]
    outstanding: dict[int, Wanted]
    """What the run has asked for and not been answered, by ref."""
    approved: list[tuple[str, str, str]]
    highest_ref: int
    ran: int
    spoken: list[str]
    """What the user has said after the plan, in order."""

    @initialize(plan=PLANS)
    def run_begins(self, plan: Plan) -> None:
        self.begin(plan)

    def begin(self, plan: Plan) -> None:
        self.state, self.stored, self.events = State.idle(plan), [], []
        self.outstanding, self.approved, self.highest_ref, self.ran, self.spoken = {}, [], 0, 0, []
        self.take(RunStarted())

    def awaits_reply(self) -> bool:
        return isinstance(self.state.phase, AwaitingReply)

    def awaits_time(self) -> bool:
        return isinstance(self.state.phase, Waiting)

    def awaits_tools(self) -> bool:
        return isinstance(self.state.phase, AwaitingTools)

    def awaits_approval(self) -> bool:
        return isinstance(self.state.phase, AwaitingApproval)

    def is_settled(self) -> bool:
        return isinstance(self.state.phase, Settled)

    def ref(self) -> int:
        """The ref of the one effect that is outstanding."""
        (ref,) = self.outstanding
        return ref

    def take(self, event: Event) -> None:
        """Step twice, by way of what is written down too, and go on from there."""
        taken = step(self.state, event)
        assert step(self.state, event) == taken
        stored = dump(self.state)
        assert step(load_state(stored), load_event(dump(event))) == taken
        self.check(taken, event)
        if not self.is_settled() or isinstance(event, UserSpoke):
            self.stored.append(stored)
            self.events.append(event)
        self.state = taken.state

    def check(self, taken: Step, event: Event) -> None:
        if not isinstance(event, UserSpoke):
            assert not (self.is_settled() and taken.effects)
            assert self.is_settled() <= (taken.state == self.state)
        changes = not self.is_settled() or isinstance(event, UserSpoke)
        assert taken.state.step_number == self.state.step_number + changes
        for note in taken.notes:
            assert load_note(dump(note)) == note
        self.check_grown(taken)
        if not self.is_settled():
            self.check_answered(event)
        if isinstance(taken.state.phase, Settled):
            self.check_end(taken, event)
        for effect in taken.effects:
            read = load_effect(dump(effect))
            assert (read, fingerprint(read)) == (effect, fingerprint(effect))
            self.check_effect(effect, taken.state)
        self.check_together(taken.effects)

    def check_grown(self, taken: Step) -> None:
        """What is stored only grows; so does what goes out, unless a setting or a policy is against it."""
        after, stored = taken.state, list(self.state.messages.messages)
        assert list(after.messages.messages)[: len(stored)] == stored
        shortened = any(isinstance(note, HistoryShortened) for note in taken.notes)
        assert shortened <= (after.messages.kept != self.state.messages.kept)
        provider = after.plan.provider
        rewrites = provider.reasoning_replay == "current_turn" or provider.single_leading_system
        if not rewrites and not shortened:
            before = list(self.state.messages.texts)
            assert list(after.messages.texts)[: len(before)] == before

    def check_answered(self, event: Event) -> None:
        ref = getattr(event, "ref", None)
        if ref is not None:
            answered = self.outstanding.pop(ref)
            assert isinstance(event, ANSWERS[type(answered)])
            if isinstance(answered, AskApproval) and isinstance(event, ApprovalGiven) and event.approved:
                self.approved.append((answered.call_id, answered.name, answered.arguments))

    def check_end(self, taken: Step, event: Event) -> None:
        """Only a cancelled run leaves effects without an answer, and its calls are abandoned by name."""
        assert isinstance(event, CancelRequested) or not self.outstanding
        calls = [item for item in self.outstanding.values() if isinstance(item, RunTool | AskApproval)]
        abandoned = {note.call_id for note in taken.notes if isinstance(note, CallAbandoned)}
        assert {call.call_id for call in calls} <= abandoned
        self.outstanding = {}

    def check_effect(self, effect: Effect, state: State) -> None:
        if isinstance(effect, Finish):
            return
        assert effect.ref > self.highest_ref
        self.outstanding[effect.ref], self.highest_ref = effect, effect.ref
        match effect:
            case SendRequest():
                check_body(effect.request.body, state.plan)
                summarizes = "summarize_old_turns" in state.plan.config.history_policies
                assert effect.purpose == "turn" or (summarizes and effect.purpose == "summary")
                assert effect.request.messages == state.messages
                check_history(list(effect.request.messages.messages))
                check_fits(effect.request, state)
            case RunTool():
                self.ran += 1
                self.check_call(effect)
                asked = (effect.call_id, effect.name, effect.arguments)
                assert asked in self.approved or not self.tool(effect).needs_approval
            case AskApproval():
                self.check_call(effect)
                assert self.tool(effect).needs_approval
            case Wait():
                assert 0 <= effect.ms <= state.plan.config.retry_cap_ms

    def tool(self, effect: RunTool | AskApproval) -> ToolDefinition:
        return self.state.plan.tools.by_name[effect.name]

    def check_call(self, effect: RunTool | AskApproval) -> None:
        assert self.state.plan.config.tool_use_mode != "disabled"
        assert violations(self.tool(effect).parameters, effect.arguments) == ()

    def check_together(self, effects: tuple[Effect, ...]) -> None:
        if len(effects) > 1:
            assert self.state.plan.config.parallel_tools
            assert all(isinstance(effect, RunTool) and self.tool(effect).read_only for effect in effects)

    def hear(self, message: Json, finish: str, usage: Json = None, at_ms: int | None = None) -> None:
        body: Json = {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
        self.take(ReplyReceived(self.ref(), 200, canonical(body), at_ms))

    @precondition(awaits_reply)
    @rule(message=WELL_CALLED, usage=USAGE, at_ms=times)
    def model_calls(self, message: Json, usage: Json, at_ms: int | None) -> None:
        self.hear(message, "tool_calls", usage, at_ms)

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
    @rule(data=st.data())
    def endpoint_fails(self, data: st.DataObject) -> None:
        self.take(data.draw(failures(self.ref())))

    @precondition(awaits_reply)
    @rule(error=ERRORS, junk=st.none() | st.text())
    def endpoint_answers_with_an_error(self, error: Json, junk: str | None) -> None:
        body = canonical({"error": error}) if junk is None else junk
        self.take(ReplyReceived(self.ref(), 200, body))

    @precondition(awaits_time)
    @rule(at_ms=times)
    def time_passes(self, at_ms: int | None) -> None:
        self.take(WaitElapsed(self.ref(), at_ms))

    @precondition(awaits_tools)
    @rule(data=st.data(), output=OUTPUTS, at_ms=times)
    def tool_returns(self, data: st.DataObject, output: str, at_ms: int | None) -> None:
        self.take(ToolReturned(data.draw(st.sampled_from([*self.outstanding])), output, at_ms))

    @precondition(awaits_approval)
    @rule(approved=st.booleans(), reason=st.text(), at_ms=times)
    def somebody_decides(self, approved: bool, reason: str, at_ms: int | None) -> None:
        self.take(ApprovalGiven(self.ref(), approved, reason, at_ms))

    @precondition(lambda self: self.state.next_ref % 4 == 0)
    @rule(reason=st.text())
    def caller_cancels(self, reason: str) -> None:
        self.take(CancelRequested(reason))
        assert self.is_settled()

    @precondition(lambda self: self.is_settled() or self.state.next_ref % 3 == 1)
    @rule(text=st.text(max_size=5), at_ms=times)
    def user_speaks(self, text: str, at_ms: int | None) -> None:
        # sound: a lone surrogate in what the user says is replaced, as in every event.
        self.spoken.append(encodable_text(f"{SPOKEN}{len(self.spoken)} {text}"))
        self.take(UserSpoke(self.spoken[-1], at_ms))

    def another_run_begins(self, plan: Plan) -> None:
        self.check_resumptions()
        self.begin(plan)

    @precondition(is_settled)
    @rule(ref=st.integers(0, 20), output=OUTPUTS, at_ms=times, plan=PLANS)
    def answers_come_late(self, ref: int, output: str, at_ms: int | None, plan: Plan) -> None:
        self.take(ToolReturned(ref, output, at_ms))
        self.take(ReplyReceived(ref, 200, output, at_ms))
        self.take(RequestFailed(ref, "timeout", output, at_ms=at_ms))
        self.take(ApprovalGiven(ref, True, output, at_ms))
        self.take(WaitElapsed(ref, at_ms))
        self.another_run_begins(plan)

    @precondition(lambda self: not self.is_settled())
    @rule(ref=st.integers(0, 20))
    def answer_is_to_something_else(self, ref: int) -> None:
        asked = self.outstanding.get(ref)
        for event in (
            ToolReturned(ref, "1"),
            ReplyReceived(ref, 200, "{}"),
            RequestFailed(ref, "broken", ""),
            ApprovalGiven(ref, True),
            WaitElapsed(ref),
            RunStarted(),
        ):
            if asked is not None and isinstance(event, ANSWERS[type(asked)]):
                continue
            with pytest.raises(ProtocolError):
                step(self.state, event)

    @invariant()
    def what_is_written_down_can_be_read_back(self) -> None:
        assert load_state(dump(self.state)) == self.state

    @invariant()
    def a_state_tells_what_it_waits_for(self) -> None:
        phase = self.state.phase
        if isinstance(phase, Settled):
            assert pending(self.state) == ()
            assert self.state.outcome == phase.outcome
        else:
            assert self.state.outcome is None
            assert pending(self.state) == tuple(self.outstanding.values())
            assert self.outstanding
        assert self.state.next_ref == self.highest_ref + 1

    @invariant()
    def nothing_is_overdrawn(self) -> None:
        config, tally, exchange = self.state.plan.config, self.state.tally, self.state.exchange_tally
        assert exchange.turns <= config.max_turns
        assert config.max_conversation_turns is None or tally.turns <= config.max_conversation_turns
        assert tally.tool_calls == self.ran
        assert config.max_tool_calls is None or exchange.tool_calls <= config.max_tool_calls

    @invariant()
    def nothing_that_the_user_said_is_lost(self) -> None:
        heard = [
            message.content
            for message in (*self.state.messages.messages, *self.state.unsent)
            if isinstance(message, UserMessage) and message.content.startswith(SPOKEN)
        ]
        assert heard == self.spoken

    @invariant()
    def a_settled_run_has_a_history_that_could_go_out(self) -> None:
        if self.is_settled():
            check_history(list(self.state.messages.messages))

    def check_resumptions(self) -> None:
        """From whatever was stored on the way, the same events lead to the same end."""
        for place, stored in enumerate(self.stored):
            state = load_state(stored)
            for event in self.events[place:]:
                state = step(state, event).state
            assert state == self.state

    def teardown(self) -> None:
        if hasattr(self, "stored"):
            self.check_resumptions()


def check_body(body: str, plan: Plan) -> None:
    tree = json.loads(body)
    assert canonical(tree) == body
    body.encode()
    check_provider(tree, plan.provider)
    wanted = {"never": False, "final": "tools" not in tree, "always": True}
    assert tree.get("stream", False) is wanted[plan.config.stream]
    calls, results = list[str](), list[str]()
    for message in tree["messages"]:
        calls += [call["id"] for call in message.get("tool_calls", ())]
        results += [message["tool_call_id"]] if message["role"] == "tool" else []
    assert sorted(calls) == sorted(results)
    assert len({*calls}) == len(calls)


def check_provider(tree: Mapping[str, Any], provider: Provider) -> None:
    """Nothing goes out that the provider is known to refuse."""
    assert "tools" not in tree or provider.supports_tools != "no"
    assert "tools" in tree or not {"tool_choice", "parallel_tool_calls"} & tree.keys()
    assert "parallel_tool_calls" not in tree or provider.supports_parallel_tool_calls != "no"
    assert "stream_options" not in tree or provider.supports_stream_options != "no"
    assert "temperature" not in tree or provider.temperature_rule != "drop"
    assert provider.max_tokens_field in {"", "max_tokens"} or "max_tokens" not in tree


def check_fits(request: Request, state: State) -> None:
    """What goes out fits the window, by a sum that is made again."""
    config = state.plan.config
    if config.context_window_tokens is not None:
        texts = [*request.messages.texts, request.options.text]
        assert sum(map(estimate_tokens_by_bytes, texts)) <= config.context_window_tokens


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


def answer_of(effect: Wanted) -> Event:
    """A far side without memory: what it answers depends on the effect alone."""
    chance = Random(fingerprint(effect))
    at_ms = 100 * effect.ref
    match effect:
        case SendRequest():
            if chance.random() < 0.2:
                return RequestFailed(effect.ref, "status", "busy", chance.choice([429, 401]), at_ms=at_ms)
            return ReplyReceived(effect.ref, 200, canonical(chance.choice(BODIES)), at_ms)
        case RunTool():
            return ToolReturned(effect.ref, chance.choice(["1", '{"ok":false}', "?"]), at_ms)
        case AskApproval():
            return ApprovalGiven(effect.ref, chance.random() < 0.7, "no", at_ms)
        case Wait():
            return WaitElapsed(effect.ref, at_ms)


BODIES: list[Json] = [
    *(
        body_of(None, *((f"call_{place}", name, "{}") for place, name in enumerate(names)))
        for names in (["ping"], ["read", "read"], ["read", "wipe", "read", "nope"], ["wipe", "wipe"])
    ),
    body_of("Done."),
    body_of(""),
    {"error": {"code": 503}},
]


def played(plan: Plan, seed: int, *, stops: bool) -> tuple[list[Event], State]:
    """A run to its end, each time answered where it waits; stopped and stored after every step, or not."""
    at, events, chance = start(plan), list[Event](), Random(seed)
    outstanding = [effect for effect in at.effects if not isinstance(effect, Finish)]
    state = at.state
    while not isinstance(state.phase, Settled):
        if stops:
            state = load_state(dump(state))
            outstanding = [*pending(state)]
        answered = outstanding.pop(chance.randrange(len(outstanding)))
        events.append(answer_of(answered))
        at = step(state, events[-1])
        state = at.state
        outstanding += [effect for effect in at.effects if not isinstance(effect, Finish)]
    return events, state


@given(CONFIGS, st.integers(0, 99))
def test_a_run_that_is_stopped_after_every_step_ends_like_one_that_never_was(
    config: LoopConfig, seed: int
) -> None:
    tools = [
        PING,
        ToolDefinition("read", parameters=canonical({}), read_only=True),
        ToolDefinition("wipe", parameters=canonical({}), needs_approval=True),
    ]
    plan = Plan.of(model="m", messages="hi", tools=tools, config=config, seed=seed)
    assert played(plan, seed, stops=True) == played(plan, seed, stops=False)
