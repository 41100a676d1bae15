from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from toolreel_core._jsontext.canonical import Json, JsonText
from toolreel_core._loop.admission import admit, asks_first, meant
from toolreel_core._plan.plan import Plan
from toolreel_core._replies.calls.arguments import ArgumentError, Arguments, read_arguments
from toolreel_core._replies.calls.tool_call import ToolCall
from toolreel_core._settings.config import LoopConfig
from toolreel_core._tools.faults import Fault, arguments_too_large
from toolreel_core._tools.surface import ToolDefinition, ToolSurface

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


def plan(
    config: LoopConfig | None = None, tools: ToolSurface = TOOLS, options: Mapping[str, Json] | None = None
) -> Plan:
    return Plan.of(model="m", messages="hi", tools=tools, config=config, options=options)


def fault(refused: ToolCall, config: LoopConfig | None = None, **options: Json) -> Fault:
    found = admit(refused, plan(config, options=options))
    assert isinstance(found, Fault)
    return found


def test_a_call_that_fits_is_admitted_with_its_canonical_arguments() -> None:
    assert admit(call(arguments='{ "a": 1 }'), plan()) == JsonText('{"a":1}')


def test_an_unknown_tool_is_told_with_the_nearest_name() -> None:
    found = fault(call(name="ad"))
    assert found.code == "TOOL_NOT_FOUND"
    assert found.message.endswith("Available: add, ping. Did you mean 'add'?")


def test_arguments_may_be_as_large_as_the_limit_in_bytes() -> None:
    arguments = '{"a":1,"s":"éé"}'
    size = len(arguments.encode())
    assert size == len(arguments) + 2
    for limit in (size, size + 1):
        assert admit(call(arguments=arguments), plan(LoopConfig(max_tool_args_bytes=limit))) == arguments
    found = fault(call(arguments=arguments), LoopConfig(max_tool_args_bytes=size - 1))
    assert found.code == "ARGUMENTS_TOO_LARGE"
    assert found.data == f'{{"bytes":{size},"limit":{size - 1}}}'


@pytest.mark.parametrize(("own", "of_run", "fits"), [(7, 1, True), (6, 7, False)])
def test_a_limit_of_the_tool_goes_before_that_of_the_run(own: int, of_run: int, fits: bool) -> None:
    tools = ToolSurface((ToolDefinition.of("add", parameters={}, max_args_bytes=own),))
    found = admit(call(arguments='{"a":1}'), plan(LoopConfig(max_tool_args_bytes=of_run), tools))
    assert found == ('{"a":1}' if fits else arguments_too_large("add", 7, own))


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


def test_arguments_of_a_cut_reply_name_the_cap_that_the_request_set() -> None:
    cut = call(value=ArgumentError("ARGUMENTS_TRUNCATED"))
    assert "cut at the limit of 256 output tokens" in fault(cut, max_tokens=256).message


def test_arguments_that_break_the_schema_say_what_was_expected() -> None:
    found = fault(call(arguments='{"a":"1"}'))
    assert found.code == "ARGUMENTS_SCHEMA_ERROR"
    assert found.message.startswith('/a: expected integer, got "1"')


def test_checks_come_in_their_order() -> None:
    small = LoopConfig(max_tool_args_bytes=1)
    assert fault(call(name="ad", arguments="[1]"), small).code == "TOOL_NOT_FOUND"
    assert fault(call(arguments="[1]"), small).code == "ARGUMENTS_TOO_LARGE"
    deep = '{"a":[[]]'
    shallow = LoopConfig(max_argument_depth=2)
    assert fault(call(arguments=deep), LoopConfig(max_argument_depth=2, max_tool_args_bytes=8)).code == (
        "ARGUMENTS_TOO_LARGE"
    )
    assert fault(call(arguments=deep), shallow).code == "ARGUMENTS_TOO_DEEP"
    assert fault(call(arguments="[1]")).code == "ARGUMENTS_NOT_OBJECT"


def test_a_cut_call_is_told_the_cap_that_cut_it() -> None:
    found = admit(call(value=ArgumentError("ARGUMENTS_TRUNCATED")), plan(options={"max_tokens": 7}))
    assert isinstance(found, Fault)
    assert "the limit of 7 output tokens" in found.message


READ = ToolDefinition.of("files.read")
MASKED = ToolSurface((READ, ToolDefinition.of("hidden", exposed=False)), ("files.delete",))


@pytest.mark.parametrize("name", ["files.read", "files_read"])
def test_a_tool_is_called_by_either_name(name: str) -> None:
    assert admit(call(name, "{}"), plan(tools=MASKED)) == "{}"


@pytest.mark.parametrize("name", ["files.delete", "files_delete", "hidden"])
def test_a_tool_that_is_masked_or_not_exposed_is_not_allowed_by_either_name(name: str) -> None:
    found = admit(call(name, "not even JSON"), plan(tools=MASKED))
    assert isinstance(found, Fault)
    assert found.code == "TOOL_NOT_ALLOWED"
    assert "You may call: files_read." in found.message


