"""The output of a plan, and constrained decoding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple, TypeAlias, assert_never, cast

from toolreel_core._conversation import Message, SystemMessage
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import (
    Json,
    JsonText,
    Tree,
    as_tree,
    canonical,
    json_text,
    parse,
    partial_value,
    sound,
    tree_at,
)
from toolreel_core._lazy_pattern import lazy_pattern
from toolreel_core._schema import changed_within, check_schema, inlined, schemas_in
from toolreel_core._settings import LoopConfig, Provider
from toolreel_core._tools import SchemaLike, ToolDefinition, ToolSurface, opened, schema_tree

# The output of a plan: the schema that the final answer has to fit, and how it is asked for.
#
# Without knowledge of the provider, tools decide: a run that offers tools relies on calls anyway, so its
# answer is one more call; a run without tools asks for JSON in the text, which every server can send.


VALUE: Final = "value"
"""The property that holds the value where its schema is not that of an object."""

_NAME: Final = lazy_pattern(r"[a-zA-Z0-9_-]{1,64}")
"""The name of a schema, as OpenAI limits that of ``json_schema``."""
_COMBINING: Final = frozenset({"$ref", "anyOf", "oneOf", "allOf", "not", "enum", "const", "if"})
"""Keywords that OpenAI rejects at the root of a schema, in tools and in ``response_format``."""
_AT_ROOT: Final = ("$schema", "$defs", "definitions")
"""Keywords that stay at the root when a schema becomes that of a property."""
_SHARED: Final = ("#/$defs/", "#/definitions/")


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
            if sound(text) != text:
                raise ConfigError(f"output: {part}: holds a lone surrogate, which cannot be sent")
        tree = parse(self.schema)
        if not isinstance(tree, Mapping):
            raise ConfigError(f"output: expected a JSON Schema object, got {self.schema}")
        whole = opened(tree)
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
            return cls(json_text(dict(schema_tree(schema)), "schema"), name, description)
        except ConfigError as error:
            place = "" if str(error).startswith("output: ") else "output: "
            raise ConfigError(f"{place}{error}") from None

    def value_of(self, answer: JsonText) -> JsonText:
        """The value in an answer that fits :attr:`sent`."""
        return canonical(cast("Tree", parse(answer))[VALUE]) if self.wrapped else answer

    def partial(self, text: str) -> Json:
        """The value in an answer that is still being written, for showing; ``None`` if there is none yet.

        >>> OutputSpec.of({"type": "array"}).partial('{"value": [1, 2')
        [1]

        :param text: what the model has written so far, as text or as arguments of the final tool
        """
        return self.value_so_far(partial_value(text))

    def value_so_far(self, answer: Json) -> Json:
        """The value in the beginning of an answer; ``None`` if there is none yet."""
        is_wrapper = self.wrapped and isinstance(answer, Mapping) and answer.keys() <= {VALUE}
        return cast("Tree", answer).get(VALUE) if is_wrapper else answer

    @property
    def keys(self) -> frozenset[str]:
        """The properties that the schema of the answer declares."""
        properties = cast("Tree", parse(self.sent)).get("properties")
        return frozenset(properties) if isinstance(properties, Mapping) else frozenset()


def _wrap_schema(tree: Tree) -> Tree:
    shared = {key: tree[key] for key in _AT_ROOT if key in tree}
    inner = _move_references({key: value for key, value in tree.items() if key not in _AT_ROOT})
    shared = {key: _move_references_each(value) for key, value in shared.items()}
    properties: Json = {VALUE: inner}
    return {
        "type": "object",
        "properties": properties,
        "required": [VALUE],
        "additionalProperties": False,
        **shared,
    }


def _move_references_each(schemas: Json) -> Json:
    return (
        {name: _move_references(part) for name, part in schemas.items()}
        if isinstance(schemas, Mapping)
        else schemas
    )


def _move_references(schema: Json) -> Json:
    """A schema whose references to the old root point to where it is now."""
    if not isinstance(schema, Mapping):
        return schema
    moved = changed_within(schema, _move_references)
    reference = moved.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        kept = reference.startswith(_SHARED)
        moved["$ref"] = reference if kept else f"#/properties/{VALUE}{reference[1:]}"
    return moved


AskedBy: TypeAlias = Literal["native", "tool", "text"]
"""How the final answer of a run is asked for."""


def mode_of(spec: OutputSpec, tools: ToolSurface, config: LoopConfig, provider: Provider) -> AskedBy:
    """How the final answer is asked for.

    :raises ConfigError: if the configuration asks for what the provider does not take, or a tool has the
        name of the final tool
    """
    may_call = config.tool_use_mode != "disabled" and provider.supports_tools != "no"
    constrained = config.constrained_calls != "off" and may_call and bool(tools.names)
    by_call = config.output_mode == "auto" and constrained
    offers = may_call and bool(tools.names)
    mode = "tool" if by_call else _choose_output_mode(config, provider, offers=offers, may_call=may_call)
    if mode == "tool" and spec.name in tools.known:
        raise ConfigError(f"output: there is a tool {spec.name!r} already; give the output another name")
    return mode


def _choose_output_mode(config: LoopConfig, provider: Provider, *, offers: bool, may_call: bool) -> AskedBy:
    match config.output_mode:
        case "auto":
            return _output_mode_of_provider(provider, offers=offers, may_call=may_call)
        case "native":
            if "no" in {provider.supports_response_format, provider.supports_json_schema}:
                raise _output_mode_error("native", "the provider takes no json_schema as its response_format")
            if offers and provider.supports_response_format_with_tools == "no":
                raise _output_mode_error(
                    "native", "the provider takes no response_format together with tools"
                )
            return "native"
        case "tool":
            if not may_call:
                raise _output_mode_error("tool", "this run sends no tools")
            return "tool"
        case "text":
            return "text"
        case _:
            assert_never(config.output_mode)


def _output_mode_of_provider(provider: Provider, *, offers: bool, may_call: bool) -> AskedBy:
    native = provider.supports_json_schema == "yes" and provider.supports_response_format != "no"
    if native and (not offers or provider.supports_response_format_with_tools == "yes"):
        return "native"
    return "tool" if offers or (may_call and provider.supports_tools == "yes") else "text"


def _output_mode_error(mode: str, why: str) -> ConfigError:
    return ConfigError(f"output_mode: {mode!r} does not work, because {why}; use 'auto' or another mode")


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


# Constrained decoding: the parameter of a request that holds each reply to one call, or the final answer.
#
# A server that constrains decoding reads no tool calls of its own format, so the reply is the JSON of a call
# in the text: ``{"name": …, "arguments": {…}}``. The final answer is such a call too, of a tool that is never
# run.


Constraint: TypeAlias = Literal["response_format", "structured_outputs", "guided_json", "grammar"]
"""The key of the request that has the constraint; see ``LoopConfig.constrained_calls``."""

DIALECT: Final = "llama_json"
"""The dialect in which the calls are read."""

ANSWER: Final = "answer"
"""The argument of the final call that has its text."""

ANSWER_TOOL: Final = ToolDefinition.of(
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

EARLY_ANSWER_TOOL: Final = replace(
    ANSWER_TOOL,
    description="Answers the user and ends the task. Call it at once if the answer needs no other tool, else "
    "when everything that the user asked for has been done.",
)
"""The tool whose call is the final answer of any other run whose answer is text; offered before the others.

