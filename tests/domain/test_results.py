from __future__ import annotations

import pytest

from tests.playbook import (
    Playbook,
    asks,
    calling,
    faults,
    finishes,
    replies,
    replies_calling,
    returns,
    returns_text,
    runs,
    tells,
)
from toolreel.config import LoopConfig
from toolreel.envelope import Envelope, ToolFailure
from toolreel.events import CancelRequested
from toolreel.faults import (
    Fault,
    arguments_not_json,
    arguments_not_object,
    arguments_too_deep,
    arguments_too_large,
    arguments_violate_schema,
    call_cancelled,
    output_not_json,
    output_too_large,
    tool_not_found,
)
from toolreel.jsontext import Json, JsonText, canonical
from toolreel.messages import ToolMessage
from toolreel.notes import CallEnded, CallRejected, CallStarted
from toolreel.outcome import Cancelled, Completed
from toolreel.plan import Plan
from toolreel.schemas import Violation
from toolreel.state import AwaitingTools
from toolreel.surface import ToolDefinition

ADD = ToolDefinition.of(
    "add",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "s": {"type": "string"}, "x": {}},
        "required": ["a"],
    },
)
A = ("call_a", "add", '{"a":1}')
B = ("call_b", "add", '{"a":2}')
C = ("call_c", "ping", "{}")
DONE = (replies("Done."), finishes(Completed("Done.")))


def book(**settings: int) -> Playbook:
    tools = [ADD, ToolDefinition.of("ping")]
    return Playbook(Plan.of(model="m", messages="hi", tools=tools, config=LoopConfig.of(settings)))


def test_one_call_runs_and_its_result_goes_to_the_model() -> None:
    played = book().play(
        asks(),
        replies_calling(A),
        runs("call_a", "add", {"a": 1}),
        returns(2),
        asks(calling(A), tells("call_a", "add", {"value": 2})),
        *DONE,
    )
    size = len('{"ok":true,"tool_name":"add","data":{"value":2},"warnings":[],"errors":[]}')
    assert CallStarted(1, "call_a", "add", "structured") in played.notes
    assert CallEnded(1, "call_a", "add", True, (), size) in played.notes
    assert (played.state.tally.tool_calls, played.state.tally.failed_calls) == (1, 0)


def test_several_calls_run_one_after_another_in_their_order() -> None:
    played = book().play(
        asks(),
        replies_calling(A, B, C),
        runs("call_a", "add", {"a": 1}),
        returns(1),
        runs("call_b", "add", {"a": 2}),
        returns(2),
        runs("call_c", "ping", {}),
        returns(3),
        asks(
            calling(A, B, C),
            tells("call_a", "add", {"value": 1}),
            tells("call_b", "add", {"value": 2}),
            tells("call_c", "ping", {"value": 3}),
        ),
        *DONE,
    )
    assert played.state.tally.tool_calls == 3


def test_calls_that_may_not_run_are_answered_and_the_others_run() -> None:
    unknown, broken = ("call_x", "ad", "{}"), ("call_y", "add", "{")
    why = "Expecting property name enclosed in double quotes at line 1, column 2"
    played = book().play(
        asks(),
        replies_calling(unknown, A, broken, C, ("call_x", "pong", "{}")),
        runs("call_a", "add", {"a": 1}),
        returns(1),
        runs("call_c", "ping", {}),
        returns(3),
        asks(
            calling(unknown, A, ("call_y", "add", "{}"), C, ("call_1_4", "pong", "{}")),
            faults("call_x", "ad", tool_not_found("ad", ("add", "ping"))),
            tells("call_a", "add", {"value": 1}),
            faults("call_y", "add", arguments_not_json("add", why)),
            tells("call_c", "ping", {"value": 3}),
            faults("call_1_4", "pong", tool_not_found("pong", ("add", "ping"))),
        ),
        *DONE,
    )
    assert (played.state.tally.tool_calls, played.state.tally.failed_calls) == (2, 3)


def refused(call: tuple[str, str, str], fault: Fault, sent: str, **settings: int) -> None:
    """The call runs no tool: the model is told the fault, and the run goes on."""
    identity, name, _ = call
    played = book(**settings).play(
        asks(),
        replies_calling(call),
        asks(calling((identity, name, sent)), faults(identity, name, fault)),
        *DONE,
    )
    assert CallRejected(1, identity, name, fault.code, fault.message) in played.notes
    assert (played.state.tally.tool_calls, played.state.tally.failed_calls) == (0, 1)


def accepted(call: tuple[str, str, str], arguments: dict[str, Json], **settings: int) -> None:
    book(**settings).play_up_to(asks(), replies_calling(call), runs("call_a", "add", arguments))


def test_an_unknown_tool_is_told_with_the_nearest_name() -> None:
    fault = tool_not_found("ad", ("add", "ping"))
    assert fault.message.endswith("Did you mean 'add'?")
    refused(("call_a", "ad", "{}"), fault, "{}")


def test_arguments_that_are_not_json_are_told_where_they_break() -> None:
    fault = arguments_not_json("add", "Expecting value at line 1, column 6")
    refused(("call_a", "add", '{"a":'), fault, "{}")


