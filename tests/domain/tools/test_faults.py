from __future__ import annotations

from typing import get_args

import pytest

from toolreel_core._jsontext import canonical
from toolreel_core._schema import Violation
from toolreel_core._tools import (
    Fault,
    FaultCode,
    arguments_in_envelope,
    arguments_not_json,
    arguments_not_object,
    arguments_too_deep,
    arguments_too_large,
    arguments_truncated,
    arguments_violate_schema,
    call_abandoned,
    call_cancelled,
    call_denied,
    output_not_alone,
    output_not_json,
    output_too_early,
    output_too_large,
    parts_too_large,
    result_unknown,
    tool_changed,
    tool_not_allowed,
    tool_not_allowed_as_text,
    tool_not_found,
    tool_not_implemented,
)

FAULTS = [
    (
        parts_too_large("look", 9, 8),
        Fault(
            "TOOL_OUTPUT_TOO_LARGE",
            "look ran, but the images, audio and files in its result have 9 bytes; the limit is 8. "
            "Ask look for smaller ones or fewer.",
            canonical({"bytes": 9, "limit": 8}),
        ),
    ),
    (
        tool_not_found("serch", ["search", "open"]),
        Fault(
            "TOOL_NOT_FOUND",
            "There is no tool 'serch'. Available: search, open. Did you mean 'search'?",
        ),
    ),
    (
        tool_not_found("zzz", ("search", "open")),
        Fault("TOOL_NOT_FOUND", "There is no tool 'zzz'. Available: search, open. Call one of these."),
    ),
    (
        tool_not_found("search", ()),
        Fault("TOOL_NOT_FOUND", "There is no tool 'search': this run has no tools. Answer in text."),
    ),
    (
        tool_not_allowed("delete", ["search", "open"]),
        Fault(
            "TOOL_NOT_ALLOWED",
            "delete was not run: it is not allowed here. You may call: search, open. "
            "Call one of these, or answer in text.",
        ),
    ),
    (
        tool_not_allowed("delete", ()),
        Fault(
            "TOOL_NOT_ALLOWED",
            "delete was not run: it is not allowed here. This run may call no tools. Answer in text.",
        ),
    ),
    (
        tool_not_allowed_as_text("delete"),
        Fault(
            "TOOL_NOT_ALLOWED",
            "delete was not run: the call was written as text, and a call in text may only use read-only "
            "tools. If you mean it, make a tool call of it; otherwise go on without it.",
        ),
    ),
    (
        tool_not_implemented("echo"),
        Fault(
            "TOOL_NOT_IMPLEMENTED",
            "echo was not run: nothing here can run it. "
            "Do not call it again: use another tool, or answer in text.",
        ),
    ),
    (
        arguments_not_json("echo", "Extra data at line 1, column 3"),
        Fault(
            "ARGUMENTS_JSON_PARSE_ERROR",
            "The arguments of echo are not valid JSON: Extra data at line 1, column 3. "
            "Call echo again with one JSON object.",
        ),
    ),
    (
        arguments_not_object("echo", "a list"),
        Fault(
            "ARGUMENTS_NOT_OBJECT",
            "The arguments of echo must be a JSON object, got a list. Call echo again with an object.",
        ),
    ),
    (
        tool_changed("echo"),
        Fault(
            "TOOL_NOT_ALLOWED",
            "echo was not run: its definition is no longer the one that was accepted. "
            "Do not call it again: use another tool, or answer in text.",
        ),
    ),
    (
        arguments_truncated("echo"),
        Fault(
            "ARGUMENTS_TRUNCATED",
            "Your reply was cut at the output token limit, so echo was not run. "
            "Call echo again with shorter arguments, or do the work in several smaller calls.",
        ),
    ),
    (
        arguments_truncated("echo", 256),
        Fault(
            "ARGUMENTS_TRUNCATED",
            "Your reply was cut at the limit of 256 output tokens, so echo was not run. "
            "Call echo again with shorter arguments, or do the work in several smaller calls.",
        ),
    ),
    (
        arguments_too_large("echo", 12, 10),
        Fault(
            "ARGUMENTS_TOO_LARGE",
            "The arguments of echo have 12 bytes; the limit is 10. Call echo again with at most 10 bytes.",
            canonical({"bytes": 12, "limit": 10}),
        ),
    ),
    (
        arguments_too_deep("echo", 64),
        Fault(
            "ARGUMENTS_TOO_DEEP",
            "The arguments of echo nest deeper than 64 levels. Call echo again with flatter arguments.",
            canonical({"limit": 64}),
        ),
    ),
    (
        arguments_violate_schema(
            "echo", [Violation("/n", "integer", '"3"'), Violation("", "only 'n'", "{}")]
        ),
        Fault(
            "ARGUMENTS_SCHEMA_ERROR",
            "/n: expected integer, got \"3\"; arguments: expected only 'n', got {}. "
            "Call echo again with the corrected arguments.",
        ),
    ),
    (
        output_too_large("echo", 12, 10),
        Fault(
            "TOOL_OUTPUT_TOO_LARGE",
            "The output of echo has 12 bytes; the limit is 10. Ask echo for less.",
            canonical({"bytes": 12, "limit": 10}),
        ),
    ),
    (
        output_not_json("echo", "NaN is not a JSON number"),
        Fault(
            "TOOL_OUTPUT_NOT_JSON",
            "echo ran, but its output cannot be shown: NaN is not a JSON number. Go on without it.",
        ),
    ),
    (
        call_denied("echo", ""),
        Fault("TOOL_DENIED", "echo was not run, it was not approved. Go on without it."),
    ),
    (
        call_denied("echo", "too loud"),
        Fault("TOOL_DENIED", "echo was not run, it was not approved: too loud. Go on without it."),
    ),
    (
        call_abandoned("echo"),
        Fault("TOOL_CANCELLED", "The run ended before echo was started. Nothing was done."),
    ),
    (
        call_cancelled("echo"),
        Fault("TOOL_CANCELLED", "The run was cancelled before echo returned. It may have had effects."),
    ),
    (
        output_not_alone("done"),
        Fault(
            "OUTPUT_TOO_EARLY",
            "done was not taken: it came with calls of other tools, whose results you had not seen. "
            "Call done alone once you have them.",
        ),
    ),
    (
        output_too_early("done", "Call echo first."),
        Fault("OUTPUT_TOO_EARLY", "Call echo first. Then call done."),
    ),
    (
        result_unknown("echo"),
        Fault("TOOL_CANCELLED", "What came of this call of echo is not known. It may have had effects."),
    ),
]


