from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.domain.replies.rows import reply_of_row
from tests.playbook import body_of
from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._replies import (
    ArgumentError,
    Problem,
    Reply,
    Served,
    ToolCall,
    Usage,
    as_chat,
    normalize_reply,
)
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSurface

CORPORA = Path(__file__).resolve().parents[2] / "corpora"
CASES = [json.loads(line) for line in (CORPORA / "wire.jsonl").read_text("utf-8").splitlines()]
NEIGHBOURS = [
    json.loads(line) for line in (CORPORA / "wire-neighbours.jsonl").read_text("utf-8").splitlines()
]
"""Cases next to the worked ones, each with the rule that it shows; their warnings are all that there are."""
ROWS = [json.loads(line) for line in (CORPORA / "replies.jsonl").read_text("utf-8").splitlines()]
"""Parts of replies as servers and models spoil them, with all that is read in each."""
PARTS = ("stock_lookup", "ping")
TOOLS = ToolSurface((ToolDefinition.of("add"), ToolDefinition.of("ping")))
PING = ("call_a", "ping", "{}")
TAGGED = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
READS_TAGS = LoopConfig(text_dialects=("hermes_json",))
UNREAD = LoopConfig(text_dialects=())
"""What the worked cases were written for: their texts are read in no dialect."""
STRICT = LoopConfig(argument_repairs="strict")
LENIENT = LoopConfig(argument_repairs="lenient")


def normalized(body: bytes | Json, config: LoopConfig | None = None) -> Reply:
    return normalize_reply(body, tools=TOOLS, config=config or LoopConfig(), turn=2)


def with_message(**message: Json) -> dict[str, Json]:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


def seen(call: ToolCall, expected: dict[str, Any]) -> dict[str, Any]:
    """A call in the form of the corpus; any id will do where the case asks for a synthetic one."""
    found: dict[str, Any] = {"name": call.name, "id": call.id}
    if expected.get("id") == "$synthetic":
        found["id"] = "$synthetic"
    if isinstance(call.arguments, ArgumentError):
        return found | {"arguments": None, "error": call.arguments.code}
    return found | {"arguments": json.loads(call.arguments)}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_worked_case(case: dict[str, Any]) -> None:
    tools = ToolSurface(tuple(map(ToolDefinition.of, case["tools"])))
    body = case["raw"] if "raw" in case else json.dumps(case["body"])
    reply = normalize_reply(body, tools=tools, config=UNREAD)
    assert_means(reply, case["expect"])


@pytest.mark.parametrize("case", NEIGHBOURS, ids=[case["id"] for case in NEIGHBOURS])
def test_a_rule_holds_beside_the_worked_cases(case: dict[str, Any]) -> None:
    choice: Json = {"message": case.get("message"), "finish_reason": case.get("finish")}
    body = as_chat(case["raw"]).body if "raw" in case else case.get("body", {"choices": [choice]})
    tools = ToolSurface(tuple(map(ToolDefinition.of, PARTS)))
    reply = normalize_reply(body, tools=tools, config=UNREAD)
    assert_means(reply, case["expect"])
    assert {*reply.warnings} == {*case["expect"]["warnings"]}


@pytest.mark.parametrize("of", dict.fromkeys(row["of"] for row in ROWS))
def test_a_reply_is_read_as_its_rows_say(of: str) -> None:
    for row in ROWS:
        if row["of"] == of:
            assert reply_of_row(row) == row["reply"], row


def assert_means(reply: Reply, expected: dict[str, Any]) -> None:
    calls = expected["calls"]
    assert len(reply.calls) == len(calls)
    assert [seen(call, calls[place]) for place, call in enumerate(reply.calls)] == calls
    assert reply.content == expected["content"]
    assert reply.finish == expected["finish"]
    assert (reply.problem.code if reply.problem else None) == expected["problem"]
    assert set(expected.get("warnings", ())) <= set(reply.warnings)
    carried = expected.get("carry", {})
    assert json.loads(reply.carry) == carried.get("message", {})
    assert [json.loads(call.carry) for call in reply.calls] == carried.get("calls", [{} for _ in calls])


