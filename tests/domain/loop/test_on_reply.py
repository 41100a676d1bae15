from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.playbook import (
    Answer,
    Given,
    Playbook,
    asks,
    body_of,
    calling,
    elapses,
    fails_to_send,
    faults,
    finishes,
    replies,
    replies_calling,
    replies_with,
    returns,
    runs,
    tells,
    waits,
)
from toolreel_core._conversation import AssistantMessage, SentCall, UserMessage
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import delay_ms, refuses_tools, start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    CallRejected,
    CallsIgnored,
    CallStarted,
    Completed,
    ContentFiltered,
    ContentStripped,
    EmptyFinal,
    InvalidReply,
    Note,
    Outcome,
    QuirkApplied,
    Refused,
    RepairApplied,
    ReplyRead,
    RequestFailed,
    RequestLost,
    RunSettled,
    RunTool,
    SendRequest,
    TransportFailed,
    Truncated,
    UpstreamPinned,
)
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import (
    Fault,
    ToolDefinition,
    arguments_not_json,
    arguments_not_object,
    arguments_too_deep,
)

ANYTHING: Final[dict[str, Any]] = {"type": "object"}
TOOLS = [ToolDefinition.of("add", parameters=ANYTHING), ToolDefinition.of("ping")]
PAUSE = 713
"""Milliseconds that a plan with seed 0 waits after its first request."""
DONE = (replies("Done."), finishes(Completed("Done.")))
BOTH = LoopConfig(text_dialects=("hermes_json", "json_fenced"))


def book(config: LoopConfig | None = None) -> Playbook:
    return Playbook(Plan.of(model="m", messages="hi", tools=TOOLS, config=config))


def test_a_final_text_completes_the_run_and_joins_the_history() -> None:
    usage: dict[str, Any] = {"usage": {"prompt_tokens": 11, "completion_tokens": 7}}
    played = book().play(asks(), replies_with(body_of("Hello.") | usage), finishes(Completed("Hello.")))
    assert played.state.messages.messages[-1] == AssistantMessage("Hello.")
    assert played.notes[1:] == [ReplyRead(1, "stop", 0, 11, 7), RunSettled("completed")]
    assert (played.state.tally.prompt_tokens, played.state.tally.completion_tokens) == (11, 7)


def test_a_hole_in_a_streamed_reply_is_noted() -> None:
    frame = 'data: {"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}\n\n'
    played = book().play(asks(), replies_with('data: {"cho\n\n' + frame), finishes(Completed("Hello.")))
    assert RepairApplied(1, "STREAM_FRAME_LOST") in played.notes


def test_calls_without_text_strip_nothing() -> None:
    played = book().play_up_to(asks(), replies_calling(("call_a", "ping", "{}")), runs("call_a", "ping", {}))
    assert not [note for note in played.notes if isinstance(note, ContentStripped)]


@pytest.mark.parametrize(
    ("own", "sent"), [("", "{}"), ("null", "{}"), (None, "{}"), ({"a": 1}, '{"a":1}'), (" ", "{}")]
)
def test_arguments_that_were_no_text_of_an_object_go_back_as_one(own: Json, sent: str) -> None:
    book().play(
        asks(),
        replies_with(body_of(None, ("call_a", "add", own))),
        runs("call_a", "add", {"a": 1} if own == {"a": 1} else {}),
        returns(1),
        asks(calling(("call_a", "add", sent)), tells("call_a", "add", {"value": 1})),
        *DONE,
    )


@pytest.mark.parametrize(
    ("own", "fault"),
    [
        ('{"a":', arguments_not_json("add", "Expecting value at line 1, column 6")),
        ("[1]", arguments_not_object("add", "a list")),
        ('{"a":' * 65 + "1" + "}" * 65, arguments_too_deep("add", 64)),
    ],
)
def test_arguments_that_could_not_be_read_never_go_back_raw(own: str, fault: Fault) -> None:
    played = book().play(
        asks(),
        replies_calling(("call_a", "add", own)),
        asks(calling(("call_a", "add", "{}")), faults("call_a", "add", fault)),
        *DONE,
    )
    assert CallRejected(1, "call_a", "add", fault.code, fault.message) in played.notes


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ('One moment.\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>', "hermes_json"),
        ('One moment.\n```json\n{"name": "add", "arguments": {"a": 1}}\n```', "json_fenced"),
    ],
)
def test_a_call_written_as_text_goes_into_the_history_as_a_structured_one(text: str, dialect: str) -> None:
    played = book(BOTH).play(
        asks(),
        replies(text),
        runs("call_1_0", "add", {"a": 1}),
        returns(2),
        asks(calling(("call_1_0", "add", '{"a":1}')), tells("call_1_0", "add", {"value": 2})),
        *DONE,
    )
    assert CallStarted(1, "call_1_0", "add", f"text:{dialect}") in played.notes
    assert RepairApplied(1, "TEXT_CALL_READ") in played.notes
    assert ContentStripped(1, 11, "One moment.") in played.notes
    assert played.state.messages.messages[1] == AssistantMessage(
        "", (SentCall("call_1_0", "add", '{"a":1}'),)
    )


