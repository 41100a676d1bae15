from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.playbook import body_of
from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._loop import start, step
from toolreel_core._plan import Plan
from toolreel_core._protocol import (
    Cancelled,
    CancelRequested,
    Completed,
    EmptyFinal,
    Event,
    NoToolCalls,
    ReplyReceived,
    RequestFailed,
    RunTool,
    SendRequest,
    ToolReturned,
    Truncated,
)
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition
from toolreel_core.evals import Evidence, ObservedCall, ObservedTurn, TableWorld, evidence_of

TOOLS = [ToolDefinition.of("look.up", read_only=True), ToolDefinition.of("list", read_only=True)]
DESK = TableWorld()


def body(content: str = "", *names: str, finish: str = "stop") -> JsonText:
    calls = [(f"call_{index}", name, "{ }") for index, name in enumerate(names)]
    return canonical(body_of(content, *calls, finish=finish))


def played(
    *answers: str | Event,
    outputs: Mapping[str, str] | None = None,
    tools: Sequence[ToolDefinition] = TOOLS,
    **config: Json,
) -> Evidence:
    """What is seen of a run in which the model answers with these bodies; tools answer by themselves."""
    plan = Plan.of(model="m", messages="hi", tools=tools, config=LoopConfig.of(config))
    at, left = start(plan), list(answers)
    notes = [*at.notes]
    while at.effects and (left or isinstance(at.effects[0], RunTool)):
        effect = at.effects[0]
        if isinstance(effect, RunTool) and outputs is not None:
            event: Event = ToolReturned(effect.ref, outputs[effect.name])
        else:
            assert isinstance(effect, SendRequest | RunTool)
            answer = left.pop(0)
            event = ReplyReceived(effect.ref, 200, answer) if isinstance(answer, str) else answer
        at = step(at.state, event)
        notes += at.notes
    return evidence_of(plan, at.state, notes, DESK)


def test_a_run_is_seen_turn_by_turn_with_its_calls_and_their_results() -> None:
    seen = played(body("I look.", "look_up", "nowhere"), body("Found."), outputs={"look.up": '{"at":1}'})
    looked, lost = seen.turns[0].calls
    assert looked == ObservedCall("look.up", "{ }", True, (), looked.result)
    assert '"at":1' in looked.result
    assert (lost.name, lost.ok, lost.codes) == ("nowhere", False, ("TOOL_NOT_FOUND",))
    assert seen.turns == (
        ObservedTurn("tool_calls", (looked, lost), "I look."),
        ObservedTurn("stop", (), "Found."),
    )
    assert seen.calls == (looked, lost)
    assert (seen.outcome, seen.final, seen.tools_sent) == (Completed("Found."), "Found.", True)
    assert seen.world == DESK


def test_a_call_that_was_done_before_counts_as_one_that_succeeded() -> None:
    bodies = (body("", "list"), body("", "list"), body("Done."))
    tools = [ToolDefinition.of("list")]
    seen = played(*bodies, outputs={"list": "{}"}, tools=tools, repeated_effects="refuse")
    assert [(call.ok, call.codes) for call in seen.calls] == [(True, ()), (True, ())]
    assert '"already_done":true' in seen.calls[1].result


def test_the_final_text_is_what_the_outcome_has() -> None:
    without, cut = played(body("No."), tool_use_mode="enforced"), played(body("Cut", finish="length"))
    assert (without.outcome, without.final) == (NoToolCalls("No."), "No.")
    assert (cut.outcome, cut.final) == (Truncated("Cut"), "Cut")
    empty = played(body(), fix_empty_final=False)
    assert (empty.outcome, empty.final, empty.turns) == (EmptyFinal(), "", (ObservedTurn("stop", (), ""),))


def test_a_reply_that_was_asked_for_again_counts_once() -> None:
    bodies = (body("First."), body("", "list"), body("Last."))
    seen = played(*bodies, outputs={"list": "1"}, tool_use_mode="enforced", nudge_no_tool_calls=1)
    assert [turn.text for turn in seen.turns] == ["First.", "", "Last."]
    assert [len(turn.calls) for turn in seen.turns] == [0, 1, 0]


def test_what_a_run_cut_short_had_no_result_for_was_cancelled() -> None:
    seen = played(body("", "list", "list"), CancelRequested("enough"))
    assert seen.outcome == Cancelled("enough")
    assert [(call.ok, call.codes) for call in seen.calls] == [(False, ("TOOL_CANCELLED",))] * 2


def test_a_run_that_has_not_ended_counts_as_cancelled() -> None:
    seen = played(body("", "list"), ToolReturned(2, "1"))
    assert seen.outcome == Cancelled("the run has not ended")
    assert [call.ok for call in seen.calls] == [True]


def test_calls_under_way_are_not_seen_yet() -> None:
    plan = Plan.of(model="m", messages="hi", tools=TOOLS, config=LoopConfig(parallel_tools=True))
    at = start(plan)
    notes = [*at.notes]
    for event in (ReplyReceived(1, 200, body("", "list", "look_up")), ToolReturned(2, "1")):
        at = step(at.state, event)
        notes += at.notes
    seen = evidence_of(plan, at.state, notes, DESK)
    assert seen.turns == (ObservedTurn("tool_calls", (), ""),)


def test_a_server_that_refuses_tools_is_seen() -> None:
    refusal = RequestFailed(1, "status", "tools are not supported", 400)
    seen = played(refusal, body("Then without."), fallback_without_tools=True)
    assert (seen.tools_refused, seen.tools_sent, seen.final) == (True, False, "Then without.")