def test_a_plain_answer() -> None:
    body = body_of("Hello.") | {
        "id": "gen-1",
        "model": "served/model",
        "provider": "Z",
        "system_fingerprint": "fp_1",
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, "cost": 0.5},
    }
    assert normalized(body) == Reply(
        content="Hello.",
        finish="stop",
        usage=Usage(11, 7, 0.5),
        served=Served("served/model", "Z", "fp_1", "gen-1"),
    )


def test_a_call() -> None:
    call = ToolCall("call_a", "ping", JsonText("{}"), "{}", "structured")
    for config in (LoopConfig(), STRICT, LENIENT):
        assert normalized(body_of(None, PING), config) == Reply(calls=(call,), finish="tool_calls")


def test_bytes_text_and_parsed_bodies_read_alike() -> None:
    body = body_of("Grüße", PING)
    reply = normalized(body)
    assert reply.content == "Grüße"
    for text in (canonical(body), f"\n\n \ufeff{canonical(body)}", f"\n \n{canonical(body)}\n"):
        assert normalized(text) == reply
        assert normalized(text.encode()) == reply


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    body = canonical(body_of("Grüße")).encode("latin-1")
    assert normalized(body).content == "Gr\ufffd\ufffde"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", Problem("INVALID_BODY", "the body is empty", passing=True)),
        ("<html>", Problem("INVALID_BODY", "the body is an HTML page", passing=True)),
        (
            "<!DOCTYPE html><title>Sign\nin</title>",
            Problem("INVALID_BODY", 'the body is an HTML page, "Sign in"', passing=True),
        ),
        ('{"choices": [', Problem("INVALID_BODY", "Expecting value at line 1, column 14", passing=True)),
        ("[" * 100_000, Problem("INVALID_BODY", "nested deeper than 128 levels", passing=True)),
        ("[]", Problem("INVALID_BODY", "expected a JSON object, got list")),
        (None, Problem("INVALID_BODY", "expected a JSON object, got NoneType")),
        ({}, Problem("NO_CHOICES", "the reply has no choices")),
        ({"choices": None}, Problem("NO_CHOICES", "the reply has no choices", passing=True)),
        ({"choices": [{}]}, Problem("NO_MESSAGE", "the first choice has no message")),
        (
            "data: {}\n\n",
            Problem(
                "INVALID_BODY",
                "a stream of server-sent events, which is to be put together first",
                passing=True,
            ),
        ),
        (
            {"error": {"message": "Slow down.", "code": 429}},
            Problem("RATE_LIMITED", "Slow down.", passing=True),
        ),
    ],
)
def test_a_body_without_a_message_is_a_problem(body: bytes | Json, problem: Problem) -> None:
    assert normalized(body) == Reply(finish="error", problem=problem)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999"])
def test_a_number_alone_is_no_body(text: str) -> None:
    reply = normalized(text)
    assert reply.problem == Problem("INVALID_BODY", "expected a JSON object, got float")
    assert reply.warnings == ("NON_FINITE_NUMBER",)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_have_spoils_nothing_but_arguments(number: str) -> None:
    body = canonical(body_of("Hi.") | {"usage": {"cost": 7}, "score": 7}).replace("7", number)
    reply = normalized(body)
    assert (reply.content, reply.usage, reply.warnings) == ("Hi.", Usage(), ("NON_FINITE_NUMBER",))
    call: Json = {"id": "call_a", "function": {"name": "add", "arguments": {"a": 7}}}
    spoilt = normalized(canonical(with_message(tool_calls=[call])).replace("7", number))
    assert isinstance(spoilt.calls[0].arguments, ArgumentError)
    assert set(spoilt.warnings) >= {"NON_FINITE_NUMBER", "ARGUMENTS_NOT_STRING"}


def test_a_parsed_body_that_nests_without_end_is_a_problem() -> None:
    body: Json = None
    for _ in range(100_000):
        body = [body]
    problem = normalized({"choices": body}).problem
    assert problem is not None
    assert problem.code == "INVALID_BODY"


