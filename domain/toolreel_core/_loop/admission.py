"""Which calls may run, and the effects that run them: the checks between a model and a tool.

In this order, on one frozen value: the tool exists and is not masked, a call in text may run it, the
arguments are small enough, they could be read, they fit the schema. What passes is byte for byte
what runs: under the tool's inner name, with a key that names the call for ever.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from toolreel_core._jsontext.canonical import JsonText, deeper
from toolreel_core._jsontext.digest import known_chain, known_digest, link
from toolreel_core._plan.plan import Plan
from toolreel_core._protocol.effects import AskApproval, RunTool
from toolreel_core._protocol.state import State
from toolreel_core._replies.calls.arguments import ArgumentError
from toolreel_core._replies.calls.coercion import Intended, coerced
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._schema.validation import violations
from toolreel_core._settings.config import LoopConfig
from toolreel_core._tools.faults import (
    Fault,
    arguments_not_json,
    arguments_not_object,
    arguments_too_deep,
    arguments_too_large,
    arguments_truncated,
    arguments_violate_schema,
    tool_not_allowed,
    tool_not_allowed_as_text,
    tool_not_found,
)
from toolreel_core._tools.surface import ToolDefinition, ToolSurface

__all__ = [
    "Admission",
    "admit",
    "ask_approval",
    "call_key",
    "coerced_arguments",
    "needs_approval",
    "run_tool",
]

Admission: TypeAlias = JsonText | Fault
"""The arguments to run a tool with, or what the model is told instead."""


def admit(call: ToolCall, plan: Plan) -> Admission:
    """Check one call."""
    tool = plan.tools.by_name.get(call.name)
    if tool is None or not tool.exposed:
        return _unknown_tool(call, plan.tools)
    fault = _text_call_fault(call, tool, plan.config) or _size_fault(call, tool, plan.config)
    if fault:
        return fault
    if isinstance(call.arguments, ArgumentError):
        return _unread_arguments_fault(call.name, call.arguments, plan)
    arguments = coerced_arguments(tool, call.arguments, plan.config).arguments
    found = violations(tool.parameters, arguments)
    return arguments_violate_schema(tool.name, found) if found else arguments


def needs_approval(call: ToolCall, plan: Plan) -> bool:
    """Whether somebody is asked before an admitted call runs: for its tool's sake, or for its own."""
    tool = plan.tools.by_name[call.name]
    doubtful = plan.config.text_calls_for == "approved" and call.from_text and not tool.read_only
    return tool.needs_approval or doubtful


def _unknown_tool(call: ToolCall, tools: ToolSurface) -> Fault:
    fault = tool_not_allowed if call.name in tools.known else tool_not_found
    return fault(call.name, tools.names)


def _text_call_fault(call: ToolCall, tool: ToolDefinition, config: LoopConfig) -> Fault | None:
    barred = config.text_calls_for == "read_only" and call.from_text and not tool.read_only
    return tool_not_allowed_as_text(tool.outward) if barred else None


def _size_fault(call: ToolCall, tool: ToolDefinition, config: LoopConfig) -> Fault | None:
    limit = config.max_tool_args_bytes if tool.max_args_bytes is None else tool.max_args_bytes
    size = len(call.original) if call.original.isascii() else len(call.original.encode())
    if size > limit:
        return arguments_too_large(call.name, size, limit)
    levels = config.max_argument_depth
    return arguments_too_deep(call.name, levels) if deeper(call.original, levels) else None


def _unread_arguments_fault(name: str, error: ArgumentError, plan: Plan) -> Fault:
    match error.code:
        case "ARGUMENTS_INVALID_JSON":
            return arguments_not_json(name, error.detail)
        case "ARGUMENTS_NOT_OBJECT":
            return arguments_not_object(name, error.detail)
        case "ARGUMENTS_TOO_DEEP":
            return arguments_too_deep(name, plan.config.max_argument_depth)
        case "ARGUMENTS_TRUNCATED":
            return arguments_truncated(name, plan.bodies.output_cap)
        case _:
            assert_never(error.code)


def coerced_arguments(tool: ToolDefinition, arguments: JsonText, config: LoopConfig) -> Intended:
    """The arguments as the tool's schema shows them to be meant, as far as the configuration allows.

    They are unwrapped, nested JSON text is decoded, and nulls that mean "not given" are left out.
    """
    return coerced(
        tool.parameters,
        arguments,
        unwrap=config.argument_repairs == "lenient",
        decode=config.argument_repairs != "strict",
        drop_nulls=config.null_for_optional_is_absent,
        max_depth=config.max_argument_depth,
    )


def run_tool(state: State, ref: int, call: ToolCall, arguments: JsonText) -> RunTool:
    """The effect that runs a call of the present turn."""
    name = state.plan.tools.inner(call.name)
    return RunTool(ref, call.id, name, arguments, call_key(state, call), state.tally.turns)


def ask_approval(state: State, ref: int, call: ToolCall, arguments: JsonText) -> AskApproval:
    """The effect that asks whether a call of the present turn may run."""
    return AskApproval(ref, call.id, state.plan.tools.inner(call.name), arguments)


def call_key(state: State, call: ToolCall) -> str:
    """What names a call for ever: it depends on the plan, the turn and the place of the call in it alone.

    The same run, replayed, resumed or done anew, gives the same keys; to have a tool act once more, make
    a plan with another seed.
    """
    turn, place = known_digest(str(state.tally.turns)), known_digest(_place(state, call))
    return link(link(known_chain("call", state.plan.digest), turn), place)


def _place(state: State, call: ToolCall) -> str:
    """The index of the call in what the model said last; a call that does not stand there has only its id."""
    ids = [sent.id for sent in state.messages.projection.called]
    return str(ids.index(call.id)) if call.id in ids else call.id
