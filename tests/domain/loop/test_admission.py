from __future__ import annotations

from collections.abc import Mapping
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
from tests.samples import worked
from toolreel_core._conversation import ToolMessage
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import admit_call, pending, start, step, with_repetition_warning
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    ApprovalGiven,
    AskApproval,
    AwaitingApproval,
    CallAbandoned,
    CallEnded,
    CallRejected,
    CallRepeated,
    CallStarted,
    Completed,
    QuirkApplied,
    RepairApplied,
    RepeatedCall,
    ReplyReceived,
    RunTool,
    SendRequest,
    ToolFailed,
    ToolReturned,
    dump,
    load_state,
)
from toolreel_core._replies import ArgumentsOrError, Intended, ToolCall, read_arguments
from toolreel_core._schema import Violation
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import (
    Fault,
    ToolDefinition,
    ToolSurface,
    arguments_too_large,
    failed_envelope,
    masked,
    output_too_large,
    schema_violation_fault,
    tool_not_allowed_fault,
    tool_not_found_fault,
)

ADD = ToolDefinition.of(
    "add",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "s": {"type": "string"}},
        "required": ["a"],
    },
)
TOOLS = ToolSurface((ADD, ToolDefinition.of("ping")))


def call(name: str = "add", arguments: str = '{"a":1}', value: ArgumentsOrError | None = None) -> ToolCall:
    read = read_arguments(arguments, max_depth=64)
    return ToolCall("call_a", name, read.value if value is None else value, read.original)


def plan(
    config: LoopConfig | None = None, tools: ToolSurface = TOOLS, options: Mapping[str, Json] | None = None
) -> Plan:
    return Plan.of(model="m", messages="hi", tools=tools, config=config, options=options)


@pytest.mark.parametrize(("own", "of_run", "fits"), [(7, 1, True), (6, 7, False)])
def test_a_limit_of_the_tool_goes_before_that_of_the_run(own: int, of_run: int, fits: bool) -> None:
    tools = ToolSurface((ToolDefinition.of("add", parameters={}, max_args_bytes=own),))
    found = admit_call(call(arguments='{"a":1}'), plan(LoopConfig(max_tool_args_bytes=of_run), tools))
    assert found == (Intended(canonical({"a": 1})) if fits else arguments_too_large("add", 7, own))


NESTED = ToolDefinition.of(
    "edit",
    parameters={
        "type": "object",
        "properties": {"edits": {"type": "array"}, "note": {"type": "string"}},
        "required": ["edits"],
        "additionalProperties": False,
    },
)


def admitted(arguments: str, **changes: Json) -> object:
    config = LoopConfig.of(changes)
    return admit_call(call("edit", arguments), plan(config, ToolSurface((NESTED,))))


def test_an_envelope_that_may_be_meant_as_it_is_does_not_run() -> None:
    found = admitted('{"name": "wipe", "arguments": {"edits": []}}')
    assert isinstance(found, Fault)
    assert found.message.startswith('The arguments of edit are a whole call of "wipe".')
    assert found.code == "ARGUMENTS_SCHEMA_ERROR"


LOOKING = replace(ADD, name="look", read_only=True)
GUARDED = replace(ADD, name="wipe", needs_approval=True)
UNTRUSTING = ToolSurface((ADD, LOOKING, GUARDED))


def written(name: str, provenance: str = "text:hermes_json") -> ToolCall:
    return replace(call(name), provenance=provenance)


@pytest.mark.parametrize(
    ("policy", "name", "provenance", "code"),
    worked("what a call in text may run is a policy", "runs-and-plans"),
)
def test_what_a_call_in_text_may_run_is_a_policy(
    policy: str, name: str, provenance: str, code: str | None
) -> None:
    careful, made = plan(LoopConfig.of({"text_calls_for": policy}), UNTRUSTING), written(name, provenance)
    admission = admit_call(made, careful)
    assert (admission.code if isinstance(admission, Fault) else None) == code


READ_FILE = ToolDefinition.of(
    "files.read",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "from": {"type": "integer"}},
        "required": ["path"],
    },
)
DELETE = ToolDefinition.of("files.delete")
DOOR = ToolDefinition.of("secret.door", exposed=False)
FILES = masked(ToolSurface((READ_FILE, DELETE, DOOR)), deny=["*.delete"])
DONE = (replies("Done."), finishes(Completed("Done.")))


