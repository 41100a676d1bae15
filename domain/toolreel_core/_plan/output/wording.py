"""What a request says about the output: the final tool, the ``response_format``, or an instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, assert_never, cast

from toolreel_core._conversation import Message, SystemMessage
from toolreel_core._jsontext import Json, Tree
from toolreel_core._plan.output.modes import AskedBy
from toolreel_core._plan.output.spec import OutputSpec
from toolreel_core._schema import schemas_in
from toolreel_core._tools import ToolDefinition

_STRICT: Final = frozenset({
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
    "exclusiveMinimum", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern",
    "properties", "required", "type",
})  # fmt: skip
"""Keywords that OpenAI's strict mode takes; others are an error of the request there."""


def final_tool(spec: OutputSpec) -> ToolDefinition:
    """The tool whose arguments are the final answer; it is never run."""
    what = f"{spec.description.strip()} " if spec.description.strip() else ""
    how = "Gives the final answer and ends the conversation. Call it once, alone, when you are done."
    return ToolDefinition(spec.name, f"{what}{how}", spec.sent)


def response_format(spec: OutputSpec, schema: Json) -> Tree:
    """The ``response_format`` of a request.

    ``strict`` is set where the schema keeps to the subset that OpenAI's strict mode takes: every property
    required, no other allowed.

    :param schema: of the answer, as it goes out
    """
    described = {"description": spec.description} if spec.description else {}
    inner: Tree = {"name": spec.name, **described, "schema": schema, "strict": is_strict(schema)}
    return {"type": "json_schema", "json_schema": inner}


def is_strict(schema: Json) -> bool:
    """Whether a schema may be sent as strict.

    >>> closed = {"type": "object", "required": ["a"], "additionalProperties": False}
    >>> is_strict({**closed, "properties": {"a": {"type": "null"}}}), is_strict({"type": "object"})
    (True, False)
    """
    return all(_is_strict(part) for part in schemas_in(schema))


def _is_strict(part: Tree) -> bool:
    if not part.keys() <= _STRICT:
        return False
    # A text is a sequence too, and "object" is in "object".
    kinds = part.get("type")
    if "object" not in (kinds if isinstance(kinds, Sequence) else ()):
        return bool(part) and "properties" not in part
    properties, required = part.get("properties"), part.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence):
        return False
    all_required = len(required) == len(properties) and all(name in required for name in properties)
    return part.get("additionalProperties") is False and all_required


def instruction(spec: OutputSpec) -> str:
    """What the model is told where the answer is JSON in the text."""
    what = f"{spec.description.strip()}\n" if spec.description.strip() else ""
    how = "Your final answer must be one JSON object that fits this JSON Schema, without any other text:"
    return f"{what}{how}\n{spec.sent}"


def opening(
    messages: tuple[Message, ...], spec: OutputSpec | None, mode: AskedBy | None
) -> tuple[Message, ...]:
    """The messages that a run begins with: those of the plan, with the instruction where there is one."""
    return messages if spec is None or mode != "text" else with_instruction(messages, instruction(spec))


def with_instruction(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Messages with an instruction.

    It joins the last of the system messages at the beginning, since many templates take only one; without
    any, it becomes the first message.
    """
    leading = 0
    while leading < len(messages) and isinstance(messages[leading], SystemMessage):
        leading += 1
    if not leading:
        return (SystemMessage(text), *messages)
    last = cast("SystemMessage", messages[leading - 1])
    joined = replace(last, content=f"{last.content}\n\n{text}")
    return (*messages[: leading - 1], joined, *messages[leading:])


def request_for(spec: OutputSpec, mode: AskedBy) -> str:
    """The sentence that asks for the final answer."""
    match mode:
        case "tool":
            return f"Call {spec.name} with your answer."
        case "native" | "text":
            return "Answer with the JSON object that was asked for, and nothing else."
        case _:
            assert_never(mode)


def schema_of(entry: Tree) -> Json:
    """The parameters of an entry of ``tools``."""
    return cast("Tree", entry["function"])["parameters"]
