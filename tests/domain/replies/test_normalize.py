from __future__ import annotations

import json
from typing import Any

import pytest

from tests.domain.replies.rows import reply_of_row
from tests.playbook import body_of
from tests.samples import corpus_rows
from toolreel_core._jsontext import Json, Tree, canonical
from toolreel_core._replies import (
    ArgumentError,
    Reply,
    ToolCall,
    as_chat,
    normalize_reply,
)
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSurface

CASES = corpus_rows("wire")
NEIGHBOURS = corpus_rows("wire-neighbours")
"""Cases next to the worked ones, each with the rule that it shows; their warnings are all that there are."""
ROWS = corpus_rows("replies")
"""Parts of replies as servers and models spoil them, with all that is read in each."""
PARTS = ("stock_lookup", "ping")
TOOLS = ToolSurface((ToolDefinition.of("add"), ToolDefinition.of("ping")))
PING = ("call_a", "ping", "{}")
TAGGED = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
READS_TAGS = LoopConfig(text_dialects=("hermes_json",))
UNREAD = LoopConfig(text_dialects=())
"""What the worked cases were written for: their texts are read in no dialect."""


def normalized(body: bytes | Json, config: LoopConfig | None = None) -> Reply:
    return normalize_reply(body, tools=TOOLS, config=config or LoopConfig(), turn=2)


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


def test_a_parsed_body_that_nests_without_end_is_a_problem() -> None:
    body: Json = None
    for _ in range(100_000):
        body = [body]
    problem = normalized({"choices": body}).problem
    assert problem is not None
    assert problem.code == "INVALID_BODY"


def test_without_tools_a_text_is_left_alone_unless_its_dialect_is_named() -> None:
    body = body_of(f"One moment. {TAGGED}")
    nothing = ToolSurface()
    assert normalize_reply(body, tools=nothing, config=LoopConfig()).content == f"One moment. {TAGGED}"
    assert normalize_reply(body, tools=nothing, config=READS_TAGS).calls[0].name == "ping"


@pytest.mark.parametrize("name", ["files_read", "files.read", "files.delete"])
def test_text_is_a_call_by_either_name_of_a_tool_even_of_a_masked_one(name: str) -> None:
    """The loop then says that it is not allowed, instead of taking the text for an answer."""
    tools = ToolSurface((ToolDefinition.of("files.read", exposed=False),), ("files.delete",))
    content = f'```json\n{{"name": "{name}", "arguments": {{}}}}\n```'
    body: Json = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    config = LoopConfig(text_dialects=("json_fenced",))
    assert [call.name for call in normalize_reply(body, tools=tools, config=config).calls] == [name]


def test_untyped_text_gets_its_types_from_the_schema_of_the_tool() -> None:
    text = "<tool_call>\n<function=add>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>"
    schema: Tree = {"properties": {"n": {"type": "integer"}}}
    tools = ToolSurface((ToolDefinition.of("add", parameters=schema),))
    config = LoopConfig(text_dialects=("qwen_xml",))
    assert [call.arguments for call in normalize_reply(body_of(text), tools=tools, config=config).calls] == [
        '{"n":3}'
    ]


def test_a_text_that_is_too_large_is_not_searched_for_calls() -> None:
    reply = normalized(body_of(f"{TAGGED[:-13]}</tool_call>{'x' * 300_000}"), READS_TAGS)
    assert (reply.calls, reply.warnings) == ((), ("TEXT_CALL_TOO_LARGE",))
