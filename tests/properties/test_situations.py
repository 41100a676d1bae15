"""Situations of public threads: all replies of a run, and what is right to do with them.

``right`` says which ends are: the calls that are expected run (``executes``), the model is told (``tells``)
or asked again (``recovers``), the run does not complete (``fails``), or the text is the answer (``answers``).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.samples import corpus_rows
from toolreel import LoopConfig, Plan
from toolreel_core import (
    Completed,
    Event,
    Finish,
    ReplyReceived,
    RunTool,
    SendRequest,
    ToolDefinition,
    ToolReturned,
    ToolSurface,
    Wait,
    WaitElapsed,
    start,
    step,
)

CASES = corpus_rows("situations")
LATER = json.dumps({"choices": [{"message": {"content": "That is all."}, "finish_reason": "stop"}]})


def ends_of(case: dict[str, Any]) -> tuple[list[list[Any]], set[str], list[str]]:
    """The calls that ran, the ends that the run had, and the bodies of its requests."""
    tools = ToolSurface(
        tuple(ToolDefinition.of(tool["name"], "A tool.", tool["parameters"]) for tool in case["tools"])
    )
    config = LoopConfig.of({"text_dialects": case["dialects"]})
    first = start(Plan.of(model="m", messages="Do the task.", tools=tools, config=config))
    state, effects = first.state, [*first.effects]
    replies = [reply["raw"] if "raw" in reply else json.dumps(reply["body"]) for reply in case["replies"]]
    calls: list[list[Any]] = []
    bodies: list[str] = []
    while effects:
        effect, *effects = effects
        match effect:
            case SendRequest(ref=ref, request=request):
                bodies.append(request.body)
                event: Event = ReplyReceived(ref, 200, replies.pop(0) if replies else LATER)
            case RunTool(ref=ref):
                calls.append([effect.name, json.loads(effect.arguments)])
                event = ToolReturned(ref, '{"ok": true}')
            case Wait(ref=ref):
                event = WaitElapsed(ref)
            case Finish(outcome=outcome):
                return calls, _ends(case, outcome, bodies), bodies
            case _:
                raise AssertionError(effect)
        after = step(state, event)
        state, effects = after.state, [*effects, *after.effects]
    raise AssertionError("a run ends with Finish")


def _ends(case: dict[str, Any], outcome: object, bodies: list[str]) -> set[str]:
    sent = [message for body in bodies for message in json.loads(body)["messages"]]
    nudges = [one for one in sent if one["role"] == "user" and one["content"] != "Do the task."]
    failures = [one for one in sent if one["role"] == "tool" and '"ok":false' in one["content"]]
    again = len(bodies) > len(case["replies"])
    ends = {"tells"} if nudges or failures else set[str]()
    ends |= {"recovers"} if again else set()
    if not isinstance(outcome, Completed):
        return ends | {"fails"}
    says = case["says"] is None or outcome.content == case["says"]
    return ends | ({"answers"} if not again and says else set())


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_nothing_is_lost_and_nothing_runs_that_was_not_meant(case: dict[str, Any]) -> None:
    calls, ends, bodies = ends_of(case)
    assert all(call in case["calls"] for call in calls)
    assert len(calls) <= len(case["calls"])
    executes = "executes" in case["right"] and calls == case["calls"]
    assert executes or ends & {*case["right"]}, (calls, ends)
    assert not executes or case.get("back", "").replace(" ", "") in bodies[-1].replace(" ", "")
