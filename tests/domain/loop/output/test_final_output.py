from __future__ import annotations

from typing import Any

import pytest

from tests.playbook import (
    Playbook,
    Turn,
    asks,
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
from tests.samples import worked
from toolreel_core._conversation import AssistantMessage, ToolMessage, UserMessage
from toolreel_core._jsontext import NOTHING, Json, JsonText, canonical
from toolreel_core._loop import fold
from toolreel_core._plan import OutputSpec, Plan, output_instruction
from toolreel_core._protocol import (
    CallRejected,
    CallsIgnored,
    Completed,
    InvalidOutput,
    InvalidReply,
    NoToolCalls,
    OutputCalled,
    OutputRejected,
    Refused,
    RepairApplied,
    ReplyReceived,
    Settled,
    Step,
    ToolFailed,
    Truncated,
)
from toolreel_core._schema import Violation
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import (
    Envelope,
    ToolDefinition,
    arguments_not_json,
    arguments_truncated_fault,
    call_abandoned,
    output_not_alone,
    output_too_early,
    schema_violation_fault,
)

COUNT: dict[str, Json] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NUMBERS: dict[str, Json] = {"type": "array", "items": {"type": "integer"}}
PING = ToolDefinition.of("ping")
AS_JSON = "Answer with the JSON object that was asked for, and nothing else."
BY_CALL = "Call final_answer with your answer."
NO_JSON = "Your answer is not valid JSON: Expecting value at line 1, column 1."
NOT_3 = Violation("/n", "integer", '"3"')
WANTS_N = '/n: expected integer, got "3".'
RIGHT = Completed('{"n":1}', JsonText('{"n":1}'))
ONE = ("call_a", "final_answer", '{"n":1}')
WRONG = ("call_a", "final_answer", '{"n":"3"}')
CALLED = ("call_b", "ping", "{}")
TAKEN = ToolMessage("call_a", Envelope(True, "final_answer", NOTHING).text())
PINGED: tuple[Turn, ...] = (
    replies_calling(CALLED),
    runs("call_b", "ping", {}),
    returns(1),
    asks(calling(CALLED), tells("call_b", "ping", {"value": 1})),
)


def plan_of(*tools: ToolDefinition, schema: dict[str, Json] = COUNT, **settings: Any) -> Plan:  # noqa: ANN401 - any setting
    return Plan.of(model="m", messages="hi", tools=tools, output=schema, config=LoopConfig.of(settings))


def played(plan: Plan, *script: Any) -> Playbook:  # noqa: ANN401 - turns of any kind
    return Playbook(plan).play(asks(), *script)


def answered(plan: Plan, body: Json) -> Step:
    """The step after the first reply."""
    return fold(plan, [ReplyReceived(1, 200, canonical(body))])


def codes(run: Playbook) -> list[str]:
    return [note.code for note in run.notes if isinstance(note, RepairApplied)]


def test_json_in_the_text_is_the_value() -> None:
    played(plan_of(), replies('{"n":1}'), finishes(RIGHT))
    fenced = '```json\n{"n": 1}\n```'
    run = played(plan_of(), replies(fenced), finishes(Completed(fenced, JsonText('{"n":1}'))))
    assert codes(run) == ["ARGUMENTS_FENCED"]


def test_a_wrong_answer_is_told_and_asked_for_again() -> None:
    run = played(
        plan_of(),
        replies("One."),
        asks(AssistantMessage("One."), UserMessage(f"{NO_JSON} {AS_JSON}")),
        replies('{"n":"3"}'),
        asks(AssistantMessage('{"n":"3"}'), UserMessage(f"{WANTS_N} {AS_JSON}")),
        replies('{"n":1}'),
        finishes(RIGHT),
    )
    noted = [note for note in run.notes if isinstance(note, OutputRejected)]
    assert noted == [OutputRejected(1, NO_JSON, True), OutputRejected(2, WANTS_N, True)]


def test_the_run_gives_up_after_output_retries() -> None:
    run = played(
        plan_of(output_retries=1),
        replies("One."),
        asks(AssistantMessage("One."), UserMessage(f"{NO_JSON} {AS_JSON}")),
        replies("Two."),
        finishes(InvalidOutput("Two.", NO_JSON)),
    )
    assert run.notes[-2] == OutputRejected(2, NO_JSON, False)
    played(plan_of(max_turns=1), replies("One."), finishes(InvalidOutput("One.", NO_JSON)))


def test_an_answer_with_two_values_is_ambiguous_and_equal_ones_are_one() -> None:
    two = 'Either {"n": 1} or {"n": 2}.'
    error = "Your answer holds 2 different JSON values that fit."
    played(plan_of(output_retries=0), replies(two), finishes(InvalidOutput(two, error)))
    same = 'It is {"n":1}: {"n": 1}, not {"m": 2}.'
    run = played(plan_of(), replies(same), finishes(Completed(same, JsonText('{"n":1}'))))
    assert codes(run) == ["OUTPUT_IN_TEXT"]
    nothing = 'Not {"m": 2}.'
    error = "your answer: expected the required 'n', got {\"m\":2}."
    played(plan_of(output_retries=0), replies(nothing), finishes(InvalidOutput(nothing, error)))


@pytest.mark.parametrize(
    ("text", "value", "coded"), worked("a value that is no object may come bare", "runs-and-plans")
)
def test_a_value_that_is_no_object_may_come_bare(text: str, value: str, coded: list[str]) -> None:
    run = played(plan_of(schema=NUMBERS), replies(text), finishes(Completed(text, JsonText(value))))
    assert codes(run) == coded


def test_strictly_the_object_that_was_asked_for_counts() -> None:
    plan = plan_of(schema=NUMBERS, argument_repairs="strict", output_retries=0)
    error = "your answer: expected object, got [1]."
    played(plan, replies("[1]"), finishes(InvalidOutput("[1]", error)))
    tool = plan_of(schema=NUMBERS, argument_repairs="strict", output_retries=0, output_mode="tool")
    what = "The arguments of final_answer must be a JSON object, got a list."
    error = f"{what} Call final_answer again with an object."
    played(
        tool,
        replies_calling(("call_a", "final_answer", "[1]")),
        finishes(InvalidOutput("[1]", error)),
    )


def test_a_call_of_the_final_tool_ends_the_run() -> None:
    run = played(plan_of(PING), replies_calling(ONE), finishes(RIGHT))
    assert OutputCalled(1, 1) in run.notes
    assert list(run.state.messages.messages)[1:] == [calling(ONE), TAKEN]
    assert (run.state.tally.tool_calls, run.state.tally.failed_calls, run.state.memory.called) == (0, 0, ())


def test_a_wrong_call_is_told_like_the_call_of_a_tool() -> None:
    fault = schema_violation_fault("final_answer", [NOT_3])
    cut = ("call_a", "final_answer", '{"n":')
    why = "Expecting value at line 1, column 6"
    run = played(
        plan_of(PING),
        replies_calling(WRONG),
        asks(calling(WRONG), faults("call_a", "final_answer", fault)),
        replies_calling(cut),
        asks(
            calling(("call_a", "final_answer", "{}")),
            faults("call_a", "final_answer", arguments_not_json("final_answer", why)),
        ),
        replies_calling(WRONG),
        finishes(InvalidOutput('{"n":"3"}', fault.message)),
    )
    assert run.state.tally.failed_calls == 0


def test_a_truncated_call_is_never_the_answer() -> None:
    fault = arguments_truncated_fault("final_answer")
    plan = plan_of(output_mode="tool", schema=NUMBERS, output_retries=0)
    wrapped = ("call_a", "final_answer", "[1]")
    played(plan, replies_calling(wrapped, finish="length"), finishes(InvalidOutput("[1]", fault.message)))


@pytest.mark.parametrize(
    ("arguments", "value", "coded"), worked("the arguments may be the value itself", "runs-and-plans")
)
def test_the_arguments_may_be_the_value_itself(arguments: str, value: str, coded: list[str]) -> None:
    plan = plan_of(output_mode="tool", schema=NUMBERS)
    call = ("call_a", "final_answer", arguments)
    run = played(plan, replies_calling(call), finishes(Completed(value, JsonText(value))))
    assert codes(run) == coded


def test_an_answer_in_doubt_is_not_taken() -> None:
    plan = plan_of(output_mode="tool", schema={"type": "object", "required": ["n"]}, output_retries=0)
    call = ("call_a", "final_answer", '{"name":"ping","arguments":{"n":1}}')
    violation = Violation("", "the required 'n'", '{"name":"ping","arguments":{"n":1}}')
    fault = schema_violation_fault("final_answer", [violation])
    played(plan, replies_calling(call), finishes(InvalidOutput(call[2], fault.message)))


def test_an_answer_beside_calls_of_tools_is_told_to_come_alone() -> None:
    run = played(
        plan_of(PING),
        replies_calling(ONE, CALLED),
        runs("call_b", "ping", {}),
        returns("pong"),
        asks(
            calling(ONE, CALLED),
            faults("call_a", "final_answer", output_not_alone("final_answer")),
            tells("call_b", "ping", {"value": "pong"}),
        ),
        replies_calling(("call_c", "final_answer", '{"n":1}')),
        finishes(RIGHT),
    )
    assert [note.code for note in run.notes if isinstance(note, CallRejected)] == ["OUTPUT_TOO_EARLY"]
    assert (run.state.tally.tool_calls, run.state.memory.called) == (1, ("ping",))


def test_of_several_answers_the_first_that_fits_is_taken() -> None:
    other = ("call_b", "final_answer", '{"n":2}')
    run = played(
        plan_of(PING), replies_calling(WRONG, other), finishes(Completed('{"n":2}', JsonText('{"n":2}')))
    )
    results = [message for message in run.state.messages.messages if isinstance(message, ToolMessage)]
    assert [result.call_id for result in results] == ["call_a", "call_b"]
    assert call_abandoned("final_answer").message in results[0].content


def test_an_enforced_run_needs_its_tools_first() -> None:
    why = "You have not called a tool yet. The tools are: ping. Call the one that you need now."
    plan = plan_of(PING, tool_use_mode="enforced", nudge_no_tool_calls=1)
    early = faults("call_a", "final_answer", output_too_early("final_answer", why))
    again = ("call_c", "final_answer", '{"n":1}')
    played(
        plan,
        replies_calling(ONE),
        asks(calling(ONE), early),
        *PINGED,
        replies_calling(again),
        finishes(RIGHT),
    )
    told = asks(calling(ONE), early)
    run = played(plan, replies_calling(ONE), told, replies_calling(again), finishes(NoToolCalls('{"n":1}')))
    assert isinstance(list(run.state.messages.messages)[-1], ToolMessage)
    in_text = asks(AssistantMessage('{"n":1}'), UserMessage(why))
    played(plan, replies('{"n":1}'), in_text, replies_calling(again), finishes(NoToolCalls('{"n":1}')))


def test_failed_tools_of_an_enforced_run_are_the_outcome_whatever_the_answer_is() -> None:
    fault = arguments_not_json("ping", "Expecting value at line 1, column 1")
    bad = ("call_b", "ping", "x")
    played(
        plan_of(PING, tool_use_mode="enforced"),
        replies_calling(bad),
        asks(calling(("call_b", "ping", "{}")), faults("call_b", "ping", fault)),
        replies_calling(ONE),
        finishes(ToolFailed(("ping",))),
    )


def test_after_an_empty_answer_the_final_tool_is_still_there() -> None:
    plan = plan_of(PING)
    wanted = UserMessage(f"Give your final answer now. {BY_CALL}")
    other = ("call_c", "ping", "{}")
    run = played(
        plan, *PINGED, replies(""), asks(wanted, tools=False), replies_calling(ONE, other), finishes(RIGHT)
    )
    (ignored,) = [note for note in run.notes if isinstance(note, CallsIgnored)]
    assert (ignored.names, ignored.why) == (("ping",), "tools_off")
    told = faults("call_a", "final_answer", schema_violation_fault("final_answer", [NOT_3]))
    played(
        plan,
        *PINGED,
        replies(""),
        asks(wanted, tools=False),
        replies_calling(WRONG),
        asks(calling(WRONG), told, tools=False),
        replies_calling(("call_d", "final_answer", '{"n":1}')),
        finishes(RIGHT),
    )


def test_an_empty_first_reply_is_asked_for_the_answer() -> None:
    first = UserMessage(
        "Your reply was empty. Call the tool that you need, or call final_answer with your answer."
    )
    played(plan_of(PING), replies(""), asks(first), replies_calling(ONE), finishes(RIGHT))
    own = plan_of(PING, fix_empty_final_text="Well?")
    played(
        own,
        *PINGED,
        replies(""),
        asks(UserMessage("Well?"), tools=False),
        replies('{"n":1}'),
        finishes(RIGHT),
    )


def test_a_server_that_rejects_tools_is_asked_for_json_in_the_text() -> None:
    plan = plan_of(PING, fallback_without_tools=True)
    refused = fails_to_send("status", "tools are not supported", 400)
    spec = OutputSpec.of(COUNT)
    played(
        plan,
        refused,
        asks(UserMessage(output_instruction(spec)), tools=False),
        replies("One."),
        asks(AssistantMessage("One."), UserMessage(f"{NO_JSON} {AS_JSON}"), tools=False),
        replies('{"n":1}'),
        finishes(RIGHT),
    )
    native = plan_of(PING, fallback_without_tools=True, output_mode="native")
    played(native, refused, asks(tools=False), replies('{"n":1}'), finishes(RIGHT))


def test_truncated_and_refused_answers_keep_their_outcomes() -> None:
    played(plan_of(), replies('{"n":1}', finish="length"), finishes(Truncated('{"n":1}')))
    refusal: Json = {"choices": [{"message": {"refusal": "No."}, "finish_reason": "stop"}]}
    played(plan_of(), replies_with(refusal), finishes(Refused("No.")))


CALL_LIKE: dict[str, Json] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
}


