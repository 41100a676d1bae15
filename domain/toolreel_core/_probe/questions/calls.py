"""Questions about tools, their schemas, and formats of the reply."""

from __future__ import annotations

from functools import partial
from typing import Final

from toolreel_core._jsontext import Json, Tree
from toolreel_core._probe import verdict
from toolreel_core._probe.histories import asking, offering, user
from toolreel_core._probe.question import Question
from toolreel_core._probe.questions.basics import BASICS
from toolreel_core._probe.questions.forms import CHAT_AND_RESPONSES, LOOK_UP, LOOKUP_ENTRY
from toolreel_core._probe.tools import KEYWORDS, ORDER, PING, REFERENCES, STRICT, entry, variant

_BOTH: Final = "Call lookup twice in one reply, for the key alpha and for the key beta."
_ORDER: Final = (
    "Call order with the item lamp, the count 3, the price 9.5, gift true and the labels red and small."
)
_JSON: Final[Tree] = {"type": "json_object"}
_VERDICT: Final[Tree] = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}},
            "required": ["verdict"],
            "additionalProperties": False,
        },
    },
}


def _named(choice: str) -> Json:
    return {"type": "function", "function": {"name": choice}}


_tools = partial(Question, group="tools", judge=verdict.calls, rests_on=(*BASICS, "tools"))
_schemas = partial(Question, group="schemas", judge=verdict.accepted, rests_on=(*BASICS, "tools"))
_formats = partial(Question, group="formats", rests_on=BASICS)

QUESTIONS: Final = (
    _tools("tools", about="Does it call a tool?", build=offering(LOOK_UP, LOOKUP_ENTRY), rests_on=BASICS),
    _tools(
        "tool_choice_auto",
        about="Is tool_choice auto taken?",
        build=offering(LOOK_UP, LOOKUP_ENTRY, tool_choice="auto"),
        decides=False,
    ),
    _tools(
        "tool_choice_required",
        about="Does tool_choice required force a call?",
        build=offering("Say hello.", LOOKUP_ENTRY, tool_choice="required"),
        judge=verdict.called_if_told,
    ),
    _tools(
        "tool_choice_named",
        about="Does the name of a tool force its call?",
        build=offering("Say hello.", LOOKUP_ENTRY, entry(PING), tool_choice=_named("ping")),
        judge=verdict.called_if_told,
        decides=False,
    ),
    _tools(
        "tool_choice_none",
        about="Does tool_choice none prevent a call?",
        build=offering(LOOK_UP, LOOKUP_ENTRY, tool_choice="none"),
        judge=verdict.no_call_if_told,
        decides=False,
    ),
    _tools(
        "several_calls",
        about="Does one reply have several calls?",
        build=offering(_BOTH, LOOKUP_ENTRY, limit=160),
        judge=verdict.number_of_calls,
    ),
    _tools(
        "parallel_tool_calls",
        about="Does parallel_tool_calls false hold it to one?",
        build=offering(_BOTH, LOOKUP_ENTRY, limit=160, parallel_tool_calls=False),
        judge=verdict.number_of_calls,
    ),
    _tools(
        "argument_types",
        about="Do arguments have the types of the schema?",
        build=offering(_ORDER, entry(ORDER), limit=128),
        judge=verdict.types,
        decides=False,
    ),
    _tools(
        "empty_arguments",
        about="What are the arguments of a tool that takes none?",
        build=offering("Call the tool ping.", entry(PING)),
        judge=verdict.empty_arguments,
        decides=False,
    ),
    _schemas(
        "schema_keywords",
        about="Are const, exclusiveMinimum and lists of types taken?",
        build=offering(LOOK_UP, variant(KEYWORDS)),
    ),
    _schemas("schema_refs", about="Are $defs and $ref taken?", build=offering(LOOK_UP, variant(REFERENCES))),
    _schemas(
        "strict_tools", about="Is a strict tool taken?", build=offering(LOOK_UP, variant(STRICT, strict=True))
    ),
    _formats(
        "response_format",
        about="Does response_format json_object give JSON?",
        build=asking(user("Say hello as JSON."), limit=64, response_format=_JSON),
        judge=verdict.any_json,
        forms=CHAT_AND_RESPONSES,
    ),
    _formats(
        "json_schema",
        about="Is a reply held to a JSON schema?",
        build=asking(user("Say hello."), limit=64, response_format=_VERDICT),
        judge=verdict.schema_of_json,
    ),
    _formats(
        "json_schema_with_tools",
        about="Does it call a tool although a schema is asked for?",
        build=offering(LOOK_UP, LOOKUP_ENTRY, response_format=_VERDICT),
        judge=verdict.format_beside_tools,
        rests_on=(*BASICS, "tools"),
    ),
)