def files_plan(tools: ToolSurface = FILES, **settings: Json) -> Plan:
    return Plan.of(model="m", messages="hi", tools=tools, config=LoopConfig.of(settings))


def reading(call_id: str, name: str = "files_read", path: str = "a") -> tuple[str, str, str]:
    return call_id, name, canonical({"path": path})


@pytest.mark.parametrize("written", ["files_read", "files.read"])
def test_a_call_by_either_name_runs_the_tool_and_history_keeps_what_was_written(written: str) -> None:
    call = reading("call_a", written)
    played = Playbook(files_plan()).play(
        asks(),
        replies_calling(call),
        runs("call_a", "files.read", {"path": "a"}),
        returns("text"),
        asks(calling(call), tells("call_a", written, {"value": "text"})),
        *DONE,
    )
    assert CallStarted(1, "call_a", written, "structured") in played.notes


@pytest.mark.parametrize("written", ["files_delete", "files.delete"])
def test_a_masked_tool_is_never_run_and_the_model_is_told_what_it_may_call(written: str) -> None:
    call = ("call_a", written, "{}")
    told = tool_not_allowed_fault(written, ["files_read"])
    played = Playbook(files_plan()).play(
        asks(), replies_calling(call), asks(calling(call), faults("call_a", written, told)), *DONE
    )
    assert CallRejected(1, "call_a", written, "TOOL_NOT_ALLOWED", told.message) in played.notes
    assert told.message == (
        f"{written} was not run: it is not allowed here. You may call: files_read. "
        "Call one of these, or answer in text."
    )


def test_both_names_count_as_one_tool_where_its_last_result_decides() -> None:
    wrong, right = ("call_a", "files.read", "{}"), reading("call_b", "files_read")
    missing = schema_violation_fault(READ_FILE.name, [Violation("", "the required 'path'", "{}")])
    book = Playbook(files_plan(tool_use_mode="enforced"))
    begun = (asks(), replies_calling(wrong), asks(calling(wrong), faults("call_a", READ_FILE.name, missing)))
    book.play(
        *begun,
        replies_calling(right),
        runs("call_b", "files.read", {"path": "a"}),
        returns("text"),
        asks(calling(right), tells("call_b", "files_read", {"value": "text"})),
        *DONE,
    )
    assert book.state.memory.called == ("files.read",)
    ended = Playbook(files_plan(tool_use_mode="enforced")).play(
        *begun, replies("Gave up."), finishes(ToolFailed(("files.read",)))
    )
    assert not ended.state.memory.successes


NULLS = ("call_a", "files_read", '{"path": "a", "from": null}')


def test_what_is_approved_is_the_dropped_form_and_it_is_what_runs() -> None:
    tools = ToolSurface((replace(READ_FILE, needs_approval=True),))
    at = start(files_plan(tools, null_for_optional_is_absent=True))
    at = step(at.state, ReplyReceived(1, 200, reply(NULLS)))
    asked = AskApproval(2, "call_a", "files.read", canonical({"path": "a"}))
    assert at.effects == pending(at.state) == (asked,)
    assert isinstance(at.state.phase, AwaitingApproval)
    assert RepairApplied(1, "NULL_ARGUMENT_DROPPED") in at.notes
    at = step(load_state(dump(at.state)), ApprovalGiven(2, approved=True))
    assert at.effects == pending(at.state) == (RunTool(3, "call_a", "files.read", canonical({"path": "a"})),)
    assert keys(at.effects) == keys(pending(at.state))


def reply(*calls: tuple[str, str, str]) -> str:
    entries: list[Json] = [
        {"id": id_, "function": {"name": name, "arguments": text}} for id_, name, text in calls
    ]
    message: Json = {"content": None, "tool_calls": entries}
    return canonical({"choices": [{"message": message, "finish_reason": "tool_calls"}]})


def keys(effects: object) -> list[str]:
    assert isinstance(effects, tuple)
    return [effect.key for effect in effects if isinstance(effect, RunTool)]


