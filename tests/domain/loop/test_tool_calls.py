from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.playbook import (
    Playbook,
    Turn,
    approves,
    asks,
    at,
    calling,
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
from toolreel_core._conversation import ToolMessage
from toolreel_core._jsontext import canonical
from toolreel_core._loop import start, step, with_repetition_warning
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    CallAbandoned,
    CallEnded,
    CallRepeated,
    Completed,
    QuirkApplied,
    RepairApplied,
    RepeatedCall,
    SendRequest,
)
from toolreel_core._schema import Violation
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import (
    ToolDefinition,
    arguments_violate_schema,
    failed,
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
READING = (replace(ADD, read_only=True), replace(PING, read_only=True))
A = ("call_a", "add", '{"a":1}')
C = ("call_c", "ping", "{}")
CALLS_A: tuple[Turn, ...] = (replies_calling(A), runs("call_a", "add", {"a": 1}))
DONE = (replies("Done."), finishes(Completed("Done.")))


def book(tools: tuple[ToolDefinition, ...] = (ADD, PING), /, **settings: object) -> Playbook:
    return Playbook(Plan.of(model="m", messages="hi", tools=tools, config=LoopConfig.of(settings)))


def elapsed(played: Playbook) -> list[tuple[str, int | None]]:
    """How long each call took, in the order in which they ended."""
    return [(note.call_id, note.elapsed_ms) for note in played.notes if isinstance(note, CallEnded)]


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


@pytest.mark.parametrize(("own", "of_run", "fits"), [(4, 1, True), (3, 4, False)])
def test_a_limit_of_the_tool_on_output_goes_before_that_of_the_run(own: int, of_run: int, fits: bool) -> None:
    fault = faults("call_a", "add", output_too_large("add", 4, own))
    message = tells("call_a", "add", {"value": 1000}) if fits else fault
    book((replace(ADD, max_output_bytes=own),), max_tool_output_bytes=of_run).play(
        asks(), *CALLS_A, returns_text("1000"), asks(calling(A), message), *DONE
    )


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


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, '{"ok":true,"tool_name":"add","data":{"value":1},"warnings":[],"errors":[]}'),
        (
            {"tool_result_transforms": ["tool_result_compact_envelope"]},
            '{"ok":true,"tool_name":"add","data":{"value":1}}',
        ),
        ({"result_format": "plain"}, "1"),
        ({"result_format": "plain", "tool_result_transforms": ["tool_result_compact_envelope"]}, "1"),
    ],
)
def test_settings_say_what_the_model_reads_of_a_result(settings: dict[str, Any], text: str) -> None:
    played = book(**settings).play(
        asks(), *CALLS_A, returns(1), asks(calling(A), ToolMessage("call_a", text)), *DONE
    )
    changed = settings.get("tool_result_transforms", [])
    assert [note.name for note in played.notes if isinstance(note, QuirkApplied)] == changed


def test_a_long_task_and_long_calls_are_shortened_and_only_the_latest_are_told() -> None:
    config = LoopConfig(restate_task=True, max_turns=20)
    at = start(Plan.of(model="m", messages="x" * 5_000, tools=[ADD], config=config))
    for number in (*range(14), 13):
        asked = replies_calling(("call_a", "add", canonical({"a": number, "s": "y" * 300})))
        at = step(step(at.state, asked(at.state.next_ref - 1)).state, returns(1)(at.state.next_ref))
    (effect,) = at.effects
    assert isinstance(effect, SendRequest)
    task, _, *calls, _ = effect.request.reminder.splitlines()
    assert (len(task), {len(call) for call in calls}) == (1_013, {202})
    assert [call.split(",")[0] for call in calls] == [f'- add {{"a":{number}' for number in range(2, 14)]