def test_an_error_keeps_what_was_said_before_it_and_runs_nothing() -> None:
    error: Json = {"message": "Overloaded.", "code": 502, "metadata": {"provider_name": "Z"}}
    body = body_of("partial", PING) | {"error": error, "usage": {"prompt_tokens": 3}}
    assert normalized(body) == Reply(
        content="partial",
        finish="error",
        problem=Problem("PROVIDER_ERROR", "Overloaded.", passing=True),
        usage=Usage(3),
        served=Served(provider="Z"),
    )


def test_a_prompt_that_was_blocked_is_filtered() -> None:
    reply = normalized({"promptFeedback": {"blockReason": "SAFETY"}})
    assert (reply.finish, reply.problem) == ("content_filter", Problem("CONTENT_FILTER", "SAFETY"))


def test_a_message_that_is_all_of_the_body_has_its_calls_where_they_belong() -> None:
    entry: Json = {"id": "call_a", "function": {"name": " ", "arguments": "{}"}}
    reply = normalized({"role": "assistant", "tool_calls": [entry]})
    assert "TOOL_CALLS_MISPLACED" not in reply.warnings


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"choices": {"message": {"content": "Hi."}}}, "NO_CHOICES"),
        ({"choices": [{"message": "Hi."}]}, "NO_MESSAGE"),
        ({"choices": [{"message": {"function_call": {"name": "ping"}}}]}, "EMPTY_RESPONSE"),
    ],
)
def test_strictly_a_reply_is_what_openai_documents(body: Json, problem: str) -> None:
    strict, safe = normalized(body, STRICT), normalized(body)
    assert strict.problem is not None
    assert strict.problem.code == problem
    assert (strict.calls, strict.content) == ((), "")
    assert set(strict.warnings) >= set(safe.warnings) - {
        "FINISH_MISMATCH",
        "FINISH_UNKNOWN",
        "CALL_ID_MISSING",
    }


def test_text_calls_are_read_only_where_a_dialect_is_enabled() -> None:
    suspected = normalized(body_of(TAGGED), UNREAD)
    assert (suspected.content, suspected.warnings) == (TAGGED, ("TEXT_CALL_SUSPECTED",))
    reply = normalized(body_of(f"One moment. {TAGGED}"), READS_TAGS)
    assert reply.calls == (ToolCall("call_2_0", "ping", JsonText("{}"), TAGGED, "text:hermes_json"),)
    assert (reply.content, reply.finish) == ("One moment.", "tool_calls")
    assert reply.warnings == ("TEXT_CALL_READ",)
    assert normalized(body_of(f"One moment. {TAGGED}")) == reply


def test_without_tools_a_text_is_left_alone_unless_its_dialect_is_named() -> None:
    body = body_of(f"One moment. {TAGGED}")
    nothing = ToolSurface()
    assert normalize_reply(body, tools=nothing, config=LoopConfig()).content == f"One moment. {TAGGED}"
    assert normalize_reply(body, tools=nothing, config=READS_TAGS).calls[0].name == "ping"


def test_text_is_not_read_for_calls_where_there_are_structured_ones() -> None:
    reply = normalized(body_of(TAGGED, ("call_a", "add", "{}")), READS_TAGS)
    assert [call.name for call in reply.calls] == ["add"]
    assert reply.content == TAGGED


@pytest.mark.parametrize("name", ["files_read", "files.read", "files.delete"])
def test_text_is_a_call_by_either_name_of_a_tool_even_of_a_masked_one(name: str) -> None:
    """The loop then says that it is not allowed, instead of taking the text for an answer."""
    tools = ToolSurface((ToolDefinition.of("files.read", exposed=False),), ("files.delete",))
    content = f'```json\n{{"name": "{name}", "arguments": {{}}}}\n```'
    body: Json = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    config = LoopConfig(text_dialects=("json_fenced",))
    assert [call.name for call in normalize_reply(body, tools=tools, config=config).calls] == [name]


def test_end_markers_do_not_stay_in_answers() -> None:
    body: Json = {"choices": [{"message": {"content": "So.</s>"}, "finish_reason": "stop"}]}
    reply = normalize_reply(body, tools=ToolSurface(), config=LoopConfig())
    assert (reply.content, "END_MARKER_REMOVED" in reply.warnings) == ("So.", True)
    strict = normalize_reply(body, tools=ToolSurface(), config=LoopConfig(argument_repairs="strict"))
    assert strict.content == "So.</s>"
