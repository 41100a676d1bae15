"""The output of a plan, and constrained decoding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal, TypeAlias, cast

from toolreel_core._conversation import Message, SystemMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    encodable_text,
    json_text,
    parse,
    partial_value,
    tree_at,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema import check_schema, inline_references, map_subschemas, schemas_in
from toolreel_core._tools import SchemaLike, ToolDefinition, resolve_root_reference, schema_tree

# The output of a plan: the schema that the final answer has to fit, and how it is asked for.
#
# Without knowledge of the provider, tools decide: a run that offers tools relies on calls anyway, so its
# answer is one more call; a run without tools asks for JSON in the text, which every server can send.


VALUE = "value"
"""The property that holds the value where its schema is not that of an object."""

_NAME = lazy_pattern(r"[a-zA-Z0-9_-]{1,64}")
"""The name of a schema, as OpenAI limits that of ``json_schema``."""
_COMBINING = frozenset({"$ref", "anyOf", "oneOf", "allOf", "not", "enum", "const", "if"})
"""Keywords that OpenAI rejects at the root of a schema, in tools and in ``response_format``."""
_AT_ROOT = ("$schema", "$defs", "definitions")
"""Keywords that stay at the root when a schema becomes that of a property."""
_SHARED = ("#/$defs/", "#/definitions/")


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """What a run's final answer has to be.

    Models and providers want an object. For any other schema, the model is asked for ``{"value": …}``; the
    value of the answer is what the schema describes.

    :raises ConfigError: if the schema or the name is invalid
    """

    schema: JsonText
    """JSON Schema (draft 2020-12) of the value."""
    name: str = "final_answer"
    """Name of the final tool, or of the schema in ``response_format``: letters, digits, ``_`` and ``-``."""
    description: str = ""
    """What the answer is, for the model."""
    sent: JsonText = field(init=False, repr=False, compare=False)
    """The schema that the model is asked to fit: always that of an object."""
    wrapped: bool = field(init=False, repr=False, compare=False)
    """Whether the value is a property of that object."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"output: the name {self.name!r} does not fit {_NAME.pattern}")
        for part, text in (("description", self.description), ("schema", self.schema)):
            if encodable_text(text) != text:
                raise ConfigError(f"output: {part}: holds a lone surrogate, which cannot be sent")
        tree = parse(self.schema)
        if not isinstance(tree, Mapping):
            raise ConfigError(f"output: expected a JSON Schema object, got {self.schema}")
        whole = resolve_root_reference(tree)
        wrapped = whole.get("type") != "object" or not _COMBINING.isdisjoint(whole)
        object.__setattr__(self, "wrapped", wrapped)
        object.__setattr__(self, "sent", canonical(_wrap_schema(tree) if wrapped else whole))
        try:
            check_schema(self.schema)
            check_schema(self.sent)
        except ConfigError as error:
            raise ConfigError(f"output: {error}") from None

    @classmethod
    def of(
        cls, schema: SchemaLike | OutputSpec, *, name: str = "final_answer", description: str = ""
    ) -> OutputSpec:
        """A spec from a JSON Schema as a mapping, or from anything that has one.

        >>> OutputSpec.of({"type": "array", "items": {"type": "integer"}}).sent
        '{"type":"object","properties":{"value":{"type":"array","items":{"type":"integer"}}},\
"required":["value"],"additionalProperties":false}'

        :param schema: a mapping, or an object with ``json_schema()`` or ``model_json_schema()``
        """
        if isinstance(schema, OutputSpec):
            return schema
        try:
            text = json_text(dict(schema_tree(schema)), "schema")
        except ConfigError as error:
            raise ConfigError(f"output: {error}") from None
        return cls(text, name, description)

    def value_of(self, answer: JsonText) -> JsonText:
        """The value in an answer that fits :attr:`sent`."""
        return canonical(cast("Tree", parse(answer))[VALUE]) if self.wrapped else answer

    def partial(self, text: str) -> Json:
        """The value in an answer that is still being written, for showing; ``None`` if there is none yet.

        :param text: what the model has written so far, as text or as arguments of the final tool
        """
        answer = partial_value(text)
        # Some models write the bare value, which is accepted in the end (OUTPUT_BARE), so it is shown, too.
        is_wrapper = self.wrapped and isinstance(answer, Mapping) and answer.keys() <= {VALUE}
        return cast("Tree", answer).get(VALUE) if is_wrapper else answer

    @property
    def keys(self) -> frozenset[str]:
        """The properties that the schema of the answer declares."""
        properties = cast("Tree", parse(self.sent)).get("properties")
        return frozenset(properties) if isinstance(properties, Mapping) else frozenset()


