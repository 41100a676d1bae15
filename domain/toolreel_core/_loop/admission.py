"""Admission: the checks between a model and a tool, and the effects that run what passed.

The checks run in this order, and the first failure is returned to the model: the tool exists and is not
masked; a call in text may run it; the arguments are within the limits; they parsed; they are valid against
the schema. Cheap checks come first, and the size limit protects the parser and the validator. The admitted
arguments run byte for byte, under the tool's inner name, with an idempotency key.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from toolreel_core._jsontext import JsonText, chain, deeper, digest, link
from toolreel_core._plan import Plan
from toolreel_core._protocol import AskApproval, RunTool, State
from toolreel_core._replies import ArgumentError, Intended, ToolCall, coerced
from toolreel_core._schema import unknown_keys, violations
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import (
    Fault,
    ToolDefinition,
    arguments_in_envelope,
    arguments_not_json,
    arguments_not_object,
    arguments_too_deep,
    arguments_too_large,
    arguments_truncated,
    arguments_violate_schema,
    output_not_alone,
    tool_not_allowed,
    tool_not_allowed_as_text,
    tool_not_found,
)

Admission: TypeAlias = JsonText | Fault
"""The arguments to run a tool with, or the fault that is returned to the model."""


def admit(call: ToolCall, plan: Plan) -> Admission:
    """Check one call: its arguments, ready to run, or a fault."""
    tool = plan.tools.by_name.get(call.name)
    if is_final(call, plan):
        return output_not_alone(call.name)
    if tool is None or not tool.exposed:
        # A tool that is masked or not exposed exists: the model is told that it may not call it.
        offered = plan.callable_tools
        missing = tool_not_allowed if call.name in offered.known else tool_not_found
        return missing(call.name, offered.names)
    if plan.config.text_calls_for == "read_only" and call.from_text and not tool.read_only:
        return tool_not_allowed_as_text(tool.outward)
    if fault := _size_fault(call, tool, plan.config):
        return fault
    if isinstance(call.arguments, ArgumentError):
        return unread_arguments_fault(call.name, call.arguments, plan)
    # Coerce first, so that the schema judges what would run.
    intended = coerced_arguments(tool, call.arguments, plan.config)
    if intended.doubt:
        return arguments_in_envelope(tool.name, intended.doubt)
    found = violations(tool.parameters, intended.arguments) or unknown_keys(
        tool.parameters, intended.arguments
    )
    return arguments_violate_schema(tool.name, found) if found else intended.arguments


def is_final(call: ToolCall, plan: Plan) -> bool:
    """Whether a call is one of the final tool, which gives the run's answer and is never run."""
    return plan.asked_by == "tool" and plan.output is not None and call.name == plan.output.name


def needs_approval(call: ToolCall, plan: Plan) -> bool:
    """Whether an admitted call needs approval: because of its tool, or because it was written as text."""
    tool = plan.tools.by_name[call.name]
    doubtful = plan.config.text_calls_for == "approved" and call.from_text and not tool.read_only
    return tool.needs_approval or doubtful


def _size_fault(call: ToolCall, tool: ToolDefinition, config: LoopConfig) -> Fault | None:
    limit = config.max_tool_args_bytes if tool.max_args_bytes is None else tool.max_args_bytes
    # The length of an ASCII text is its size in UTF-8; only other texts have to be encoded to be measured.
    size = len(call.original) if call.original.isascii() else len(call.original.encode())
    if size > limit:
        return arguments_too_large(call.name, size, limit)
    levels = config.max_argument_depth
    return arguments_too_deep(call.name, levels) if deeper(call.original, levels) else None


def unread_arguments_fault(name: str, error: ArgumentError, plan: Plan) -> Fault:
    """The fault for arguments that could not be read."""
    match error.code:
        case "ARGUMENTS_INVALID_JSON":
            return arguments_not_json(name, error.detail)
        case "ARGUMENTS_NOT_OBJECT":
            return arguments_not_object(name, error.detail)
        case "ARGUMENTS_TRUNCATED":
            return arguments_truncated(name, plan.bodies.output_cap)
        case _:
            assert_never(error.code)


def coerced_arguments(tool: ToolDefinition, arguments: JsonText, config: LoopConfig) -> Intended:
    """The arguments coerced to the tool's schema, as far as ``argument_repairs`` allows.

    An envelope is opened, nested JSON text is decoded, and nulls that mean "absent" are dropped.
    """
    return coerced(
        tool.parameters,
        arguments,
        names=(tool.name, tool.outward),
        repair=config.argument_repairs != "strict",
        drop_nulls=config.null_for_optional_is_absent,
        max_depth=config.max_argument_depth,
    )


def run_tool(state: State, ref: int, call: ToolCall, arguments: JsonText) -> RunTool:
    """The effect that runs a call of the current turn."""
    name = state.present.tools.inner(call.name)
    return RunTool(ref, call.id, name, arguments, call_key(state, call), state.tally.turns)


def ask_approval(state: State, ref: int, call: ToolCall, arguments: JsonText) -> AskApproval:
    """The effect that asks for approval of a call of the current turn."""
    return AskApproval(ref, call.id, state.present.tools.inner(call.name), arguments)


def call_key(state: State, call: ToolCall) -> str:
    """The idempotency key of a call, computed from the plan, the turn and the call's position in it.

    A run has the same keys when it is replayed, resumed or repeated. To make a tool act again, use a plan
    with another seed.
    """
    # The index in the latest assistant message: models and servers choose ids at random.
    ids = [sent.id for sent in state.messages.projection.called]
    place = str(ids.index(call.id)) if call.id in ids else call.id
    turn = digest(str(state.tally.turns))
    return link(link(chain("call", state.plan.digest), turn), digest(place))