def test_json_that_was_asked_for_is_an_answer_although_it_looks_like_a_call() -> None:
    text = '{"name":"ping","arguments":{}}'
    for settings in ({}, {"text_dialects": ("json_envelope",)}):
        plan = plan_of(PING, schema=CALL_LIKE, output_mode="text", **settings)
        played(plan, replies(text), finishes(Completed(text, JsonText(text))))


def test_markup_of_a_call_in_a_string_of_the_answer_is_no_call() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"text": {"type": "string"}}}
    for inner in ('<tool_call>{"name":"ping"}</tool_call>', "<function=ping></function>"):
        text = canonical({"text": inner})
        for settings in ({}, {"text_dialects": ("marked",)}):
            plan = plan_of(PING, schema=schema, output_mode="text", **settings)
            played(plan, replies(text), finishes(Completed(text, text)))


def test_a_call_written_as_text_is_one_still() -> None:
    text = '<tool_call>{"name":"ping","arguments":{}}</tool_call>'
    anything: dict[str, Json] = {"type": "object"}
    plan = plan_of(PING, schema=anything, output_mode="text", text_dialects=("hermes_json",))
    Playbook(plan).play_up_to(asks(), replies(text), runs("call_1_0", "ping", {}))
    plan = plan_of(PING, schema=anything, output_mode="text", text_dialects=())
    for unread in (text, '{"name":"ping","arguments":{}}'):
        step = answered(plan, body_of(unread))
        assert not any(isinstance(note, OutputRejected) for note in step.notes)
        assert "looks like a tool call written as text" in str(list(step.state.messages.messages)[-1])