def _wrap_schema(tree: Tree) -> Tree:
    shared: dict[str, Json] = {}
    for key in (key for key in _AT_ROOT if key in tree):
        parts = tree[key]
        if isinstance(parts, Mapping):
            parts = {name: _rebase_references(part) for name, part in parts.items()}
        shared[key] = parts
    inner = _rebase_references({key: value for key, value in tree.items() if key not in _AT_ROOT})
    return {
        "type": "object",
        "properties": {VALUE: inner},
        "required": [VALUE],
        "additionalProperties": False,
        **shared,
    }


def _rebase_references(schema: Json) -> Json:
    if not isinstance(schema, Mapping):
        return schema
    moved = map_subschemas(schema, _rebase_references)
    reference = moved.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        # The root of the schema is the property now; only shared definitions stay where they were.
        kept = reference.startswith(_SHARED)
        moved["$ref"] = reference if kept else f"#/properties/{VALUE}{reference[1:]}"
    return moved


AskedBy: TypeAlias = Literal["native", "tool", "text"]


_STRICT = frozenset({
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
    "exclusiveMinimum", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern",
    "properties", "required", "type",
})  # fmt: skip
"""Keywords that OpenAI's strict mode takes; others are an error of the request there."""


def final_tool(spec: OutputSpec) -> ToolDefinition:
    """The tool whose arguments are the final answer; it is never run."""
    how = "Gives the final answer and ends the conversation. Call it once, alone, when you are done."
    return ToolDefinition(spec.name, f"{spec.description.strip()} {how}".lstrip(), spec.sent)


def response_format(spec: OutputSpec, schema: Json) -> Tree:
    """The ``response_format``; ``strict`` within OpenAI's subset: all properties required, no other.

    :param schema: of the answer, as it goes out
    """
    strict = all(map(_is_strict_schema, schemas_in(schema)))
    described = {"description": spec.description} if spec.description else {}
    inner: Tree = {"name": spec.name, **described, "schema": schema, "strict": strict}
    return {"type": "json_schema", "json_schema": inner}


def _is_strict_schema(part: Tree) -> bool:
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


def output_instruction(spec: OutputSpec) -> str:
    how = "Your final answer must be one JSON object that fits this JSON Schema, without any other text:"
    return f"{spec.description.strip()}\n{how}\n{spec.sent}".lstrip()


def with_instruction(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Messages with an instruction, in the last system message at the head: many templates take only one."""
    leading = [*takewhile(lambda message: isinstance(message, SystemMessage), messages)]
    if not leading:
        return (SystemMessage(text), *messages)
    last = cast("SystemMessage", leading[-1])
    joined = replace(last, content=f"{last.content}\n\n{text}")
    return (*leading[:-1], joined, *messages[len(leading) :])


def answer_request_sentence(spec: OutputSpec, mode: AskedBy) -> str:
    if mode == "tool":
        return f"Call {spec.name} with your answer."
    return "Answer with the JSON object that was asked for, and nothing else."


# Constrained decoding: the parameter of a request that holds each reply to one call, or the final answer.
#
# A server that constrains decoding reads no tool calls of its own format, so the reply is the JSON of a call
# in the text: ``{"name": …, "arguments": {…}}``. The final answer is such a call too, of a tool that is never
# run.


DIALECT = "llama_json"

ANSWER = "answer"
"""The argument of the final call that has its text."""

ANSWER_TOOL = ToolDefinition.of(
    "final_answer",
    "Ends the task and answers the user. Call it only when everything that the user asked for has been done.",
    {
        "type": "object",
        "properties": {ANSWER: {"type": "string", "description": "The answer to the user, in full."}},
        "required": [ANSWER],
        "additionalProperties": False,
    },
)
"""The tool whose call is the final answer of a run that has to call another tool first."""

EARLY_ANSWER_TOOL = replace(
    ANSWER_TOOL,
    description="Answers the user and ends the task. Call it at once if the answer needs no other tool, else "
    "when everything that the user asked for has been done.",
)
"""The tool whose call is the final answer of any other run whose answer is text; offered before the others.

Measured on a model of 1.5B that can write nothing but a call: told to call it only when all is done, it
calls another tool in 7 of 11 talks that need none; with these words in 3, and if it is offered first in none.
"""


def call_constraint(entries: Iterable[Json]) -> Tree:
    """The key of a request that constrains a reply to one call.

    :param entries: those of ``tools`` that the reply may call
    """
    schema: Tree = {"anyOf": [_schema_of_call(as_tree(entry)) for entry in entries]}
    inner: Tree = {"name": "call", "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": inner}}


def _schema_of_call(entry: Tree) -> Tree:
    function = tree_at(entry, "function")
    # A reference points to the root of its schema, which is another one here.
    arguments = inline_references(tree_at(function, "parameters"))
    return {
        "type": "object",
        "properties": {"name": {"const": function["name"]}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
