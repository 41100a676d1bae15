"""Which calls may run: the checks that stand between a model and a tool.

In this order, on one frozen value: the tool exists, the arguments are small enough, they could
be read, they fit the schema. What passes is byte for byte what runs.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

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
    tool_not_found,
)
from toolreel.jsontext import JsonText
from toolreel.pipeline import either
from toolreel.schemas import violations
from toolreel.surface import ToolDefinition, ToolSurface

__all__ = ["Admission", "admit"]

Admission: TypeAlias = JsonText | Fault
"""The arguments to run a tool with, or what the model is told instead."""


def admit(call: ToolCall, tools: ToolSurface, config: LoopConfig) -> Admission:
    """Check one call."""
    return either(
        _known(call, tools).bind(
            lambda tool: (
                _small_enough(call, config)
                .bind(lambda small: _readable(small, config))
                .bind(lambda arguments: _fitting(tool, arguments))
            )
        )
    )


def _known(call: ToolCall, tools: ToolSurface) -> Result[ToolDefinition, Fault]:
    tool = tools.by_name.get(call.name)
    return Success(tool) if tool else Failure(tool_not_found(call.name, tools.names))


def _small_enough(call: ToolCall, config: LoopConfig) -> Result[ToolCall, Fault]:
    size, limit = len(call.original.encode()), config.max_tool_args_bytes
    return Success(call) if size <= limit else Failure(arguments_too_large(call.name, size, limit))


def _readable(call: ToolCall, config: LoopConfig) -> Result[JsonText, Fault]:
    match call.arguments:
        case ArgumentError() as error:
            return Failure(_fault(call.name, error, config))
        case JsonText() as arguments:
            return Success(arguments)
        case _:
            assert_never(call.arguments)


def _fault(name: str, error: ArgumentError, config: LoopConfig) -> Fault:
    match error.code:
        case "ARGUMENTS_INVALID_JSON":
            return arguments_not_json(name, error.detail)
        case "ARGUMENTS_NOT_OBJECT":
            return arguments_not_object(name, error.detail)
        case "ARGUMENTS_TOO_DEEP":
            return arguments_too_deep(name, config.max_argument_depth)
        case "ARGUMENTS_TRUNCATED":
            return arguments_truncated(name)
        case _:
            assert_never(error.code)


def _fitting(tool: ToolDefinition, arguments: JsonText) -> Result[JsonText, Fault]:
    found = violations(tool.parameters, arguments)
    return Failure(arguments_violate_schema(tool.name, found)) if found else Success(arguments)
