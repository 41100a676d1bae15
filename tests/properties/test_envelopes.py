"""Arguments inside an envelope, for tools and schemas drawn at random: what runs is what was meant.

A call that runs has exactly the arguments inside the envelope, or the outer ones where the schema declares
the envelope's own keys. Everything else is told.
"""

from __future__ import annotations

from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from toolreel_core import LoopConfig, Plan, ToolDefinition, ToolSurface
from toolreel_core._jsontext import ArgumentRepairs, JsonText, canonical, parse
from toolreel_core._loop import admit_call
from toolreel_core._replies import ToolCall
from toolreel_core._tools import Fault

OTHER = ToolDefinition.of("other", "Another.", {"type": "object"})
ENVELOPES = ["arguments", "parameters", "args", "input"]
TYPES = st.sampled_from([{"type": "integer"}, {"type": "string"}, {"type": "object"}, {}])
VALUES = st.one_of(st.integers(0, 3), st.sampled_from(["", "x"]), st.just({"a": 1}))


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    declared = draw(st.dictionaries(st.sampled_from(["a", "b", "name", *ENVELOPES[::3]]), TYPES, max_size=4))
    schema: dict[str, Any] = {"type": "object", "properties": declared}
    if declared:
        schema["required"] = draw(st.lists(st.sampled_from(sorted(declared)), unique=True, max_size=2))
    more = draw(st.sampled_from([None, False, True, {"type": "object"}]))
    return schema if more is None else {**schema, "additionalProperties": more}


INNER = st.dictionaries(st.sampled_from(["a", "b", "c", "input"]), VALUES, max_size=3)
NAMES = st.sampled_from([None, "act", "other", "Bob"])


@given(
    schemas(), INNER, st.sampled_from(ENVELOPES), NAMES, st.booleans(), st.sampled_from(["safe", "lenient"])
)
def test_what_runs_is_inside_the_envelope_or_declared(
    schema: dict[str, Any],
    inner: dict[str, Any],
    key: str,
    name: str | None,
    as_text: bool,
    repairs: ArgumentRepairs,
) -> None:
    named = {} if name is None else {"name": name}
    outer = {**named, key: canonical(inner) if as_text else inner}
    found = ran(schema, outer, repairs)
    event("told" if found is None else "opened" if found == inner else "as it was")
    if found == inner:
        assert name in {None, "act"}, "a name that says something else was dropped"
    elif found is not None:
        assert {*outer} <= {*schema["properties"]}
        assert found in (outer, {**named, key: inner})  # text is decoded where an object is declared


def ran(schema: dict[str, Any], outer: dict[str, Any], repairs: ArgumentRepairs) -> Any:  # noqa: ANN401 - JSON
    tools = ToolSurface((ToolDefinition.of("act", "Act.", schema), OTHER))
    plan = Plan.of(model="m", messages="Hi.", tools=tools, config=LoopConfig(argument_repairs=repairs))
    text = canonical(outer)
    admitted = admit_call(ToolCall("call_1", "act", text, text), plan)
    if isinstance(admitted, Fault):
        assert admitted.code == "ARGUMENTS_SCHEMA_ERROR"
        return None
    return parse(JsonText(admitted.arguments))