def keys_of_two_turns(seed: int = 0, **settings: Json) -> list[str]:
    """The keys of a run with two turns of two calls each."""
    at = start(replace(files_plan(FILES, **settings), seed=seed))
    found: list[str] = []
    for turn in (1, 2):
        first = turn * 3 - 2
        at = step(at.state, ReplyReceived(first, 200, reply(reading("same_a"), reading("same_b"))))
        found += keys(at.effects)
        assert keys(pending(load_state(dump(at.state)))) == keys(at.effects)
        at = step(at.state, ToolReturned(first + 1, "1"))
        found += keys(at.effects)
        assert keys(pending(at.state)) == keys(at.effects)
        at = step(at.state, ToolReturned(first + 2, "1"))
    return found


def test_every_call_has_a_key_of_its_own_that_the_next_run_gives_again() -> None:
    found = keys_of_two_turns()
    assert len(set(found)) == 4
    assert keys_of_two_turns() == found
    assert not set(keys_of_two_turns(seed=1)) & set(found)


def test_keys_are_the_same_in_every_version() -> None:
    assert keys_of_two_turns()[0] == "72ffc9a5ced6e0bcce58f2169b50bf1ea118b69e835a28d7f2ade5740eeb3d87"


def test_a_call_knows_its_turn_which_is_no_part_of_it() -> None:
    at = start(files_plan())
    for turn in (1, 2):
        at = step(at.state, ReplyReceived(at.state.next_ref - 1, 200, reply(reading(f"call_{turn}"))))
        (effect,) = at.effects
        assert isinstance(effect, RunTool)
        assert (effect.turn, effect) == (turn, replace(effect, turn=9))
        at = step(at.state, ToolReturned(effect.ref, "1"))


ADD_THREE = ToolDefinition.of(
    "add",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "s": {"type": "string"}, "x": {}},
        "required": ["a"],
    },
)
PING = ToolDefinition.of("ping")
READING = (replace(ADD_THREE, read_only=True), replace(PING, read_only=True))
A = ("call_a", "add", '{"a":1}')
C = ("call_c", "ping", "{}")
CALLS_A: tuple[Turn, ...] = (replies_calling(A), runs("call_a", "add", {"a": 1}))


def book(tools: tuple[ToolDefinition, ...] = (ADD_THREE, PING), /, **settings: object) -> Playbook:
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
    result = failed_envelope(cut, tool_not_found_fault(page, ("add", "ping")))
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
    book((replace(ADD_THREE, max_output_bytes=own),), max_tool_output_bytes=of_run).play(
        asks(), *CALLS_A, returns_text("1000"), asks(calling(A), message), *DONE
    )


def test_a_call_that_may_not_run_is_told_among_those_that_run_together() -> None:
    bad = ("call_x", "add", "{}")
    missing = schema_violation_fault("add", [Violation("", "the required 'a'", "{}")])
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
    ("settings", "text"), worked("settings say what the model reads of a result", "runs-and-plans")
)
def test_settings_say_what_the_model_reads_of_a_result(settings: dict[str, Any], text: str) -> None:
    played = book(**settings).play(
        asks(), *CALLS_A, returns(1), asks(calling(A), ToolMessage("call_a", text)), *DONE
    )
    changed = settings.get("tool_result_transforms", [])
    assert [note.name for note in played.notes if isinstance(note, QuirkApplied)] == changed


def test_a_long_task_and_long_calls_are_shortened_and_only_the_latest_are_told() -> None:
    config = LoopConfig(restate_task=True, max_turns=20)
    at = start(Plan.of(model="m", messages="x" * 5_000, tools=[ADD_THREE], config=config))
    for number in (*range(14), 13):
        asked = replies_calling(("call_a", "add", canonical({"a": number, "s": "y" * 300})))
        at = step(step(at.state, asked(at.state.next_ref - 1)).state, returns(1)(at.state.next_ref))
    (effect,) = at.effects
    assert isinstance(effect, SendRequest)
    task, _, *calls, _ = effect.request.reminder.splitlines()
    assert (len(task), {len(call) for call in calls}) == (1_013, {202})
    assert [call.split(",")[0] for call in calls] == [f'- add {{"a":{number}' for number in range(2, 14)]