def test_calls_without_ids_are_named_after_their_turn() -> None:
    ping: dict[str, Any] = {"function": {"name": "ping"}}
    body: dict[str, Any] = {"choices": [{"message": {"tool_calls": [ping]}, "finish_reason": "tool_calls"}]}
    book().play_up_to(
        asks(),
        replies_with(body),
        runs("call_1_0", "ping", {}),
        returns(1),
        asks(calling(("call_1_0", "ping", "{}")), tells("call_1_0", "ping", {"value": 1})),
        replies_with(body),
        runs("call_2_0", "ping", {}),
    )


def test_every_repair_is_noted_by_name() -> None:
    message: dict[str, Any] = {"function_call": {"name": " ping", "arguments": {}}}
    played = book().play_up_to(
        asks(),
        replies_with({"choices": [{"message": message, "finish_reason": "done"}]}),
        runs("call_1_0", "ping", {}),
    )
    repairs = [note.code for note in played.notes if isinstance(note, RepairApplied)]
    assert repairs == [
        "LEGACY_FUNCTION_CALL",
        "CALL_ID_MISSING",
        "NAME_NORMALIZED",
        "ARGUMENTS_NOT_STRING",
        "FINISH_UNKNOWN",
        "FINISH_MISMATCH",
    ]


REFUSAL: Any = {"choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (replies(""), EmptyFinal()),
        (replies(" \n"), EmptyFinal()),
        (replies("Half a sent", finish="length"), Truncated("Half a sent")),
        (replies("Half", finish="content_filter"), ContentFiltered("Half")),
        (replies_with(REFUSAL), Refused("I cannot.")),
        (
            replies_with({"error": {"message": "Bad input.", "code": 400}}),
            InvalidReply("PROVIDER_ERROR", "Bad input."),
        ),
        (replies_with({"id": "g"}), InvalidReply("NO_CHOICES", "the reply has no choices")),
        (
            replies_with({"choices": [{}]}),
            InvalidReply("NO_MESSAGE", "the first choice has no message"),
        ),
    ],
)
def test_a_reply_that_is_no_answer_ends_the_run_by_its_name(given: Given, outcome: Outcome) -> None:
    played = book(LoopConfig(fix_empty_final=False)).play(asks(), given, finishes(outcome))
    assert played.notes[-1] == RunSettled(outcome.name)


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("<html>", InvalidReply("INVALID_BODY", "the body is an HTML page")),
        ({"choices": None}, InvalidReply("NO_CHOICES", "the reply has no choices")),
        ({"choices": []}, InvalidReply("NO_CHOICES", "the reply has no choices")),
    ],
)
def test_a_reply_that_is_none_at_all_may_pass_and_ends_the_run_where_it_does_not(
    body: Json, outcome: Outcome
) -> None:
    book(LoopConfig(max_tries=1)).play(asks(), replies_with(body), finishes(outcome))
    book().play_up_to(asks(), replies_with(body), waits(713))


def test_a_passing_error_in_a_reply_leaves_a_trace_though_the_run_goes_on() -> None:
    busy = replies_with({"error": {"message": "Overloaded.", "code": 503}})
    played = book().play(asks(), busy, waits(PAUSE), elapses(), asks(), *DONE)
    read = [note for note in played.notes if isinstance(note, ReplyRead)]
    assert [(note.finish, note.problem) for note in read] == [("error", "PROVIDER_ERROR"), ("stop", "")]


REFUSED = fails_to_send("status", "tools are not supported", 400)


def test_a_refusal_of_tools_that_were_not_sent_is_a_failure_like_any_other() -> None:
    book(LoopConfig(fallback_without_tools=True)).play(
        asks(),
        REFUSED,
        asks(tools=False),
        REFUSED,
        finishes(TransportFailed("status", 400, "tools are not supported")),
    )


PING = ("call_a", "ping", "{}")
UNHEARD = LoopConfig(tool_use_mode="disabled", fix_empty_final=False)


def test_calls_that_nobody_asked_for_are_ignored_and_the_text_is_the_answer() -> None:
    played = book(UNHEARD).play(
        asks(tools=False), replies_calling(PING, content="Done."), finishes(Completed("Done."))
    )
    assert CallsIgnored(1, ("ping",), "tools_off") in played.notes
    page = book(UNHEARD).play(
        asks(tools=False), replies_calling(("a", "x" * 9_000, "{}")), finishes(EmptyFinal())
    )
    assert CallsIgnored(1, ("x" * 80 + "…",), "tools_off") in page.notes
    assert not [note for note in played.notes if isinstance(note, ContentStripped)]
    assert played.state.messages.messages[-1] == AssistantMessage("Done.")
    assert played.state.tally.ignored_calls == 1


