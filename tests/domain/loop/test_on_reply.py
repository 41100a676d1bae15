from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.playbook import (
    Answer,
    Given,
    Playbook,
    asks,
    at,
    body_of,
    calling,
    fails_to_send,
    faults,
    finishes,
    replies,
    replies_calling,
    replies_with,
    returns,
    runs,
    tells,
)
from tests.samples import PLAN, worked
from tests.wire_forms import said_in
from toolreel_core._conversation import AssistantMessage, SentCall, ToolMessage, UserMessage
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import backoff_ms, parse_reply_body, pending, refuses_tools, start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    CallRejected,
    Completed,
    ContentFiltered,
    EmptyFinal,
    FailureKind,
    InvalidReply,
    MaxTurns,
    Note,
    Outcome,
    Refused,
    RepairApplied,
    ReplyRead,
    RequestFailed,
    RequestLost,
    RunSettled,
    RunTool,
    SendRequest,
    State,
    Tally,
    Truncated,
    UpstreamPinned,
    dump,
    load_state,
)
from toolreel_core._settings import LoopConfig, Provider, WireForm
from toolreel_core._tools import (
    Fault,
    ToolDefinition,
    arguments_not_json,
    arguments_not_object,
    arguments_too_deep,
)

ANYTHING: dict[str, Any] = {"type": "object"}
TOOLS = [ToolDefinition.of("add", parameters=ANYTHING), ToolDefinition.of("ping")]
DONE = (replies("Done."), finishes(Completed("Done.")))
BOTH = LoopConfig(text_dialects=("hermes_json", "json_fenced"))


def book(config: LoopConfig | None = None) -> Playbook:
    return Playbook(Plan.of(model="m", messages="hi", tools=TOOLS, config=config))


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
    assert [note for note in played.notes if isinstance(note, ReplyRead)] == [
        ReplyRead(1, "tool_calls", calls=1, prompt_tokens=0, completion_tokens=0, problem="")
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


PING = ("call_a", "ping", "{}")


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


ROUTED = {"provider": "Google", "model": "m"}
ANY: dict[str, Any] = {"sort": "price", "order": ["Any"]}


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


@pytest.mark.parametrize(
    ("failure", "statuses", "message", "body", "refuses"),
    worked("some failures say that a server takes no tools", "runs-and-plans"),
)
def test_a_server_that_takes_no_tools_says_so_in_many_words(
    failure: FailureKind, statuses: list[int], message: str, body: str, refuses: bool
) -> None:
    for status in statuses:
        assert refuses_tools(RequestFailed(1, failure, message, status, body)) is refuses


def test_each_try_waits_twice_as_long_up_to_the_cap_and_at_least_half_of_that() -> None:
    config = LoopConfig(retry_base_ms=1_000, retry_cap_ms=5_000)
    for attempt, whole in ((1, 1_000), (2, 2_000), (3, 4_000), (4, 5_000), (90, 5_000)):
        drawn = {backoff_ms(config, seed, ref, attempt) for seed in range(9) for ref in range(9)}
        assert len(drawn) > 20
        assert whole // 2 <= min(drawn) <= max(drawn) <= whole


ASKED_AGAIN = (
    ", and nothing was run. The tools are: add, ping. If you need one, make a tool call; if this was your "
    "answer, put such markup into a code block."
)
PINGED = (replies_calling(PING), runs("call_a", "ping", {}), returns(1))
PONG = asks(calling(PING), tells("call_a", "ping", {"value": 1}))


@pytest.mark.parametrize(
    ("text", "called", "again", "is_answer"),
    worked("prose that is repeated when asked about", "runs-and-plans"),
)
def test_prose_that_is_repeated_when_asked_about_is_the_answer_once_a_call_has_succeeded(
    text: str, called: bool, again: str | None, is_answer: bool
) -> None:
    last = again or text
    outcome = Completed(last) if is_answer else InvalidReply("MALFORMED_FUNCTION_CALL", last)
    book().play(
        asks(),
        *((*PINGED, PONG) if called else ()),
        replies(text),
        asks(
            AssistantMessage(text),
            UserMessage(f"Your reply looks like a tool call written as text{ASKED_AGAIN}"),
        ),
        replies(last),
        finishes(outcome),
    )


def test_a_call_that_only_the_finish_reason_announces_is_asked_about_once() -> None:
    told = UserMessage(f"Your reply ended as if with a tool call, but there is none in it{ASKED_AGAIN}")
    announced = replies("Done.", finish="tool_calls")
    book().play(asks(), announced, asks(AssistantMessage("Done."), told), announced, DONE[1])


LEGACY = {"role": "assistant", "content": None, "function_call": {"name": "ping", "arguments": ""}}
TEXT = '{"choices":[{"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}'


def body(message: object, **others: object) -> str:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **others})


def entries(*calls: object) -> str:
    return body({"role": "assistant", "content": None, "tool_calls": list(calls)})


def ping(arguments: object) -> dict[str, Any]:
    function = {"name": "ping", "arguments": arguments}
    return {"id": "call_a", "type": "function", "function": function}


IDLE = State.idle(PLAN)


def run(**settings: object) -> State:
    return State.idle(replace(PLAN, config=LoopConfig.of(settings)))


def test_transforms_of_the_response_come_before_the_reading() -> None:
    name = "assistant_function_call_to_tool_calls"
    got = parse_reply_body(body(LEGACY), run(response_transforms=(name,), argument_repairs="strict"))
    assert [call.name for call in got.reply.calls] == ["ping"]
    assert got.quirks == (name,)