def test_a_tool_that_is_not_there_is_not_found_and_hidden_ones_stay_hidden() -> None:
    found = admit(call("files.write"), plan(tools=MASKED))
    assert isinstance(found, Fault)
    assert found.code == "TOOL_NOT_FOUND"
    assert "Available: files_read." in found.message


def test_nulls_that_mean_nothing_are_dropped_before_the_schema_is_asked() -> None:
    dropping = plan(LoopConfig(null_for_optional_is_absent=True))
    assert admit(call(arguments='{"s": null, "a": 1}'), dropping) == '{"a":1}'
    assert admit(call(arguments='{"a": 1}'), dropping) == '{"a":1}'
    refused = admit(call(arguments='{"a": null}'), dropping)
    assert isinstance(refused, Fault)
    assert refused.message.startswith("/a: expected integer, got null")
    assert fault(call(arguments='{"s": null, "a": 1}')).code == "ARGUMENTS_SCHEMA_ERROR"


NESTED = ToolDefinition.of(
    "edit",
    parameters={
        "type": "object",
        "properties": {"edits": {"type": "array"}, "note": {"type": "string"}},
        "required": ["edits"],
        "additionalProperties": False,
    },
)


def admitted(arguments: str, **changes: Json) -> object:
    config = LoopConfig.of(changes)
    return admit(call("edit", arguments), plan(config, ToolSurface((NESTED,))))


def test_arguments_may_nest_as_deep_as_the_limit() -> None:
    for depth, code in ((3, "ARGUMENTS_SCHEMA_ERROR"), (2, "ARGUMENTS_TOO_DEEP")):
        found = admit(call(arguments='{"a":[[]]}'), plan(LoopConfig(max_argument_depth=depth)))
        assert isinstance(found, Fault)
        assert found.code == code


def test_nested_json_text_is_decoded_before_the_schema_is_asked() -> None:
    for repairs in ("safe", "lenient"):
        assert admitted('{"edits": "[1]", "note": "[1]"}', argument_repairs=repairs) == (
            '{"edits":[1],"note":"[1]"}'
        )
    assert isinstance(admitted('{"edits": "[1]"}', argument_repairs="strict"), Fault)


def test_nested_json_text_that_would_be_too_deep_is_not_decoded() -> None:
    assert admitted('{"edits": "[[]]"}', max_argument_depth=3) == '{"edits":[[]]}'
    assert isinstance(admitted('{"edits": "[[]]"}', max_argument_depth=2), Fault)


def test_arguments_in_a_wrapper_are_unwrapped_only_where_that_is_wanted() -> None:
    wrapped = '{"arguments": {"edits": "[1]"}}'
    assert isinstance(admitted(wrapped), Fault)
    assert admitted(wrapped, argument_repairs="lenient") == '{"edits":[1]}'


def test_what_was_done_to_arguments_has_codes() -> None:
    dropping = LoopConfig(null_for_optional_is_absent=True, argument_repairs="lenient")
    found = meant(NESTED, JsonText('{"edits":"[1]","note":null}'), dropping)
    assert found.arguments == '{"edits":[1]}'
    assert found.codes == ("ARGUMENTS_DECODED", "NULL_ARGUMENT_DROPPED")
    wrapped = meant(NESTED, JsonText('{"args":{"edits":[1]}}'), dropping)
    assert wrapped.codes == ("ARGUMENTS_UNWRAPPED",)


LOOKING = replace(ADD, name="look", read_only=True)
GUARDED = replace(ADD, name="wipe", needs_approval=True)
UNTRUSTING = ToolSurface((ADD, LOOKING, GUARDED))


def written(name: str, provenance: str = "text:hermes_json") -> ToolCall:
    return replace(call(name), provenance=provenance)


@pytest.mark.parametrize(
    ("policy", "name", "provenance", "code", "asks"),
    [
        ("all", "add", "text:hermes_json", None, False),
        ("all", "wipe", "text:hermes_json", None, True),
        ("read_only", "add", "text:hermes_json", "TOOL_NOT_ALLOWED", None),
        ("read_only", "wipe", "text:react", "TOOL_NOT_ALLOWED", None),
        ("read_only", "look", "text:hermes_json", None, False),
        ("read_only", "add", "structured", None, False),
        ("read_only", "add", "legacy", None, False),
        ("approved", "add", "text:hermes_json", None, True),
        ("approved", "look", "text:hermes_json", None, False),
        ("approved", "wipe", "structured", None, True),
        ("approved", "add", "structured", None, False),
        ("approved", "add", "legacy", None, False),
    ],
)
def test_what_a_call_in_text_may_run_is_a_policy(
    policy: str, name: str, provenance: str, code: str | None, asks: bool | None
) -> None:
    careful, made = plan(LoopConfig.of({"text_calls_for": policy}), UNTRUSTING), written(name, provenance)
    admission = admit(made, careful)
    assert (admission.code if isinstance(admission, Fault) else None) == code
    assert asks is None or asks_first(made, careful) is asks


def test_a_call_in_text_of_an_unknown_tool_is_told_so_first() -> None:
    refused = admit(written("ad"), plan(LoopConfig(text_calls_for="read_only"), UNTRUSTING))
    assert isinstance(refused, Fault)
    assert refused.code == "TOOL_NOT_FOUND"