def test_a_cap_of_minus_one_is_none() -> None:
    plan = Plan.of(model="m", messages="hi", tools=TOOLS, options={"max_tokens": -1})
    Playbook(plan).play_up_to(asks(), replies_calling(PING), runs("call_a", "ping", {}))


SIGNED: Final[dict[str, Any]] = {"extra_content": {"google": {"thought_signature": "Ev8B"}}}


def thinking_aloud() -> dict[str, Any]:
    """A reply with a call, reasoning, and a signature on the call."""
    body: dict[str, Any] = dict(body_of(None, PING))
    message = body["choices"][0]["message"]
    message["reasoning_content"] = "look it up"
    message["tool_calls"][0] |= SIGNED
    return body


def test_the_providers_own_fields_go_back_with_the_call() -> None:
    call = SentCall(*PING, extras=canonical(SIGNED))
    said = AssistantMessage("", (call,), canonical({"reasoning_content": "look it up"}))
    book().play(
        asks(),
        replies_with(thinking_aloud()),
        runs("call_a", "ping", {}),
        returns(1),
        asks(said, tells("call_a", "ping", {"value": 1})),
        *DONE,
    )


def after(plan: Plan, *answers: Answer) -> tuple[list[Note], str]:
    """The notes of a run that is answered so, and the body of the request that it ends with."""
    at = start(plan)
    notes = [*at.notes]
    for answer in answers:
        effect = at.effects[-1]
        assert isinstance(effect, SendRequest | RunTool)
        at = step(at.state, answer(effect.ref))
        notes += at.notes
    effect = at.effects[-1]
    assert isinstance(effect, SendRequest)
    return notes, effect.request.body


def test_a_provider_that_refuses_its_own_fields_does_not_get_them_back() -> None:
    plan = Plan.of(model="m", messages="hi", tools=TOOLS, provider=Provider(reasoning_replay="never"))
    notes, body = after(plan, replies_with(thinking_aloud()), returns(1))
    assert "look it up" not in body
    assert QuirkApplied(2, "reasoning_replay") in notes


ROUTED = {"provider": "Google", "model": "m"}
ANY: Final[dict[str, Any]] = {"sort": "price", "order": ["Any"]}


def routing_after(*answers: Answer, pin: bool = True) -> tuple[list[Note], Json]:
    """The notes of a run through a router, and whom its last request may go to."""
    provider = Provider(pin_upstream=pin)
    plan = Plan.of(model="m", messages="hi", tools=TOOLS, provider=provider, options={"provider": ANY})
    notes, body = after(plan, *answers)
    return notes, json.loads(body)["provider"]


def test_a_run_stays_with_the_upstream_that_gave_the_first_reply() -> None:
    first = (replies_with(body_of(None, PING) | ROUTED), returns(1))
    notes, routing = routing_after(*first)
    assert routing == {"sort": "price", "order": ["Google"], "allow_fallbacks": False}
    assert UpstreamPinned(1, "Google") in notes
    assert routing_after(*first, pin=False)[1] == ANY


def test_nobody_is_pinned_who_does_not_say_who_it_is() -> None:
    notes, routing = routing_after(replies_calling(PING), returns(1))
    assert routing == ANY
    assert not [note for note in notes if isinstance(note, UpstreamPinned)]


def test_the_pin_holds_whoever_answers_later() -> None:
    first, second = body_of(None, PING) | ROUTED, body_of(None, ("call_b", "ping", "{}"))
    later = replies_with(second | {"provider": "Other"})
    notes, routing = routing_after(replies_with(first), returns(1), later, returns(2))
    assert routing == {"sort": "price", "order": ["Google"], "allow_fallbacks": False}
    assert [note.turn for note in notes if isinstance(note, UpstreamPinned)] == [1]


def refused_generation(text: str) -> Answer:
    error: Json = {"error": {"code": "tool_use_failed", "failed_generation": text}}
    return fails_to_send("status", "HTTP 400", 400, body=canonical(error))


def test_a_call_that_the_server_refused_to_read_is_run_all_the_same() -> None:
    written = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    played = book(BOTH).play_up_to(asks(), refused_generation(written), runs("call_1_0", "ping", {}))
    assert RepairApplied(1, "FAILED_GENERATION_READ") in played.notes
    assert RequestLost(1, "status", 400) in played.notes