def test_transforms_of_calls_see_each_entry() -> None:
    name = "assistant_tool_calls_arguments_blank_to_empty_object"
    wanted = run(tool_call_transforms=(name,))
    got = parse_reply_body(entries(ping(" "), 3, ping("{}")), wanted)
    assert [call.original for call in got.reply.calls] == ["{}", "{}"]
    assert got.quirks == (name,)
    assert parse_reply_body(entries(ping("{}")), wanted).quirks == ()


@pytest.mark.parametrize("text", ["<html>", "[]", '{"choices":[]}', '{"choices":[3]}', "{}", TEXT])
def test_what_transforms_find_nothing_in_is_read_all_the_same(text: str) -> None:
    wanted = run(
        response_transforms=("assistant_function_call_to_tool_calls",),
        tool_call_transforms=("assistant_tool_calls_arguments_blank_to_empty_object",),
    )
    got = parse_reply_body(text, wanted)
    assert (got.reply, got.quirks) == (parse_reply_body(text, IDLE).reply, ())


@pytest.mark.parametrize("form", ["chat_completions", "responses", "messages"])
@pytest.mark.parametrize("came_in", ["chat_completions", "responses", "messages"])
def test_a_body_in_another_form_than_asked_for_is_read_in_its_own(form: WireForm, came_in: WireForm) -> None:
    plan = Plan.of(model="m", messages="hi", provider=Provider(wire_form=form))
    body = {**body_of("Hi."), "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    found = parse_reply_body(said_in(came_in, canonical(body)), State.idle(plan))
    assert (found.reply.content, found.reply.problem) == ("Hi.", None)


def test_a_frame_that_a_stream_lost_is_a_warning_of_the_reply() -> None:
    frames: list[Json] = ["{broken", body_of("Hi.")]
    body = "".join(f"data: {each if isinstance(each, str) else canonical(each)}\n\n" for each in frames)
    found = parse_reply_body(body, State.idle(PLAN))
    assert (found.reply.content, found.reply.warnings[0]) == ("Hi.", "STREAM_FRAME_LOST")


SUCCEEDED = 'The call was <tool_call>{"name": "ping", "arguments": {"n": 1}}</tool_call>.\nIt is so.'


@pytest.mark.parametrize(
    ("result", "turns", "calls"),
    [('{"ok":true}', 2, 0), ('{"ok":false}', 2, 1), ('{"ok":true}', 1, 1)],
)
def test_a_call_of_this_exchange_that_has_succeeded_is_reported_and_not_made(
    result: str, turns: int, calls: int
) -> None:
    sent = AssistantMessage("", (SentCall("call_a", "ping", '{"n":1}'), SentCall("call_b", "ping", "{}")))
    began = run(text_dialects=("marked",))
    state = began.said(AssistantMessage("Earlier."), sent, ToolMessage("call_a", result), UserMessage("And?"))
    text = f"Look.\n{SUCCEEDED.removeprefix('The call was ')}"
    state = replace(state, tally=Tally(turns=turns), exchange_began=Tally(turns=1))
    assert len(parse_reply_body(body({"role": "assistant", "content": text}), state).reply.calls) == calls


# Turns that a server pauses while its own tools run: the reply goes back, and the turn goes on.


SEARCH: dict[str, Json] = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "pins"},
}
SPOKEN: dict[str, Json] = {"type": "text", "text": "Searching."}


def said(*blocks: Json, stop: str = "end_turn") -> Any:  # noqa: ANN401 - an answer of the playbook
    return replies_with({"role": "assistant", "content": [*blocks], "stop_reason": stop})


def plan(**settings: object) -> Plan:
    config = LoopConfig.of(settings)
    tools = [ToolDefinition("ping")]
    return Plan.of(
        model="m", messages="hi", tools=tools, provider=Provider(wire_form="messages"), config=config
    )


def paused(content: str, *blocks: Json) -> AssistantMessage:
    return AssistantMessage(content, extras=canonical({"messages_blocks": [*blocks]}))


def sent(book: Playbook) -> list[Any]:
    (effect,) = pending(book.state)
    assert isinstance(effect, SendRequest)
    messages: list[Any] = json.loads(effect.request.body)["messages"]
    return messages


def test_a_paused_turn_goes_back_as_it_came_and_goes_on() -> None:
    book = Playbook(plan())
    book.play_up_to(
        asks(), said(SPOKEN, SEARCH, stop="pause_turn"), asks(paused("Searching.", SPOKEN, SEARCH))
    )
    assert sent(book) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [SPOKEN, SEARCH]},
    ]
    book.play(said({"type": "text", "text": "There are 4."}), finishes(Completed("There are 4.")))


def test_it_may_have_no_text() -> None:
    book = Playbook(plan())
    book.play_up_to(asks(), said(SEARCH, stop="pause_turn"), asks(paused("", SEARCH)))
    assert sent(book)[-1] == {"role": "assistant", "content": [SEARCH]}
    assert load_state(dump(book.state)) == book.state
    book.play(said({"type": "text", "text": "4."}), finishes(Completed("4.")))


def test_it_may_pause_again_until_the_turns_are_used_up() -> None:
    again = said(SEARCH, stop="pause_turn")
    Playbook(plan(max_turns=2)).play(
        asks(), again, asks(paused("", SEARCH)), at(5, again), finishes(MaxTurns(2))
    )


def test_a_call_beside_it_runs() -> None:
    call: Json = {"type": "tool_use", "id": "toolu_1", "name": "pong", "input": {}}
    book = Playbook(plan(max_turns=1))
    book.play(asks(), said(SEARCH, call, stop="pause_turn"), finishes(MaxTurns(1)))
    (message,) = book.state.messages.messages[1:2]
    assert isinstance(message, AssistantMessage)
    assert [one.name for one in message.calls] == ["pong"]
