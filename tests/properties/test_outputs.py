"""Typed final answers: what fits always comes through as it is, and nothing else ever completes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from tests.playbook import body_of
from tests.strategies import json_values
from toolreel_core._jsontext import Json, canonical
from toolreel_core._loop import fold, start, step
from toolreel_core._plan import OutputSpec, Plan
from toolreel_core._protocol import (
    Completed,
    Event,
    InvalidOutput,
    Outcome,
    OutputRejected,
    ReplyReceived,
    RunTool,
    SendRequest,
    Settled,
    ToolReturned,
    dump,
    load_plan,
    load_state,
)
from toolreel_core._schema import violations
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition

Schema: TypeAlias = Mapping[str, Json]
PING = ToolDefinition.of("ping")
NAMES = st.sampled_from(["a", "b", "value", "name", "arguments", "$ref"])


def _object(parts: Mapping[str, tuple[Schema, Json]]) -> tuple[Schema, Json]:
    properties = {name: schema for name, (schema, _) in parts.items()}
    schema: Schema = {"type": "object", "properties": properties, "required": [*parts]}
    return {**schema, "additionalProperties": False}, {name: value for name, (_, value) in parts.items()}


def _array(item: tuple[Schema, Json], times: int) -> tuple[Schema, Json]:
    return {"type": "array", "items": item[0]}, [item[1]] * times


LEAVES: st.SearchStrategy[tuple[Schema, Json]] = st.one_of(
    st.tuples(st.just({"type": "integer"}), st.integers(-(2**40), 2**40)),
    st.tuples(st.just({"type": "boolean"}), st.booleans()),
    st.tuples(st.just({"type": "null"}), st.none()),
    st.tuples(st.just({"type": "string"}), st.text() | st.sampled_from(["[1]", "```", "<tool_call>", "{"])),
    json_values.map(lambda value: ({"const": value}, value)),
    json_values.map(lambda value: ({}, value)),
    st.integers().map(lambda value: ({"$ref": "#/$defs/N", "$defs": {"N": {"type": "integer"}}}, value)),
)
FITTING: st.SearchStrategy[tuple[Schema, Json]] = LEAVES | st.recursive(
    LEAVES.filter(lambda pair: "$defs" not in pair[0]),
    lambda inner: (
        st.dictionaries(NAMES, inner, max_size=3).map(_object) | st.builds(_array, inner, st.integers(0, 2))
    ),
    max_leaves=5,
)
"""A schema, and a value that it takes."""


def _plain(answer: str) -> Json:
    return body_of(answer)


def _fenced(answer: str) -> Json:
    return body_of(f"```json\n{answer}\n```")


def _spaced(answer: str) -> Json:
    return body_of(f"\n{json.dumps(json.loads(answer), indent=2)}\n")


def _thought(answer: str) -> Json:
    return body_of(f"<think>Is it {{}}?</think>\n{answer}")


def _called(answer: str) -> Json:
    return body_of(None, ("call_a", "final_answer", answer))


def _called_twice_encoded(answer: str) -> Json:
    return body_of(None, ("call_a", "final_answer", canonical(answer)))


def _called_as_object(answer: str) -> Json:
    call: Json = {"id": "call_a", "function": {"name": "final_answer", "arguments": json.loads(answer)}}
    return {"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "stop"}]}


TEXTS = (_plain, _fenced, _spaced, _thought)
CALLS = (_called, _called_twice_encoded, _called_as_object)
WAYS: list[tuple[str, Callable[[str], Json]]] = [
    *(("text", way) for way in TEXTS),
    *(("native", way) for way in TEXTS),
    *(("tool", way) for way in (*TEXTS, *CALLS)),
]


def plan_of(schema: Schema, mode: str, *, retries: int = 2, tools: bool = False) -> Plan:
    config = LoopConfig.of({"output_mode": mode, "output_retries": retries})
    return Plan.of(model="m", messages="hi", tools=[PING] if tools else (), config=config, output=schema)


def outcome(plan: Plan, *bodies: Json) -> Outcome | None:
    events = [ReplyReceived(ref, 200, canonical(body)) for ref, body in enumerate(bodies, 1)]
    phase = fold(plan, events).state.phase
    return phase.outcome if isinstance(phase, Settled) else None


@given(FITTING, st.sampled_from(WAYS))
def test_a_value_that_fits_comes_through_every_mode_as_it_is(
    fitting: tuple[Schema, Json], way: tuple[str, Callable[[str], Json]]
) -> None:
    schema, value = fitting
    spec, (mode, said) = OutputSpec.of(schema), way
    answer = canonical({"value": value} if spec.wrapped else value)
    ended = outcome(plan_of(schema, mode), said(answer))
    assert isinstance(ended, Completed)
    assert ended.value == canonical(value)


ODD = st.one_of(
    json_values.map(canonical),
    st.dictionaries(NAMES, json_values, max_size=3).map(canonical),
    st.text(alphabet='{}[]":,`ab1 \n', max_size=30),
    st.sampled_from(
        ["", "Hello.", '{"a":', '```\n{"a":1}\n```', 'So {"a":1} or {"a":2}?', "null", "[]", '"{}"']
    ),
)
SCHEMAS = FITTING.map(lambda pair: pair[0])


@given(
    SCHEMAS,
    st.lists(st.tuples(st.booleans(), ODD), min_size=4, max_size=4),
    st.integers(0, 2),
    st.sampled_from(["text", "native", "tool"]),
    st.booleans(),
)
def test_only_a_value_that_fits_completes_and_retries_are_bounded(
    schema: Schema,
    said: list[tuple[bool, str]],
    retries: int,
    mode: str,
    tools: bool,
) -> None:
    plan = plan_of(schema, mode, retries=retries, tools=tools)
    at, events, rejected = start(plan), list[Event](), 0
    for is_call, answer in said:
        if isinstance(at.state.phase, Settled):
            break
        (effect,) = at.effects
        assert isinstance(effect, SendRequest)
        name = "final_answer" if mode == "tool" else "nope"
        body = body_of(None, ("call_a", name, answer)) if is_call else body_of(answer)
        events.append(ReplyReceived(effect.ref, 200, canonical(body)))
        at = step(at.state, events[-1])
        assert load_state(dump(at.state)) == at.state
        rejected += sum(isinstance(note, OutputRejected) and note.asked_again for note in at.notes)
    assert rejected <= retries
    assert load_plan(dump(plan)).digest == plan.digest
    again = fold(load_plan(dump(plan)), events)
    assert (again.state, again.effects) == (at.state, at.effects)
    if isinstance(at.state.phase, Settled):
        ended = at.state.phase.outcome
        if isinstance(ended, Completed):
            assert ended.value is not None
            assert violations(canonical(schema), ended.value) == ()
        if isinstance(ended, InvalidOutput):
            assert rejected == retries


@given(st.lists(st.sampled_from(["ping", "final_answer"]), min_size=1, max_size=4))
def test_the_final_tool_is_never_run_and_every_call_has_its_result(names: list[str]) -> None:
    plan = plan_of({"type": "object"}, "tool", tools=True)
    calls = [(f"call_{place}", name, "{}") for place, name in enumerate(names)]
    at = step(start(plan).state, ReplyReceived(1, 200, canonical(body_of(None, *calls))))
    ran = 0
    while at.effects and isinstance(run := at.effects[0], RunTool):
        assert run.name == "ping"
        at, ran = step(at.state, ToolReturned(run.ref, "1")), ran + 1
    assert ran == names.count("ping") == at.state.tally.tool_calls
    assert isinstance(at.state.phase, Settled) == (ran == 0)
    messages = [json.loads(text) for text in at.state.messages.complete().texts]
    results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert results == [name for name, _, _ in calls]