def test_arguments_that_are_no_object_are_told_what_they_are() -> None:
    refused(("call_a", "add", "[1]"), arguments_not_object("add", "a list"), "{}")


def test_a_violated_schema_is_told_and_the_corrected_call_runs() -> None:
    wrong = ("call_a", "add", '{"a":"1"}')
    fault = arguments_violate_schema("add", [Violation("/a", "integer", '"1"')])
    book().play(
        asks(),
        replies_calling(wrong),
        asks(calling(wrong), faults("call_a", "add", fault)),
        replies_calling(B),
        runs("call_b", "add", {"a": 2}),
        returns(2),
        asks(calling(B), tells("call_b", "add", {"value": 2})),
        *DONE,
    )


def test_arguments_may_be_as_large_as_the_limit_in_bytes() -> None:
    own = '{"a":1,"s":"é€😀"}'
    size = len(own.encode())
    assert size == len(own) + 6
    for limit in (size, size + 1):
        accepted(("call_a", "add", own), {"a": 1, "s": "é€😀"}, max_tool_args_bytes=limit)
    fault = arguments_too_large("add", size, size - 1)
    refused(("call_a", "add", own), fault, own, max_tool_args_bytes=size - 1)


def test_arguments_may_nest_as_deeply_as_the_limit() -> None:
    own = '{"a":1,"x":[[]]}'
    for limit in (3, 4):
        accepted(("call_a", "add", own), {"a": 1, "x": [[]]}, max_argument_depth=limit)
    refused(("call_a", "add", own), arguments_too_deep("add", 2), "{}", max_argument_depth=2)


def told(output: str, message: ToolMessage, **settings: int) -> Playbook:
    """What the model is told when the tool hands over this output."""
    return book(**settings).play(
        asks(),
        replies_calling(A),
        runs("call_a", "add", {"a": 1}),
        returns_text(output),
        asks(calling(A), message),
        *DONE,
    )


def test_output_may_be_as_large_as_the_limit_in_bytes() -> None:
    output = canonical("é€😀")
    size = len(output.encode())
    assert size == len(output) + 6
    for limit in (size, size + 1):
        told(output, tells("call_a", "add", {"value": "é€😀"}), max_tool_output_bytes=limit)
    fault = output_too_large("add", size, size - 1)
    played = told(output, faults("call_a", "add", fault), max_tool_output_bytes=size - 1)
    assert [note.codes for note in played.notes if isinstance(note, CallEnded)] == [
        ("TOOL_OUTPUT_TOO_LARGE",)
    ]
    assert (played.state.tally.tool_calls, played.state.tally.failed_calls) == (1, 1)


def test_output_that_is_not_json_is_a_failure() -> None:
    fault = output_not_json("add", "Expecting value at line 1, column 1")
    told("Segmentation fault", faults("call_a", "add", fault))


@pytest.mark.parametrize(
    ("output", "envelope"),
    [
        ("7", Envelope(True, "add", JsonText('{"value":7}'))),
        ('{"sum": 7}', Envelope(True, "add", JsonText('{"sum":7}'))),
        (
            '{"ok": true, "data": {"sum": 7}, "warnings": ["slow"]}',
            Envelope(True, "add", JsonText('{"sum":7}'), ("slow",)),
        ),
        (
            '{"ok": false, "errors": [{"code": "ARGUMENT_ERROR", "message": "Too small."}]}',
            Envelope(False, "add", JsonText("{}"), (), (ToolFailure("ARGUMENT_ERROR", "Too small."),)),
        ),
    ],
)
def test_a_tool_may_return_a_scalar_an_object_or_an_envelope(output: str, envelope: Envelope) -> None:
    played = told(output, ToolMessage("call_a", envelope.text()))
    codes = tuple(error.code for error in envelope.errors)
    size = len(envelope.text())
    assert CallEnded(1, "call_a", "add", envelope.ok, codes, size) in played.notes
    assert played.state.tally.failed_calls == len(codes)


def test_a_result_that_settles_nothing_leaves_the_waiting_calls_in_the_phase() -> None:
    played = book().play_up_to(asks(), replies_calling(A, C), runs("call_a", "add", {"a": 1}))
    phase = played.state.phase
    assert isinstance(phase, AwaitingTools)
    assert (phase.ref, phase.running.id, [call.id for call in phase.waiting]) == (2, "call_a", ["call_c"])


def test_cancelling_answers_every_open_call() -> None:
    played = book().play(
        asks(),
        replies_calling(A, B, C),
        runs("call_a", "add", {"a": 1}),
        returns(1),
        runs("call_b", "add", {"a": 2}),
        CancelRequested("enough"),
        finishes(Cancelled("enough")),
    )
    assert list(played.state.messages.messages)[-3:] == [
        tells("call_a", "add", {"value": 1}),
        faults("call_b", "add", call_cancelled("add")),
        faults("call_c", "ping", call_cancelled("ping")),
    ]
    assert played.state.tally.failed_calls == 2
