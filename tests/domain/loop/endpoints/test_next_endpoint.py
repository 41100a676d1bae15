"""Several endpoints for one run, as conversations."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.playbook import Answer, body_of, fails_to_send, replies, replies_calling, replies_with, returns
from toolreel_core._conversation import ToolMessage, UserMessage
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import pending, start, step
from toolreel_core._plan import REASONS, FallbackPlan, FallbackReason, ForeignReasoning, Plan
from toolreel_core._protocol import (
    AwaitingReply,
    Completed,
    EmptyFinal,
    EndpointChanged,
    EndpointPinned,
    Event,
    Finish,
    Note,
    OptionIgnored,
    Outcome,
    RunTool,
    SendRequest,
    Settled,
    State,
    ToolsDropped,
    TransportFailed,
    UserSpoke,
    Wait,
    WaitElapsed,
    dump,
    load_state,
)
from toolreel_core._settings import LoopConfig, Price, Provider
from toolreel_core._tools import ToolDefinition

PING = ToolDefinition("ping", "Pings.", canonical({"type": "object"}))
CALL = ("call_a", "ping", "{}")
ONCE = LoopConfig(max_tries=1)
BACKUP = FallbackPlan("backup", model="b")
REFUSES_TOOLS = "tools are not supported"
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
}


def planned(*fallbacks: FallbackPlan, **parts: Any) -> Plan:  # noqa: ANN401 - whatever a plan takes
    given = {"model": "a", "messages": "hi", "tools": [PING], "config": ONCE, **parts}
    return Plan.of(**given, fallbacks=fallbacks or (BACKUP,))


class Played:
    """A run that is answered in order; waits pass at once."""

    def __init__(self, plan: Plan, *answers: Answer) -> None:
        begun = start(plan)
        self.state: State = begun.state
        self.effects = begun.effects
        self.notes: list[Note] = [*begun.notes]
        self.requests: list[SendRequest] = []
        self.ran: list[RunTool] = []
        self._keep()
        for answer in answers:
            self.answer(answer)

    def answer(self, answer: Answer) -> None:
        """Answer what the run wants first."""
        effect = self.effects[0]
        assert not isinstance(effect, Finish)
        self.give(answer(effect.ref))

    def give(self, event: Event) -> None:
        # A stored run goes on as one that was kept, at every step.
        taken = step(load_state(dump(self.state)), event)
        assert taken == step(self.state, event)
        self.state, self.effects = taken.state, taken.effects
        self.notes += taken.notes
        assert pending(self.state) == tuple(one for one in self.effects if not isinstance(one, Finish))
        self._keep()

    def _keep(self) -> None:
        for effect in self.effects:
            if isinstance(effect, SendRequest):
                self.requests.append(effect)
            if isinstance(effect, RunTool):
                self.ran.append(effect)
            if isinstance(effect, Wait):
                self.give(WaitElapsed(effect.ref))

    @property
    def endpoints(self) -> list[str]:
        return [request.endpoint for request in self.requests]

    @property
    def outcome(self) -> Outcome:
        assert isinstance(self.state.phase, Settled)
        return self.state.phase.outcome

    def body(self, at: int = -1) -> dict[str, Any]:
        tree = json.loads(self.requests[at].request.body)
        assert isinstance(tree, dict)
        return tree

    def noted(self, kind: type[Note]) -> list[Note]:
        return [note for note in self.notes if isinstance(note, kind)]


def status(code: int, message: str = "no") -> Answer:
    return fails_to_send("status", message, code)


EMPTY = replies("")
FAILURES: list[tuple[str, tuple[Answer, ...]]] = [
    ("connection", (fails_to_send("connect", "refused"),)),
    ("connection", (fails_to_send("broken", "cut"),)),
    ("timeout", (fails_to_send("timeout", "late"),)),
    ("timeout", (status(408),)),
    ("server_error", (status(500),)),
    ("server_error", (status(503),)),
    ("server_error", (replies_with({"error": {"code": 500, "message": "down"}}),)),
    ("server_error", (replies_with("<html>down</html>"),)),
    ("rate_limit", (status(429),)),
    ("rate_limit", (replies_with({"error": {"code": 429, "message": "slow"}}),)),
    ("denied", (status(401),)),
    ("denied", (status(402),)),
    ("denied", (status(403),)),
    ("not_found", (status(404),)),
    ("not_found", (status(410),)),
    ("capability", (status(400, REFUSES_TOOLS),)),
    ("empty", (EMPTY, EMPTY)),
]


@pytest.mark.parametrize(("why", "failing"), FAILURES)
def test_where_an_endpoint_fails_the_next_one_gets_the_same_turn(
    why: FallbackReason, failing: tuple[Answer, ...]
) -> None:
    """It is the first that takes the reason; without one, the run ends."""
    played = Played(planned(), *failing, replies("Hello."))
    assert played.outcome == Completed("Hello.")
    assert played.endpoints == ["" for _ in failing] + ["backup"]
    assert [request.request.model for request in played.requests][-2:] == ["a", "b"]
    [changed] = played.noted(EndpointChanged)
    assert isinstance(changed, EndpointChanged)
    assert (changed.before, changed.after, changed.why) == ("", "backup", why)
    assert "tools" in played.body()
    others = FallbackPlan("others", model="b", on=tuple(reason for reason in REASONS if reason != why))
    last = FallbackPlan("last", model="c", on=(why,))
    assert Played(planned(others, last), *failing, replies("Hello.")).endpoints[-1] == "last"
    alone = Played(planned(others), *failing)
    assert not alone.noted(EndpointChanged)
    assert not isinstance(alone.outcome, Completed)


@pytest.mark.parametrize(
    "failing",
    [
        status(400),
        fails_to_send("too_large", "too large"),
        replies_with(body_of("No.", finish="content_filter")),
        fails_to_send("status", "no status"),
    ],
)
def test_what_is_not_the_endpoints_fault_ends_the_run(failing: Answer) -> None:
    assert Played(planned(), failing).endpoints == [""]


def test_an_endpoint_has_its_retries_before_the_next_one_is_asked() -> None:
    down = status(503)
    two = LoopConfig(max_tries=2)
    backup = FallbackPlan("backup", model="b", config=LoopConfig(max_tries=3))
    played = Played(planned(backup, config=two), down, down, down, down, down)
    assert played.endpoints == ["", "", "backup", "backup", "backup"]
    assert played.outcome == TransportFailed("status", 503, "no")
    assert played.state.tally.turns == 1


def test_calls_that_have_run_are_in_the_history_of_the_next_endpoint_and_do_not_run_again() -> None:
    played = Played(planned(), replies_calling(CALL), returns(1), status(503), replies("One."))
    assert len(played.ran) == 1
    roles = [message["role"] for message in played.body()["messages"]]
    assert roles == ["user", "assistant", "tool"]
    assert played.state.tally.turns == 2


def test_each_endpoint_has_settings_of_its_own_and_the_limits_of_the_run() -> None:
    backup = FallbackPlan(
        "backup",
        model="b",
        options=canonical({"temperature": 1, "response_format": {"type": "text"}}),
        config=LoopConfig(max_turns=50, stream="always"),
        provider=Provider(max_tokens_field="max_tokens"),
        overrides=canonical({"top_k": 4}),
    )
    plan = planned(backup, options={"top_p": 1}, config=LoopConfig(max_tries=1, max_turns=2))
    played = Played(plan, status(503), replies("Hello."))
    body = played.body()
    assert (body["model"], body["temperature"], body["top_k"], body["stream"]) == ("b", 1, 4, True)
    assert "top_p" not in body
    assert played.state.present.config.max_turns == 2
    assert OptionIgnored("response_format", "with_tools") in played.notes


def test_replies_are_read_as_the_endpoint_that_gave_them_writes_them() -> None:
    backup = FallbackPlan("backup", model="b", config=LoopConfig(text_dialects=("react",)))
    text = "Action: ping\nAction Input: {}"
    assert Played(planned(backup), status(503), replies(text)).ran


def test_each_reply_costs_what_its_endpoint_takes() -> None:
    backup = FallbackPlan("backup", model="b", price=Price(2, 2))
    used: Any = {"usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0}}
    first = replies_with(body_of(None, CALL) | used)
    played = Played(
        planned(backup, price=Price(1, 1)),
        first,
        returns(1),
        status(503),
        replies_with(body_of("One.") | used),
    )
    [changed] = played.noted(EndpointChanged)
    assert changed == EndpointChanged(2, "", "backup", "server_error", 0, 1_000_000, 0, 1.0)
    assert played.state.tally.known_cost == 3.0


def test_where_no_further_request_is_allowed_the_outcome_is_that_of_the_endpoint() -> None:
    twice = LoopConfig(max_tries=1, max_turns=2)
    assert Played(planned(config=twice), EMPTY, EMPTY).outcome == EmptyFinal()


def test_after_an_empty_answer_the_next_endpoint_has_recoveries_of_its_own() -> None:
    failing = (replies_calling(CALL), returns(1), EMPTY, EMPTY)
    played = Played(planned(), *failing, EMPTY, replies("One."))
    assert played.endpoints == ["", "", "", "backup", "backup"]
    assert played.outcome == Completed("One.")
    assert "tools" in played.body(3)


def test_a_request_for_a_text_stays_one_without_tools() -> None:
    played = Played(planned(), replies_calling(CALL), returns(1), EMPTY, status(503), replies("One."))
    assert "tools" not in played.body()
    assert played.outcome == Completed("One.")


def test_what_a_gateway_says_instead_of_a_reply_is_not_in_the_history() -> None:
    broken = replies_with(body_of("Half of an an") | {"error": {"code": 500, "message": "down"}})
    played = Played(planned(), broken, replies("Hello."))
    assert [message["role"] for message in played.body()["messages"]] == ["user"]


# capabilities


def test_an_endpoint_that_takes_tools_comes_before_a_run_without_them() -> None:
    dropping = LoopConfig(max_tries=1, fallback_without_tools=True)
    refused = status(400, REFUSES_TOOLS)
    last = FallbackPlan("last", model="c", config=dropping)
    played = Played(planned(last, config=dropping), refused, refused, replies("Hello."))
    assert played.endpoints == ["", "last", "last"]
    assert played.noted(ToolsDropped) == [ToolsDropped(1, REFUSES_TOOLS)]


def test_tools_that_one_server_rejected_go_to_the_next() -> None:
    dropping = LoopConfig(max_tries=1, fallback_without_tools=True)
    only = FallbackPlan("backup", model="b", on=("server_error",))
    played = Played(
        planned(only, config=dropping), status(400, REFUSES_TOOLS), status(503), replies_calling(CALL)
    )
    assert played.noted(ToolsDropped)
    assert "tools" not in played.body(1)
    assert "tools" in played.body(2)
    assert played.ran


def test_a_form_of_the_answer_that_is_refused_is_asked_for_in_words_elsewhere() -> None:
    plan = planned(
        FallbackPlan("backup", model="b", config=LoopConfig(output_mode="text")),
        tools=(),
        output=SCHEMA,
        config=LoopConfig(max_tries=1, output_mode="native"),
    )
    played = Played(plan, status(400, "'response_format' is unsupported"), replies('{"sum":4}'))
    first, second = played.body(0), played.body(1)
    assert "response_format" in first
    assert "response_format" not in second
    assert [message["role"] for message in second["messages"]] == ["system", "user"]
    assert played.outcome == Completed('{"sum":4}', canonical({"sum": 4}))
    assert type(next(iter(played.state.messages.messages))) is UserMessage


# signatures and reasoning


SIGNATURE: dict[str, Json] = {"google": {"thought_signature": "c2ln"}}


def thinking_call(**extras: Json) -> Answer:
    """A call beside which the provider has fields of its own."""
    body: Any = body_of(None, CALL)
    body["choices"][0]["message"] |= extras
    return replies_with(body)


def signed_call() -> Answer:
    body: Any = body_of(None, CALL)
    body["choices"][0]["message"]["tool_calls"][0]["extra_content"] = SIGNATURE
    return replies_with(body)


@pytest.mark.parametrize(
    "call",
    [
        signed_call(),
        thinking_call(extra_content=SIGNATURE),
        thinking_call(thinking_blocks=[{"type": "thinking", "thinking": "So.", "signature": "c2ln"}]),
        thinking_call(thinking_blocks=[{"type": "redacted_thinking", "data": "x"}]),
        thinking_call(reasoning_details=[{"type": "reasoning.encrypted", "data": "x"}]),
    ],
)
def test_a_history_with_a_signature_stays_with_its_endpoint(call: Answer) -> None:
    played = Played(planned(), call, returns(1), status(503))
    assert played.endpoints == ["", ""]
    assert played.outcome == TransportFailed("status", 503, "no")
    assert played.noted(EndpointPinned) == [EndpointPinned(2, "", "server_error", 1)]
    played.give(UserSpoke("Again."))
    assert played.endpoints[-1] == ""


def test_a_signature_is_dropped_where_the_plan_says_so_and_goes_to_nobody_else() -> None:
    dropping = FallbackPlan("backup", model="b", foreign_reasoning="drop")
    played = Played(planned(dropping), signed_call(), returns(1), status(503), signed_call())
    assert "thought_signature" in played.body(1)["messages"][1]["tool_calls"][0]["extra_content"]["google"]
    assert "extra_content" not in played.body(2)["messages"][1]["tool_calls"][0]
    played.answer(returns(1))
    # The signature of the present endpoint goes back to it.
    calls = [message["tool_calls"][0] for message in played.body(3)["messages"] if "tool_calls" in message]
    assert ["extra_content" in call for call in calls] == [False, True]
    [changed] = played.noted(EndpointChanged)
    assert isinstance(changed, EndpointChanged)
    assert changed.dropped == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("reasoning_content", "a signature"),
        ("reasoning_details", [{"type": "reasoning.text", "text": "So.", "signature": None}]),
    ],
)
def test_reasoning_that_nobody_demands_back_does_not_keep_a_run(field: str, value: Json) -> None:
    played = Played(planned(), thinking_call(**{field: value}), returns(1), status(503))
    assert played.endpoints == ["", "", "backup"]
    assert field not in played.body()["messages"][1]


def test_reasoning_that_must_come_back_keeps_a_run() -> None:
    demanding = Provider(reasoning_required_on="tool_turns")
    played = Played(
        planned(provider=demanding), thinking_call(reasoning_content="So."), returns(1), status(503)
    )
    assert played.noted(EndpointPinned)


def test_an_answer_of_a_signed_history_frees_it_where_only_the_current_turn_goes_back() -> None:
    plan = planned(provider=Provider(reasoning_replay="current_turn"))
    played = Played(plan, signed_call(), returns(1), replies("One."))
    played.give(UserSpoke("And now?"))
    played.answer(status(503))
    assert played.endpoints[-1] == "backup"


def test_tools_are_dropped_where_the_run_is_pinned() -> None:
    dropping = LoopConfig(max_tries=1, fallback_without_tools=True)
    refused = status(400, REFUSES_TOOLS)
    played = Played(planned(config=dropping), signed_call(), returns(1), refused, replies("One."))
    assert played.endpoints == ["", "", ""]
    assert played.noted(ToolsDropped)


# conversations, records


def test_a_conversation_stays_with_the_endpoint_that_answered() -> None:
    played = Played(planned(), status(503), replies("Hello."))
    played.give(UserSpoke("And you?"))
    assert played.endpoints[-1] == "backup"
    assert isinstance(played.state.phase, AwaitingReply)
    assert played.state.endpoint_name == "backup"


# whatever happens


@st.composite
def failing_plans(draw: st.DrawFn) -> Plan:
    def fallback(name: str) -> FallbackPlan:
        rule: ForeignReasoning = draw(st.sampled_from(("pin", "drop")))
        replay = draw(st.sampled_from(("verbatim", "current_turn", "never")))
        return FallbackPlan(
            name,
            model=name,
            on=tuple(draw(st.lists(st.sampled_from(REASONS), min_size=1, unique=True))),
            foreign_reasoning=rule,
            provider=Provider.of({"reasoning_replay": replay}),
            config=LoopConfig(max_tries=draw(st.integers(1, 2)), fallback_without_tools=True),
        )

    config = LoopConfig(max_tries=draw(st.integers(1, 2)), max_turns=8)
    return planned(fallback("second"), fallback("third"), model="first", config=config)


def signed_calls(model: str, turn: int, count: int) -> Answer:
    """A reply with calls that the model has signed."""
    body: Any = body_of(None, *((f"call_{turn}_{number}", "ping", "{}") for number in range(count)))
    for call in body["choices"][0]["message"]["tool_calls"]:
        call["extra_content"] = {"signature": f"signed-by-{model}"}
    return replies_with(body)


ANSWERS: list[Answer | int] = [
    *(1, 2, replies("Hello."), EMPTY, replies_with("<html>"), status(400, REFUSES_TOOLS)),
    *(fails_to_send("connect", "refused"), fails_to_send("timeout", "late")),
    *(status(code) for code in (400, 403, 404, 408, 429, 500, 503)),
]
"""Answers of an endpoint; a number is that many signed calls."""


@settings(deadline=None)
@given(failing_plans(), st.lists(st.sampled_from(ANSWERS), max_size=14))
def test_runs_that_fail_at_random_end_and_do_nothing_twice(plan: Plan, answers: list[Answer | int]) -> None:
    played = Played(plan)
    for answer in [*answers, *[replies("Hello.")] * 40]:
        while isinstance(played.effects[0], RunTool):
            played.answer(returns(1))
        if isinstance(played.state.phase, Settled):
            break
        last = played.requests[-1]
        signed = signed_calls(last.request.model, last.ref, answer) if isinstance(answer, int) else answer
        played.answer(signed)
    assert isinstance(played.state.phase, Settled)
    places = [["", "second", "third"].index(name) for name in played.endpoints]
    assert places == sorted(places), "no run goes back"
    assert len({one.key for one in played.ran}) == len({one.ref for one in played.ran}) == len(played.ran)
    for request in played.requests:
        signers = set(re.findall(r"signed-by-(\w+)", request.request.body))
        assert signers <= {request.request.model}, "a signature goes to nobody but who made it"
        assert request.request.model == (request.endpoint or "first")
    messages = [*played.state.messages.messages]
    calls = [call.id for message in messages for call in getattr(message, "calls", ())]
    results = [message.call_id for message in messages if isinstance(message, ToolMessage)]
    assert calls == results, "each call has one result, in order"
