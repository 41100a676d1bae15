from __future__ import annotations

from dataclasses import replace

import pytest

from tests.playbook import (
    Playbook,
    Turn,
    approves,
    asks,
    at,
    calling,
    denies,
    faults,
    finishes,
    of,
    replies,
    replies_calling,
    returns,
    returns_text,
    runs,
    seeks_approval,
    tells,
)
from tests.samples import PLAN
from toolreel_core._conversation import ToolMessage
from toolreel_core._jsontext import JsonText, canonical
from toolreel_core._loop import rendered, with_repetition_warning
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    BudgetSpent,
    CallAbandoned,
    CallEnded,
    CallRepeated,
    Completed,
    QuirkApplied,
    RepairApplied,
    RepeatedCall,
    State,
)
from toolreel_core._schema import Violation
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import (
    Envelope,
    ToolDefinition,
    ToolFailure,
    arguments_violate_schema,
    call_abandoned,
    call_denied,
    failed,
    output_not_json,
    output_too_large,
    tool_not_found,
)

ADD = ToolDefinition.of(
    "add",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "s": {"type": "string"}, "x": {}},
        "required": ["a"],
    },
)
PING = ToolDefinition.of("ping")
GUARDED = replace(ADD, needs_approval=True)
READING = (replace(ADD, read_only=True), replace(PING, read_only=True))
A = ("call_a", "add", '{"a":1}')
B = ("call_b", "add", '{"a":2}')
C = ("call_c", "ping", "{}")
CALLS_A: tuple[Turn, ...] = (replies_calling(A), runs("call_a", "add", {"a": 1}))
DONE = (replies("Done."), finishes(Completed("Done.")))


def book(tools: tuple[ToolDefinition, ...] = (ADD, PING), /, **settings: int | bool | None) -> Playbook:
    return Playbook(Plan.of(model="m", messages="hi", tools=tools, config=LoopConfig.of(settings)))


def elapsed(played: Playbook) -> list[tuple[str, int | None]]:
    """How long each call took, in the order in which they ended."""
    return [(note.call_id, note.elapsed_ms) for note in played.notes if isinstance(note, CallEnded)]


def test_how_long_a_call_took_is_noted_where_events_tell_the_time() -> None:
    both = (calling(A, C), tells("call_a", "add", {"value": 1}), tells("call_c", "ping", {"value": 3}))
    played = book().play(
        asks(),
        at(1_000, replies_calling(A, C)),
        runs("call_a", "add", {"a": 1}),
        at(1_250, returns(1)),
        runs("call_c", "ping", {}),
        at(1_250, returns(3)),
        asks(*both),
        *DONE,
    )
    assert elapsed(played) == [("call_a", 250), ("call_c", 0)]


def test_calls_that_run_together_are_each_measured_from_their_start() -> None:
    both = (calling(A, C), tells("call_a", "add", {"value": 1}), tells("call_c", "ping", {"value": 3}))
    played = book(READING, parallel_tools=True).play(
        asks(),
        at(1_000, replies_calling(A, C)),
        runs("call_a", "add", {"a": 1}),
        runs("call_c", "ping", {}),
        of("call_c", at(1_100, returns(3))),
        of("call_a", at(1_700, returns(1))),
        asks(*both),
        *DONE,
    )
    assert elapsed(played) == [("call_c", 100), ("call_a", 700)]


def test_a_call_that_waited_for_approval_is_measured_from_then_on() -> None:
    played = book((GUARDED,)).play(
        asks(),
        at(1_000, replies_calling(A)),
        seeks_approval("call_a", "add", {"a": 1}),
        at(90_000, approves()),
        runs("call_a", "add", {"a": 1}),
        at(90_010, returns(1)),
        asks(calling(A), tells("call_a", "add", {"value": 1})),
        *DONE,
    )
    assert elapsed(played) == [("call_a", 10)]


@pytest.mark.parametrize(("replied", "returned", "took"), [(1_000, None, None), (1_000, 900, 0)])
def test_a_time_that_is_not_told_or_runs_backwards_makes_no_duration(
    replied: int, returned: int | None, took: int | None
) -> None:
    played = book().play(
        asks(),
        at(replied, replies_calling(A)),
        runs("call_a", "add", {"a": 1}),
        returns(1) if returned is None else at(returned, returns(1)),
        asks(calling(A), tells("call_a", "add", {"value": 1})),
        *DONE,
    )
    assert elapsed(played) == [("call_a", took)]


def test_a_made_up_name_as_long_as_a_page_is_not_told_back_whole() -> None:
    page, cut = "x" * 9_000, "x" * 80 + "…"
    first, second, third, fourth = ((f"call_{n}", page, "{}") for n in range(4))
    result = failed(cut, tool_not_found(page, ("add", "ping")))
    played = book(repetition_warn=2, repetition_stop=3).play(
        asks(),
        replies_calling(first),
        asks(calling(first), ToolMessage("call_0", result.text())),
        replies_calling(second),
        asks(calling(second), ToolMessage("call_1", with_repetition_warning(result, 2).text())),
        replies_calling(third, fourth),
        finishes(RepeatedCall(cut, 3)),
    )
    assert all(len(str(note)) < 500 for note in played.notes)
    assert CallRepeated(2, cut, 2) in played.notes
    assert CallAbandoned(3, "call_3", cut) in played.notes
    assert played.state.memory.called == (cut,)


def told(output: str, message: ToolMessage, **settings: int) -> Playbook:
    """What the model is told when the tool hands over this output."""
    return book(**settings).play(asks(), *CALLS_A, returns_text(output), asks(calling(A), message), *DONE)