@pytest.mark.parametrize(("told", "expected"), FAULTS, ids=[expected.code for _, expected in FAULTS])
def test_a_fault_tells_the_model_what_to_do_next(told: Fault, expected: Fault) -> None:
    assert told == expected


def test_every_code_has_been_told() -> None:
    assert {expected.code for _, expected in FAULTS} == set(get_args(FaultCode))


PAGE = "x" * 9_000


@pytest.mark.parametrize(
    "fault",
    [
        tool_not_found(PAGE, ()),
        tool_not_found(PAGE, ["search"]),
        tool_not_allowed(PAGE, ["search"]),
        call_abandoned(PAGE),
    ],
)
def test_a_name_as_long_as_a_page_is_not_told_back_whole(fault: Fault) -> None:
    assert f"{'x' * 80}…" in fault.message
    assert len(fault.message) < 250


def test_a_fault_without_figures_has_an_empty_object() -> None:
    assert Fault("TOOL_CANCELLED", "Gone.").data == "{}"


def test_arguments_in_an_envelope_are_said_to_be_so() -> None:
    assert arguments_in_envelope("echo", 'a whole call of "ping"') == Fault(
        "ARGUMENTS_SCHEMA_ERROR",
        'The arguments of echo are a whole call of "ping". '
        "It is not certain what was meant, so echo was not run. "
        "Call echo again with the parameters themselves, in nothing else.",
    )
