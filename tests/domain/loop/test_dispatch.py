from __future__ import annotations

import json
from dataclasses import replace

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
    runs,
    tells,
)
from tests.samples import printed_under
from toolreel_core._conversation.message import AssistantMessage, SentCall, UserMessage
from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._loop.dispatch import ask_approval, call_key, run_tool
from toolreel_core._loop.reducer import start, step
from toolreel_core._loop.resume import pending
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.codec import dump, load_effect, load_state
from toolreel_core._protocol.effects import AskApproval, RunTool
from toolreel_core._protocol.events import ApprovalGiven, ReplyReceived, ToolReturned
from toolreel_core._protocol.notes import CallRejected, CallStarted, RepairApplied
from toolreel_core._protocol.outcome import Completed, ToolFailed
from toolreel_core._protocol.state import AwaitingApproval, AwaitingTools, State
from toolreel_core._replies.calls.arguments import read_arguments
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._schema.validation import Violation
from toolreel_core._settings.config import LoopConfig
from toolreel_core._tools.faults import arguments_violate_schema, tool_not_allowed
from toolreel_core._tools.sources import masked
from toolreel_core._tools.surface import ToolDefinition, ToolSurface

READ = ToolDefinition.of(
    "files.read",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "from": {"type": "integer"}},
        "required": ["path"],
    },
)
DELETE = ToolDefinition.of("files.delete")
DOOR = ToolDefinition.of("secret.door", exposed=False)
TOOLS = masked(ToolSurface((READ, DELETE, DOOR)), deny=["*.delete"])
DONE = (replies("Done."), finishes(Completed("Done.")))


def plan(tools: ToolSurface = TOOLS, **settings: Json) -> Plan:
    return Plan.of(model="m", messages="hi", tools=tools, config=LoopConfig.of(settings))


def reading(call_id: str, name: str = "files_read", path: str = "a") -> tuple[str, str, str]:
    return call_id, name, canonical({"path": path})