Measured on a model of 1.5B that can write nothing but a call: told to call it only when all is done, it
calls another tool in 7 of 11 talks that need none; with these words in 3, and if it is offered first in none.
"""


class Constrained(NamedTuple):
    """The parts of a run's requests that constrain decoding."""

    turn: Tree
    """Keys of a request whose reply may be a call of any tool, or the final answer."""
    requiring: Tree
    """Keys of a request whose reply has to be a call of a tool."""
    tools_in_text: bool = False
    """Whether the opening describes the tools, since the request may not have ``tools``."""


def constrained(kind: Constraint, tools: Sequence[Json], answer: Json) -> Constrained:
    """The parts of the requests of a run.

    llama.cpp refuses a grammar in a request with ``tools``: "Cannot use custom grammar constraints with
    tools." (HTTP 400)

    :param tools: their entries, as they go out
    :param answer: the entry of the tool whose call is the final answer
    """
    return Constrained(constraint(kind, (*tools, answer)), constraint(kind, tools), kind == "grammar")


def calls_instruction(entries: Iterable[Json]) -> str:
    """What the model is told of its tools where requests may not have them."""
    lines = "\n".join(canonical(tree_at(as_tree(entry), "function")) for entry in entries)
    call = '{"name": "the tool", "arguments": {…}}'
    return f"You act through these tools:\n{lines}\nTo use one, reply with one call and nothing else: {call}"


def constraint(kind: Constraint, entries: Iterable[Json]) -> Tree:
    """The keys of a request that hold its reply to one call.

    :param entries: those of ``tools`` that the reply may call
    """
    schema: Tree = {"anyOf": [_schema_of_call(as_tree(entry)) for entry in entries]}
    match kind:
        case "response_format":
            inner: Tree = {"name": "call", "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": inner}}
        case "structured_outputs":
            return {"structured_outputs": {"json": schema}}
        case "guided_json":
            return {"guided_json": schema}
        case "grammar":
            from toolreel_core._schema import grammar_of  # noqa: PLC0415 - rarely needed

            return {"grammar": grammar_of(schema)}
        case _:
            assert_never(kind)


def _schema_of_call(entry: Tree) -> Tree:
    function = tree_at(entry, "function")
    # A reference points to the root of its schema, which is another one here.
    arguments = inlined(tree_at(function, "parameters"))
    return {
        "type": "object",
        "properties": {"name": {"const": function["name"]}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
