from __future__ import annotations

import pytest

from toolreel.admission import admit
from toolreel.arguments import ArgumentError, Arguments, read_arguments
from toolreel.calls import ToolCall
from toolreel.config import LoopConfig
from toolreel.faults import Fault
from toolreel.jsontext import JsonText
from toolreel.surface import ToolDefinition, ToolSurface

ADD = ToolDefinition.of(
    "add",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "s": {"type": "string"}},
        "required": ["a"],
    },
)
TOOLS = ToolSurface((ADD, ToolDefinition.of("ping")))


def call(name: str = "add", arguments: str = '{"a":1}', value: Arguments | None = None) -> ToolCall:
    read = read_arguments(arguments, max_depth=64)
    return ToolCall("call_a", name, read.value if value is None else value, read.original)


def fault(refused: ToolCall, config: LoopConfig | None = None) -> Fault:
    found = admit(refused, TOOLS, config or LoopConfig())
    assert isinstance(found, Fault)
    return found


def test_a_call_that_fits_is_admitted_with_its_canonical_arguments() -> None:
    assert admit(call(arguments='{ "a": 1 }'), TOOLS, LoopConfig()) == JsonText('{"a":1}')


def test_an_unknown_tool_is_told_with_the_nearest_name() -> None:
    found = fault(call(name="ad"))
    assert found.code == "TOOL_NOT_FOUND"
    assert found.message.endswith("Available: add, ping. Did you mean 'add'?")


def test_arguments_may_be_as_large_as_the_limit_in_bytes() -> None:
    arguments = '{"a":1,"s":"éé"}'
    size = len(arguments.encode())
    assert size == len(arguments) + 2
    for limit in (size, size + 1):
        assert admit(call(arguments=arguments), TOOLS, LoopConfig(max_tool_args_bytes=limit)) == arguments
    found = fault(call(arguments=arguments), LoopConfig(max_tool_args_bytes=size - 1))
    assert found.code == "ARGUMENTS_TOO_LARGE"
    assert found.data == f'{{"bytes":{size},"limit":{size - 1}}}'


def test_blanks_around_arguments_count_as_what_the_model_wrote() -> None:
    found = fault(call(arguments='{"a":1}  '), LoopConfig(max_tool_args_bytes=8))
    assert found.code == "ARGUMENTS_TOO_LARGE"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ArgumentError("ARGUMENTS_INVALID_JSON", "odd"), "ARGUMENTS_JSON_PARSE_ERROR", "not valid JSON: odd"),
        (ArgumentError("ARGUMENTS_NOT_OBJECT", "a list"), "ARGUMENTS_NOT_OBJECT", "got a list"),
        (ArgumentError("ARGUMENTS_TOO_DEEP"), "ARGUMENTS_TOO_DEEP", "deeper than 9 levels"),
        (ArgumentError("ARGUMENTS_TRUNCATED"), "ARGUMENTS_TRUNCATED", "cut at the output token limit"),
    ],
)
def test_arguments_that_could_not_be_read_say_why(error: ArgumentError, code: str, message: str) -> None:
    found = fault(call(value=error), LoopConfig(max_argument_depth=9))
    assert found.code == code
    assert message in found.message


def test_arguments_that_break_the_schema_say_what_was_expected() -> None:
    found = fault(call(arguments='{"a":"1"}'))
    assert found.code == "ARGUMENTS_SCHEMA_ERROR"
    assert found.message.startswith('/a: expected integer, got "1"')


def test_checks_come_in_their_order() -> None:
    small = LoopConfig(max_tool_args_bytes=1)
    assert fault(call(name="ad", arguments="[1]"), small).code == "TOOL_NOT_FOUND"
    assert fault(call(arguments="[1]"), small).code == "ARGUMENTS_TOO_LARGE"
    assert fault(call(arguments="[1]")).code == "ARGUMENTS_NOT_OBJECT"
