"""Constrained decoding: the parameter of a request that holds each reply to one call, or the final answer.

A server that constrains decoding reads no tool calls of its own format, so the reply is the JSON of a call in
the text: ``{"name": …, "arguments": {…}}``. The final answer is such a call too, of a tool that is never run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, assert_never

from toolreel_core._jsontext import Json, Tree, as_tree, canonical, tree_at
from toolreel_core._schema import inlined
from toolreel_core._tools import ToolDefinition

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


@dataclass(frozen=True, slots=True)
class Constrained:
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


def instruction(entries: Iterable[Json]) -> str:
    """What the model is told of its tools where requests may not have them."""
    lines = "\n".join(canonical(tree_at(as_tree(entry), "function")) for entry in entries)
    call = '{"name": "the tool", "arguments": {…}}'
    return f"You act through these tools:\n{lines}\nTo use one, reply with one call and nothing else: {call}"


def constraint(kind: Constraint, entries: Iterable[Json]) -> Tree:
    """The keys of a request that hold its reply to one call.

    :param entries: those of ``tools`` that the reply may call
    """
    schema: Tree = {"anyOf": [_call_schema(as_tree(entry)) for entry in entries]}
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


def _call_schema(entry: Tree) -> Tree:
    function = tree_at(entry, "function")
    # A reference points to the root of its schema, which is another one here.
    arguments = inlined(tree_at(function, "parameters"), endless="cut")
    return {
        "type": "object",
        "properties": {"name": {"const": function["name"]}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