def test_an_answer_as_a_call_in_text_is_read_by_its_dialect() -> None:
    text = '<tool_call>{"name":"final_answer","arguments":{"n":1}}</tool_call>'
    plan = plan_of(PING, text_dialects=("hermes_json",))
    played(plan, replies(text), finishes(RIGHT))
    unread = plan_of(output_mode="tool", text_dialects=())
    nudge = (
        "Your reply looks like a tool call written as text, and nothing was run. "
        "The tools are: final_answer. If you need one, make a tool call; "
        "if this was your answer, put such markup into a code block."
    )
    played(
        unread,
        replies(text),
        asks(AssistantMessage(text), UserMessage(nudge)),
        replies_calling(ONE),
        finishes(RIGHT),
    )


def test_a_call_of_the_final_tool_is_an_answer_in_any_notation() -> None:
    text = '{"name":"final_answer","arguments":{"n":1}}'
    run = played(plan_of(PING), replies(text), finishes(Completed(text, JsonText('{"n":1}'))))
    assert "ARGUMENTS_UNWRAPPED" in codes(run)
    nothing = plan_of(PING, schema={"type": "object"})
    played(nothing, replies("{}"), finishes(Completed("{}", JsonText("{}"))))


def test_the_outcome_of_a_text_that_breaks_off_is_not_the_value() -> None:
    text = '<tool_call>{"name": "ping", "arguments": {'
    plan = plan_of(PING, output_mode="text", text_dialects=("hermes_json",), max_turns=1)
    phase = answered(plan, body_of(text)).state.phase
    assert phase == Settled(InvalidReply("MALFORMED_FUNCTION_CALL", text))


def test_arguments_that_are_no_json_at_all_are_told() -> None:
    plan = plan_of(output_mode="tool", schema=NUMBERS, output_retries=0)
    fault = arguments_not_json("final_answer", "Expecting value at line 1, column 1")
    played(
        plan, replies_calling(("call_a", "final_answer", "x")), finishes(InvalidOutput("x", fault.message))
    )
