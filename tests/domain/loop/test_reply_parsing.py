from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.playbook import body_of
from tests.samples import PLAN
from tests.wire_forms import said_in
from toolreel_core._conversation import AssistantMessage, SentCall, ToolMessage, UserMessage
from toolreel_core._jsontext import canonical
from toolreel_core._loop import received
from toolreel_core._plan import Plan
from toolreel_core._protocol import State, Tally
from toolreel_core._settings import LoopConfig, Provider, WireForm

LEGACY = {"role": "assistant", "content": None, "function_call": {"name": "ping", "arguments": ""}}
TEXT = '{"choices":[{"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}'


def body(message: object, **others: object) -> str:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **others})


def calling(*calls: object) -> str:
    return body({"role": "assistant", "content": None, "tool_calls": list(calls)})


def ping(arguments: object) -> dict[str, Any]:
    function = {"name": "ping", "arguments": arguments}
    return {"id": "call_a", "type": "function", "function": function}


IDLE = State.idle(PLAN)


def run(**settings: object) -> State:
    return State.idle(replace(PLAN, config=LoopConfig.of(settings)))


def test_transforms_of_the_response_come_before_the_reading() -> None:
    name = "assistant_function_call_to_tool_calls"
    got = received(body(LEGACY), run(response_transforms=(name,), argument_repairs="strict"))
    assert [call.name for call in got.reply.calls] == ["ping"]
    assert got.quirks == (name,)


def test_transforms_of_calls_see_each_entry() -> None:
    name = "assistant_tool_calls_arguments_blank_to_empty_object"
    wanted = run(tool_call_transforms=(name,))
    got = received(calling(ping(" "), 3, ping("{}")), wanted)
    assert [call.original for call in got.reply.calls] == ["{}", "{}"]
    assert got.quirks == (name,)
    assert received(calling(ping("{}")), wanted).quirks == ()


@pytest.mark.parametrize("text", ["<html>", "[]", '{"choices":[]}', '{"choices":[3]}', "{}", TEXT])
def test_what_transforms_find_nothing_in_is_read_all_the_same(text: str) -> None:
    wanted = run(
        response_transforms=("assistant_function_call_to_tool_calls",),
        tool_call_transforms=("assistant_tool_calls_arguments_blank_to_empty_object",),
    )
    got = received(text, wanted)
    assert (got.reply, got.quirks) == (received(text, IDLE).reply, ())


@pytest.mark.parametrize("form", ["chat_completions", "responses", "messages"])
@pytest.mark.parametrize("came_in", ["chat_completions", "responses", "messages"])
def test_a_body_in_another_form_than_asked_for_is_read_in_its_own(form: WireForm, came_in: WireForm) -> None:
    plan = Plan.of(model="m", messages="hi", provider=Provider(wire_form=form))
    body = {**body_of("Hi."), "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    found = received(said_in(came_in, canonical(body)), State.idle(plan))
    assert (found.reply.content, found.reply.problem) == ("Hi.", None)


REPORT = 'The call was <tool_call>{"name": "ping", "arguments": {"n": 1}}</tool_call>.\nIt is so.'


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
    text = f"Look.\n{REPORT.removeprefix('The call was ')}"
    state = replace(state, tally=Tally(turns=turns), exchange_began=Tally(turns=1))
    assert len(received(body({"role": "assistant", "content": text}), state).reply.calls) == calls
