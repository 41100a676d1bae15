"""Which calls may run: the checks that stand between a model and a tool.

In this order, on one frozen value: the tool exists and is not masked, a call in text may run it, the
arguments are small enough, they could be read, they fit the schema. What passes is byte for byte
what runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never, cast

from returns.result import Failure, Result, Success

from toolreel.arguments import ArgumentError
from toolreel.calls import ToolCall
from toolreel.config import LoopConfig
from toolreel.faults import (
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
from toolreel.intended import Intended, decoded, unwrapped
from toolreel.jsontext import Json, JsonText, canonical, nesting, parse
from toolreel.pipeline import either
from toolreel.plan import Plan
from toolreel.schemas import refused_nulls, violations
from toolreel.surface import ToolDefinition, ToolSurface
from toolreel.warning_codes import WarningCode

__all__ = ["Admission", "admit", "asks_first", "meant"]

Admission: TypeAlias = JsonText | Fault
"""The arguments to run a tool with, or what the model is told instead."""


def admit(call: ToolCall, plan: Plan) -> Admission:
    """Check one call."""
    return either(
        _known(call, plan.tools)
        .bind(lambda tool: _trusted(call, tool, plan.config))
        .bind(
            lambda tool: (
                _small_enough(call, tool, plan.config)
                .bind(lambda small: _shallow_enough(small, plan.config))
                .bind(lambda small: _readable(small, plan))
                .map(lambda arguments: meant(tool, arguments, plan.config).arguments)
                .bind(lambda arguments: _fitting(tool, arguments))
            )
        )
    )


def asks_first(call: ToolCall, plan: Plan) -> bool:
    """Whether somebody is asked before an admitted call runs: for its tool's sake, or for its own."""
    tool = plan.tools.by_name[call.name]
    doubtful = plan.config.text_calls_for == "approved" and call.from_text and not tool.read_only
    return tool.needs_approval or doubtful


def _known(call: ToolCall, tools: ToolSurface) -> Result[ToolDefinition, Fault]:
    tool = tools.by_name.get(call.name)
    if tool is not None and tool.exposed:
        return Success(tool)
    fault = tool_not_allowed if call.name in tools.known else tool_not_found
    return Failure(fault(call.name, tools.names))


def _trusted(call: ToolCall, tool: ToolDefinition, config: LoopConfig) -> Result[ToolDefinition, Fault]:
    barred = config.text_calls_for == "read_only" and call.from_text and not tool.read_only
    return Failure(tool_not_allowed_as_text(tool.outward)) if barred else Success(tool)


def _small_enough(call: ToolCall, tool: ToolDefinition, config: LoopConfig) -> Result[ToolCall, Fault]:
    limit = config.max_tool_args_bytes if tool.max_args_bytes is None else tool.max_args_bytes
    size = len(call.original.encode())
    return Success(call) if size <= limit else Failure(arguments_too_large(call.name, size, limit))


def _shallow_enough(call: ToolCall, config: LoopConfig) -> Result[ToolCall, Fault]:
    limit = config.max_argument_depth
    deep = nesting(call.original, enough=limit + 1) > limit
    return Failure(arguments_too_deep(call.name, limit)) if deep else Success(call)


def _readable(call: ToolCall, plan: Plan) -> Result[JsonText, Fault]:
    match call.arguments:
        case ArgumentError() as error:
            return Failure(_fault(call.name, error, plan))
        case JsonText() as arguments:
            return Success(arguments)
        case _:
            assert_never(call.arguments)


def _fault(name: str, error: ArgumentError, plan: Plan) -> Fault:
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


def meant(tool: ToolDefinition, arguments: JsonText, config: LoopConfig) -> Intended:
    """The arguments as the tool's schema shows them to be meant, as far as the configuration allows.

    They are unwrapped, nested JSON text is decoded, and nulls that mean "not given" are left out.
    """
    codes: tuple[WarningCode, ...] = ()
    if config.argument_repairs == "lenient":
        found = unwrapped(tool.parameters, arguments)
        arguments, codes = found.arguments, found.codes
    if config.argument_repairs != "strict":
        found = decoded(tool.parameters, arguments, max_depth=config.max_argument_depth)
        arguments, codes = found.arguments, (*codes, *found.codes)
    gone = refused_nulls(tool.parameters, arguments) if config.null_for_optional_is_absent else ()
    if not gone:
        return Intended(arguments, codes)
    tree = cast("Mapping[str, Json]", parse(arguments))
    kept = canonical({name: value for name, value in tree.items() if name not in gone})
    return Intended(kept, (*codes, "NULL_ARGUMENT_DROPPED"))


def _fitting(tool: ToolDefinition, arguments: JsonText) -> Result[JsonText, Fault]:
    found = violations(tool.parameters, arguments)
    return Failure(arguments_violate_schema(tool.name, found)) if found else Success(arguments)