def test_a_generation_that_nobody_can_read_is_told_to_the_model_once() -> None:
    told = AssistantMessage("<function=ping")
    request = UserMessage(
        "Your tool call could not be read, and nothing was run. The tools are: add, ping. "
        "Call the one that you need now."
    )
    again = InvalidReply("MALFORMED_FUNCTION_CALL", "<function=ping")
    unread = refused_generation("<function=ping")
    book().play(asks(), unread, asks(told, request), *DONE)
    book().play(asks(), unread, asks(told, request), unread, finishes(again))


@pytest.mark.parametrize("status", [400, 404, 422])
@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("HTTP 404: No endpoints found that support tool use. Try disabling 'x'.", ""),
        ("HTTP 400: registry.ollama.ai/library/gemma:latest does not support tools", ""),
        ("HTTP 400: Provider returned error", '{"error":{"metadata":{"raw":"does not support tools"}}}'),
        ("HTTP 400: Invalid value for tool_choice: only 'auto' is supported", ""),
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', ""),
        ("HTTP 400: named tool choice requires --tool-call-parser to be set", ""),
        ("HTTP 400: This model doesn't support tool use in streaming mode.", ""),
        ("HTTP 400: deepseek-reasoner does not support Function Calling", ""),
        ("HTTP 400: Provider returned error", '{"raw":"model features function calling not support"}'),
        ("HTTP 400: tools is not supported in this model.", ""),
        ("HTTP 400: The tool call is not supported.", ""),
        ("HTTP 400: Function call is not supported for this model.", ""),
        ("HTTP 400: tools param requires --jinja flag", ""),
    ],
)
def test_a_server_that_takes_no_tools_says_so_in_many_words(status: int, message: str, body: str) -> None:
    assert refuses_tools(RequestFailed(1, "status", message, status, body))


@pytest.mark.parametrize(
    "message",
    [
        "HTTP 500: tools param requires --jinja flag",
        "HTTP 500: Unsupported param: tools",
        "HTTP 500: Internal server error: Unsupported tool_call_parser: None",
    ],
)
def test_a_server_that_was_started_without_tools_says_so_as_if_it_had_failed(message: str) -> None:
    assert refuses_tools(RequestFailed(1, "status", message, 500))
    assert not refuses_tools(RequestFailed(1, "status", message, 503))


@pytest.mark.parametrize(
    "failed",
    [
        RequestFailed(1, "status", "HTTP 400: messages: expected a list", 400),
        RequestFailed(1, "status", "HTTP 400: This model's maximum context length is 4096 tokens.", 400),
        RequestFailed(1, "status", "HTTP 422: bad", 422, '{"detail":[{"input":{"tool_choice":"auto"}}]}'),
        RequestFailed(1, "status", "HTTP 401: tools are not supported", 401),
        RequestFailed(1, "status", "HTTP 500: tools are not supported", 500),
        RequestFailed(1, "status", "HTTP 500: Internal server error", 500),
        RequestFailed(1, "timeout", "tools are not supported"),
    ],
)
def test_no_other_failure_is_taken_for_a_refusal_of_tools(failed: RequestFailed) -> None:
    assert not refuses_tools(failed)


CONFIG = LoopConfig(retry_base_ms=1_000, retry_cap_ms=5_000)


def test_each_try_waits_twice_as_long_up_to_the_cap_and_at_least_half_of_that() -> None:
    for attempt, whole in ((1, 1_000), (2, 2_000), (3, 4_000), (4, 5_000), (90, 5_000)):
        for seed in range(50):
            ms = delay_ms(CONFIG, seed=seed, ref=1, attempt=attempt, retry_after_ms=None)
            assert ms is not None
            assert whole // 2 <= ms <= whole


def test_the_wait_is_drawn_from_the_seed_the_ref_and_the_attempt() -> None:
    drawn = {
        delay_ms(CONFIG, seed=seed, ref=ref, attempt=1, retry_after_ms=None)
        for seed in range(5)
        for ref in range(5)
    }
    assert len(drawn) > 20


@pytest.mark.parametrize(
    ("retry_after_ms", "ms"), [(3_000, 3_000), (5_000, 5_000), (5_001, None), (0, 803), (-9, 803)]
)
def test_the_wish_of_the_server_is_granted_up_to_the_cap(retry_after_ms: int, ms: int | None) -> None:
    assert delay_ms(CONFIG, seed=1, ref=1, attempt=1, retry_after_ms=retry_after_ms) == ms


@given(st.integers(), st.integers(1, 99), st.integers(1, 99), st.none() | st.integers(0, 5_000))
def test_no_wait_is_longer_than_the_cap(
    seed: int, ref: int, attempt: int, retry_after_ms: int | None
) -> None:
    ms = delay_ms(CONFIG, seed=seed, ref=ref, attempt=attempt, retry_after_ms=retry_after_ms)
    assert ms is not None
    assert 0 <= ms <= 5_000