@pytest.mark.parametrize("written", ["files_read", "files.read"])
def test_a_call_by_either_name_runs_the_tool_and_history_keeps_what_was_written(written: str) -> None:
    call = reading("call_a", written)
    played = Playbook(plan()).play(
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
    told = tool_not_allowed(written, ["files_read"])
    played = Playbook(plan()).play(
        asks(), replies_calling(call), asks(calling(call), faults("call_a", written, told)), *DONE
    )
    assert CallRejected(1, "call_a", written, "TOOL_NOT_ALLOWED", told.message) in played.notes
    assert told.message == (
        f"{written} was not run: it is not allowed here. You may call: files_read. "
        "Call one of these, or answer in text."
    )


def test_what_is_masked_or_hidden_is_not_sent() -> None:
    (sent,) = start(plan()).effects
    body = json.loads(getattr(sent, "request").body)  # noqa: B009 - the first effect is a SendRequest
    assert [tool["function"]["name"] for tool in body["tools"]] == ["files_read"]


@pytest.mark.parametrize("written", ["secret_door", "secret.door"])
def test_a_tool_that_is_not_exposed_never_runs(written: str) -> None:
    call = ("call_a", written, "{}")
    refused = tool_not_allowed(written, ["files_read"])
    Playbook(plan()).play(
        asks(),
        replies_calling(call),
        asks(calling(call), faults("call_a", written, refused)),
        *DONE,
    )


def test_both_names_count_as_one_tool_where_its_last_result_decides() -> None:
    wrong, right = ("call_a", "files.read", "{}"), reading("call_b", "files_read")
    missing = arguments_violate_schema(READ.name, [Violation("", "the required 'path'", "{}")])
    book = Playbook(plan(tool_use_mode="enforced"))
    begun = (asks(), replies_calling(wrong), asks(calling(wrong), faults("call_a", READ.name, missing)))
    book.play(
        *begun,
        replies_calling(right),
        runs("call_b", "files.read", {"path": "a"}),
        returns("text"),
        asks(calling(right), tells("call_b", "files_read", {"value": "text"})),
        *DONE,
    )
    assert book.state.memory.called == ("files.read",)
    ended = Playbook(plan(tool_use_mode="enforced")).play(
        *begun, replies("Gave up."), finishes(ToolFailed(("files.read",)))
    )
    assert not ended.state.memory.successes


NULLS = ("call_a", "files_read", '{"path": "a", "from": null}')


def test_a_null_for_what_is_optional_is_dropped_if_that_is_asked_for() -> None:
    played = Playbook(plan(null_for_optional_is_absent=True)).play(
        asks(),
        replies_calling(NULLS),
        runs("call_a", "files.read", {"path": "a"}),
        returns("text"),
        asks(calling(NULLS), tells("call_a", "files_read", {"value": "text"})),
        *DONE,
    )
    assert RepairApplied(1, "NULL_ARGUMENT_DROPPED") in played.notes


def test_a_null_is_a_fault_otherwise() -> None:
    told = arguments_violate_schema("files.read", [Violation("/from", "integer", "null")])
    Playbook(plan()).play(
        asks(), replies_calling(NULLS), asks(calling(NULLS), faults("call_a", "files_read", told)), *DONE
    )


def test_what_is_approved_is_the_dropped_form_and_it_is_what_runs() -> None:
    tools = ToolSurface((replace(READ, needs_approval=True),))
    at = start(plan(tools, null_for_optional_is_absent=True))
    at = step(at.state, ReplyReceived(1, 200, reply(NULLS)))
    asked = AskApproval(2, "call_a", "files.read", canonical({"path": "a"}))
    assert at.effects == pending(at.state) == (asked,)
    assert isinstance(at.state.phase, AwaitingApproval)
    assert RepairApplied(1, "NULL_ARGUMENT_DROPPED") in at.notes
    at = step(load_state(dump(at.state)), ApprovalGiven(2, approved=True))
    assert at.effects == pending(at.state) == (RunTool(3, "call_a", "files.read", canonical({"path": "a"})),)
    assert keys(at.effects) == keys(pending(at.state)) == [call_key(at.state, at_call(at.state))]


def reply(*calls: tuple[str, str, str]) -> str:
    entries: list[Json] = [
        {"id": id_, "function": {"name": name, "arguments": text}} for id_, name, text in calls
    ]
    message: Json = {"content": None, "tool_calls": entries}
    return canonical({"choices": [{"message": message, "finish_reason": "tool_calls"}]})


def at_call(state: State) -> ToolCall:
    phase = state.phase
    assert isinstance(phase, AwaitingTools)
    return phase.running[0].call


def keys(effects: object) -> list[str]:
    assert isinstance(effects, tuple)
    return [effect.key for effect in effects if isinstance(effect, RunTool)]


def keys_of_two_turns(seed: int = 0) -> list[str]:
    """The keys of a run with two turns of two calls each."""
    at = start(replace(plan(), seed=seed))
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


def test_keys_are_the_same_in_every_process_and_version() -> None:
    program = "from tests.domain.loop.test_dispatch import *; print(*keys_of_two_turns())"
    assert {printed_under(seed, program) for seed in range(2)} == {" ".join(keys_of_two_turns())}
    assert keys_of_two_turns()[0] == "8e00b1e1af69b3d60d94c3d89a7fb602d21600d69401b20c7fedec33a2ed7292"


def test_calls_that_run_together_have_the_keys_of_their_places() -> None:
    tools = ToolSurface((replace(READ, read_only=True),))
    alone = start(plan(tools)).state
    together = start(plan(tools, parallel_tools=True)).state
    both = ReplyReceived(1, 200, reply(reading("a"), reading("b", path="b")))
    at = step(together, both)
    assert len(set(keys(at.effects))) == 2
    assert [effect.ref for effect in at.effects if isinstance(effect, RunTool)] == [2, 3]
    assert len(keys(step(alone, both).effects)) == 1


def test_the_key_goes_with_a_stored_effect_and_is_no_part_of_it() -> None:
    effect = RunTool(2, "a", "echo", canonical({}), "k")
    assert effect == RunTool(2, "a", "echo", canonical({}))
    loaded = load_effect(dump(effect))
    assert isinstance(loaded, RunTool)
    assert loaded.key == "k"
    assert "key" not in dump(RunTool(2, "a", "echo", canonical({})))


CALL = ToolCall("call_x", "files_read", read_arguments("{}", max_depth=9).value, "{}")


def test_effects_are_named_by_the_inner_name() -> None:
    state = State.idle(plan())
    arguments = canonical({"path": "a"})
    assert ask_approval(state, 3, CALL, arguments) == AskApproval(3, "call_x", "files.read", arguments)
    assert run_tool(state, 3, CALL, arguments) == RunTool(3, "call_x", "files.read", arguments)
    assert run_tool(state, 3, CALL, arguments).key == call_key(state, CALL)


def test_a_call_knows_its_turn_which_is_no_part_of_it() -> None:
    at = start(plan())
    for turn in (1, 2):
        at = step(at.state, ReplyReceived(at.state.next_ref - 1, 200, reply(reading(f"call_{turn}"))))
        (effect,) = at.effects
        assert isinstance(effect, RunTool)
        assert (effect.turn, effect) == (turn, replace(effect, turn=9))
        at = step(at.state, ToolReturned(effect.ref, "1"))


def test_a_call_that_the_model_did_not_say_last_is_named_by_its_id() -> None:
    state = State.idle(plan())
    elsewhere = state.said(AssistantMessage("", (SentCall("other", "files_read", "{}"),)))
    there = elsewhere.said(AssistantMessage("", (SentCall("call_x", "files_read", "{}"),)), UserMessage("?"))
    assert call_key(state, CALL) == call_key(elsewhere, CALL) != call_key(there, CALL)