@pytest.mark.parametrize(("own", "of_run", "fits"), [(4, 1, True), (3, 4, False)])
def test_a_limit_of_the_tool_on_output_goes_before_that_of_the_run(own: int, of_run: int, fits: bool) -> None:
    fault = faults("call_a", "add", output_too_large("add", 4, own))
    message = tells("call_a", "add", {"value": 1000}) if fits else fault
    book((replace(ADD, max_output_bytes=own),), max_tool_output_bytes=of_run).play(
        asks(), *CALLS_A, returns_text("1000"), asks(calling(A), message), *DONE
    )


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


def test_a_call_that_is_denied_again_and_again_ends_the_run() -> None:
    asked = seeks_approval("call_a", "add", {"a": 1})
    played = book((GUARDED, PING), repetition_warn=None, repetition_stop=2).play(
        asks(),
        replies_calling(A),
        asked,
        denies(),
        asks(calling(A), faults("call_a", "add", call_denied("add", ""))),
        replies_calling(A, C),
        asked,
        denies(),
        finishes(RepeatedCall("add", 2)),
    )
    assert played.state.messages.messages[-1] == faults("call_c", "ping", call_abandoned("ping"))


def test_a_call_that_may_not_run_is_told_among_those_that_run_together() -> None:
    bad = ("call_x", "add", "{}")
    missing = arguments_violate_schema("add", [Violation("", "the required 'a'", "{}")])
    book(READING, parallel_tools=True).play(
        asks(),
        replies_calling(A, bad, C),
        runs("call_a", "add", {"a": 1}),
        runs("call_c", "ping", {}),
        of("call_c", returns(3)),
        of("call_a", returns(1)),
        asks(
            calling(A, bad, C),
            tells("call_a", "add", {"value": 1}),
            faults("call_x", "add", missing),
            tells("call_c", "ping", {"value": 3}),
        ),
        *DONE,
    )


def test_no_more_calls_start_together_than_the_budget_allows() -> None:
    played = book(READING, parallel_tools=True, max_tool_calls=2).play(
        asks(),
        replies_calling(A, B, C),
        runs("call_a", "add", {"a": 1}),
        runs("call_b", "add", {"a": 2}),
        of("call_b", returns(2)),
        of("call_a", returns(1)),
        finishes(BudgetSpent("tool_calls", 2, 2)),
    )
    assert played.state.messages.messages[-1] == faults("call_c", "ping", call_abandoned("ping"))
    assert played.state.tally.tool_calls == 2


def test_a_circle_among_calls_that_run_together_ends_the_run_when_all_are_written() -> None:
    both = (runs("call_a", "add", {"a": 1}), runs("call_c", "ping", {}))
    again: tuple[Turn, ...] = (
        replies_calling(A, C),
        *both,
        of("call_a", returns(1)),
        of("call_c", returns(2)),
    )
    results = (tells("call_a", "add", {"value": 1}), tells("call_c", "ping", {"value": 2}))
    settings = {"parallel_tools": True, "repetition_warn": None, "repetition_stop": 2}
    played = book(READING, **settings).play(
        asks(), *again, asks(calling(A, C), *results), *again, finishes(RepeatedCall("add", 2))
    )
    assert tuple(played.state.messages.messages)[-2:] == results


@pytest.mark.parametrize("approval", [False, True])
def test_arguments_that_are_decoded_for_their_schema_are_noted_and_are_what_is_approved_and_run(
    approval: bool,
) -> None:
    tags = ToolDefinition.of(
        "tag", parameters={"properties": {"tags": {"type": "array"}}}, needs_approval=approval
    )
    call = ("call_a", "tag", '{"tags": "[1]"}')
    approved = (seeks_approval("call_a", "tag", {"tags": [1]}), approves()) if approval else ()
    played = Playbook(Plan.of(model="m", messages="hi", tools=[tags])).play(
        asks(),
        replies_calling(call),
        *approved,
        runs("call_a", "tag", {"tags": [1]}),
        returns("ok"),
        asks(calling(call), tells("call_a", "tag", {"value": "ok"})),
        *DONE,
    )
    assert played.notes.count(RepairApplied(1, "ARGUMENTS_DECODED")) == 1


FINE = Envelope(True, "echo", canonical({"text": "hi"}))
COMPACT = LoopConfig(tool_result_transforms=("tool_result_compact_envelope",))


def run_with(config: LoopConfig = PLAN.config, provider: Provider = PLAN.provider) -> State:
    return State.idle(replace(PLAN, config=config, provider=provider))


def test_transforms_change_what_the_model_reads_and_leave_a_note() -> None:
    text, notes = rendered(run_with(COMPACT), FINE)
    assert text == '{"ok":true,"tool_name":"echo","data":{"text":"hi"}}'
    assert notes == (QuirkApplied(0, "tool_result_compact_envelope"),)


def test_a_transform_that_changes_nothing_leaves_no_note() -> None:
    full = replace(FINE, warnings=("slow",), errors=(ToolFailure("X", "no"),))
    assert rendered(run_with(COMPACT), full) == (full.text(), ())


def test_a_result_of_strangers_is_noted() -> None:
    labelled = replace(FINE, untrusted=True)
    assert rendered(run_with(), labelled) == (labelled.text(), (QuirkApplied(0, "untrusted_tools"),))


def test_a_plain_result_is_its_data_also_after_transforms_and_a_failure_keeps_its_envelope() -> None:
    plain = run_with(LoopConfig(result_format="plain"))
    assert rendered(plain, FINE) == ('{"text":"hi"}', ())
    refused = failed("echo", call_denied("echo", "no"))
    assert rendered(plain, refused) == (refused.text(), ())
    compact = replace(COMPACT, result_format="plain")
    assert rendered(run_with(compact), FINE)[0] == '{"text":"hi"}'
